"""Tickets that a page of the same objective covers: one outage wakes and informs once.

Source: Alertmanager's inhibition is decided when a group is sent, so after a start or a reload a
ticket can leave before the page that inhibits it has come (issues 2229 and 4064). We do not rely on
the order: a ticket that was sent a moment too early is marked as covered afterwards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_IDENTITY: Final = frozenset({"alertname", "severity", "long", "short", "tier"})
"""Labels that say which alert of an objective it is, and not what is hurt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAlert:
    """A page or a ticket as it reached us.

    Attributes:
        labels: Its labels; `severity` is `page` or `ticket`, `objective` whose budget burns.
        received: When it came.
        resolved: When it ended; null while it fires.
    """

    labels: Mapping[str, str]
    received: datetime
    resolved: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverParams:
    """When a page covers a ticket.

    Attributes:
        max_late_seconds: How long after the ticket its page may come.
        group_labels: Labels that name the group, as inhibition's `equal` has them: where pages and
            tickets carry routing labels of their own. Null is every label that does not say which
            alert of an objective it is.
    """

    max_late_seconds: float = 60.0
    group_labels: tuple[str, ...] | None = None


def decide_covers(
    alerts: Sequence[SentAlert], params: CoverParams
) -> list[tuple[SentAlert, SentAlert]]:
    """Return the tickets that a page covers, each with its page, by the time of the ticket.

    A page covers the tickets of its objective and group that came while it fired, or at most
    `max_late_seconds` before it. An alert without an objective covers nothing and is covered by
    nothing: two alerts that are only both nameless are not about the same thing.
    """
    pages = [alert for alert in alerts if alert.labels.get("severity") == "page"]
    tickets = [alert for alert in alerts if alert.labels.get("severity") == "ticket"]
    found = [
        (ticket, page) for ticket in tickets for page in _first(_covering(ticket, pages, params))
    ]
    return sorted(found, key=lambda pair: (pair[0].received, sorted(pair[0].labels.items())))


def _covering(
    ticket: SentAlert, pages: Sequence[SentAlert], params: CoverParams
) -> list[SentAlert]:
    """Return the pages that cover a ticket."""
    late = timedelta(seconds=params.max_late_seconds)
    return [
        page
        for page in pages
        if ticket.labels.get("objective")
        and _subject(page.labels, params) == _subject(ticket.labels, params)
        and page.received - ticket.received <= late
        and (page.resolved is None or page.resolved > ticket.received)
    ]


def _first(pages: Sequence[SentAlert]) -> list[SentAlert]:
    """Return the page that came first, if any."""
    return sorted(pages, key=lambda page: (page.received, sorted(page.labels.items())))[:1]


def _subject(labels: Mapping[str, str], params: CoverParams) -> dict[str, str]:
    """Return the labels that say what is hurt; an empty one is as good as none."""
    if params.group_labels is None:
        names = labels.keys() - _IDENTITY
    else:
        names = labels.keys() & {"objective", *params.group_labels}
    return {name: labels[name] for name in names if labels[name]}
