"""Silences as Alertmanager takes them.

Source: Alertmanager API v2, `POST /api/v2/silences`: matchers, times in RFC 3339 with a zone, who
and why. A time without a zone is refused by some versions and silently taken for UTC by others
(0.25 does, checked), so none is ever sent.
"""

from collections.abc import Mapping
from datetime import datetime

from alerts.zoned_times import zoned


class SilenceError(ValueError):
    """A silence would silence everything, nothing, or has nobody behind it."""


def silence_body(
    labels: Mapping[str, str], *, start: datetime, end: datetime, author: str, comment: str
) -> dict[str, object]:
    """Return the body of a request that silences the alerts with all of the given labels.

    Args:
        labels: Labels and the exact values that an alert must have.
        start: When it begins; aware.
        end: When it ends; aware.
        author: Who asks for it.
        comment: Why.

    Raises:
        SilenceError: No label is given, the end does not come after the start, or nobody signs.
        ZonelessTimeError: A time is naive.
    """
    starts_at, ends_at = zoned(start), zoned(end)
    if not any(labels.values()):
        raise SilenceError("wanted a label to match, found none: it would silence every alert")
    if starts_at >= ends_at:
        raise SilenceError(
            f"wanted an end after the start, found {_text(starts_at)} to {_text(ends_at)}"
        )
    if not author.strip():
        raise SilenceError("wanted an author: somebody answers for the silence")
    matchers = [
        {"name": name, "value": value, "isRegex": False, "isEqual": True}
        for name, value in sorted(labels.items())
    ]
    return {
        "matchers": matchers,
        "startsAt": _text(starts_at),
        "endsAt": _text(ends_at),
        "createdBy": author,
        "comment": comment,
    }


def _text(time: datetime) -> str:
    """Return a time in UTC as RFC 3339 has it."""
    return time.isoformat().replace("+00:00", "Z")
