"""Calendar periods begin at local midnight and are as long as they really are."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import cast

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.budgets import budget_left
from slo.calendar_bounds import calendar_bounds
from slo.calendars import Calendar, CalendarError, CalendarUnit
from slo.growth import BurnParams, TotalBasis
from slo.objectives import Method, Objective
from slo.selectors import Selector
from slo.slices import Slices
from slo.windows import RECOMMENDED_WINDOWS

OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=30 * 86400,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=(),
    windows=RECOMMENDED_WINDOWS,
)
MONTH = replace(OBJECTIVE, calendar=Calendar(unit="month", zone="UTC"))
ESTIMATED = BurnParams(total_basis=TotalBasis.ESTIMATED)


def bounds(unit: CalendarUnit, zone: str, *moments: str) -> list[tuple[str, str]]:
    """When the periods of some moments begin and end, in UTC to the minute."""
    at = np.array([round(datetime.fromisoformat(each).timestamp() * 1000) for each in moments])
    edges = calendar_bounds(Calendar(unit=unit, zone=zone), at)
    return [
        (
            datetime.fromtimestamp(start / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%MZ"),
            datetime.fromtimestamp(end / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%MZ"),
        )
        for start, end in zip(*(each.tolist() for each in edges), strict=True)
    ]


@pytest.mark.parametrize(
    ("unit", "zone", "moment", "expected"),
    [
        pytest.param(
            "month",
            "Europe/Berlin",
            "2026-03-10T12:00Z",
            ("2026-02-28T23:00Z", "2026-03-31T22:00Z"),
            id="case 29: a month with a clock change has 743 hours",
        ),
        pytest.param(
            "day",
            "Europe/Berlin",
            "2026-03-29T12:00Z",
            ("2026-03-28T23:00Z", "2026-03-29T22:00Z"),
            id="a day of 23 hours",
        ),
        pytest.param(
            "day",
            "Europe/Berlin",
            "2026-10-25T12:00Z",
            ("2026-10-24T22:00Z", "2026-10-25T23:00Z"),
            id="a day of 25 hours",
        ),
        pytest.param(
            "week",
            "UTC",
            "2026-03-11T00:00Z",
            ("2026-03-09T00:00Z", "2026-03-16T00:00Z"),
            id="weeks begin on Monday",
        ),
        pytest.param(
            "quarter",
            "UTC",
            "2026-12-31T23:59Z",
            ("2026-10-01T00:00Z", "2027-01-01T00:00Z"),
            id="the last quarter ends with the year",
        ),
        pytest.param(
            "year",
            "Asia/Tokyo",
            "2026-01-01T00:00Z",
            ("2025-12-31T15:00Z", "2026-12-31T15:00Z"),
            id="a year is the zone's own",
        ),
        pytest.param(
            "month",
            "UTC",
            "2028-02-29T23:59Z",
            ("2028-02-01T00:00Z", "2028-03-01T00:00Z"),
            id="a leap month",
        ),
        pytest.param(
            "month",
            "America/New_York",
            "2026-04-01T03:59Z",
            ("2026-03-01T05:00Z", "2026-04-01T04:00Z"),
            id="the zone's last minute of a month",
        ),
        pytest.param(
            "day",
            "Africa/Cairo",
            "2026-04-24T12:00Z",
            ("2026-04-23T22:00Z", "2026-04-24T21:00Z"),
            id="a day whose midnight is skipped begins when clocks change",
        ),
        pytest.param(
            "month",
            "UTC",
            "2026-03-01T00:00Z",
            ("2026-03-01T00:00Z", "2026-04-01T00:00Z"),
            id="its first moment is inside",
        ),
    ],
)
def test_bounds(unit: CalendarUnit, zone: str, moment: str, expected: tuple[str, str]) -> None:
    """A period begins at the first moment of its day in its zone."""
    assert bounds(unit, zone, moment) == [expected]


def test_many_times() -> None:
    """Each time has its own period, in the order of the times; no time has none."""
    found = bounds("month", "UTC", "2026-03-31T23:59Z", "2026-01-15T00:00Z", "2026-04-01T00:00Z")

    assert [start for start, _ in found] == [
        "2026-03-01T00:00Z",
        "2026-01-01T00:00Z",
        "2026-04-01T00:00Z",
    ]
    assert bounds("month", "UTC") == []


@given(
    st.sampled_from(["day", "week", "month", "quarter", "year"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Asia/Kolkata"]),
    st.lists(st.integers(10**12, 2 * 10**12), min_size=1, max_size=5),
)
def test_inside(unit: CalendarUnit, zone: str, moments: list[int]) -> None:
    """Every time lies inside its period, and the period's start is its own."""
    calendar = Calendar(unit=unit, zone=zone)
    start, end = calendar_bounds(calendar, np.array(moments))

    assert ((start <= moments) & (moments < end)).all()
    assert calendar_bounds(calendar, start)[0].tolist() == start.tolist()


