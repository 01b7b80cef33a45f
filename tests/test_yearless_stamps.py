"""Tests of stamps without a year: New Year, disorder, the hour that occurs twice."""

from datetime import UTC, datetime
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.sniffing import ReadOptions
from collectors.texts.yearless_stamps import YearWalk, walk_years, yearless_times

BERLIN = "Europe/Berlin"


def series(*stamps: str) -> pl.Series:
    """A column of texts."""
    return pl.Series(list(stamps), dtype=pl.String)


def told(times: pl.Series) -> list[str | None]:
    """Times as short text, for reading by eye."""
    return [None if one is None else one.strftime("%y-%m-%d %H:%M:%S") for one in times]


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        pytest.param(
            ["Dec 31 23:59:59 a", "Jan  1 00:00:01 a"],
            ["25-12-31 23:59:59", "26-01-01 00:00:01"],
            id="December before January is the year before that of the end",
        ),
        pytest.param(
            ["Dec 31 23:59:59", "Jan  1 00:00:01", "Dec 31 23:59:59", "Jan  1 00:00:02"],
            ["25-12-31 23:59:59", "26-01-01 00:00:01", "25-12-31 23:59:59", "26-01-01 00:00:02"],
            id="disorder over New Year counts it once",
        ),
        pytest.param(
            ["Mar  2 00:00:00", "Mar  1 23:59:59", "Feb 28 01:00:00", "Mar  3 00:00:00"],
            ["26-03-02 00:00:00", "26-03-01 23:59:59", "26-02-28 01:00:00", "26-03-03 00:00:00"],
            id="days of disorder are no New Year",
        ),
        pytest.param(
            ["Oct  3 00:00:00", "Feb  1 00:00:00", "Nov  9 00:00:00", "Mar  1 00:00:00"],
            ["24-10-03 00:00:00", "25-02-01 00:00:00", "25-11-09 00:00:00", "26-03-01 00:00:00"],
            id="a log of years walks back over each of them",
        ),
        pytest.param(
            ["2031 Mar  9 04:11:07.048421 leaf", "Mar 09 04:11:08 113204 [7F21A700]", "no stamp"],
            ["31-03-09 04:11:07", "26-03-09 04:11:08", None],
            id="a year in front is believed, and a line without a stamp has no time",
        ),
        pytest.param(
            ["Feb 29 00:00:00", "Feb 30 00:00:00", "Mar  1 24:61:00", "Jan  0 00:00:00"],
            [None, None, None, None],
            id="days and hours that do not exist are no time",
        ),
    ],
)
def test_years(stamps: list[str], expected: list[str | None]) -> None:
    """The given year is that of the newest stamp; the others are found by walking back."""
    assert told(yearless_times(series(*stamps), ReadOptions(year=2026))) == expected


def test_fractions() -> None:
    """Fractions stand after a dot or comma, or are OpenSM's microseconds."""
    stamps = series("Mar  9 04:11:07.04 a", "Mar 9 04:11:07,000001 a", "Mar 09 04:11:07 113204 [")

    micros = yearless_times(stamps, ReadOptions(year=2026)).dt.microsecond().to_list()

    assert micros == [40_000, 1, 113_204]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(ReadOptions(), None, id="nobody tells the year"),
        pytest.param(
            ReadOptions(taken=datetime(2026, 1, 2, tzinfo=UTC)),
            "25-12-30 00:00:00",
            id="the file was taken after New Year",
        ),
        pytest.param(
            ReadOptions(taken=datetime(2026, 12, 30, tzinfo=UTC)),
            "26-12-30 00:00:00",
            id="the file was taken on the day",
        ),
    ],
)
def test_year_not_given(options: ReadOptions, expected: str | None) -> None:
    """Without a year, that of the file's taking stands in; without both a time is not known."""
    assert told(yearless_times(series("Dec 30 00:00:00"), options)) == [expected]


def test_no_stamps_at_all() -> None:
    """A column without stamps has no times, and an empty one is empty."""
    options = ReadOptions(year=2026, taken=datetime(2026, 1, 1, tzinfo=UTC))

    assert told(yearless_times(series("a", "b"), options)) == [None, None]
    assert told(yearless_times(series(), ReadOptions(taken=options.taken))) == []
    assert walk_years(series()) == YearWalk()


def test_hour_that_occurs_twice() -> None:
    """The second 02:xx begins where the clock falls; seconds of disorder do not begin it."""
    clocks = ("01:59:00", "02:10:00", "02:50:00", "02:49:59", "02:05:00", "02:55:00", "03:00:01")
    stamps = series(*(f"Oct 25 {clock}" for clock in clocks))

    times = yearless_times(stamps, ReadOptions(year=2026, time_zone=BERLIN))

    assert times.dt.strftime("%H:%M:%S").to_list() == [
        "23:59:00",
        "00:10:00",
        "00:50:00",
        "00:49:59",
        "01:05:00",
        "01:55:00",
        "02:00:01",
    ]


def test_hour_that_does_not_exist() -> None:
    """A stamp inside the hour that spring leaves out is no time."""
    times = yearless_times(series("Mar 29 02:30:00"), ReadOptions(year=2026, time_zone=BERLIN))

    assert told(times) == [None]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    days=st.lists(st.integers(0, 300), min_size=1, max_size=12),
    cuts=st.lists(st.integers(0, 12), max_size=3),
)
def test_blocks(days: list[int], cuts: list[int]) -> None:
    """A log read by blocks has the times of the log read at once."""
    start = pl.datetime(2020, 1, 1, time_unit="us")
    steps = pl.DataFrame({"days": days}).select(start + pl.duration(days=pl.col("days").cum_sum()))
    truth = steps.to_series()
    stamps = truth.dt.strftime("%b %e %H:%M:%S")
    options = ReadOptions(year=truth.dt.year()[-1])
    bounds = sorted({0, len(days), *(min(cut, len(days)) for cut in cuts)})
    blocks = [stamps[a:b] for a, b in pairwise(bounds)]
    end, walk, parts = walk_years(stamps), YearWalk(), list[pl.Series]()
    for block in blocks:
        parts.append(yearless_times(block, options, walk, end))
        walk = walk_years(block, walk)

    assert walk == end
    assert pl.concat(parts).to_list() == truth.dt.replace_time_zone("UTC").to_list()
    assert yearless_times(stamps, options).to_list() == pl.concat(parts).to_list()
