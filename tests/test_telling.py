"""A scheduler's number of a job and a training's name are one run, where they speak of one."""

from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS, JOBS, STEPS
from collectors.readings import Reading, reading_of
from paceline.naming import Origin, name_runs
from paceline.run_attempts import join_attempts, name_lost_nodes, number_rounds


def job(source: str, run: str, **more: Any) -> dict[str, Any]:
    """Return a row of `JOBS`."""
    return {"source": source, "run": run} | more


def step(source: str, run: str | None = None) -> dict[str, Any]:
    """Return a step of a log."""
    return {"source": source, "run": run, "step": 1}


def named(
    jobs: list[dict[str, Any]],
    steps: list[dict[str, Any]],
    events: list[dict[str, Any]],
    at: dict[str, str],
) -> tuple[list[str], list[str], list[str]]:
    """Return the runs of jobs, steps and events, of sources at `folder/stem` below one root."""
    origins = {
        name: Origin(root="d", folder=f"d/{path.rpartition('/')[0]}", stem=path.rpartition("/")[2])
        for name, path in at.items()
    }
    reading = reading_of(
        jobs=pl.DataFrame(jobs, schema=JOBS),
        steps=pl.DataFrame(steps, schema=STEPS),
        events=pl.DataFrame(events, schema=EVENTS),
    )
    told = name_runs(reading, origins)
    return tuple(told.frame(name)["run"].to_list() for name in ("jobs", "steps", "events"))  # type: ignore[return-value]


TWO_JOBS = [job("s", "77"), job("s", "78")]


@pytest.mark.parametrize(
    ("rows", "places", "expected"),
    [
        pytest.param(
            ([job("s", "77")], [step("l")], []),
            {"s": "a/sacct", "l": "b/train"},
            (["77"], ["77"], []),
            id="the only job below a path is the run of its log",
        ),
        pytest.param(
            (TWO_JOBS, [step("l")], []),
            {"s": "a/sacct", "l": "a/train-78"},
            (["77", "78"], ["78"], []),
            id="of several jobs the one whose number a log's name holds",
        ),
        pytest.param(
            (TWO_JOBS, [step("l")], [{"source": "l", "run": "78", "kind": "job_cancelled"}]),
            {"s": "a/sacct", "l": "a/train"},
            (["77", "78"], ["78"], ["78"]),
            id="of several jobs the one that a line of the log names",
        ),
        pytest.param(
            ([*TWO_JOBS, job("l", "78")], [step("r")], []),
            {"s": "a/sacct", "l": "b/train", "r": "b/steps"},
            (["77", "78", "78"], ["78"], []),
            id="a neighbour in the same folder tells",
        ),
        pytest.param(
            (TWO_JOBS, [step("l")], []),
            {"s": "a/sacct", "l": "llm/train"},
            (["77", "78"], ["llm"], []),
            id="where nobody tells, the folder names the run",
        ),
        pytest.param(
            ([], [step("l"), step("r")], []),
            {"l": "a/slurm-77", "r": "a/rank0"},
            ([], ["77", "77"], []),
            id="the usual name of a job's output tells its number",
        ),
        pytest.param(
            ([job("s", "77")], [step("l", "llm")], [{"source": "k", "kind": "boot"}]),
            {"s": "a/sacct", "l": "a/steps", "k": "a/dmesg"},
            (["llm"], ["llm"], ["llm"]),
            id="the only job and the only training are one run, called as the training is",
        ),
        pytest.param(
            ([job("s", "77"), job("s", "78", name="llm")], [step("l", "llm")], []),
            {"s": "a/sacct", "l": "a/steps"},
            (["77", "llm"], ["llm"], []),
            id="of several jobs the one with the training's name",
        ),
        pytest.param(
            (TWO_JOBS, [step("l", "llm")], []),
            {"s": "a/sacct", "l": "a/steps"},
            (["77", "78"], ["llm"], []),
            id="of several jobs with other names none is guessed",
        ),
        pytest.param(
            ([job("s", "77")], [step("l", "77")], []),
            {"s": "a/sacct", "l": "a/steps"},
            (["77"], ["77"], []),
            id="a training that is called after its job",
        ),
    ],
)
def test_names(
    rows: tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]],
    places: dict[str, str],
    expected: tuple[list[str], list[str], list[str]],
) -> None:
    """Rows of one job and one training have one name."""
    assert named(*rows, places) == expected


def test_attempts_by_time() -> None:
    """What a log tells of a job belongs to the attempt that had begun by then."""
    rows = [
        job("s", "77", attempt=0, state="NODE_FAIL", start=1_000_000, end=2_000_000),
        job("s", "77", attempt=1, state="RUNNING", start=3_000_000),
        job("l", "77", state="NODE_FAIL", end=2_000_001),
        job("l", "77", state="CANCELLED", end=9_000_000),
        job("l", "77", state="CANCELLED", end=500_000),
        job("l", "78", state="CANCELLED", end=2_000_000),
        job("l", "77"),
    ]
    jobs = pl.DataFrame(rows).select(
        pl.col(name).cast(kind) if name in rows[0] else pl.lit(None, kind).alias(name)
        for name, kind in JOBS.items()
    )
    joined = join_attempts(Reading(jobs=jobs)).jobs
    assert joined["attempt"].to_list() == [0, 1, 0, 1, None, None, None]


def lost(host: str | None, minute: int | None, run: str | None = "77") -> dict[str, Any]:
    """Return the loss of a node at a minute."""
    at = None if minute is None else minute * 60_000_000
    return {"kind": "node_failure", "run": run, "host": host, "time": at}


@pytest.mark.parametrize(
    ("rows", "hosts"),
    [
        pytest.param([lost(None, 1), lost("n4", 2)], ["n4", "n4"], id="one node near in time"),
        pytest.param([lost(None, 1), lost("n4", None)], ["n4", "n4"], id="a node without a time"),
        pytest.param([lost(None, 1), lost("n4", 9)], [None, "n4"], id="a node of another hour"),
        pytest.param(
            [lost(None, 1), lost("n4", 1), lost("n5", 1)],
            [None, "n4", "n5"],
            id="of two nodes none is guessed",
        ),
        pytest.param([lost(None, 1), lost("n4", 1, "78")], [None, "n4"], id="another run's node"),
        pytest.param([lost(None, 1)], [None], id="nobody names it"),
    ],
)
def test_nodes_that_accounts_do_not_name(rows: list[dict[str, Any]], hosts: list[str]) -> None:
    """The only node that a run lost by then is the one that its accounts leave out."""
    texts = dict.fromkeys(("kind", "run", "host"), pl.String)
    frame = pl.DataFrame(rows, schema=pl.Schema({**texts, "time": pl.Int64}))
    events = reading_of(events=frame)
    assert name_lost_nodes(events).events["host"].to_list() == hosts


def test_without_rounds_nothing_changes() -> None:
    """A reading without results of rendezvous is handed on as it is."""
    reading = reading_of(jobs=pl.DataFrame([job("s", "77")], schema=JOBS))
    assert number_rounds(reading) is reading
