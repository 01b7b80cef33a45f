"""Where the time of runs went: the worked example, each part, and what holds for any history."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.readings import Reading, reading_of
from slo.goodput import GoodputParams, GoodputReview, budget_goodput
from slo.parts import PARTS
from slo.training import JudgeParams

BEGIN = datetime(2031, 2, 3, tzinfo=UTC)
QUICK = GoodputParams(judge=JudgeParams(warm_up_steps=2, warm_up_seconds=0.0, baseline_steps=3))
"""A pace after five steps."""


def at(seconds: float) -> datetime:
    """A moment of the day of all tests."""
    return BEGIN + timedelta(seconds=seconds)


def report(step: int, end: float, seconds: float | None = 1.0, **more: Any) -> dict[str, Any]:
    """A row of `STEPS` of attempt 0."""
    told = {"run": "r", "attempt": 0, "step": step, "interval_steps": 1, "end_time": at(end)}
    return told | {"step_seconds": seconds, "time_kind": "single_step"} | more


def reports(first: int, last: int, begin: float = 0.0, **more: Any) -> list[dict[str, Any]]:
    """Steps of a second each, one after the other from `begin`."""
    return [
        report(step, begin + number, **more)
        for number, step in enumerate(range(first, last + 1), start=1)
    ]


def attempt(start: float, end: float | None, state: str | None, **more: Any) -> dict[str, Any]:
    """A row of `JOBS`."""
    moments = {"start": at(start), "end": None if end is None else at(end)}
    return {"run": "r", "state": state, "attempt": 0} | moments | more


def mark(kind: str, seconds: float | None, **more: Any) -> dict[str, Any]:
    """A row of `EVENTS`."""
    return {"run": "r", "kind": kind, "time": None if seconds is None else at(seconds)} | more


def history(
    steps: Iterable[dict[str, Any]],
    jobs: Iterable[dict[str, Any]] = (),
    events: Iterable[dict[str, Any]] = (),
) -> Reading:
    """What was read."""
    named = {"steps": list(steps), "jobs": list(jobs), "events": list(events)}
    return reading_of(
        **{
            name: pl.DataFrame(rows, infer_schema_length=None)
            for name, rows in named.items()
            if rows
        }
    )


def parts_of(row: dict[str, Any]) -> dict[str, float]:
    """The parts of a row that are not 0, in seconds."""
    return {part: row[f"{part}_seconds"] for part in PARTS if row[f"{part}_seconds"]}


def parts(reading: Reading, params: GoodputParams = QUICK) -> dict[str, float]:
    """The parts of the only run that are not 0, in seconds; they sum to its wall."""
    (row,) = budget_goodput(reading, params).runs.to_dicts()
    found = parts_of(row)
    assert sum(found.values()) == pytest.approx(row["wall_seconds"], abs=1e-9)
    return found


SAVES = [
    mark("checkpoint_start", 100, code="100"),
    mark("checkpoint", 110, code="100"),
    mark("checkpoint_start", 210, code="200"),
    mark("checkpoint", 220, code="200"),
]
CRASHED = [
    *reports(1, 100),
    *reports(101, 200, 110),
    *reports(201, 250, 220),
    *reports(201, 300, 360, attempt=1),
]
KEPT = {"productive": 300.0, "replay": 50.0, "save": 20.0}
LIVES = [
    attempt(0, 270, "NODE_FAIL", world=8),
    attempt(330, 460, "COMPLETED", attempt=1, world=8),
]


def worked_example() -> GoodputReview:
    """The example of the reference: two saves, a crash after step 250, a resume at 200."""
    return budget_goodput(history(CRASHED, LIVES, SAVES), GoodputParams())


def test_worked_example() -> None:
    """Wall 460 s: 300 productive, 50 lost, 20 saving, 60 down, 30 starting; goodput 300/460."""
    (row,) = worked_example().runs.to_dicts()

    assert (parts_of(row), row["wall_seconds"], row["goodput_ratio"], row["ranks"]) == (
        {"productive": 300.0, "save": 20.0, "replay": 50.0, "down": 60.0, "init": 30.0},
        460.0,
        300 / 460,
        8,
    )
    assert row["gpu_hours_lost"] == pytest.approx(160 * 8 / 3600)
    assert row["observed_ettr"] == 300 / 460


def test_by_attempt() -> None:
    """The steps lost are of the attempt that made them, the restart is of the one that followed."""
    found = worked_example().attempts

    assert [parts_of(row) for row in found.to_dicts()] == [
        {"productive": 200.0, "save": 20.0, "replay": 50.0},
        {"productive": 100.0, "down": 60.0, "init": 30.0},
    ]


def test_what_nothing_could_tell_is_null() -> None:
    """Parts without an input are null, not 0, and it is said which input would tell them."""
    found = worked_example()
    (row,) = found.runs.to_dicts()

    assert {part for part in PARTS if row[f"{part}_seconds"] is None} == {
        *("straggler", "data", "evaluation", "queue", "restore")
    }
    assert [need.split(":")[0] for need in found.needs["need"]] == [
        *("slow steps", "waits for data", "queue from down")
    ]


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        pytest.param(
            history(CRASHED),
            {"productive": 300.0, "replay": 50.0, "down": 90.0, "unknown": 20.0},
            id="steps alone: a restart is one part, and saves are unknown",
        ),
        pytest.param(
            history(CRASHED, events=[*SAVES, mark("run_start", 330)]),
            {"productive": 300.0, "replay": 50.0, "save": 20.0, "down": 60.0, "init": 30.0},
            id="a mark of a start tells down from init",
        ),
        pytest.param(
            history(CRASHED, [attempt(330, None, None, attempt=1)], SAVES),
            {"productive": 300.0, "replay": 50.0, "save": 20.0, "down": 60.0, "init": 30.0},
            id="so does a launcher that tells no end",
        ),
        pytest.param(
            history(CRASHED, [LIVES[0], LIVES[1] | {"submit": at(275)}], SAVES),
            KEPT | {"down": 5.0, "queue": 55.0, "init": 30.0},
            id="from its submission on a job waits",
        ),
        pytest.param(
            history(CRASHED, [LIVES[0] | {"end": at(300)}, LIVES[1]], SAVES),
            KEPT | {"stall": 30.0, "down": 30.0, "init": 30.0},
            id="no step before a failed end is a stall",
        ),
        pytest.param(
            history(CRASHED, [LIVES[0] | {"end": at(300), "state": "TIMEOUT"}, LIVES[1]], SAVES),
            KEPT | {"down": 30.0, "init": 30.0, "unknown": 30.0},
            id="no step before a planned end is nobody's",
        ),
        pytest.param(
            history(
                CRASHED,
                [LIVES[0], attempt(290, 300, "FAILED", attempt=1), LIVES[1]],
                SAVES,
            ),
            KEPT | {"down": 50.0, "init": 40.0},
            id="a start that makes no step is init",
        ),
        pytest.param(
            history(CRASHED, [attempt(0, 460, "COMPLETED")], [*SAVES, mark("run_start", 330)]),
            {"productive": 300.0, "replay": 50.0, "save": 20.0, "down": 60.0, "init": 30.0},
            id="a restart inside of an allocation",
        ),
        pytest.param(
            history(CRASHED, [attempt(0, 460, "COMPLETED")], SAVES),
            {"productive": 300.0, "replay": 50.0, "save": 20.0, "down": 90.0},
            id="the same without a mark of the start",
        ),
        pytest.param(
            history(
                CRASHED,
                LIVES,
                [*SAVES, mark("checkpoint_load_start", 340), mark("checkpoint_load", 352)],
            ),
            KEPT | {"down": 60.0, "init": 18.0, "restore": 12.0},
            id="loading the checkpoint is told from other initialisation",
        ),
    ],
)
def test_restarts(reading: Reading, expected: dict[str, float]) -> None:
    """Between two attempts lie a stall, a time down, a wait, a start, as far as inputs tell."""
    assert parts(reading, GoodputParams()) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("reading", "expected"),
    [
        pytest.param(
            history(
                [report(10, 10, interval_steps=10), report(20, 30, interval_steps=10)],
                events=[mark("checkpoint_start", 14), mark("checkpoint", 24)],
            ),
            {"productive": 20.0, "save": 10.0},
            id="a save inside of an interval whose time leaves it out",
        ),
        pytest.param(
            history(
                [report(10, 10, interval_steps=10), report(20, 30, 2.0, interval_steps=10)],
                events=[mark("checkpoint_start", 14), mark("checkpoint", 24)],
            ),
            {"productive": 20.0, "save": 10.0},
            id="the same of a version whose time counts it in",
        ),
        pytest.param(
            history(
                reports(1, 60),
                events=[
                    mark("checkpoint_start", 30, message="scheduled an async checkpoint save"),
                    mark("checkpoint", 30.8),
                ],
            ),
            {"productive": 60.0},
            id="a save that is said to be asynchronous",
        ),
        pytest.param(
            history(
                reports(1, 60), events=[mark("checkpoint_start", 30), mark("checkpoint", 41.5)]
            ),
            {"productive": 60.0},
            id="a save in which steps end holds nobody up",
        ),
        pytest.param(
            history(
                [*reports(1, 30), *reports(31, 60, 35)],
                events=[
                    mark("checkpoint_start", 10),
                    mark("checkpoint_start", 30),
                    mark("checkpoint", 35),
                ],
            ),
            {"productive": 60.0, "save": 5.0},
            id="a save that never ended costs nothing known",
        ),
        pytest.param(
            history([*reports(1, 30), *reports(31, 60, 35)], events=[mark("checkpoint", 35)]),
            {"productive": 60.0, "save": 5.0},
            id="a gap with nothing but a save in it",
        ),
        pytest.param(
            history([*reports(1, 30), *reports(31, 60, 35)], events=[mark("evaluation", 34)]),
            {"productive": 60.0, "evaluation": 5.0},
            id="a gap with nothing but an evaluation in it",
        ),
        pytest.param(
            history(
                [*reports(1, 30), *reports(31, 60, 35)],
                events=[mark("evaluation", 34), mark("checkpoint", 35)],
            ),
            {"productive": 60.0, "unknown": 5.0},
            id="a gap that both may have made is nobody's",
        ),
        pytest.param(
            history(
                [report(step, step, source="log", position=2 * step) for step in range(1, 31)]
                + [report(31, 36, source="log", position=64)],
                events=[
                    mark("evaluation", None, source="log", position=63),
                    mark("evaluation", None, source="log", position=99),
                ],
            ),
            {"productive": 31.0, "evaluation": 5.0},
            id="a mark without a clock lies before the next report of its log",
        ),
        pytest.param(
            history([*reports(1, 30), report(31, 36, 6.0)], events=[mark("evaluation", 31)]),
            {"productive": 31.0, "evaluation": 5.0},
            id="a step that counts an evaluation in",
        ),
        pytest.param(
            history([*reports(1, 30), report(31, 31, checkpoint_seconds=0.4)]),
            {"productive": 30.6, "save": 0.4},
            id="a checkpoint inside of a step",
        ),
        pytest.param(
            history([*reports(1, 30), report(31, 36, checkpoint_seconds=5.0)]),
            {"productive": 31.0, "save": 5.0},
            id="a checkpoint beside of a step",
        ),
        pytest.param(
            history([*reports(1, 30), report(31, 36, 6.0, checkpoint_seconds=3.0)]),
            {"productive": 31.0, "save": 5.0},
            id="a step that a checkpoint made slow, as far as the slowest rank tells",
        ),
        pytest.param(
            history(
                reports(1, 30),
                events=[mark("checkpoint_start", 30), mark("checkpoint", 37), mark("run_end", 39)],
            ),
            {"productive": 30.0, "save": 7.0, "unknown": 2.0},
            id="a save after the last step, until the log ends",
        ),
        pytest.param(
            history(
                reports(1, 30),
                [attempt(0, 44, "COMPLETED")],
                [mark("checkpoint_start", 30), mark("checkpoint", 37)],
            ),
            {"productive": 30.0, "save": 7.0, "unknown": 7.0},
            id="a save after the last step, until the job ends",
        ),
    ],
)
def test_pauses(reading: Reading, expected: dict[str, float]) -> None:
    """Saves and evaluations are told from steps, wherever the trainer's own time counts them."""
    assert parts(reading) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(
            [*reports(1, 30), report(31, 31.5, 1.5), *reports(32, 40, 31.5)],
            {"productive": 40.0, "straggler": 0.5},
            id="a slow step is productive at its pace, and lost beyond",
        ),
        pytest.param(
            [*reports(1, 30), report(31, 31.05, 1.05), *reports(32, 40, 31.05)],
            {"productive": 40.05},
            id="a step within what it may take is productive",
        ),
        pytest.param(
            [report(1, 8, 8.0), *reports(2, 40, 8.0)],
            {"productive": 40.0, "init": 7.0},
            id="what the first step takes beyond the pace belongs to the start",
        ),
        pytest.param(
            [
                *reports(1, 30, data_seconds=0.1),
                report(31, 34, 4.0, data_seconds=3.1),
                *reports(32, 40, 34, data_seconds=0.1),
            ],
            {"productive": 36.0, "data": 7.0},
            id="waits for data are no work, and explain a slow step",
        ),
        pytest.param(
            [
                report(s, s, data_seconds=0.1 + 0.2 * rank, rank=rank)
                for s in range(1, 31)
                for rank in (0, 1)
            ],
            {"productive": 27.0, "data": 3.0},
            id="only what all ranks waited is the job's",
        ),
        pytest.param(
            [*reports(1, 30), report(31, 40, None), report(32, 41)],
            {"productive": 32.0, "unknown": 9.0},
            id="a report without a time is believed at the pace, and the rest is nobody's",
        ),
        pytest.param(
            [report(s, 2.0 * s, None) for s in range(1, 30)],
            {"unknown": 56.0},
            id="reports without any time tell nothing",
        ),
        pytest.param(
            [report(s, s // 10 * 10, 1.0) for s in range(10, 60)],
            {"productive": 50.0},
            id="a clock that ticks every ten steps",
        ),
        pytest.param(
            [*reports(1, 30), report(31, 30.5, 1.0)],
            {"productive": 30.5},
            id="steps that tell more than the clock are cut to it",
        ),
        pytest.param(
            [*reports(1, 30), report(31, 60, 30.0, time_kind="running_mean_since_start")],
            {"productive": 31.0, "unknown": 29.0},
            id="a mean over the run is no time of a step",
        ),
    ],
)
def test_steps(steps: list[dict[str, Any]], expected: dict[str, float]) -> None:
    """What steps took is productive at the run's pace; beyond that it has a cause or is lost."""
    assert parts(history(steps)) == pytest.approx(expected)


