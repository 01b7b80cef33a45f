"""Tests of what the search for lemons is made of: thresholds, fading, classes of names, stints."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammainc

from collectors.frames import ALIASES, EVENTS, TIME, conform
from detectors.blame import BlameParams
from detectors.class_rates import ClassParams, class_ratios, name_classes
from detectors.decayed_counts import DecayParams, exposures_of, with_weights
from detectors.lemon_params import GateParams, ScoreParams
from detectors.lemon_scores import UNITS, rated
from detectors.lemon_tiers import TierParams
from detectors.node_signals import node_signals
from detectors.part_stints import REPAIRS, part_names, part_stints
from detectors.rate_tests import Counts, believed, ratio_intervals, tail_chances

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda: BlameParams(rounds=0), "rounds 1 or more", id="no round"),
        pytest.param(lambda: BlameParams(max_gap_seconds=-1), "got -1", id="a negative gap"),
        pytest.param(lambda: DecayParams(half_life_days=0), "above 0", id="no half-life"),
        pytest.param(lambda: DecayParams(repaired_weight=2), "between 0 and 1", id="repairs harm"),
        pytest.param(lambda: ClassParams(rounds=0), "rounds 1 or more", id="no round of effects"),
        pytest.param(lambda: GateParams(max_false_share=1), "between 0 and 1", id="all by luck"),
        pytest.param(lambda: TierParams(max_rack_share=0), "above 0", id="no rack"),
    ],
)
def test_refused_thresholds(make: Callable[[], object], words: str) -> None:
    """A threshold that lets everybody through, or nobody, is refused."""
    with pytest.raises(ValueError, match=words):
        make()


def counts(failures: list[float], days: list[float]) -> Counts:
    """Counts that do not fade."""
    return Counts(failures=np.array(failures), days=np.array(days), squared_days=np.array(days))


def test_tail_of_a_large_pool() -> None:
    """Against many failures of others the chance is that of the Poisson."""
    units = counts([0.0, 3.0, 4.5], [20.0, 30.0, 60.0])
    rest = np.full(3, 1e6)
    chances = tail_chances(units, rest * 0.01, rest)

    assert chances == pytest.approx([1.0, gammainc(3.0, 0.3), gammainc(4.5, 0.6)], rel=1e-3)


def test_tail_of_a_small_pool() -> None:
    """Against few failures of others the same count is less surprising than to the Poisson."""
    few = tail_chances(counts([3.0], [30.0]), np.array([0.5]), np.array([50.0]))

    assert few[0] > gammainc(3.0, 0.3)


def test_trimming() -> None:
    """The worst rate counts as the second worst when the rate of a pool is made."""
    kept, _ = believed(counts([0.0, 1.0, 9.0], [10.0, 10.0, 10.0]), top_share=0.02)

    assert kept.tolist() == [0.0, 1.0, 1.0]


def test_intervals_without_failures() -> None:
    """Where nothing failed, everybody is like the pool."""
    calm = counts([0.0, 0.0], [10.0, 20.0])

    assert [one.tolist() for one in ratio_intervals(calm, calm, 0.9)] == [[1.0, 1.0]] * 3


def test_rating_nobody() -> None:
    """No node, no rate."""
    none = UNITS.to_frame()

    assert rated(
        none, none.with_columns(hosts=pl.lit(None, pl.List(pl.String))), ScoreParams()
    ).is_empty()


def repairs(*days_ago: float) -> pl.LazyFrame:
    """Repairs of node `a`."""
    return pl.LazyFrame(
        [{"host": "a", "time": NOON - day * DAY, "what": "repair"} for day in days_ago],
        schema=REPAIRS,
    )


def test_weights() -> None:
    """A failure counts half after a half-life, and a quarter of that for each repair since."""
    rows = pl.LazyFrame(
        {"host": ["a", "a", "b"], "time": [NOON - 90 * DAY, NOON, NOON - 180 * DAY]},
        schema={"host": pl.String, "time": TIME},
    )
    weighted = with_weights(rows, repairs(10.0, 20.0), NOON, DecayParams()).collect()

    assert sorted(weighted["weight"]) == pytest.approx([0.5 / 16, 0.25, 1.0])


@given(st.lists(st.floats(0.1, 99.0), max_size=3), st.floats(1.0, 1e6))
def test_exposure_is_the_sum_of_its_pieces(days_ago: list[float], half_life: float) -> None:
    """Weighted days are what many short pieces, each weighted at its middle, add up to."""
    params = DecayParams(half_life_days=half_life)
    span = pl.LazyFrame(
        {"host": ["a"], "start": [NOON - 100 * DAY], "end": [NOON]},
        schema={"host": pl.String, "start": TIME, "end": TIME},
    )
    middles = pl.LazyFrame(
        {"host": ["a"] * 2000, "time": [NOON - (at + 0.5) / 20 * DAY for at in range(2000)]},
        schema={"host": pl.String, "time": TIME},
    )
    fixed = repairs(*days_ago)
    weights = with_weights(middles, fixed, NOON, params).collect()["weight"]
    whole = exposures_of(span, fixed, NOON, params).collect()

    assert whole.select("days", "squared_days").row(0) == pytest.approx(
        (weights.sum() / 20, (weights * weights).sum() / 20), rel=0.02, abs=0.1
    )


def test_classes_of_names() -> None:
    """Numbers in names are classes where enough nodes share them."""
    hosts = pl.DataFrame({"host": [f"c{at % 4}-{at // 4 % 3}s{at}" for at in range(96)]})
    _, classes = name_classes(hosts, ClassParams())

    assert classes == ["number 1", "number 2"]


def test_ratios_of_classes() -> None:
    """Two classes that each double the rate are told apart, though they overlap."""
    rows = [
        {"cage": cage, "row": row, "failures": 100.0 * (1 + cage) * (1 + row), "days": 1e4}
        for cage, row in ((0, 0), (0, 1), (1, 0), (1, 1))
    ]
    ratios = class_ratios(pl.DataFrame(rows), ["cage", "row"], ClassParams(prior_failures=1e-6))

    assert (ratios / ratios[0]).to_list() == pytest.approx([1.0, 2.0, 2.0, 4.0], rel=1e-3)


def test_ratios_of_a_calm_fleet() -> None:
    """Where nothing failed, no class is worse."""
    rows = pl.DataFrame({"cage": [0, 1], "failures": [0.0, 0.0], "days": [1.0, 2.0]})

    assert class_ratios(rows, ["cage"], ClassParams()).to_list() == [1.0, 1.0]


def events(*rows: dict[str, object]) -> pl.LazyFrame:
    """Events on host `a`, at noon unless they say otherwise."""
    return conform(
        pl.LazyFrame([{"time": NOON, "host": "a", **row} for row in rows], schema_overrides=EVENTS),
        EVENTS,
    )


@pytest.mark.parametrize(
    ("event", "family"),
    [
        pytest.param({"kind": "xid", "code": "79"}, "xid", id="an Xid of hardware"),
        pytest.param({"kind": "xid", "code": "48"}, "memory", id="a double-bit error"),
        pytest.param({"kind": "xid", "code": "31"}, None, id="an Xid of a program"),
        pytest.param(
            {"kind": "xid", "code": "149", "severity": "critical"}, "xid", id="a fatal link error"
        ),
        pytest.param({"kind": "xid", "code": "149", "severity": "low"}, None, id="a link error"),
        pytest.param(
            {"kind": "sxid", "code": "12028", "severity": "critical"}, "xid", id="a switch"
        ),
        pytest.param({"kind": "ecc", "severity": "high"}, "memory", id="uncorrected errors grew"),
        pytest.param({"kind": "memory_error", "severity": "low"}, None, id="a corrected error"),
        pytest.param({"kind": "gpu_health", "severity": "high"}, "health", id="a failed check"),
        pytest.param({"kind": "health_check", "severity": "warning"}, "health", id="a warning"),
        pytest.param({"kind": "pcie_error", "severity": "low"}, None, id="a corrected bus error"),
        pytest.param({"kind": "gpu_lost"}, "service", id="a lost GPU"),
        pytest.param({"kind": "node_failure", "code": "NODE_FAIL"}, "service", id="a lost node"),
        pytest.param(
            {"kind": "node_state", "code": "DOWN+NOT_RESPONDING"}, "service", id="a node down"
        ),
        pytest.param(
            {"kind": "node_state", "code": "IDLE+DRAIN", "message": "kernel upgrade"},
            None,
            id="a planned drain",
        ),
        pytest.param({"kind": "node_state", "code": "IDLE"}, None, id="a node at work"),
        pytest.param({"kind": "xid", "code": "79", "host": None}, None, id="nobody named"),
    ],
)
def test_what_names_a_node(event: dict[str, object], family: str | None) -> None:
    """Faults of hardware name a node, what programs do and people plan does not."""
    told = node_signals(events(event)).collect()["family"].to_list()

    assert told == ([] if family is None else [family])


def test_equal_xids_are_one() -> None:
    """Equal Xids of one GPU within five seconds are one; another GPU's is another."""
    rows = [
        {"kind": "xid", "code": "79", "time": NOON + timedelta(seconds=at), "device": gpu}
        for at, gpu in ((0, "g"), (4, "g"), (8, "g"), (14, "g"), (1, "h"))
    ]
    told = node_signals(events(*({**row, "device_kind": "gpu"} for row in rows))).collect()

    assert told["device"].to_list() == ["g", "h", "g"]


