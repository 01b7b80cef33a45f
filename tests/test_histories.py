"""Frames of series as a history: spans, stretches, and the forms that times may have."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from collectors.frames import TIME
from slo.histories import SeriesColumnsError, frame_history

START = datetime(2026, 1, 5, 4, tzinfo=UTC)
SAMPLE = {"metric": ["up_total"], "c": ["a"], "value": [1]}


@pytest.mark.parametrize(
    "time",
    [
        pytest.param(pl.Series([START], dtype=TIME), id="UTC microseconds"),
        pytest.param(pl.Series([datetime(2026, 1, 5, 4)]), id="no zone is UTC"),  # noqa: DTZ001 -- the case
        pytest.param(pl.Series([START]).dt.convert_time_zone("Asia/Tokyo"), id="another zone"),
        pytest.param(pl.Series([START]).dt.cast_time_unit("ms"), id="milliseconds"),
        pytest.param(pl.Series([1767585600]), id="whole seconds since the epoch"),
        pytest.param(pl.Series([1767585600.0]), id="seconds with a fraction"),
        pytest.param(pl.Series([1767585600000]), id="milliseconds since the epoch"),
        pytest.param(pl.Series([1767585600000000]), id="microseconds since the epoch"),
        pytest.param(pl.Series([1767585600000000000]), id="nanoseconds since the epoch"),
        pytest.param(pl.Series(["2026-01-05T04:00:00Z"]), id="RFC 3339 text"),
        pytest.param(pl.Series(["2026-01-05T05:00:00+01:00"]), id="text with another zone"),
    ],
)
def test_times(time: pl.Series) -> None:
    """Every form of a time is the same moment in UTC, and a number is a float."""
    history = frame_history(pl.LazyFrame(SAMPLE | {"time": time}))

    assert history.span() == (START, START)
    assert history.read(START, START + timedelta(seconds=1)).rows() == [
        ("up_total", "a", START, 1.0)
    ]


def test_stretch_is_half_open() -> None:
    """A stretch holds its start and not its end."""
    times = pl.Series([START + timedelta(seconds=n) for n in range(4)], dtype=TIME)
    frame = pl.LazyFrame({"metric": ["m"] * 4, "time": times, "value": [0.0, 1.0, 2.0, 3.0]})
    read = frame_history(frame).read(times[1], times[3])

    assert read["value"].to_list() == [1.0, 2.0]


def test_nothing() -> None:
    """A history without a sample has no span."""
    empty = pl.LazyFrame(schema={"metric": pl.String, "time": TIME, "value": pl.Float64})

    assert frame_history(empty).span() is None


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        pytest.param({"name": ["m"], "time": [1], "value": [1]}, "missing .'metric'", id="renamed"),
        pytest.param({"metric": ["m"], "time": [None], "value": [1]}, "found Null", id="no time"),
    ],
)
def test_refusals(columns: dict[str, list[object]], words: str) -> None:
    """What is no frame of series is refused, and it is said what was found."""
    with pytest.raises(SeriesColumnsError, match=words):
        frame_history(pl.LazyFrame(columns))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        pytest.param({"time": ["yesterday"]}, "could not find an appropriate format", id="a word"),
        pytest.param({"time": ["2026-01-05T04:00:00Z", "soon"]}, "soon", id="a word among times"),
        pytest.param({"value": ["fast"]}, "fast", id="a value that is no number"),
    ],
)
def test_rows_refused(columns: dict[str, list[str]], words: str) -> None:
    """A row that holds no time or no value is refused and never taken for a gap."""
    row = {"metric": "m", "time": "2026-01-05T04:00:00Z", "value": "1"}
    frame = (
        pl.DataFrame(columns)
        .lazy()
        .with_columns(**{name: pl.lit(text) for name, text in row.items() if name not in columns})
    )

    with pytest.raises(SeriesColumnsError, match=words):
        frame_history(frame).read(START, START + timedelta(seconds=1))


def test_empty_label_is_none() -> None:
    """An empty label is as good as none, so that both are one series."""
    labels = {"metric": ["m", "m"], "c": ["", None], "time": [1767585600] * 2, "value": [1, 1]}
    history = frame_history(pl.LazyFrame(labels))

    assert history.read(START, START + timedelta(seconds=1))["c"].to_list() == [None, None]
    assert history.metrics() == ["m"]
