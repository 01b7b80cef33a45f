"""Which steps of a training run are judged, and which of them are slow."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.frames import SchemaError
from slo.training import STEP_COLUMNS, JudgeParams, count_unjudged, judge_steps

START = datetime(2026, 1, 5, tzinfo=UTC)
QUICK = JudgeParams(warm_up_steps=0, warm_up_seconds=0.0, baseline_steps=3)
Row = dict[str, object]


def report(step: int, seconds: float | None, **other: object) -> Row:
    """One report; steps end a minute apart."""
    row: Row = {
        "run": "r",
        "attempt": 1,
        "step": step,
        "interval_steps": 1,
        "end_time": START + timedelta(minutes=step),
        "step_seconds": seconds,
    }
    return row | other


def steps(*rows: Row) -> pl.LazyFrame:
    """A frame of reports."""
    return pl.LazyFrame(list(rows), schema=STEP_COLUMNS)


def run(*seconds: float | None, first: int = 1) -> list[Row]:
    """Reports of single steps with the given durations."""
    return [report(first + n, each) for n, each in enumerate(seconds)]


def judged(frame: pl.LazyFrame, params: JudgeParams = QUICK) -> list[bool | str]:
    """For each step whether it is slow, or why it is not judged."""
    events = judge_steps(frame, params).collect()
    return [reason or slow for reason, slow in events.select("reason", "slow").iter_rows()]


NONE = ["no_baseline"] * 3


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(run(1, 1, 1, 1.11, 1), [*NONE, True, False], id="slower than 1.10 is slow"),
        pytest.param(run(10, 10, 10, 11, 10), [*NONE, False, False], id="exactly 1.10 is not"),
        pytest.param(
            run(2, 2, 2, 1, 1, 1, 2), [*NONE, False, False, False, True], id="the best pace counts"
        ),
        pytest.param(
            run(1, 1, 1, 2, 2, 2, 2), [*NONE, *[True] * 4], id="a slow job does not get used to it"
        ),
        pytest.param(
            run(1, 1, 1, None, 1),
            [*NONE, "no_duration", False],
            id="an unreported duration is not judged",
        ),
        pytest.param(
            [*run(1, 1, 1), report(4, float("nan")), report(5, float("inf")), report(6, 0.0)],
            [*NONE, *["no_duration"] * 3],
            id="no number is no duration",
        ),
        pytest.param(
            [*run(1, 1, 1), report(4, 9, end_time=None)], [*NONE, "no_time"], id="no time"
        ),
        pytest.param(
            [report(1, 1) | {"step": None}, *run(1, 1, 1)], ["no_step", *NONE], id="no step number"
        ),
        pytest.param(
            [*run(1, 1, 1), report(4, 9, time_kind="cumulative")],
            [*NONE, "not_a_step_time"],
            id="a mean since the start is no step time",
        ),
        pytest.param(
            [
                *run(1, 1, 1),
                report(4, 9, rank=0, checkpoint_seconds=0.0),
                report(4, 1, rank=1, checkpoint_seconds=8.0),
                report(5, 9, rank=0, checkpoint_seconds=0.0),
                report(6, 9, rank=0, checkpoint_seconds=float("nan")),
            ],
            [*NONE, "pause", True, True],
            id="a checkpoint on any rank is a pause",
        ),
        pytest.param(
            [*run(1, 1, 1), *(report(4, s, rank=n) for n, s in enumerate([1.0, 2.0, None]))],
            [*NONE, True],
            id="the slowest rank is the job's step",
        ),
        pytest.param(
            [*run(1, 1, 1), report(4, 1), report(4, 9, rank=3)],
            [*NONE, False],
            id="the job's own report wins over ranks",
        ),
    ],
)
def test_judged(rows: list[Row], expected: list[bool | str]) -> None:
    """A step is slow when it takes more than it may at the run's own healthy pace."""
    assert judged(steps(*rows)) == expected


@pytest.mark.parametrize(
    ("params", "step_seconds", "first_judged"),
    [
        pytest.param(
            JudgeParams(warm_up_steps=5, warm_up_seconds=0.0, baseline_steps=1), 60, 7, id="steps"
        ),
        pytest.param(
            JudgeParams(warm_up_steps=0, warm_up_seconds=300.0, baseline_steps=1),
            60,
            7,
            id="five minutes of minutes",
        ),
        pytest.param(
            JudgeParams(warm_up_steps=8, warm_up_seconds=300.0, baseline_steps=1),
            60,
            10,
            id="the later of both",
        ),
    ],
)
def test_warm_up(params: JudgeParams, step_seconds: float, first_judged: int) -> None:
    """The first steps and the first minutes are not judged, nor what has no baseline yet."""
    events = judged(steps(*run(*[step_seconds] * 20)), params)

    assert events == [
        *["warm_up"] * (first_judged - 2),
        "no_baseline",
        *[False] * (21 - first_judged),
    ]


def test_warm_up_of_each_attempt() -> None:
    """A restart warms up again, and is judged by the pace of the attempts before it."""
    params = JudgeParams(warm_up_steps=2, warm_up_seconds=0.0, baseline_steps=1)
    again = [{**row, "attempt": 2} for row in run(9, 9, 9, first=3)]

    assert judged(steps(*run(1, 1, 1, 1), *again), params) == [
        "warm_up",
        "warm_up",
        "no_baseline",
        False,
        "warm_up",
        "warm_up",
        True,
    ]