def test_pauses_nobody_told_of() -> None:
    """Single slow steps that come back like clockwork are pauses: of whom, nobody tells."""
    steps: list[dict[str, Any]] = []
    end = 0.0
    for step in range(1, 131):
        seconds = 6.0 if step % 25 == 0 else 1.0
        end += seconds
        steps.append(report(step, end, seconds))

    assert parts(history(steps)) == {"productive": 130.0, "straggler": 10.0, "unknown": 15.0}


def test_marks_in_every_window_explain_no_slow_step() -> None:
    """Where each interval ends in an evaluation, a slow interval is not excused by it."""
    ends = [1.0 * step for step in range(1, 31)] + [30 + 2.0 * step for step in range(1, 11)]
    steps = [
        report(n, end, end - begin) for n, (begin, end) in enumerate(pairwise([0.0, *ends]), 1)
    ]
    events = [mark("evaluation", end - 0.1) for end in ends]

    assert parts(history(steps, events=events)) == {"productive": 40.0, "straggler": 10.0}


def test_accounts_alone() -> None:
    """Without steps nothing is productive: waits are known, and the rest is unknown."""
    jobs = [
        attempt(60, 100, "NODE_FAIL", submit=at(0)),
        attempt(130, None, "RUNNING", attempt=1, submit=at(110), elapsed_seconds=40.0),
    ]
    review = budget_goodput(history([], jobs), GoodputParams())
    (row,) = review.runs.to_dicts()

    assert (parts_of(row), row["goodput_ratio"], row["gpu_hours_lost"]) == (
        {"down": 10.0, "queue": 80.0, "unknown": 80.0},
        None,
        None,
    )
    assert review.needs["need"][0] == "progress: step reports with times would tell it"


