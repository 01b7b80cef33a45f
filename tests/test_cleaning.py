"""What is kept out of the statistics, and what counters tell."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import SAMPLES, STEPS, conform
from detectors.cleaning import CleaningParams, clean_steps, counter_rates, fresh_gauges

START = datetime(2026, 1, 5, tzinfo=UTC)
PARAMS = CleaningParams()


def series(
    values: list[float | None], seconds: list[float] | None = None, **names: str
) -> pl.DataFrame:
    """Samples of one device, 30 s apart."""
    at = seconds or [30.0 * tick for tick in range(len(values))]
    told = {"host": "h", "device_kind": "nic", "device": "d", "signal": "s", "source": "t"} | names
    frame = pl.LazyFrame(
        {"time": [START + timedelta(seconds=one) for one in at], "value": values},
        schema_overrides={"value": pl.Float64},
    )
    return conform(
        frame.with_columns(pl.lit(v).alias(k) for k, v in told.items()), SAMPLES
    ).collect()


def rates(samples: pl.DataFrame) -> list[float | None]:
    """Rates in the order of time."""
    return counter_rates(samples.lazy(), PARAMS).collect()["rate"].to_list()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([0, 30, 90], [1.0, 2.0], id="growth by time"),
        pytest.param([5000000, 12, 42], [None, 1.0], id="a reset is not known, and then forgotten"),
        pytest.param([4294967000, 904], [40.0], id="a 32-bit wrap without a usual rate"),
        pytest.param(
            [9007199250000000, 2995259008], [1e8], id="a 53-bit wrap without a usual rate"
        ),
        pytest.param(
            [9007199254740992 - 6000, 9007199254740992 - 3000, 0 + 300],
            [100.0, 110.0],
            id="a 53-bit wrap at the usual rate",
        ),
        pytest.param([4294960000, 4294960030, 2000000000], [1.0, None], id="no plausible wrap"),
        pytest.param([800000, 0, 860000], [1000.0], id="a zero between growing values is no reset"),
        pytest.param([800000, 0, 300], [None, 10.0], id="a zero that stays low is a reset"),
        pytest.param([0, None, 60, 90], [None, None, 1.0], id="unknown breaks the series"),
        pytest.param([0, float("nan"), 60, 90], [None, None, 1.0], id="NaN is unknown"),
        pytest.param([7], [], id="one reading has no rate"),
    ],
)
def test_counter_rates(values: list[float | None], expected: list[float | None]) -> None:
    """Rates are differences over real time, null where they are not known, never negative."""
    assert rates(series(values)) == pytest.approx(expected)


def test_gap() -> None:
    """Over a gap of more than three usual intervals no rate is known."""
    samples = series([0, 30, 60, 90, 900], [0, 30, 60, 90, 900])

    assert rates(samples) == [1.0, 1.0, 1.0, None]


def test_reset_of_a_sibling() -> None:
    """One counter that falls makes the interval unknown for all counters of the device."""
    both = pl.concat([series([0, 30, 60], signal="a"), series([500, 1, 31], signal="b")])

    assert rates(both) == [None, 1.0, None, 1.0]


@settings(deadline=None)
@given(st.permutations(range(8)), st.integers(1, 2), st.sampled_from([1.0, 1000.0]))
def test_rates_of_shuffled_rows(order: list[int], copies: int, unit: float) -> None:
    """Row order and duplicates change nothing, another unit only the unit."""
    values = [0.0, 30.0, 90.0, 90.0, 10.0, 40.0, 41.0, 100.0]
    rows = series([value * unit for value in values])[order]

    expected = [one if one is None else one * unit for one in rates(series(list(values)))]
    assert rates(pl.concat([rows] * copies)) == pytest.approx(expected)


def moving(count: int) -> list[float | None]:
    """A live gauge."""
    return [float(tick) for tick in range(count)]


@pytest.mark.parametrize(
    ("other", "stale"),
    [
        pytest.param(moving(20), 15, id="it stands still while its sibling moves"),
        pytest.param([5.0] * 20, 0, id="all stand still"),
        pytest.param([*moving(5), *[5.0] * 15], 0, id="the sibling moved only before"),
    ],
)
def test_fresh_gauges(other: list[float | None], stale: int) -> None:
    """A gauge is stale when it alone stands still; stale values are null."""
    frozen = [*moving(5), *[9.0] * 15]
    both = pl.concat([series(frozen, device="a"), series(other, device="b")])
    slow = both.with_columns(
        time=START + (pl.col("time") - START) * (10 if other[-1] == 5.0 else 1)
    )

    found = fresh_gauges(slow.lazy(), PARAMS).collect().filter(pl.col("device") == "a")

    assert int(found["stale"].sum()) == stale
    assert found["value"].null_count() == stale


def steps(count: int, seconds: float = 4.0) -> pl.DataFrame:
    """Steps of one rank."""
    frame = pl.LazyFrame({"step": list(range(count))}, schema={"step": pl.Int64}).with_columns(
        run=pl.lit("r"),
        attempt=0,
        rank=0,
        step_seconds=seconds,
        end_time=START + pl.duration(seconds=pl.col("step") * seconds),
    )
    return conform(frame, STEPS).collect()


@pytest.mark.parametrize(
    ("count", "seconds", "first"),
    [
        pytest.param(1000, 4.0, 76, id="five minutes where steps are short"),
        pytest.param(1000, 60.0, 20, id="twenty steps where they are long"),
        pytest.param(100, 4.0, 10, id="a tenth of a short run"),
    ],
)
def test_warm_up(count: int, seconds: float, first: int) -> None:
    """The first steps of an attempt are left out, never more than a tenth."""
    found = clean_steps(steps(count, seconds).lazy(), PARAMS).collect()

    assert found["step"].min() == pytest.approx(first, abs=1)


def test_steps_without_clock() -> None:
    """Without times the warm-up counts steps alone."""
    frame = steps(1000).with_columns(end_time=pl.lit(None, dtype=STEPS["end_time"]))

    assert clean_steps(frame.lazy(), PARAMS).collect()["step"].min() == 20


def test_repeated_steps() -> None:
    """Of a step reported twice the later report counts, whatever the order of rows."""
    again = steps(100).with_columns(
        step_seconds=pl.lit(9.0), end_time=pl.col("end_time") + pl.duration(hours=1)
    )

    found = clean_steps(pl.concat([again, steps(100)]).lazy(), PARAMS).collect()

    assert found["step_seconds"].unique().to_list() == [9.0]
