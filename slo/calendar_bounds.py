"""When the calendar period of each time began and ends.

Source: OpenSLO v1, `timeWindow.calendar`; IANA's zones. A period begins at the first moment of its
day in its zone, so that months with a clock change are an hour longer or shorter.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np

from detectors.panels import Ints
from slo.calendars import Calendar, CalendarUnit
from slo.promql import MILLISECONDS

_MONTHS: Final[dict[CalendarUnit, int]] = {"month": 1, "quarter": 3, "year": 12}
_YEAR_MONTHS: Final = 12


def calendar_bounds(calendar: Calendar, at: Ints) -> tuple[Ints, Ints]:
    """Return the first moment of the period of each time, and that of the period after it.

    Args:
        calendar: Unit and zone.
        at: Times in milliseconds since the epoch.

    Returns:
        Two arrays of milliseconds, in the order of the times.
    """
    if not at.size:
        return at, at
    edges = np.array(list(_edges(calendar, int(at.min()), int(at.max()))), dtype=np.int64)
    number = np.searchsorted(edges, at, side="right")
    return edges[number - 1], edges[number]


def _edges(calendar: Calendar, first: int, last: int) -> Iterator[int]:
    """Give where periods begin, from that of the first time to the one after the last time's."""
    day = _first_day(calendar, first)
    while (edge := _midnight(calendar, day)) <= last:
        yield edge
        day = _next_day(calendar.unit, day)
    yield edge


def _first_day(calendar: Calendar, milliseconds: int) -> date:
    """Return the first day of the period that a time lies in."""
    moment = datetime.fromtimestamp(milliseconds / MILLISECONDS, tz=calendar.zone_info)
    day = moment.date()
    if calendar.unit == "day":
        return day
    if calendar.unit == "week":
        return day - timedelta(days=day.weekday())
    months = _MONTHS[calendar.unit]
    return day.replace(month=(day.month - 1) // months * months + 1, day=1)


def _next_day(unit: CalendarUnit, day: date) -> date:
    """Return the first day of the period after the one that begins at a day."""
    if unit in {"day", "week"}:
        return day + timedelta(days=1 if unit == "day" else 7)
    month = day.month - 1 + _MONTHS[unit]
    return date(day.year + month // _YEAR_MONTHS, month % _YEAR_MONTHS + 1, 1)


def _midnight(calendar: Calendar, day: date) -> int:
    """Return when a day begins; where clocks skip midnight, that is when they do so."""
    local = datetime(day.year, day.month, day.day, tzinfo=calendar.zone_info)
    return int(local.astimezone(UTC).timestamp() * MILLISECONDS)