def test_runs_without_a_clock() -> None:
    """A run of which no moment is known has no wall, and is named."""
    steps = [report(1, 0) | {"end_time": None, "run": name} for name in ("b", None)]
    review = budget_goodput(history([*steps, *reports(1, 30, run="a")]), QUICK)

    assert (review.runs["run"].to_list(), review.undated) == (["a"], (None, "b"))


def test_a_run_without_a_name() -> None:
    """Steps of which nothing names the run are accounted for like any others."""
    review = budget_goodput(history([row | {"run": None} for row in reports(1, 30)]), QUICK)

    assert review.runs.select("run", "productive_seconds").rows() == [(None, 30.0)]


def test_nothing() -> None:
    """Of nothing nothing is told."""
    review = budget_goodput(Reading(), GoodputParams())

    assert (review.runs.height, review.attempts.height, review.undated) == (0, 0, ())


def test_an_end_before_its_start() -> None:
    """An attempt that ends before it begins has no life."""
    jobs = [attempt(50, 40, "FAILED"), attempt(0, 30, "COMPLETED", attempt=1)]

    assert parts(history(reports(1, 30), jobs)) == {"productive": 30.0, "down": 20.0}


FEW = settings(max_examples=12)
"""Each example is an accounting of its own."""

SECONDS = st.floats(0.5, 3.0).map(lambda value: round(value, 3))
LENGTHS = st.lists(st.tuples(SECONDS, st.sampled_from([0.0, 0.0, 4.0])), min_size=1, max_size=40)


