"""One message that the policy wants sent, as it goes into the outbox."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

OutgoingAction = Literal["trigger", "acknowledge", "resolve", "renew"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A message to a receiver about an incident.

    Attributes:
        key: Names this message for ever: the same decision again is the same message.
        incident: Id of the incident.
        receiver: Name of the receiver.
        dedup_key: By which the receiver knows all messages about one incident; 64 hex characters.
        action: What is asked of the receiver.
        body: What it is told: `severity`, `title`, `number`, and the incident's JSON.
        due: When it is to be sent, at the earliest.
        why: The rule that sends it, for people.
    """

    key: str
    incident: str
    receiver: str
    dedup_key: str
    action: OutgoingAction
    body: Mapping[str, Any]
    due: datetime
    why: str


def incident_dedup_key(incident: str, severity: str) -> str:
    """Return the key by which receivers know an incident.

    It rests on the incident's id and severity: what was filed as a ticket and becomes a page is a
    page of its own, since a receiver changes nothing about what is open already.
    """
    return hashlib.sha256(f"incident:{incident}:{severity}".encode()).hexdigest()
