"""Letters: what one receiver is to be told about one incident.

The body of a letter is the incident as it was when the letter was written, in the form of the JSON
contract, so that a try after an hour says the same as the first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Protocol

from pydantic import TypeAdapter, ValidationError

from alerts.delivery.answers import Answer
from alerts.incidents import Incident

Action = Literal["trigger", "acknowledge", "resolve"]

_INCIDENTS: Final = TypeAdapter(Incident)


class LetterError(ValueError):
    """The body of a letter is no incident."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """What one receiver is to be told.

    Attributes:
        key: Name of this letter, the same for each try.
        dedup_key: Name of what it is about, the same for trigger, acknowledge and resolve.
        action: What happened.
        incident: The incident when the letter was written.
        standing: The incident as the receiver was told of it before; null when it was not, or when
            that does not matter to it.
        created: When it was written.
    """

    key: str
    dedup_key: str
    action: Action
    incident: Incident
    standing: Incident | None = None
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """How a receiver that forgets is kept reminded.

    Attributes:
        every_seconds: Time between two reminders.
        resolve_count: How often the end is told again.
    """

    every_seconds: float = 60.0
    resolve_count: int = 4


class Receiver(Protocol):
    """Whom letters can be sent to."""

    @property
    def min_gap_seconds(self) -> float:
        """Shortest time between two letters; 0 is none."""
        ...

    @property
    def renewal(self) -> Renewal | None:
        """How it is kept reminded; null when it remembers by itself."""
        ...

    def send(self, letter: Letter, *, now: datetime) -> Answer:
        """Send a letter and return what became of it."""
        ...


def incident_of(body: Mapping[str, object]) -> Incident:
    """Return the incident that a body holds: itself, or under `incident`.

    Severity and title beside it are those that it is filed under, and win over those of its newest
    evidence.

    Raises:
        LetterError: It holds none; the message names the places that are wrong, not their values.
    """
    told = body.get("incident", body)
    filed = {name: body[name] for name in ("severity", "title") if name in body}
    try:
        return _INCIDENTS.validate_python({**told, **filed} if isinstance(told, dict) else told)
    except ValidationError as error:
        places = sorted({".".join(map(str, one["loc"])) for one in error.errors()})
        raise LetterError(f"wanted an incident, found wrong or missing: {places}") from None