def test_stints() -> None:
    """A part is where it was seen last, until it is removed or seen elsewhere."""
    moves = events(
        {"kind": "xid", "device_kind": "gpu", "device": "3", "time": NOON + DAY},
        {"kind": "part_swap", "device": "GPU-g", "peer": "GPU-h", "time": NOON + 2 * DAY},
        {
            "kind": "xid",
            "device_kind": "gpu",
            "device": "GPU-g",
            "host": "b",
            "time": NOON + 5 * DAY,
        },
        {"kind": "part_removed", "device": "GPU-g", "host": "b", "time": NOON + 6 * DAY},
        {"kind": "part_installed", "device": "GPU-g", "host": "b", "time": NOON + 7 * DAY},
    )
    alias = {"time": NOON, "host": "a", "device_kind": "gpu", "device": "GPU-g"}
    names = part_names(
        conform(
            pl.LazyFrame(
                [{**alias, "alias_kind": "index", "alias": "3"}], schema_overrides=ALIASES
            ),
            ALIASES,
        )
    )
    stints = part_stints(moves, names, NOON + 10 * DAY).collect()

    assert stints.rows() == [
        ("GPU-g", "a", None, NOON + 2 * DAY),
        ("GPU-g", "b", NOON + 5 * DAY, NOON + 6 * DAY),
        ("GPU-g", "b", NOON + 7 * DAY, None),
        ("GPU-h", "a", None, None),
    ]
