"""Hours in which tickets wait: by the clock of the people, in a named zone.

Source: IANA time zone database. A night begins and ends by the local clock, so it has 23 or 25
hours twice a year; an hour that the clock skips begins when the clock goes on.
"""

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from alerts.policies.matchers import Rule
from alerts.policies.spans import Clock
from slo.windows import Severity

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_DAYS: Final[tuple[Day, ...]] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MAX_JOINED: Final = 14
"""Stretches of quiet that follow each other: a week of weekends and nights has fewer."""


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise ValueError("wanted an IANA zone such as Europe/Berlin") from error
    return name


class QuietHours(Rule):
    """A stretch of each day in which something waits.

    Attributes:
        zone: IANA zone of the clock.
        begins: When it begins, by that clock.
        ends: When it ends; at or before `begins`, on the next day.
        days: Days on which it begins.
        holds: Severities that wait; a page only when it is named here.
    """

    zone: Annotated[str, AfterValidator(_zone)]
    begins: Annotated[Clock, Field(alias="from")]
    ends: Annotated[Clock, Field(alias="to")]
    days: tuple[Day, ...] = _DAYS
    holds: tuple[Severity, ...] = ("ticket",)

    def until(self, moment: datetime) -> datetime | None:
        """Return when the stretch around a moment ends, in UTC; null outside of any."""
        today = moment.astimezone(ZoneInfo(self.zone)).date()
        spans = (self._span(today - timedelta(days=back)) for back in (1, 0))
        return max((end for start, end in spans if start <= moment < end), default=None)

    def _span(self, day: date) -> tuple[datetime, datetime]:
        """Return the stretch that begins on a day; an empty one when the day has none."""
        start = self._at(day, self.begins)
        if _DAYS[day.weekday()] not in self.days:
            return start, start
        last = day if self.ends > self.begins else day + timedelta(days=1)
        return start, self._at(last, self.ends)

    def _at(self, day: date, clock: time) -> datetime:
        return datetime.combine(day, clock, ZoneInfo(self.zone)).astimezone(UTC)


def quiet_until(
    rules: tuple[QuietHours, ...], severity: Severity, moment: datetime
) -> datetime | None:
    """Return when a message may be sent that comes in quiet hours; null when it may at once.

    Quiet hours that follow each other without a gap are one.
    """
    due = moment
    for _ in range(_MAX_JOINED):
        ends = [rule.until(due) for rule in rules if severity in rule.holds]
        later = max((end for end in ends if end is not None), default=None)
        if later is None:
            break
        due = later
    return None if due == moment else due