def at(*moments: str) -> pl.Series:
    """Some times."""
    return pl.Series([datetime.fromisoformat(each) for each in moments], dtype=TIME)


def outage(first: str, minutes: float, *, begin: str, days: int, gap: int = 10) -> pl.DataFrame:
    """A thousand events a minute, all of them bad for a while, scraped every few minutes."""
    start = datetime.fromisoformat(begin)
    offset = (datetime.fromisoformat(first) - start).total_seconds() / 60
    scrapes = [gap * number for number in range(days * 1440 // gap + 1)]
    times = [start + timedelta(minutes=each) for each in scrapes]
    bad = [1000 * min(max(0.0, each - offset), minutes) for each in scrapes]
    return pl.concat(
        pl.DataFrame({"metric": metric, "time": times, "value": values}).cast(
            {"time": TIME, "value": pl.Float64}
        )
        for metric, values in (
            ("bad_total", bad),
            ("all_total", [1000.0 * each for each in scrapes]),
        )
    )


def test_rolling_and_calendar() -> None:
    """Case 27: both budgets are shown with when their period began."""
    series = outage("2026-02-20T12:00Z", 43.2, begin="2026-02-01T00:00Z", days=40)
    found = pl.concat(
        budget_left(series, each, at("2026-03-10T00:00Z"), BurnParams())
        for each in (OBJECTIVE, MONTH)
    )

    assert found.select("period", "period_start", pl.col("budget_left_ratio").round(6)).rows() == [
        ("rolling", datetime(2026, 2, 8, tzinfo=UTC), 0.0),
        ("month UTC", datetime(2026, 3, 1, tzinfo=UTC), 1.0),
    ]


def test_slices_of_a_month() -> None:
    """Case 29: March in Berlin has 44580 minutes, and 44.58 of them may be bad."""
    series = outage("2026-03-03T00:00Z", 30, begin="2026-02-28T22:00Z", days=32, gap=1)
    objective = replace(
        OBJECTIVE,
        calendar=Calendar(unit="month", zone="Europe/Berlin"),
        method=Method.TIMESLICES,
        slices=Slices(target_ratio=Decimal("0.95")),
    )
    found = budget_left(series, objective, at("2026-03-31T21:59Z", "2026-03-15T00:00Z"), ESTIMATED)

    assert found["budget_total"].to_list() == [44580.0, 44580.0]
    assert found.select(pl.col("budget_left_ratio").round(6), "total_basis").unique().rows() == [
        (round(1 - 30 / 44.58, 6), "estimated")
    ]


@pytest.mark.parametrize(
    ("basis", "left", "total"),
    [
        pytest.param(TotalBasis.SO_FAR, -1.0, 21600000.0, id="of what there was so far"),
        pytest.param(TotalBasis.ESTIMATED, 1 - 30 / 31, 44640000.0, id="of the month's estimate"),
    ],
)
def test_basis(basis: TotalBasis, left: float, total: float) -> None:
    """What the budget of an unfinished month is a share of is chosen, and said."""
    series = outage("2026-03-02T00:00Z", 43.2, begin="2026-03-01T00:00Z", days=20)
    found = budget_left(series, MONTH, at("2026-03-16T00:00Z"), BurnParams(total_basis=basis))

    assert found.select("budget_left_ratio", "budget_total", "total_basis").rows() == [
        (pytest.approx(left, abs=1e-9), pytest.approx(total), basis.value)
    ]


def test_first_moment() -> None:
    """At the first moment of a period nothing has happened yet, and there is no row."""
    series = outage("2026-03-02T00:00Z", 1, begin="2026-02-27T00:00Z", days=5)

    assert budget_left(series, MONTH, at("2026-03-01T00:00Z"), ESTIMATED).is_empty()


def test_unknown_unit() -> None:
    """A period that no calendar has is refused with those that one has."""
    with pytest.raises(
        CalendarError, match=r"wanted a calendar of day, week, .*, found 'fortnight'"
    ):
        Calendar(unit=cast("CalendarUnit", "fortnight"), zone="UTC")
