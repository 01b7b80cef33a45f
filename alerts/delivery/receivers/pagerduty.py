"""PagerDuty, Events API v2.

Source: PagerDuty, "Events API v2": a resolve for a key that it does not know is dropped there, a
trigger after a resolve opens a new alert, and an event takes 512 KB. See `alerts.pagerduty` for the
form of an event.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from pydantic import SecretStr

from alerts.delivery.answers import Answer
from alerts.delivery.http_calls import HttpLimits, refuse_address
from alerts.delivery.letters import Letter, Renewal
from alerts.delivery.posting import Posting, post_json
from alerts.delivery.telling import Places, links_of, title_text
from alerts.pagerduty import GroupPage, pagerduty_sign, pagerduty_trigger
from alerts.pages import page_text
from alerts.titles import subject_text
from slo.windows import Severity

EVENTS_URL: Final = "https://events.pagerduty.com/v2/enqueue"
_URGENCIES: Final[dict[Severity, Literal["critical", "warning"]]] = {
    "page": "critical",
    "ticket": "warning",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerDutyReceiver:
    """A service of PagerDuty.

    Attributes:
        routing_key: Its integration key; must stay the same while an incident is open.
        places: Where people go on.
        url: Where events are taken.
        limits: When to give up.
        min_gap_seconds: Shortest time between two events.
        renewal: Null: PagerDuty remembers.
    """

    routing_key: SecretStr
    places: Places = field(default_factory=Places)
    url: str = EVENTS_URL
    limits: HttpLimits = field(default_factory=HttpLimits)
    min_gap_seconds: float = 0.0
    renewal: Renewal | None = None

    def __post_init__(self) -> None:
        """Refuse an address that nobody can call."""
        refuse_address(self.url)

    def send(self, letter: Letter, *, now: datetime) -> Answer:
        """Send the event of a letter."""
        key = self.routing_key
        posting = Posting(url=SecretStr(self.url), secrets=(key,), limits=self.limits)
        body = pagerduty_body(letter, self.places, routing_key=key.get_secret_value())
        return post_json(posting, body, now=now)


def pagerduty_body(letter: Letter, places: Places, *, routing_key: str) -> Mapping[str, object]:
    """Return the event that a letter calls for."""
    if letter.action != "trigger":
        return pagerduty_sign(letter.dedup_key, letter.action, routing_key=routing_key)
    incident = letter.incident
    page = GroupPage(
        key=letter.dedup_key,
        summary=title_text(letter),
        source=_source(letter),
        severity=_URGENCIES[incident.severity],
        live_url="",
        start=incident.onset or incident.detected or letter.created,
        links={link.text: link.url for link in links_of(incident, places)},
        details={"page": page_text(incident)},
    )
    return pagerduty_trigger(page, routing_key=routing_key)


def _source(letter: Letter) -> str:
    """Return whom it is about: the suspect, else the run."""
    suspects = [subject_text(one) for one in letter.incident.suspects]
    return next(iter(suspects), letter.incident.run or "cluster")
