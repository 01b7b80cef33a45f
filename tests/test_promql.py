"""`increase`, `rate` and instant selection agree with Prometheus' own arithmetic."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.functions import delta, increase, instant, over_time, rate
from slo.promql import Semantics, above, subquery_times
from slo.tracks import DuplicateSampleError

START = datetime(2026, 1, 5, tzinfo=UTC)
OLD, NEW = Semantics.PROMETHEUS_2_42, Semantics.PROMETHEUS_3
Points = list[tuple[float, float | None]]


def at(*seconds: float) -> pl.Series:
    """Times after the start."""
    return pl.Series([START + timedelta(seconds=s) for s in seconds], dtype=TIME)


def samples(points: Points, **labels: str) -> pl.DataFrame:
    """One series of (seconds, value)."""
    frame = pl.DataFrame(
        {"time": at(*(s for s, _ in points)), "value": [v for _, v in points]},
        schema={"time": TIME, "value": pl.Float64},
    )
    return frame.with_columns(**{name: pl.lit(text) for name, text in labels.items()})


def every(first: float, gap: float, *values: float) -> Points:
    """Values at a steady gap."""
    return [(first + gap * n, value) for n, value in enumerate(values)]


def grown(points: Points, now: float, range_seconds: int, semantics: Semantics) -> list[float]:
    """The increase of one series at one time: a list of one value, or of none."""
    return increase(samples(points), at(now), range_seconds=range_seconds, semantics=semantics)[
        "value"
    ].to_list()


@pytest.mark.parametrize(
    ("points", "now", "range_seconds", "old", "new"),
    [
        pytest.param(
            every(0, 15, *range(0, 210, 10)), 300, 300, 200.0, 200.0, id="a: aligned to both edges"
        ),
        pytest.param(
            every(7, 15, *range(0, 200, 10)),
            300,
            300,
            195.33333333333334,
            195.33333333333334,
            id="b: off the edges, from zero",
        ),
        pytest.param(
            every(7, 15, 100, 110, 120, *range(3, 173, 10)),
            300,
            300,
            192.6315789473684,
            192.6315789473684,
            id="c: a reset",
        ),
        pytest.param(
            every(200, 15, *range(0, 70, 10)),
            300,
            300,
            66.66666666666667,
            66.66666666666667,
            id="d: born at zero inside the range",
        ),
        pytest.param(
            every(200, 15, *range(40, 110, 10)),
            300,
            300,
            71.66666666666667,
            71.66666666666667,
            id="e: born at forty inside the range",
        ),
        pytest.param(
            every(120, 30, 3, 3, 4, 4, 4, 4),
            280,
            280,
            1.1666666666666667,
            1.1666666666666667,
            id="f: one event",
        ),
        pytest.param(
            every(7, 15, *range(500, 600, 10)),
            300,
            300,
            99.66666666666667,
            99.66666666666667,
            id="g: ends early",
        ),
        pytest.param(
            [(250, 5), (280, 9)], 300, 300, 8.666666666666666, 8.666666666666666, id="h: two"
        ),
        pytest.param(
            every(100, 30, 42, 92, 142, 192),
            300,
            300,
            216.99999999999997,
            200.0,
            id="i: case 39, the clamp moved in 2.51",
        ),
        pytest.param(
            [(0, 0), (100, 7), (200, 7)], 300, 300, 10.5, 0.0, id="j: a sample on the left edge"
        ),
        pytest.param(
            every(180, 240, 180, 420, 660, 900, 1140), 600, 1200, 600.0, 540.0, id="k: longer range"
        ),
        pytest.param(every(180, 240, 5, 5, 5), 600, 1200, 0.0, 0.0, id="l: flat"),
        pytest.param(
            [(10, 1001), (40, 1007), (70, 1013), (100, 1019)],
            120,
            120,
            24.0,
            24.0,
            id="case 41: one replica",
        ),
        pytest.param(
            [(10, 1001), (40, 1007), (41.1, 1000), (70, 1013), (100, 1019)],
            120,
            120,
            1366.6666666666665,
            1366.6666666666665,
            id="case 41: two replicas interleaved",
        ),
    ],
)
def test_increase(points: Points, now: float, range_seconds: int, old: float, new: float) -> None:
    """Each vector gives the value that Prometheus gives, to the last bit."""
    assert (grown(points, now, range_seconds, OLD), grown(points, now, range_seconds, NEW)) == (
        [old],
        [new],
    )


@pytest.mark.parametrize(
    ("semantics", "expected"),
    [
        pytest.param(OLD, 0.6666666666666667, id="closed"),
        pytest.param(NEW, 0.6666666666666666, id="left-open"),
    ],
)
def test_rate(semantics: Semantics, expected: float) -> None:
    """A rate divides the factor, not the result: equal growth differs in the last bit."""
    points = every(0, 15, *range(0, 210, 10))

    found = rate(samples(points), at(300), range_seconds=300, semantics=semantics)

    assert found["value"].to_list() == [expected]


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([], id="no sample"),
        pytest.param([(290, 5.0)], id="one sample"),
        pytest.param([(10, 1.0), (290, 5.0)], id="one sample in the range"),
        pytest.param([(280, None), (290, 5.0)], id="a marker is no sample"),
        pytest.param([(310, 1.0), (320, 2.0)], id="only later samples"),
    ],
)
def test_too_few_samples(points: Points) -> None:
    """Fewer than two samples in the range give no row, not zero."""
    assert grown(points, 300, 200, OLD) == []


def test_left_edge() -> None:
    """A sample exactly one range old counts in 2.x only."""
    points = every(0, 60, 0, 1, 2, 3, 4, 5)
    counts = [
        increase(samples(points), at(300), range_seconds=300, semantics=s)["sample_count"].item()
        for s in (OLD, NEW)
    ]

    assert counts == [6, 5]


def test_not_a_number() -> None:
    """A NaN inside is no reset and hides none; at an end it makes the result NaN."""
    inside = every(0, 60, 0, float("nan"), 2, 3, 4, 5)
    last = every(0, 60, 0, 1, 2, 3, 4, float("nan"))

    assert grown(inside, 300, 300, OLD) == [5.0]
    assert [str(value) for value in grown(last, 300, 300, OLD)] == ["nan"]


def test_markers_inside() -> None:
    """A staleness marker inside a range is skipped; the samples on both sides are joined."""
    points: Points = [(0, 0), (60, 1), (90, None), (120, 2), (180, 3), (240, 4), (300, 5)]

    assert grown(points, 300, 300, OLD) == [5.0]


def test_many_resets() -> None:
    """Each reset adds what was lost, one after the other."""
    points = every(0, 60, 5, 1, 4, 2, 2, 1)

    assert grown(points, 300, 300, OLD) == [(1 - 5) + 5 + 4 + 2]


def test_large_counter_reset() -> None:
    """After a reset from a large value no later window loses digits."""
    points = every(0, 60, 1e9 + 0.1, *(0.1 * n for n in range(1, 11)))

    assert grown(points, 600, 480, OLD) == [pytest.approx(0.8, rel=1e-15)]


def test_series_and_grid() -> None:
    """Each series is followed by its labels at each time; an absent label is a label of its own."""
    both = pl.concat(
        [
            samples(every(0, 60, 0, 1, 2, 3), job="a"),
            samples(every(0, 60, 0, 2, 4, 6)),
        ],
        how="diagonal",
    )

    found = increase(both, at(180, 120), range_seconds=120, semantics=OLD)

    assert found.select("job", "time", "value").rows() == [
        (None, at(120).item(), 4.0),
        (None, at(180).item(), 4.0),
        ("a", at(120).item(), 2.0),
        ("a", at(180).item(), 2.0),
    ]


def test_duplicates() -> None:
    """The same sample twice is one; two values at one time are refused with the way out."""
    twice = pl.concat([samples(every(0, 60, 0, 1, 2))] * 2)
    torn = pl.concat([samples(every(0, 60, 0, 1, 2)), samples([(60, 5)])])

    assert increase(twice, at(120), range_seconds=120, semantics=OLD)["value"].to_list() == [2.0]
    with pytest.raises(DuplicateSampleError, match="merge replicas first"):
        increase(torn, at(120), range_seconds=120, semantics=OLD)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        pytest.param(every(0, 30, 10, 20, 1, 5), 0, id="a restart"),
        pytest.param(every(0, 30, 1000, 1006, 1001, 1012), 1, id="case 41: a second replica"),
        pytest.param(every(0, 30, 1000, 1006, 1012, 1001), 1, id="a dip that is the newest sample"),
        pytest.param(every(0, 30, 10, 20, 15, 18), 0, id="a dip that does not come back"),
    ],
)
def test_overlap(points: Points, expected: int) -> None:
    """A small dip that is back at once looks like two replicas, and not like a restart."""
    found = increase(samples(points), at(90), range_seconds=90, semantics=OLD)

    assert found["overlap_count"].to_list() == [expected]


@pytest.mark.parametrize(
    ("points", "now", "old", "new"),
    [
        pytest.param([(0, 1)], 300, [1.0], [], id="exactly the lookback old counts in 2.x only"),
        pytest.param([(0, 1)], 299, [1.0], [1.0], id="a plain gap is bridged"),
        pytest.param([(0, 1)], 301, [], [], id="an old sample is gone"),
        pytest.param([(0, 1), (60, None)], 61, [], [], id="a marker ends the series at once"),
        pytest.param([(0, 1), (60, None), (90, 2)], 91, [2.0], [2.0], id="and it may come back"),
        pytest.param([(60, 1)], 30, [], [], id="nothing before the first sample"),
    ],
)
def test_instant(points: Points, now: float, old: list[float], new: list[float]) -> None:
    """An instant value is the newest sample within the lookback, unless a marker is newer."""
    found = [instant(samples(points), at(now), semantics=s)["value"].to_list() for s in (OLD, NEW)]

    assert found == [old, new]


def test_above() -> None:
    """Case 9: NaN never fires and null is no row, as PromQL has it and Polars has not."""
    ratios = pl.DataFrame({"e": [float("nan"), 0.02, 0.001, float("inf"), None]})

    fires = ratios.drop_nulls().select(above(pl.col("e"), 0.0144))

    assert fires["e"].to_list() == [False, True, False, True]


@given(
    st.lists(st.integers(0, 50), min_size=2, max_size=30),
    st.integers(1, 40),
    st.integers(0, 1000),
    st.sampled_from(Semantics),
)
def test_row_order(values: list[int], now: int, seed: int, semantics: Semantics) -> None:
    """The order of rows changes nothing."""
    ordered = samples(every(0, 15, *values), job="a")
    shuffled = ordered.sample(fraction=1.0, shuffle=True, seed=seed)

    times = at(now * 15)
    assert increase(ordered, times, range_seconds=120, semantics=semantics).equals(
        increase(shuffled, times, range_seconds=120, semantics=semantics)
    )


@given(st.lists(st.integers(0, 50), min_size=2, max_size=30), st.sampled_from(Semantics))
def test_never_less_than_seen(values: list[int], semantics: Semantics) -> None:
    """Raw growth is never negative, and never less than what was seen."""
    seen = sum(max(0, b - a) for a, b in pairwise(values))
    last = 15 * (len(values) - 1)

    (found,) = grown(every(1, 15, *values), last + 1, last + 2, semantics)

    assert found >= seen - 1e-9


@pytest.mark.parametrize("semantics", Semantics)
def test_no_times(semantics: Semantics) -> None:
    """Without evaluations there are no rows."""
    points = every(0, 60, 0, 1, 2)

    assert increase(samples(points), at(), range_seconds=60, semantics=semantics).is_empty()
    assert instant(samples(points), at(), semantics=semantics).is_empty()


@pytest.mark.parametrize(
    ("seconds", "old", "new"),
    [
        pytest.param(300, 6, 5, id="at a full minute"),
        pytest.param(330, 5, 5, id="half a minute later"),
    ],
)
def test_subquery_times(seconds: float, old: int, new: int) -> None:
    """Steps lie on absolute multiples; the left edge is inside in 2.x only."""
    found = [
        subquery_times(at(seconds), range_seconds=300, step_seconds=60, semantics=semantics)
        for semantics in (OLD, NEW)
    ]

    assert [frame.height for frame in found] == [old, new]
    assert found[0]["inner_time"].dt.second().unique().to_list() == [0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([3, 1, 2], -1.25, id="down is down, and extrapolated"),
        pytest.param([1, 1, 1], 0.0, id="flat"),
    ],
)
def test_delta(values: list[float], expected: float) -> None:
    """A gauge that falls is no counter that was reset."""
    found = delta(samples(every(15, 60, *values)), at(150), range_seconds=150, semantics=OLD)

    assert found["value"].to_list() == [pytest.approx(expected)]


def test_poisoned() -> None:
    """One NaN or infinity poisons sums until it has left the range; opposite ones give NaN."""
    inf = float("inf")
    points = every(0, 60, 1, float("nan"), 2, inf, 3, -inf, 4, -inf, inf, 5)
    found = over_time(
        samples(points),
        at(60, 120, 240, 360, 540),
        "sum",
        range_seconds=90,
        semantics=NEW,
    )

    assert [str(value) for value in found["value"]] == ["nan", "nan", "inf", "-inf", "inf"]


def test_sums_keep_digits() -> None:
    """Small samples keep their digits beside large ones that came before."""
    points = every(0, 60, *[1e9 + 0.1] * 50, *[0.001] * 5)
    found = over_time(samples(points), at(54 * 60), "avg", range_seconds=240, semantics=OLD)

    assert found["value"].to_list() == [pytest.approx(0.001, rel=1e-9)]


@pytest.mark.parametrize("semantics", Semantics)
@given(
    lost=st.lists(st.floats(0.1, 1e9), min_size=1, max_size=4),
    whole=st.booleans(),
)
def test_restored_by_hand(semantics: Semantics, lost: list[float], whole: bool) -> None:
    """What resets lost is added in order, whole numbers and others alike."""
    tops = [float(round(each)) if whole else each for each in lost]
    values = [value for top in tops for value in (0.0, top)] + [0.0, 1.0]
    points = every(0, 60, *values)
    last = 60.0 * (len(values) - 1)

    found = delta(samples(points), at(last), range_seconds=int(last) + 1, semantics=semantics)
    grew = increase(samples(points), at(last), range_seconds=int(last) + 1, semantics=semantics)

    raw = values[-1] - values[0]
    for earlier, later in pairwise(values):
        raw += earlier if later < earlier else 0.0
    assert found["value"].item() == pytest.approx(values[-1], rel=0.1)
    assert grew["value"].item() == raw
