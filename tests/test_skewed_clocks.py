"""Hosts that leave steps early or late by the same time for a while have a clock that was set."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.frames import STEPS, TIME, SchemaError, conform
from detectors.skewed_clocks import ClockParams, find_skewed_clocks

START = datetime(2026, 1, 5, tzinfo=UTC)
HOSTS, COUNT = 6, 200


def steps(offsets: dict[int, Any], *, jitter: float = 0.001, hosts: int = HOSTS) -> pl.DataFrame:
    """Two ranks a host, a step a second; offsets of hosts in seconds, one or one a step."""
    rng = np.random.default_rng(3)
    ends = np.arange(1, COUNT + 1) + jitter * rng.standard_normal((2 * hosts, COUNT))
    for host, offset in offsets.items():
        ends[2 * host : 2 * host + 2] += offset
    first = int(START.timestamp() * 1e6)
    frame = pl.LazyFrame(
        {
            "run": "r",
            "attempt": 0,
            "rank": np.repeat(np.arange(2 * hosts), COUNT),
            "host": np.repeat([f"n{at // 2}" for at in range(2 * hosts)], COUNT),
            "step": np.tile(np.arange(1, COUNT + 1), 2 * hosts),
            "end_time": pl.Series(first + (ends.ravel() * 1e6).astype(np.int64)).cast(TIME),
        }
    )
    return conform(frame, STEPS).collect()


def told(frame: pl.DataFrame) -> list[tuple[str, str, int | None, int | None]]:
    """Host, what is said, and the steps of each finding."""
    rows = find_skewed_clocks(frame.lazy(), ClockParams()).to_dicts()
    assert {(row["kind"], row["level"], row["cause"]) for row in rows} <= {
        ("config_drift", "host", "clock_skew")
    }
    return [
        (
            row["subject"]["host"],
            row["evidence"][0]["what"].split(" the other")[0],
            row["onset_step"],
            row["cleared_step"],
        )
        for row in rows
    ]


SET_BACK = np.where(np.arange(COUNT) < 150, 0.4, 0.0)
RANDOM = np.random.default_rng(5).uniform(0.0, 1.0, COUNT)
AHEAD, BEHIND = "the clock is 400 ms ahead of", "the clock is 120 ms behind"


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        pytest.param({}, [], id="clocks agree"),
        pytest.param({3: 0.4}, [], id="ahead all the time is no event"),
        pytest.param({3: SET_BACK}, [("n3", AHEAD, None, 151)], id="ahead until it is set"),
        pytest.param({3: SET_BACK[::-1]}, [("n3", AHEAD, 51, None)], id="ahead from some step on"),
        pytest.param(
            {1: -0.3 * SET_BACK, 3: SET_BACK},
            [("n1", BEHIND, None, 151), ("n3", AHEAD, None, 151)],
            id="two",
        ),
        pytest.param({3: 0.02}, [], id="as good as NTP is"),
        pytest.param({3: RANDOM}, [], id="late by another time in each step is no clock"),
        pytest.param(
            {0: 0.3, 1: -0.3, 2: 0.2, 3: SET_BACK}, [], id="where most differ nobody is right"
        ),
    ],
)
def test_clocks(offsets: dict[int, Any], expected: list[tuple[object, ...]]) -> None:
    """A host is named whose offset is large against the others' and the same in each step."""
    assert told(steps(offsets)) == expected


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(steps({1: SET_BACK}, hosts=2), id="of two hosts nobody can say which"),
        pytest.param(steps({1: SET_BACK}).filter(pl.col("step") < 15), id="too few steps"),
        pytest.param(
            steps({1: SET_BACK}).with_columns(host=pl.lit(None, pl.String)), id="hosts are not told"
        ),
        pytest.param(
            steps({1: SET_BACK}).with_columns(end_time=pl.lit(None, TIME)), id="times are not told"
        ),
    ],
)
def test_nothing_to_tell(frame: pl.DataFrame) -> None:
    """Where clocks cannot be compared nothing is said."""
    assert told(frame) == []


@given(st.integers(0, 99), st.integers(1, 2), st.integers(-9, 9))
def test_properties(seed: int, copies: int, hours: int) -> None:
    """Row order, duplicates and the hour of the day change nothing."""
    rows = steps({3: SET_BACK}).sample(fraction=1.0, shuffle=True, seed=seed)
    rows = pl.concat([rows] * copies).with_columns(pl.col("end_time") + timedelta(hours=hours))

    assert told(rows) == [("n3", AHEAD, None, 151)]


def test_a_stricter_threshold() -> None:
    """A larger least offset finds less."""
    params = ClockParams(min_offset_seconds=0.5)

    assert find_skewed_clocks(steps({3: SET_BACK}).lazy(), params).is_empty()


def test_the_door() -> None:
    """A frame that is no `STEPS` is refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        find_skewed_clocks(pl.LazyFrame({"run": ["r"]}), ClockParams())
