"""What ended attempts, what that cost, and which failures made others."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.readings import Reading, reading_of
from slo.failure_costs import CostParams, budget_costs, second_order_share
from slo.failures import CAUSES, FailureParams, budget_failures
from slo.goodput import GoodputParams, budget_goodput
from slo.lives import budget_lives

BEGIN = datetime(2031, 2, 3, tzinfo=UTC)


def at(minutes: float) -> datetime:
    """A moment, in minutes."""
    return BEGIN + timedelta(minutes=minutes)


def job(run: str, start: float, end: float, state: str, **more: Any) -> dict[str, Any]:
    """A row of `JOBS` on 8 GPUs of node n1."""
    told = {"run": run, "attempt": 0, "start": at(start), "end": at(end), "state": state}
    return told | {"hosts": ["n1"], "world": 8} | more


def event(kind: str, minutes: float, **more: Any) -> dict[str, Any]:
    """A row of `EVENTS` of node n1, of no job."""
    return {"kind": kind, "time": at(minutes), "host": "n1", "severity": "critical"} | more


def read(
    jobs: list[dict[str, Any]],
    events: list[dict[str, Any]] | None = None,
    steps: list[dict[str, Any]] | None = None,
) -> Reading:
    """What was read."""
    named = {"jobs": jobs, "events": events or [], "steps": steps or []}
    return reading_of(
        **{
            name: pl.DataFrame(rows, infer_schema_length=None)
            for name, rows in named.items()
            if rows
        }
    )


def costs_of(reading: Reading) -> pl.DataFrame:
    """What failures cost."""
    lives = budget_lives(reading)
    failures = budget_failures(lives, reading.events, FailureParams())
    ledger = budget_goodput(reading, GoodputParams()).ledger
    return budget_costs(failures, lives, ledger, CostParams())


XID = event("xid", 55, code="79", device_kind="gpu", device="gpu 3", message="fell off the bus")


@pytest.mark.parametrize(
    ("state", "events", "expected"),
    [
        pytest.param("NODE_FAIL", [], ("host", None), id="a lost node is the host's fault"),
        pytest.param("FAILED", [], ("unknown", None), id="a failure without a word is unknown"),
        pytest.param("PREEMPTED", [], ("preempted", None), id="a preemption"),
        pytest.param("NODE_FAIL", [XID], ("gpu", "n1"), id="a GPU that fell off is why"),
        pytest.param("FAILED", [XID], ("gpu", "n1"), id="of a failed job too"),
        pytest.param(
            "FAILED",
            [event("traceback", 54, run="a", host=None), XID],
            ("gpu", "n1"),
            id="hardware before the traceback that it makes, whichever comes first",
        ),
        pytest.param(
            "FAILED",
            [XID, event("xid", 58, code="94"), event("net_error", 50)],
            ("gpu_memory", "n1"),
            id="memory before a lost GPU before the network",
        ),
        pytest.param("FAILED", [event("xid", 55, code="74")], ("network", "n1"), id="an NVLink"),
        pytest.param("FAILED", [event("link_down", 55)], ("network", "n1"), id="a link"),
        pytest.param("FAILED", [event("pcie_error", 55)], ("host", "n1"), id="a board"),
        pytest.param(
            "FAILED",
            [event("memory_error", 55, severity="warning")],
            ("unknown", None),
            id="memory that was corrected ends nothing",
        ),
        pytest.param(
            "FAILED",
            [event("storage_stall", 55, peer="nas1", severity="error")],
            ("storage", "n1"),
            id="a server that the host waited for",
        ),
        pytest.param(
            "FAILED",
            [event("traceback", 59, run="a", code="OSError", message="No space left on device")],
            ("storage", "n1"),
            id="a full disk",
        ),
        pytest.param(
            "FAILED",
            [event("traceback", 59, run="a", code="ValueError", message="bad shape")],
            ("software", "n1"),
            id="the program",
        ),
        pytest.param("FAILED", [XID | {"time": at(49)}], ("unknown", None), id="too early"),
        pytest.param("FAILED", [XID | {"time": at(66)}], ("unknown", None), id="too late"),
        pytest.param("FAILED", [XID | {"time": at(64)}], ("gpu", "n1"), id="just after the end"),
        pytest.param("FAILED", [XID | {"host": "n2"}], ("unknown", None), id="another host"),
        pytest.param("FAILED", [XID | {"run": "b"}], ("gpu", "n1"), id="a host's, of any job"),
        pytest.param(
            "FAILED",
            [event("traceback", 59, run="b", code="ValueError", message="bad shape")],
            ("unknown", None),
            id="another job's program",
        ),
        pytest.param(
            "FAILED",
            [XID | {"run": "a", "host": "n2"}],
            ("unknown", None),
            id="a host that the attempt did not run on",
        ),
        pytest.param("FAILED", [XID | {"code": "13"}], ("unknown", None), id="an Xid of programs"),
        pytest.param(
            "FAILED",
            [event("ecc", 55, severity="info")],
            ("unknown", None),
            id="what is only told for information",
        ),
    ],
)
def test_causes(state: str, events: list[dict[str, Any]], expected: tuple[str, str | None]) -> None:
    """Events near the end of an attempt, of its job or its hosts, tell why it ended."""
    reading = read([job("a", 0, 60, state)], events)
    failures = budget_failures(budget_lives(reading), reading.events, FailureParams())

    assert failures.select("cause", "host").rows() == [expected]
    assert expected[0] in CAUSES


@pytest.mark.parametrize("state", ["COMPLETED", "TIMEOUT", "CANCELLED"])
def test_planned_ends(state: str) -> None:
    """What people or plans end is no failure."""
    reading = read([job("a", 0, 60, state)], [XID])

    assert budget_failures(budget_lives(reading), reading.events, FailureParams()).is_empty()


def test_modelled_costs() -> None:
    """Without steps a failure undoes the run time up to half an hour."""
    costs = costs_of(read([job("a", 0, 60, "NODE_FAIL"), job("b", 0, 12, "NODE_FAIL")]))

    assert costs.sort("run").select("lost_seconds", "gpu_hours_lost", "basis").rows() == [
        (1800.0, 4.0, "MODELED"),
        (720.0, 1.6, "MODELED"),
    ]


def steps(run: str, first: int, last: int, begin: float, attempt: int) -> list[dict[str, Any]]:
    """Steps of a minute each."""
    told = {"run": run, "attempt": attempt, "interval_steps": 1, "step_seconds": 60.0}
    return [
        told | {"step": step, "end_time": at(begin + number)}
        for number, step in enumerate(range(first, last + 1), start=1)
    ]


def test_measured_costs() -> None:
    """With steps: the stall, the steps done again, and the way back; waits hold no GPU."""
    reading = read(
        [
            job("a", 0, 60, "NODE_FAIL"),
            job("a", 75, 120, "CANCELLED", attempt=1, submit=at(65)),
            job("a", 130, 200, "COMPLETED", attempt=2),
        ],
        steps=[
            *steps("a", 1, 50, 0, 0),
            *steps("a", 41, 80, 80, 1),
            *steps("a", 81, 140, 140, 2),
        ],
    )
    (cost,) = costs_of(reading).to_dicts()

    assert {name: cost[f"{name}_seconds"] / 60 for name in ("stall", "replay", "down", "init")} == {
        "stall": 10.0,
        "replay": 10.0,
        "down": 5.0,
        "init": 5.0,
    }
    assert (cost["queue_seconds"], cost["lost_seconds"], cost["basis"]) == (600, 2400, "MEASURED")
    assert cost["gpu_hours_lost"] == pytest.approx(30 / 60 * 8)


def test_restarts_that_only_steps_tell() -> None:
    """Without accounts a rollback is an interruption of unknown cause, with its cost."""
    reading = read([], steps=[*steps("a", 1, 50, 0, 0), *steps("a", 41, 80, 60, 1)])
    (cost,) = costs_of(reading).to_dicts()

    assert (cost["ended_by"], cost["cause"], cost["lost_seconds"], cost["gpu_hours_lost"]) == (
        "restart",
        "unknown",
        1200.0,
        None,
    )


LARGE = {"hosts": [f"n{number}" for number in range(1, 22)], "world": 168}


def test_second_order() -> None:
    """Of a composed trace 16 % go to jobs that made room for the restart of a large one."""
    jobs = [
        job("big", 0, 60, "NODE_FAIL", **LARGE),
        job("big", 65, 400, "COMPLETED", attempt=1, **LARGE),
        *(job(f"small-{n}", 20, 64, "PREEMPTED", hosts=[f"n{n}"], world=8) for n in range(1, 5)),
        job("apart", 20, 64, "PREEMPTED", hosts=["x"], world=8),
        job("early", 0, 30, "PREEMPTED", hosts=["n3"], world=8),
        job("late", 20, 90, "PREEMPTED", hosts=["n1"], world=8),
    ]
    costs = costs_of(read(jobs))
    forced = costs.filter(pl.col("forced_by").is_not_null())

    assert forced["run"].sort().to_list() == [f"small-{n}" for n in range(1, 5)]
    assert forced.select("forced_by", "cause").unique().rows() == [("big", "host")]
    assert second_order_share(costs) == pytest.approx(0.16, abs=0.0005)


def test_no_second_order() -> None:
    """Where nothing is lost to infrastructure there is no share; where nobody went it is 0."""
    assert second_order_share(costs_of(read([job("a", 0, 60, "PREEMPTED")]))) is None
    assert second_order_share(costs_of(read([job("a", 0, 60, "NODE_FAIL")]))) == 0.0


def test_hosts_that_nobody_tells() -> None:
    """Where hosts are not told, the times alone say who made room for whom."""
    bare = {"hosts": None}
    jobs = [
        job("big", 0, 60, "NODE_FAIL", **bare),
        job("big", 65, 400, "COMPLETED", attempt=1, **bare),
        job("small", 20, 64, "PREEMPTED", **bare),
    ]

    assert costs_of(read(jobs))["forced_by"].to_list() == [None, "big"]


@settings(max_examples=12)
@given(seed=st.integers(0, 999))
def test_order_and_repetition(seed: int) -> None:
    """Rows in any order, and twice, tell the same failures."""
    whole = read(
        [
            job("big", 0, 60, "NODE_FAIL", **LARGE),
            job("big", 65, 400, "COMPLETED", attempt=1, **LARGE),
            job("small", 20, 64, "PREEMPTED"),
            job("c", 10, 66, "FAILED", hosts=["n9"]),
        ],
        [XID, XID | {"code": "48"}, event("traceback", 65, run="c", host=None)],
        steps("c", 1, 20, 12, 0),
    )
    twice = Reading(
        jobs=pl.concat([whole.jobs] * 2).sample(fraction=1.0, shuffle=True, seed=seed),
        events=pl.concat([whole.events] * 2).sample(fraction=1.0, shuffle=True, seed=seed),
        steps=pl.concat([whole.steps] * 2).sample(fraction=1.0, shuffle=True, seed=seed),
    )

    assert costs_of(twice).equals(costs_of(whole))
