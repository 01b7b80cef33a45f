"""Calendar periods: months, weeks and the like that begin at local midnight in a named zone.

Source: OpenSLO v1, `timeWindow.calendar` (start time and IANA zone). A period's length varies:
months have 28 to 31 days, and days 23 to 25 hours where clocks change; a budget follows the real
length.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args
from zoneinfo import ZoneInfo, available_timezones

CalendarUnit = Literal["day", "week", "month", "quarter", "year"]

NOMINAL_DAYS: Final[dict[CalendarUnit, int]] = {
    "day": 1,
    "week": 7,
    "month": 30,
    "quarter": 90,
    "year": 365,
}
"""Days that a unit counts for where one length is needed, as for the share of a burn window."""


class CalendarError(ValueError):
    """A calendar period has an unknown unit or zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """A period of the calendar.

    Attributes:
        unit: What it is one of; weeks begin on Monday.
        zone: IANA zone whose midnight it begins at.
    """

    unit: CalendarUnit
    zone: str

    def __post_init__(self) -> None:
        """Refuse a unit or a zone that nobody knows."""
        if self.unit not in get_args(CalendarUnit):
            raise CalendarError(
                f"wanted a calendar of {', '.join(get_args(CalendarUnit))}, found {self.unit!r}"
            )
        if self.zone not in available_timezones():
            raise CalendarError(
                f"wanted an IANA time zone, as in Europe/Berlin or UTC, found {self.zone!r}"
            )

    @property
    def zone_info(self) -> ZoneInfo:
        """The zone, to print times in."""
        return ZoneInfo(self.zone)