def test_defaults() -> None:
    """A default run is judged from its 41st step on: 20 of warm-up, 20 for the baseline."""
    events = judged(steps(*run(*[60.0] * 50)), JudgeParams())

    assert events == [*["warm_up"] * 20, *["no_baseline"] * 20, *[False] * 10]


def test_tokens() -> None:
    """Where tokens are told and vary, a step is judged by its seconds per token."""
    rows = [
        report(n, seconds, tokens=tokens)
        for n, (seconds, tokens) in enumerate(
            [(1, 10), (1, 10), (1, 10), (2, 20), (3, 20), (1.2, 10)], start=1
        )
    ]

    assert judged(steps(*rows)) == [*NONE, False, True, True]


def test_tokens_told_in_part() -> None:
    """From the first step without tokens on, seconds alone are compared."""
    rows = [
        report(n, seconds, tokens=tokens)
        for n, (seconds, tokens) in enumerate(
            [(1, 10), (1, 10), (1, 10), (2, 20), (1, None), (2, 20)], start=1
        )
    ]

    assert judged(steps(*rows)) == [*NONE, False, False, True]


def periodic(period: int, count: int, *, length: int = 1) -> list[float]:
    """Seconds of a run in which `length` slow steps end each period."""
    return ([1.0] * (period - length) + [5.0] * length) * count


@pytest.mark.parametrize(
    ("seconds", "slow", "masked"),
    [
        pytest.param(periodic(25, 5), 2, 3, id="single spikes every 25 steps, from the third on"),
        pytest.param(periodic(10, 5), 5, 0, id="spikes that come often are a slow job"),
        pytest.param(periodic(25, 5, length=2), 7, 3, id="only the first step of a stretch"),
        pytest.param(
            [*[1.0] * 25, 5.0, *[1.0] * 30, 5.0, *[1.0] * 41, 5.0], 3, 0, id="spikes at random"
        ),
    ],
)
def test_periodic_pauses(seconds: list[float], slow: int, masked: int) -> None:
    """Single slow steps that come back like clockwork are pauses nobody told of."""
    events = judged(steps(*run(*seconds)))

    assert (events.count(True), events.count("periodic_pause")) == (slow, masked)


def test_counts_of_unjudged() -> None:
    """Steps that are not judged are counted by reason, with all steps that a report stands for."""
    events = judge_steps(
        steps(*run(1, 1, 1, 1), report(5, None, interval_steps=10), report(6, 1, run="s")), QUICK
    )

    assert count_unjudged(events).collect().rows() == [
        ("r", "no_baseline", 3),
        ("r", "no_duration", 10),
        ("s", "no_baseline", 1),
    ]


def test_events() -> None:
    """An event tells what the step took and what it would have taken at the healthy pace."""
    events = judge_steps(steps(*run(1, 2, 1, 3)), QUICK).collect()

    assert events.rows(named=True)[-1] == {
        "run": "r",
        "attempt": 1,
        "step": 4,
        "interval_steps": 1,
        "end_time": START + timedelta(minutes=4),
        "step_seconds": 3.0,
        "baseline_seconds": 1.0,
        "reason": None,
        "slow": True,
    }


@given(st.lists(st.floats(0.5, 5.0), min_size=1, max_size=60), st.integers(0, 1000))
def test_row_order(seconds: list[float], seed: int) -> None:
    """The order of rows changes nothing, nor does a report that arrives twice."""
    frame = steps(*run(*seconds), *run(*seconds[:3])).collect()
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed).lazy()

    ordered = judge_steps(steps(*run(*seconds)), QUICK).collect()

    assert judge_steps(shuffled, QUICK).collect().equals(ordered)


@given(st.lists(st.floats(0.5, 5.0), min_size=5, max_size=60), st.integers(1, 4))
def test_causal(seconds: list[float], cut: int) -> None:
    """What comes later never changes what was said before."""
    whole = judge_steps(steps(*run(*seconds)), QUICK).collect()
    part = judge_steps(steps(*run(*seconds[:-cut])), QUICK).collect()

    assert whole.head(part.height).equals(part)


@given(st.lists(st.floats(0.5, 5.0), min_size=1, max_size=60))
def test_stricter(seconds: list[float]) -> None:
    """With a higher ratio no step becomes slow that was not."""
    strict = JudgeParams(
        min_slow_ratio=2.0,
        warm_up_steps=0,
        warm_up_seconds=0.0,
        baseline_steps=3,
        min_pause_period_steps=1000,
    )
    loose = JudgeParams(
        min_slow_ratio=1.1,
        warm_up_steps=0,
        warm_up_seconds=0.0,
        baseline_steps=3,
        min_pause_period_steps=1000,
    )
    pairs = zip(
        judged(steps(*run(*seconds)), strict), judged(steps(*run(*seconds)), loose), strict=True
    )

    assert all(more for less, more in pairs if less is True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"min_slow_ratio": 1.0}, "min_slow_ratio must be above 1.0", id="ratio 1"),
        pytest.param({"baseline_steps": 0}, "baseline_steps must be at least 1", id="no median"),
    ],
)
def test_impossible_params(change: dict[str, float], message: str) -> None:
    """Parameters that would judge everything or nothing are refused."""
    with pytest.raises(ValueError, match=message):
        JudgeParams(**change)


def test_schema() -> None:
    """A frame without the columns of steps is refused."""
    with pytest.raises(SchemaError):
        judge_steps(pl.LazyFrame({"run": ["r"]}), QUICK).collect()
