"""Alertmanager, API v2: alerts are posted, renewed before they expire, and ended several times.

Source: Alertmanager, API v2, `POST /api/v2/alerts`, at 0.25: an alert without news ends at its
`endsAt`; a resolved one is repeated for a few minutes, as Prometheus does, since Alertmanager keeps
alerts in memory only. `endsAt` is four renewals ahead, again as Prometheus has it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from pydantic import SecretStr

from alerts.delivery.alert_forms import alert_annotations, alert_labels, alert_start
from alerts.delivery.answers import Answer, Delivered
from alerts.delivery.http_calls import HttpLimits, refuse_address
from alerts.delivery.letters import Letter, Renewal
from alerts.delivery.posting import Posting, post_json
from alerts.delivery.telling import Places
from detectors.verdicts import rfc3339

AHEAD_COUNT: Final = 4
"""Renewals that may fail before an alert ends by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertmanagerReceiver:
    """An Alertmanager, which goes on telling whom it knows.

    Attributes:
        url: Its address, without `/api`; it may hold a secret.
        token: Bearer token; null when it wants none.
        places: Where people go on.
        limits: When to give up.
        min_gap_seconds: Shortest time between two posts.
        renewal: How it is kept reminded.
    """

    url: SecretStr
    token: SecretStr | None = None
    places: Places = field(default_factory=Places)
    limits: HttpLimits = field(default_factory=HttpLimits)
    min_gap_seconds: float = 0.0
    renewal: Renewal = field(default_factory=Renewal)

    def __post_init__(self) -> None:
        """Refuse an address that nobody can call."""
        refuse_address(self.url.get_secret_value())

    def send(self, letter: Letter, *, now: datetime) -> Answer:
        """Post the alert of a letter; Alertmanager knows no acknowledgement."""
        if letter.action == "acknowledge":
            return Delivered()
        url = SecretStr(f"{self.url.get_secret_value().rstrip('/')}/api/v2/alerts")
        token = self.token and SecretStr(f"Bearer {self.token.get_secret_value()}")
        headers = {"Authorization": token} if token else {}
        posting = Posting(
            url=url, headers=headers, secrets=[self.token] if self.token else (), limits=self.limits
        )
        return post_json(posting, [self.alert(letter, now=now)], now=now)

    def alert(self, letter: Letter, *, now: datetime) -> Mapping[str, object]:
        """Return the alert of a letter, as it is posted at a moment."""
        # A clock that was set back must not put the end before the start.
        start = min(alert_start(letter), now)
        ahead = timedelta(seconds=AHEAD_COUNT * self.renewal.every_seconds)
        annotations = alert_annotations(letter, self.places)
        return {
            "labels": alert_labels(letter),
            "annotations": annotations,
            "startsAt": rfc3339(start),
            "endsAt": rfc3339(now if letter.action == "resolve" else now + ahead),
            "generatorURL": annotations.get("incident_url", ""),
        }
