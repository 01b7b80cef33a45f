"""Numbers and times for people: the only place where anything is rounded."""

from datetime import datetime
from math import isfinite
from typing import Final

from slo.windows import DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS

UNKNOWN: Final = "not known"

_FEW: Final = 10.0

_NEARLY_ALL: Final = 99.0


def flat_text(text: str) -> str:
    """Return a text on one line: line breaks and what would upset a terminal become blanks."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


def clock_text(time: datetime | None) -> str:
    """Return a UTC time to the second, as in `2026-01-05 00:35:06 UTC`."""
    return UNKNOWN if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"


def span_text(seconds: float | None) -> str:
    """Return a length of time in its two largest units, as in `3m 26s` or `2h 4m`."""
    if seconds is None:
        return UNKNOWN
    whole = round(seconds)
    if whole < MINUTE_SECONDS:
        return f"{whole}s"
    if whole < HOUR_SECONDS:
        return f"{whole // MINUTE_SECONDS}m {whole % MINUTE_SECONDS}s"
    minutes = round(seconds / MINUTE_SECONDS)
    if minutes < DAY_SECONDS // MINUTE_SECONDS:
        return f"{minutes // 60}h {minutes % 60}m"
    hours = round(seconds / HOUR_SECONDS)
    return f"{hours // 24}d {hours % 24}h"


def percent_text(ratio: float | None) -> str:
    """Return a ratio in percent, with a decimal below ten and where little is missing to all."""
    if ratio is None:
        return UNKNOWN
    percent = 100 * ratio
    if _NEARLY_ALL < percent < 100:  # noqa: PLR2004 -- all
        return f"{min(percent, 99.9):.1f} %"
    return f"{percent:.1f} %" if abs(percent) < _FEW else f"{percent:.0f} %"


def rate_text(rate: float | None) -> str:
    """Return a burn rate or a ratio as a factor, as in `14.4x`."""
    return UNKNOWN if rate is None else f"{rate:.3g}x"


def count_text(count: float | None) -> str:
    """Return a count; growth between scrapes is extrapolated, so a part of an event is rounded.

    A count that is no number is as little known as one that is missing.
    """
    return f"{count:.0f}" if count is not None and isfinite(count) else "?"


def counted_text(count: int, noun: str) -> str:
    """Return how many there are of a thing, as in `1 run` or `1,200 runs`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def amount_text(amount: float | None) -> str:
    """Return an amount with a decimal below ten."""
    if amount is None:
        return UNKNOWN
    return f"{amount:.1f}" if amount < _FEW else f"{amount:,.0f}"
