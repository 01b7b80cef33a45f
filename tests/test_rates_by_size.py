"""How often jobs of each size fail, and what follows for their checkpoints and their ETTR."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from slo.failure_rates import failure_rate
from slo.failures import FAILURES
from slo.goodput import GOODPUT
from slo.intervals import budget_ettr, budget_interval
from slo.lives import LIVES
from slo.rates_by_size import FleetRates, RateParams, budget_rates, interruptions_of
from slo.reliability import RunCosts, expected_ettr, failures_per_second

BEGIN = datetime(2031, 2, 3, tzinfo=UTC)


def day(number: float) -> datetime:
    """A moment, in days."""
    return BEGIN + timedelta(days=number)


def life(run: str, nodes: int | None, days: float, start: float = 0.0) -> dict[str, Any]:
    """An attempt."""
    return {"run": run, "nodes": nodes, "start": day(start), "end": day(start + days)}


def failure(run: str, nodes: int | None, time: float, *, ours: bool = True) -> dict[str, Any]:
    """A failure."""
    return {"run": run, "nodes": nodes, "time": day(time), "is_infrastructure": ours}


def lives(*rows: dict[str, Any]) -> pl.DataFrame:
    """`LIVES`."""
    return pl.DataFrame(list(rows), schema=LIVES)


def failures(*rows: dict[str, Any]) -> pl.DataFrame:
    """`FAILURES`."""
    return pl.DataFrame(list(rows), schema=FAILURES)


def rates(**more: Any) -> FleetRates:
    """Rates of two small jobs, one of 128 nodes that failed twice, and one of unknown size."""
    return budget_rates(
        lives(life("a", 1, 3), life("b", 1, 2), life("c", 128, 2.5), life("d", None, 9)),
        failures(failure("c", 128, 1), failure("c", 128, 2), failure("d", None, 3)),
        RateParams(**more),
    )


def test_rates_by_size() -> None:
    """Sizes double; where none failed there is a lower bound only; a projection stands beside."""
    found = rates()
    small, large = found.by_size.to_dicts()

    assert (small["attempts"], small["failures"], small["mttf_hours"], small["max_mttf_hours"]) == (
        *(2, 0),
        *(None, None),
    )
    assert small["min_mttf_hours"] == pytest.approx(5 * 24 / 2.9957, rel=1e-4)
    assert small["projected_hours"] == pytest.approx(24 * 325 / 2)
    assert (large["min_nodes"], large["max_nodes"], large["mean_nodes"]) == (128, 255, 128.0)
    assert large["mttf_hours"] == pytest.approx(30.0)
    assert large["min_mttf_hours"] < 30.0 < large["max_mttf_hours"]
    assert found.unsized == 1


def test_the_rate_of_the_fleet() -> None:
    """Two failures in 325 node-days; only large jobs count where that is asked."""
    found, large = rates().infrastructure, rates(min_nodes=17).infrastructure

    assert (found and (found.count, found.exposure)) == (2, 325.0)
    assert (large and (large.count, large.exposure)) == (2, 320.0)


def test_no_sizes() -> None:
    """Where nothing tells a size there is no rate, and no row."""
    found = budget_rates(lives(life("d", None, 9)), failures(), RateParams())

    assert (found.infrastructure, found.interruptions, found.by_size.height, found.unsized) == (
        *(None, None),
        *(0, 1),
    )


def test_sizes_without_a_projection() -> None:
    """Sizes below those that make the rate are shown, and projected from nothing."""
    found = budget_rates(lives(life("a", 1, 3)), failures(), RateParams(min_nodes=2))

    assert found.by_size.select("attempts", "projected_hours").rows() == [(1, None)]


def test_interruptions() -> None:
    """A program that fails and goes on was interrupted; one that is given up was not."""
    told = failures(failure("a", 1, 1, ours=False), failure("b", 1, 1, ours=False))
    again = lives(life("a", 1, 1), life("a", 1, 2, 1.5), life("b", 1, 1))

    assert interruptions_of(told, again)["run"].to_list() == ["a"]
    assert interruptions_of(failures(failure("b", 1, 1)), again)["run"].to_list() == ["b"]


RSC = failure_rate(65, 10_000.0)
"""6.50 failures in 1000 node-days, well measured."""


def test_interval_of_a_measured_rate() -> None:
    """12,000 GPUs with writes of 5 minutes: 38.4 minutes, and as far as it is known."""
    plan = budget_interval(RSC, 1_500, 300.0)
    young = plan.young_seconds or 0.0

    assert young == pytest.approx(38.43 * 60, rel=1e-3)
    assert plan.daly_seconds == pytest.approx(35.17 * 60, rel=1e-3)
    assert plan.min_young_seconds < young < plan.max_young_seconds
    assert plan.waste(young) == pytest.approx(600 / young)


def test_interval_without_failures() -> None:
    """Where nothing failed only the shortest interval that is worth it is known."""
    plan = budget_interval(failure_rate(0, 300.0), 10, 30.0)

    assert (plan.mttf_seconds, plan.young_seconds, plan.daly_seconds, plan.waste(60.0)) == (
        *(None, None),
        *(None, None),
    )
    assert plan.min_young_seconds == pytest.approx((2 * 30 * 10 * 86400) ** 0.5, rel=2e-3)
    assert plan.max_young_seconds == float("inf")


RUN = {
    "run": "r",
    "productive_seconds": 34_000.0,
    "replay_seconds": 2_000.0,
    "save_count": 10,
    "save_seconds": 100.0,
    "init_seconds": 600.0,
    "down_seconds": 120.0,
    "observed_ettr": 0.9,
}


def ettr(**more: Any) -> dict[str, Any]:
    """What is expected of a run of two attempts on 100 nodes."""
    starts = lives(life("r", 100, 0.2), life("r", 100, 0.2, 0.3))
    rate = more.pop("rate", RSC)
    return budget_ettr(pl.DataFrame([RUN | more], schema=GOODPUT), starts, rate).to_dicts()[0]


def test_expected_beside_observed() -> None:
    """The closed form with the run's own costs, at the rate and at its bounds."""
    found = ettr()
    costs = RunCosts(
        interval_seconds=3600.0, write_seconds=10.0, init_seconds=300.0, queue_seconds=60.0
    )

    assert (found["observed_ettr"], found["need"]) == (0.9, None)
    assert found["expected_ettr"] == pytest.approx(
        expected_ettr(failures_per_second(100, 6.5), costs)
    )
    assert found["min_expected_ettr"] < found["expected_ettr"] < found["max_expected_ettr"]


def test_expected_without_failures() -> None:
    """Where nothing failed the best that can be expected is not known, and the worst is."""
    found = ettr(rate=failure_rate(0, 100.0))

    assert (found["expected_ettr"], found["min_expected_ettr"] < found["max_expected_ettr"]) == (
        None,
        True,
    )


@pytest.mark.parametrize(
    ("missing", "need"),
    [
        pytest.param({"save_count": None}, "saves: events", id="no saves"),
        pytest.param({"save_seconds": None}, "what a save takes", id="saves without a length"),
        pytest.param({"init_seconds": None}, "what a start takes", id="no starts"),
        pytest.param({"down_seconds": None}, "waits", id="no waits"),
        pytest.param({"rate": None}, "a failure rate", id="no rate"),
        pytest.param(
            {"productive_seconds": 0.0, "replay_seconds": 0.0}, "a failure rate", id="no progress"
        ),
    ],
)
def test_what_would_decide(missing: dict[str, Any], need: str) -> None:
    """A cost that is not known leaves the expectation null, and is named."""
    found = ettr(**missing)

    assert (found["expected_ettr"], str(found["need"]).startswith(need)) == (None, True)
