"""A group of alerts as people see it: what the notification held, and what it left out.

Source: Alertmanager's `max_alerts`: what exceeds it is never delivered, now or later, and the
message says only how many there were (checked on 0.25). The API v2 (`GET /api/v2/alerts`) knows
them all.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from alerts.notifications import Notification, NotifiedAlert


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupView:
    """The alerts of a group.

    Attributes:
        alerts: Those that are known, by beginning and fingerprint.
        alert_count: How many there are; at least as many as are known.
    """

    alerts: tuple[NotifiedAlert, ...]
    alert_count: int

    @property
    def count_text(self) -> str:
        """How many are shown, as in `3` or `2 of 3`: what is missing is said, never hidden."""
        shown = len(self.alerts)
        return str(shown) if shown == self.alert_count else f"{shown} of {self.alert_count}"


def group_view(
    notification: Notification, listed: Sequence[NotifiedAlert] | None = None
) -> GroupView:
    """Return a group's alerts, with those that a truncated notification left out.

    Args:
        notification: What the webhook was told.
        listed: The group's alerts as the API lists them; null when it was not asked or did not
            answer. What the notification says of an alert wins over the list: it is about now.
    """
    told = {alert.episode_key: alert for alert in notification.alerts}
    for alert in listed or ():
        told.setdefault(alert.episode_key, alert)
    count = len(notification.alerts) + notification.truncated_alerts
    alerts = tuple(sorted(told.values(), key=lambda alert: alert.episode_key[::-1]))
    return GroupView(alerts=alerts, alert_count=max(count, len(alerts)))


def group_filters(notification: Notification) -> list[tuple[str, str]]:
    """Return the query parameters that ask the API for the alerts of a group that are notified.

    What is silenced or inhibited is in no notification either.
    """
    labels = sorted(notification.group_labels.items())
    notified = [("active", "true"), ("silenced", "false"), ("inhibited", "false")]
    return [*notified, ("receiver", f"^{re.escape(notification.receiver)}$"), *_filters(labels)]


def _filters(labels: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Yield a filter a label, with its value quoted."""
    for name, value in labels:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        yield ("filter", f'{name}="{escaped}"')
