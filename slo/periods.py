"""Lengths of time as people write them in specs, and the period that a budget is for.

Sources: OpenSLO v1, "duration-shorthand" (`m` is minutes, `M` is months) and `timeWindow`;
Prometheus durations (`1h30m`), which Sloth and Pyrra use. A rolling period has a fixed length; a
calendar one begins at local midnight, so a start inside of a month, week or day is refused: the
budget would begin where no calendar does.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from slo.calendars import NOMINAL_DAYS, Calendar, CalendarUnit
from slo.windows import DAY_SECONDS

_UNIT_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}
_CALENDAR_UNITS: Final[dict[str, CalendarUnit]] = {
    "1d": "day",
    "1w": "week",
    "7d": "week",
    "1M": "month",
    "1Q": "quarter",
    "3M": "quarter",
    "1Y": "year",
    "4Q": "year",
    "12M": "year",
}
"""Lengths that are one unit of the calendar."""
_ROLLING: Final = {"M": 30, "Q": 90, "Y": 365}
"""Days that are proposed where a unit of the calendar has no fixed length."""


class PeriodError(ValueError):
    """A length of time or a time window cannot be read, or has no fixed meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What a budget is for.

    Attributes:
        seconds: Its length; for a calendar a nominal one.
        calendar: Which calendar period; null is a rolling one.
    """

    seconds: int
    calendar: Calendar | None = None


def read_seconds(text: str, where: str) -> int:
    """Return a fixed length of time in seconds, from `30d` or `1h30m`.

    Args:
        text: Whole numbers, each with one of s, m, h, d, w, y.
        where: What messages call it.

    Raises:
        PeriodError: It is none, it is 0, or it counts months, quarters or years.
    """
    wanted = f"{where}: wanted a length in m, h, d or w, as in 30d, found {text!r}"
    found = re.fullmatch(r"([0-9]+)([MQY])", text)
    if found:
        days = int(found[1]) * _ROLLING[found[2]]
        raise PeriodError(f"{wanted}, which has no fixed length; write {days}d, or a calendar")
    if not re.fullmatch(r"([0-9]+[smhdwy])+", text):
        raise PeriodError(wanted)
    parts = re.findall(r"([0-9]+)([a-z])", text)
    seconds = sum(int(number) * _UNIT_SECONDS[unit] for number, unit in parts)
    if not seconds:
        raise PeriodError(f"{wanted}, which is no time at all")
    return seconds


def read_wait_seconds(text: str, where: str) -> int:
    """Return a length of time in seconds that may be 0, as in `0m`.

    Raises:
        PeriodError: As `read_seconds`, but for no time at all.
    """
    return 0 if re.fullmatch(r"0[smhdwy]?", text) else read_seconds(text, where)


def rolling_period(text: str, where: str) -> Period:
    """Return the rolling period of a length.

    Raises:
        PeriodError: As `read_seconds`.
    """
    return Period(seconds=read_seconds(text, where))


def calendar_period(duration: str, *, start: str, zone: str, where: str) -> Period:
    """Return the calendar period of a length.

    Args:
        duration: One unit of the calendar: 1d, 1w, 1M, 1Q, 1Y.
        start: Local time at which one period begins, without a zone; empty is not said.
        zone: IANA zone.
        where: What messages call it.

    Raises:
        PeriodError: The length is no unit, or the start no beginning of one.
        CalendarError: Nobody knows the zone.
    """
    unit = _CALENDAR_UNITS.get(duration)
    if unit is None:
        hint = "; m is minutes and M is months" if duration.endswith("m") else ""
        raise PeriodError(
            f"{where}: wanted one unit of the calendar, of {', '.join(_CALENDAR_UNITS)}, found "
            f"{duration!r}{hint}"
        )
    calendar = Calendar(unit=unit, zone=zone)
    if start:
        _refuse_inside(start, calendar, where)
    return Period(seconds=NOMINAL_DAYS[unit] * DAY_SECONDS, calendar=calendar)


def _refuse_inside(start: str, calendar: Calendar, where: str) -> None:
    """Refuse a start that lies inside a unit, since periods begin where the calendar's do."""
    try:
        time = datetime.fromisoformat(start)
        local = time if time.tzinfo is None else time.astimezone(calendar.zone_info)
    except (ValueError, OverflowError) as error:
        raise PeriodError(
            f"{where}: wanted startTime as in 2026-01-01 00:00:00, found {start!r}"
        ) from error
    is_midnight = (local.hour, local.minute, local.second, local.microsecond) == (0, 0, 0, 0)
    begins = {
        "day": True,
        "week": local.weekday() == 0,
        "month": local.day == 1,
        "quarter": local.day == 1 and local.month % 3 == 1,
        "year": (local.month, local.day) == (1, 1),
    }[calendar.unit]
    if not (is_midnight and begins):
        raise PeriodError(
            f"{where}: a calendar {calendar.unit} begins at midnight of its first day "
            f"({calendar.zone}), found startTime {start!r}; write that midnight, or a rolling "
            "window"
        )
