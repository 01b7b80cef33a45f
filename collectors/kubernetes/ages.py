"""Ages as kubectl prints them, `3h5m` or `5m12s (x3 over 10m)`, as moments."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

_PART: Final = r"(\d+)([ydhms])"

_SECONDS: Final = {"y": 31_536_000, "d": 86_400, "h": 3_600, "m": 60, "s": 1}

_SEEN: Final = r"(\S+?)(?: \(x(\d+) over (\S+)\))?$"

_MAX_SECONDS: Final = 10**9
"""An older thing than thirty years is a misprint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """When and how often an event was seen.

    Attributes:
        first: RFC 3339; null if it is not known when the age was printed.
        last: The same.
        count: How often.
    """

    first: str | None
    last: str | None
    count: int


def moment_of(age: str, taken: datetime | None) -> str | None:
    """Return the moment that lies an age back, in RFC 3339.

    Args:
        age: Numbers with their units.
        taken: When it was printed; null: no moment is known.
    """
    parts = re.findall(_PART, age)
    if taken is None or not parts:
        return None
    seconds = sum(int(count[:12]) * _SECONDS[unit] for count, unit in parts)
    return (taken - timedelta(seconds=min(seconds, _MAX_SECONDS))).isoformat()


def seen_of(text: str, taken: datetime | None) -> Seen:
    """Return when an event was seen.

    Args:
        text: The age of the last time, maybe with a count and the age of the first.
        taken: When it was printed.
    """
    found = re.match(_SEEN, text)
    if found is None:
        return Seen(first=None, last=None, count=1)
    last = moment_of(found[1], taken)
    first = moment_of(found[3], taken) if found[3] else last
    return Seen(first=first, last=last, count=int((found[2] or "1")[:9]))
