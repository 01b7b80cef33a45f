"""What PagerDuty is told about a group of alerts: one incident, from the first alert to the last.

Source: PagerDuty, Events API v2. A later trigger with the same key does not change the text of an
open incident (Alertmanager issue 2874), so the text links to a page that stays current; a resolve
while anything of the group fires would end the incident too early.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from alerts.zoned_times import zoned
from detectors.verdicts import rfc3339

MAX_SUMMARY_LENGTH: Final = 1024
"""Longest summary that the Events API takes, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPage:
    """What a group of alerts is paged with.

    Attributes:
        key: `alerts.notifications.page_key` of the group.
        summary: What is hurt and where, without numbers that change.
        source: Cluster or host that it is about.
        severity: How urgent it is.
        live_url: Page that shows the group as it is now; empty when people reach none.
        start: When the first alert of the group began.
        links: Further addresses, by what is there.
        details: What is known at the first moment, by name.
    """

    key: str
    summary: str
    source: str
    severity: Literal["critical", "error", "warning", "info"]
    live_url: str
    start: datetime
    links: Mapping[str, str] = field(default_factory=dict[str, str])
    details: Mapping[str, str] = field(default_factory=dict[str, str])


def pagerduty_event(
    page: GroupPage, *, open_before: frozenset[str], open_now: frozenset[str], routing_key: str
) -> Mapping[str, object] | None:
    """Return the event that a change in a group calls for, if it calls for any.

    Args:
        page: What the group is paged with.
        open_before: Fingerprints that fired before the change.
        open_now: Fingerprints that fire after it.
        routing_key: Where PagerDuty routes it; the same for trigger and resolve.

    Returns:
        A trigger when the first alert of the group fires, a resolve when the last has ended, null
        while the group only grows or shrinks: its live page shows that.
    """
    if bool(open_before) == bool(open_now):
        return None
    if not open_now:
        return pagerduty_sign(page.key, "resolve", routing_key=routing_key)
    return pagerduty_trigger(page, routing_key=routing_key)


def pagerduty_trigger(page: GroupPage, *, routing_key: str) -> Mapping[str, object]:
    """Return the event that pages someone."""
    links = {"What fires now": page.live_url, **page.links}
    payload = {
        "summary": _shortened(page.summary),
        "source": page.source,
        "severity": page.severity,
        "timestamp": rfc3339(zoned(page.start)),
    }
    return {
        "routing_key": routing_key,
        "dedup_key": page.key,
        "event_action": "trigger",
        "payload": payload | ({"custom_details": page.details} if page.details else {}),
        "links": [{"href": url, "text": text} for text, url in links.items() if url],
    }


def pagerduty_sign(
    key: str, action: Literal["acknowledge", "resolve"], *, routing_key: str
) -> Mapping[str, object]:
    """Return the event that says that someone is at it, or that it is over."""
    return {"routing_key": routing_key, "dedup_key": key, "event_action": action}


def _shortened(summary: str) -> str:
    """Return a summary that the Events API takes."""
    if len(summary) <= MAX_SUMMARY_LENGTH:
        return summary
    return summary[: MAX_SUMMARY_LENGTH - 1] + "…"
