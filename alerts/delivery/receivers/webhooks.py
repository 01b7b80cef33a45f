"""Any program that takes Alertmanager's webhook, version 4, with what we know beside it.

Source: Alertmanager, "webhook_config", version 4. Whoever takes that takes this: our keys stand
beside the known ones. A letter is one group with one alert.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from pydantic import SecretStr

from alerts.delivery.alert_forms import alert_annotations, alert_labels, alert_start
from alerts.delivery.answers import Answer
from alerts.delivery.http_calls import HttpLimits, refuse_address
from alerts.delivery.letters import Letter, Renewal
from alerts.delivery.posting import Posting, post_json
from alerts.delivery.telling import Places
from detectors.verdicts import rfc3339, verdict_json

NO_END: Final = "0001-01-01T00:00:00Z"
"""How version 4 writes that an alert still fires."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookReceiver:
    """A program of somebody's.

    Attributes:
        url: Where it takes webhooks; it may hold a secret.
        name: What it is called in the payload.
        token: Bearer token; null when it wants none.
        places: Where people go on.
        limits: When to give up.
        min_gap_seconds: Shortest time between two webhooks.
        renewal: Null: it is told once.
    """

    url: SecretStr
    name: str = "paceline"
    token: SecretStr | None = None
    places: Places = field(default_factory=Places)
    limits: HttpLimits = field(default_factory=HttpLimits)
    min_gap_seconds: float = 0.0
    renewal: Renewal | None = None

    def __post_init__(self) -> None:
        """Refuse an address that nobody can call."""
        refuse_address(self.url.get_secret_value())

    def send(self, letter: Letter, *, now: datetime) -> Answer:
        """Post the webhook of a letter."""
        headers = {"Idempotency-Key": SecretStr(letter.key)}
        if self.token is not None:
            headers["Authorization"] = SecretStr(f"Bearer {self.token.get_secret_value()}")
        posting = Posting(url=self.url, headers=headers, limits=self.limits)
        return post_json(posting, webhook_body(letter, self.places, receiver=self.name), now=now)


def webhook_body(letter: Letter, places: Places, *, receiver: str) -> Mapping[str, object]:
    """Return the payload of a letter: version 4, and `episode_id`, `slo`, `evidence`, `action`."""
    labels, annotations = alert_labels(letter), alert_annotations(letter, places)
    status = "resolved" if letter.action == "resolve" else "firing"
    return {
        "version": "4",
        "groupKey": f"paceline:{letter.dedup_key}",
        "truncatedAlerts": 0,
        "status": status,
        "receiver": receiver,
        "groupLabels": {"incident": letter.incident.id},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": places.service_url or "",
        "alerts": [_alert(letter, status, labels, annotations)],
        "action": letter.action,
        "episode_id": letter.dedup_key,
        "slo": sorted({burn.objective for burn in letter.incident.burns}),
        "evidence": [verdict_json(one) for one in letter.incident.suspects],
    }


def _alert(
    letter: Letter, status: str, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> Mapping[str, object]:
    ended = letter.incident.cleared or letter.created
    start = alert_start(letter)
    return {
        "status": status,
        "labels": labels,
        "annotations": annotations,
        "startsAt": rfc3339(start),
        "endsAt": rfc3339(max(start, ended)) if status == "resolved" else NO_END,
        "generatorURL": annotations.get("incident_url", ""),
        "fingerprint": _fingerprint(labels),
    }


def _fingerprint(labels: Mapping[str, str]) -> str:
    """Return a hash of labels in the length that Alertmanager's has."""
    return hashlib.sha256(repr(sorted(labels.items())).encode()).hexdigest()[:16]