def composed(attempts: list[list[tuple[float, float]]], rollback: int) -> Reading:
    """Attempts of steps and pauses after them; each goes back by some steps."""
    steps: list[dict[str, Any]] = []
    jobs: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    now, step = 0.0, 0
    for number, told in enumerate(attempts):
        start, now, step = now, now + 5.0, max(0, step - rollback)
        for seconds, pause in told:
            now, step = now + seconds, step + 1
            steps.append(report(step, now, seconds, attempt=number))
            if pause:
                events += [mark("checkpoint_start", now), mark("checkpoint", now + pause)]
                now += pause
        jobs.append(attempt(start, now + 2.0, "FAILED", attempt=number, submit=at(start - 1.0)))
        now += 10.0
    return history(steps, jobs, events)


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Each row twice, in any order."""
    return pl.concat([frame] * 2).sample(fraction=1.0, shuffle=True, seed=seed)


def whole(reading: Reading, params: GoodputParams = QUICK) -> list[dict[str, Any]]:
    """All that is told of the runs."""
    return budget_goodput(reading, params).runs.to_dicts()


@FEW
@given(
    attempts=st.lists(LENGTHS, min_size=1, max_size=4),
    rollback=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_sums_and_order(
    attempts: list[list[tuple[float, float]]], rollback: int, seed: int
) -> None:
    """Parts sum to the wall exactly; order and repetition of rows change nothing."""
    reading = composed(attempts, rollback)
    doubled = Reading(
        steps=shuffled(reading.steps, seed),
        jobs=shuffled(reading.jobs, seed),
        events=shuffled(reading.events, seed),
    )
    review = budget_goodput(reading, QUICK)
    (row,) = review.runs.to_dicts()
    (micros,) = review.ledger.group_by("run").agg(pl.col("micros").sum())["micros"]
    moments = [*reading.jobs["submit"], *reading.jobs["end"]]

    assert micros == (max(moments) - min(moments)) // timedelta(microseconds=1)
    assert row["wall_seconds"] == micros / 1e6
    assert whole(doubled) == [row]
    assert review.attempts["wall_seconds"].sum() == pytest.approx(row["wall_seconds"])


@FEW
@given(told=LENGTHS, cut=st.integers(1, 39))
def test_a_split_attempt(told: list[tuple[float, float]], cut: int) -> None:
    """An attempt that is told in two halves, without a rollback, spends the same on each part."""
    reading = composed([told], 0)
    halves = reading.steps.with_columns(attempt=(pl.col("step") > cut).cast(pl.Int32))
    judged = GoodputParams(
        judge=JudgeParams(warm_up_steps=0, warm_up_seconds=-1.0, baseline_steps=3)
    )
    whole_run = parts(reading, judged)
    split = parts(Reading(steps=halves, jobs=reading.jobs, events=reading.events), judged)

    assert split == pytest.approx(whole_run)


@FEW
@given(attempts=st.lists(LENGTHS, min_size=1, max_size=3))
def test_another_unit(attempts: list[list[tuple[float, float]]]) -> None:
    """A run at a thousandth of the pace has the same shares."""
    slow = composed(attempts, 3)
    steps = slow.steps.with_columns(pl.col("step_seconds") * 1000, stretched("end_time"))
    jobs = slow.jobs.with_columns(stretched(name) for name in ("submit", "start", "end"))
    far = Reading(steps=steps, jobs=jobs, events=slow.events.with_columns(stretched("time")))
    (one,), (other,) = whole(slow), whole(far)

    assert parts_of(other) == pytest.approx({k: 1000 * v for k, v in parts_of(one).items()})


def stretched(name: str) -> pl.Expr:
    """Moments a thousand times as far from the first."""
    return (
        (pl.lit(BEGIN) + (pl.col(name) - pl.lit(BEGIN)) * 1000)
        .cast(pl.Datetime("us", "UTC"))
        .alias(name)
    )
