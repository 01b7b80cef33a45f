"""What a letter says: a title without numbers, the page, and where to go on.

Source: reference on page text. The title must not change while an incident lasts, or threads break;
the body is the page of `alerts.pages`; the links lead to the page that stays current.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from alerts.delivery.letters import Action, Letter
from alerts.incidents import Incident
from alerts.pages import page_text
from alerts.wording import flat_text

_BEFORE: Final = timedelta(minutes=30)
"""What a dashboard shows of the time before the onset."""
_SAID: Final[dict[Action, str]] = {
    "trigger": "",
    "acknowledge": "Acknowledged: ",
    "resolve": "Resolved: ",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where people go on from a letter.

    Attributes:
        service_url: Address of our pages; null when they have none that people reach.
        runbooks_url: Where the runbooks are, one a kind of finding; null is with our pages.
    """

    service_url: str | None = None
    runbooks_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Where to go on.

    Attributes:
        text: What is there.
        url: Its address.
    """

    text: str
    url: str


def title_text(letter: Letter) -> str:
    """Return what happened to what, in one line of printable text."""
    title = f"{_SAID[letter.action]}[{letter.incident.severity.upper()}] {letter.incident.title}"
    return flat_text(title)


def body_text(letter: Letter, places: Places) -> str:
    """Return the page and, below it, the links."""
    links = [f"{link.text}: {link.url}\n" for link in links_of(letter.incident, places)]
    return page_text(letter.incident) + "".join(links)


def links_of(incident: Incident, places: Places) -> tuple[Link, ...]:
    """Return where to go on: the incident's page, the runbook, the dashboard at its time."""
    found = (
        ("Incident", _page_url(incident, places)),
        ("Runbook", _runbook_url(incident, places)),
        ("Dashboard", _dashboard_url(incident)),
    )
    return tuple(Link(text=text, url=url) for text, url in found if url)


def _page_url(incident: Incident, places: Places) -> str | None:
    if places.service_url is None:
        return None
    return f"{places.service_url.rstrip('/')}/incidents/{quote(incident.id, safe='')}"


def _runbook_url(incident: Incident, places: Places) -> str | None:
    """Return the runbook of the objective, or else that of the kind of finding."""
    told = [burn.runbook_url for burn in incident.burns if burn.runbook_url]
    kinds = [one.kind for one in (*incident.suspects, *incident.context)]
    base = places.runbooks_url
    if base is None and places.service_url is not None:
        base = f"{places.service_url.rstrip('/')}/runbooks"
    if told or not kinds or base is None:
        return next(iter(told), None)
    return f"{base.rstrip('/')}/{kinds[0]}"


def _dashboard_url(incident: Incident) -> str | None:
    """Return the dashboard of the first burn, at the time of the incident."""
    url = next((burn.dashboard_url for burn in incident.burns if burn.dashboard_url), None)
    start = incident.onset or incident.detected
    if url is None or start is None:
        return url
    end = _milliseconds(incident.cleared + _BEFORE) if incident.cleared else "now"
    parts = urlsplit(url)
    span = {"from": _milliseconds(start - _BEFORE), "to": end}
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name not in span]
    return urlunsplit(parts._replace(query=urlencode([*kept, *span.items()])))


def _milliseconds(time: datetime) -> str:
    return str(round(time.timestamp() * 1000))
