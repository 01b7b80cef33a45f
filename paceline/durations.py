"""Spans of time as people type them: `30s`, `5m`, `12h`, `7d`."""

import re
from datetime import timedelta
from typing import Final

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


class NoDurationError(ValueError):
    """A text is no span of time."""


def duration_of(text: str) -> timedelta:
    """Return the span of time that a text says; it is above 0.

    Raises:
        NoDurationError: It is no number with one of the units s, m, h, d; or it is 0, or too long.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smhd])", text.strip())
    span = timedelta(**{_UNITS[found[2]]: float(found[1])}) if found else timedelta(0)
    if span <= timedelta(0):
        raise NoDurationError(f"'{text}' is no duration; give one such as 30s, 5m, 12h or 7d")
    return span
