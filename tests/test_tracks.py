"""Series that are searched together give what each gives alone."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.functions import delta, increase, instant, over_time
from slo.promql import Semantics

START = datetime(2026, 1, 5, tzinfo=UTC)
TIMES = pl.Series([START + timedelta(seconds=45 * n) for n in range(12)], dtype=TIME)
Function = Callable[[pl.DataFrame, Semantics], pl.DataFrame]

FUNCTIONS: dict[str, Function] = {
    "increase": lambda s, sem: increase(s, TIMES, range_seconds=120, semantics=sem),
    "delta": lambda s, sem: delta(s, TIMES, range_seconds=200, semantics=sem),
    "instant": lambda s, sem: instant(s, TIMES, semantics=sem, lookback_seconds=60),
    "sum": lambda s, sem: over_time(s, TIMES, "sum", range_seconds=90, semantics=sem),
    "count": lambda s, sem: over_time(s, TIMES, "count", range_seconds=90, semantics=sem),
}


def series(name: str, seconds: list[int], values: list[float | None]) -> pl.DataFrame:
    """One series of values at seconds."""
    times = [START + timedelta(seconds=each) for each in seconds]
    return pl.DataFrame(
        {"n": [name] * len(times), "time": times, "value": values},
        schema={"n": pl.String, "time": TIME, "value": pl.Float64},
    )


# Three ways of being scraped, of which two series may share one or not.
STAMPS = st.sampled_from([list(range(0, 500, 30)), list(range(7, 500, 30)), [100, 160, 290, 300]])
VALUES = st.lists(st.sampled_from([None, 0.0, 1.0, 2.0, 5.5, 100.0]), min_size=17, max_size=17)


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=25)
@given(
    st.lists(st.tuples(STAMPS, VALUES), min_size=1, max_size=5),
    st.sampled_from(Semantics),
    st.integers(0, 99),
)
def test_together(
    name: str, many: list[tuple[list[int], list[float | None]]], semantics: Semantics, seed: int
) -> None:
    """Whatever stamps are shared, and in whatever order rows come, each series keeps its own."""
    frames = [
        series(f"s{number}", stamps, values[: len(stamps)])
        for number, (stamps, values) in enumerate(many)
    ]
    shuffled = pl.concat(frames).sample(fraction=1.0, shuffle=True, seed=seed)

    alone = pl.concat(FUNCTIONS[name](frame, semantics) for frame in frames)

    assert FUNCTIONS[name](shuffled, semantics).equals(alone)
