"""Silences as Alertmanager takes them.

Source: Alertmanager API v2, `POST /api/v2/silences`: matchers, times in RFC 3339 with a zone, who
and why. A time without a zone is refused by some versions and silently taken for UTC by others
(0.25 does, checked), so none is ever sent.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from alerts.zoned_times import zoned
from detectors.verdicts import rfc3339


class SilenceError(ValueError):
    """A silence would silence everything, nothing, be refused, or has nobody behind it."""


_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
"""Names of labels that every version takes: 0.25 refuses a whole silence for a dash in one."""


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
        SilenceError: No label is given, or one that has no name of a label; the end does not come
            after the start; or nobody signs.
        ZonelessTimeError: A time is naive.
    """
    starts_at, ends_at = zoned(start), zoned(end)
    _refuse_labels(labels)
    if starts_at >= ends_at:
        raise SilenceError(
            f"wanted an end after the start, found {rfc3339(starts_at)} to {rfc3339(ends_at)}"
        )
    if not author.strip():
        raise SilenceError("wanted an author: somebody answers for the silence")
    matchers = [
        {"name": name, "value": value, "isRegex": False, "isEqual": True}
        for name, value in sorted(labels.items())
    ]
    return {
        "matchers": matchers,
        "startsAt": rfc3339(starts_at),
        "endsAt": rfc3339(ends_at),
        "createdBy": author,
        "comment": comment,
    }


def _refuse_labels(labels: Mapping[str, str]) -> None:
    """Refuse labels that every alert has, or none can have."""
    if not any(labels.values()):
        raise SilenceError("wanted a label to match, found none: it would silence every alert")
    wrong = sorted(name for name in labels if not _LABEL.fullmatch(name))
    if wrong:
        raise SilenceError(
            f"wanted names of labels, of letters, digits and underscores, found {wrong}"
        )
