"""Lengths of time and periods: fixed ones, calendars, and what has no fixed meaning."""

import pytest

from slo.calendars import Calendar, CalendarError
from slo.periods import (
    Period,
    PeriodError,
    calendar_period,
    read_seconds,
    read_wait_seconds,
    rolling_period,
)

DAY = 86400


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("5m", 300, id="m is minutes"),
        pytest.param("2h", 7200, id="hours"),
        pytest.param("30d", 30 * DAY, id="days"),
        pytest.param("4w", 28 * DAY, id="weeks"),
        pytest.param("1h30m", 5400, id="two units, as Prometheus has them"),
        pytest.param("10s", 10, id="seconds"),
        pytest.param("1y", 365 * DAY, id="a year of Prometheus"),
    ],
)
def test_seconds(text: str, expected: int) -> None:
    """A fixed length is a number of seconds."""
    assert read_seconds(text, "x") == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("1M", "no fixed length; write 30d, or a calendar", id="a month"),
        pytest.param("2Q", "no fixed length; write 180d, or a calendar", id="two quarters"),
        pytest.param("1Y", "no fixed length; write 365d, or a calendar", id="a year"),
        pytest.param("0m", "no time at all", id="nothing"),
        pytest.param("30", "as in 30d, found '30'", id="no unit"),
        pytest.param("-1d", "as in 30d, found '-1d'", id="backwards"),
        pytest.param("1.5h", "as in 30d, found '1.5h'", id="a part"),
        pytest.param("", "as in 30d, found ''", id="no text"),
    ],
)
def test_no_seconds(text: str, message: str) -> None:
    """What has no fixed length is refused with what to write."""
    with pytest.raises(PeriodError, match=message):
        read_seconds(text, "x")


@pytest.mark.parametrize(("text", "expected"), [("0m", 0), ("0", 0), ("0s", 0), ("5m", 300)])
def test_wait(text: str, expected: int) -> None:
    """A wait may be none."""
    assert read_wait_seconds(text, "x") == expected


def test_rolling() -> None:
    """A rolling period has no calendar."""
    assert rolling_period("4w", "x") == Period(seconds=28 * DAY)


@pytest.mark.parametrize(
    ("duration", "start", "unit", "days"),
    [
        pytest.param("1d", "2026-03-05 00:00:00", "day", 1, id="any day"),
        pytest.param("1w", "2026-03-02 00:00:00", "week", 7, id="a week from Monday"),
        pytest.param("7d", "2026-03-02", "week", 7, id="seven days are a week"),
        pytest.param("1M", "2026-03-01 00:00:00", "month", 30, id="a month from the first"),
        pytest.param("1Q", "2026-04-01 00:00:00", "quarter", 90, id="a quarter from April"),
        pytest.param("3M", "2026-01-01", "quarter", 90, id="three months are a quarter"),
        pytest.param("1Y", "2026-01-01 00:00:00", "year", 365, id="a year from January"),
        pytest.param("12M", "", "year", 365, id="no start is any"),
        pytest.param("1M", "2026-02-28T23:00:00Z", "month", 30, id="midnight told in UTC"),
    ],
)
def test_calendar(duration: str, start: str, unit: str, days: int) -> None:
    """One unit of the calendar is a period in its zone."""
    found = calendar_period(duration, start=start, zone="Europe/Berlin", where="x")

    assert found.calendar is not None
    assert (found.calendar.unit, found.calendar.zone, found.seconds) == (
        unit,
        "Europe/Berlin",
        days * DAY,
    )


@pytest.mark.parametrize(
    ("duration", "start", "message"),
    [
        pytest.param("1m", "", "found '1m'; m is minutes and M is months", id="m for a month"),
        pytest.param("2M", "", "one unit of the calendar, of 1d", id="two months"),
        pytest.param("30d", "", "found '30d'$", id="thirty days are no unit"),
        pytest.param(
            "1M", "2026-01-21 12:30:00", "a calendar month begins at midnight", id="inside"
        ),
        pytest.param("1M", "2026-01-02", "a calendar month begins", id="the second of a month"),
        pytest.param("1w", "2026-03-03", "a calendar week begins", id="a Tuesday"),
        pytest.param("1Q", "2026-02-01", "a calendar quarter begins", id="February"),
        pytest.param("1Y", "2026-02-01", "a calendar year begins", id="a year from February"),
        pytest.param("1d", "2026-02-01 00:00:01", "a calendar day begins", id="a second late"),
        pytest.param(
            "1M", "soon", "startTime as in 2026-01-01 00:00:00, found 'soon'", id="no time"
        ),
    ],
)
def test_no_calendar(duration: str, start: str, message: str) -> None:
    """A period that no calendar has is refused."""
    with pytest.raises(PeriodError, match=message):
        calendar_period(duration, start=start, zone="Europe/Berlin", where="x")


def test_no_zone() -> None:
    """A zone that nobody knows is refused."""
    with pytest.raises(CalendarError, match="found 'Mars/Base'"):
        calendar_period("1M", start="", zone="Mars/Base", where="x")


def test_units_are_calendars() -> None:
    """A calendar is one that the rest of the package knows."""
    assert calendar_period("1M", start="", zone="UTC", where="x").calendar == Calendar(
        unit="month", zone="UTC"
    )
