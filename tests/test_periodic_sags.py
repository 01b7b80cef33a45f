"""Pauses that recur: of hosts each at its own time, of one host, of a job; and planned ones."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, SchemaError, conform
from detectors.paces import PACES
from detectors.pauses import JOB_PACES
from detectors.quiet.pause_moments import MomentParams
from detectors.quiet.periodic_sags import (
    SagParams,
    find_periodic_sags,
    without_repeated_pauses,
)
from detectors.quiet.rhythms import RhythmParams, find_rhythm
from detectors.verdicts import Subject, Verdict, verdicts_of

Floats = npt.NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
HOSTS, EACH, COUNT = 6, 4, 500
RANKS = HOSTS * EACH
NO_EVENTS, NO_PACES = EVENTS.to_frame().lazy(), PACES.to_frame().lazy()


def busy(seed: int = 1) -> Floats:
    """Seconds of work of each rank and step: 3 s with 1 % noise."""
    return 3.0 * (1.0 + 0.01 * np.random.default_rng(seed).standard_normal((RANKS, COUNT)))


def paused(work: Floats, phases: dict[int, float], period: float, seconds: float) -> Floats:
    """The work, with a pause of each of some hosts whenever its time has come."""
    result, now, due = work.copy(), 0.0, dict(phases)
    for step in range(COUNT):
        for host, time in due.items():
            if now >= time:
                result[host * EACH : (host + 1) * EACH, step] += seconds
                due[host] = time + period
        now += float(result[:, step].max()) + 1.0
    return result


class Job:
    """Ranks in lockstep: a step is the slowest rank's work, a second, and what all do besides."""

    def __init__(self, work: Floats, besides: Floats | float = 0.0, *, hosts: bool = True) -> None:
        """Lay the steps out in time."""
        steps = work.max(axis=0) + 1.0 + besides
        ends = [START + timedelta(seconds=float(end)) for end in np.cumsum(steps)]
        columns: dict[str, Any] = {
            "run": "r",
            "attempt": 0,
            "rank": np.repeat(np.arange(RANKS), COUNT),
            "host": [f"n{at // EACH}" if hosts else None for at in range(RANKS) for _ in ends],
            "step": np.tile(np.arange(COUNT), RANKS),
            "end_time": ends * RANKS,
            "measure": "busy",
            "pace_seconds": work.ravel(),
            "step_seconds": np.tile(steps, RANKS),
        }
        self.paces = conform(pl.LazyFrame(columns), PACES)
        whole = {"run": "r", "attempt": 0, "step": np.arange(COUNT), "end_time": ends}
        self.jobs = conform(
            pl.LazyFrame({**whole, "step_seconds": steps, "ranks": RANKS}), JOB_PACES
        )


Told = tuple[str, str, str | None, str, str]


def verdicts(job: Job, events: pl.LazyFrame = NO_EVENTS, *, alone: bool = False) -> list[Verdict]:
    """What is found; `alone`: only the job's own pace is told."""
    paces = NO_PACES if alone else job.paces
    return verdicts_of(find_periodic_sags(paces, job.jobs, events, SagParams()))


def short(found: list[Verdict]) -> list[Told]:
    """Kind, level, host, cause and confidence."""
    return [
        (one.kind, one.level, one.subject.host, str(one.cause), one.confidence) for one in found
    ]


PHASES = {0: 5.0, 1: 71.0, 2: 33.0, 3: 110.0, 4: 90.0, 5: 52.0}
TURNS = paused(busy(), PHASES, 131.0, 0.8)
LONE = paused(busy(), {3: 17.0}, 131.0, 1.5)
TOGETHER = paused(busy(), dict.fromkeys(range(HOSTS), 11.0), 131.0, 1.5)
UNSYNCHRONISED = ("imbalance", "job", None, "unsynchronised_pauses", "high")
PERIODIC = ("imbalance", "job", None, "periodic_pauses", "medium")
EVERY_50 = np.where(np.arange(COUNT) % 50 == 49, 9.0, 0.0)


def single(where: int | tuple[Any, Any], seconds: float | Floats) -> Floats:
    """Work with pauses at given ranks and steps."""
    work = busy()
    work[where] += seconds
    return work


@pytest.mark.parametrize(
    ("job", "expected", "expected_alone"),
    [
        pytest.param(Job(busy()), [], [], id="a healthy job"),
        pytest.param(
            Job(TURNS), [UNSYNCHRONISED], [PERIODIC], id="hosts that pause each at its own time"
        ),
        pytest.param(
            Job(TURNS, hosts=False), [UNSYNCHRONISED], [PERIODIC], id="ranks of unknown hosts"
        ),
        pytest.param(
            Job(LONE),
            [("flapping", "host", "n3", "periodic_pauses", "medium")],
            [PERIODIC],
            id="one host that pauses alone",
        ),
        pytest.param(
            Job(TOGETHER), [PERIODIC], [PERIODIC], id="hosts that pause together cost one pause"
        ),
        pytest.param(
            Job(busy(), EVERY_50), [], [], id="checkpoints count steps, and nobody marks them"
        ),
        pytest.param(
            Job(single((0, slice(49, None, 50)), 2.0)),
            [],
            [],
            id="the first rank does something every so many steps",
        ),
        pytest.param(Job(single((7, 200), 5.0)), [], [], id="one slow step"),
        pytest.param(
            Job(
                single(
                    (
                        np.random.default_rng(5).integers(0, RANKS, 60),
                        np.random.default_rng(6).integers(0, COUNT, 60),
                    ),
                    1.0,
                )
            ),
            [],
            [],
            id="pauses at random have no period",
        ),
        pytest.param(
            Job(paused(busy(), PHASES, 131.0, 0.01)), [], [], id="pauses that cost nothing"
        ),
        pytest.param(
            Job(single(7, np.linspace(0.0, 0.8, COUNT))), [], [], id="a rank that slows bit by bit"
        ),
    ],
)
def test_findings(job: Job, expected: list[Told], expected_alone: list[Told]) -> None:
    """Pauses with a period of seconds are told, at the level at which they cost."""
    assert short(verdicts(job)) == expected
    assert short(verdicts(job, alone=True)) == expected_alone


def test_period_share_and_phases() -> None:
    """The finding says the period in seconds, the share lost, the phases, and what to do."""
    found = verdicts(Job(TURNS))[0]
    words = " ".join(one.what for one in found.evidence)

    assert found.slowdown == pytest.approx(1.038, abs=0.01)
    assert "come again every 130" in words
    assert "6 in each period" in words
    assert "6 hosts or ranks pause, each at its own phase: n0 at 0 s" in words
    assert found.action is not None
    assert "let all hosts pause at the same step" in found.action


def test_precision_recall_and_delay() -> None:
    """Of 8 jobs the 4 whose hosts pause are told, within seven pauses of the first."""
    rng = np.random.default_rng(9)
    jobs: list[Floats] = []
    for seed in range(8):
        phases = {host: float(rng.uniform(0, 150)) for host in range(HOSTS)}
        jobs.append(paused(busy(seed), phases, 150.0 + seed, 0.9) if seed % 2 else busy(seed))
    found = [verdicts(Job(work)) for work in jobs]

    assert [len(one) for one in found] == [0, 1] * 4
    for one in (one[0] for one in found if one):
        assert one.onset is not None
        assert one.detected is not None
        assert one.detected - one.onset < timedelta(seconds=400)


def test_marked_pauses_are_planned() -> None:
    """A pause in whose step the log tells an evaluation or a checkpoint is none."""
    job = Job(TOGETHER)
    slow = job.jobs.filter(pl.col("step_seconds") > 5.0).collect()
    ends = slow["end_time"].to_list()
    events = conform(pl.LazyFrame({"run": "r", "kind": "evaluation", "time": ends}), EVENTS)

    assert verdicts(job, events) == []


def test_paused_steps_are_planned() -> None:
    """A step that holds a checkpoint is not compared."""
    job = Job(TOGETHER)
    job.jobs = job.jobs.with_columns(paused=pl.col("step_seconds") > 5.0)

    assert verdicts(job, alone=True) == []


def test_without_clocks() -> None:
    """Without the job's clock there is no period, and nothing is told."""
    job = Job(TURNS)
    job.jobs = job.jobs.with_columns(end_time=pl.lit(None, dtype=JOB_PACES["end_time"]))

    assert verdicts(job) == []


@settings(max_examples=3)
@given(seed=st.integers(0, 2**32 - 1), shift=st.integers(0, 10**6))
def test_properties(seed: int, shift: int) -> None:
    """Order, another time, another unit and other names change nothing but the names."""
    job = Job(LONE)
    times = pl.col("end_time") + timedelta(seconds=shift)
    job.paces = (
        job.paces.with_columns(times, host=pl.lit("x") + pl.col("host"), run=pl.lit("s"))
        .collect()
        .sample(fraction=1.0, shuffle=True, seed=seed)
        .lazy()
    )
    job.jobs = job.jobs.with_columns(times, run=pl.lit("s"))

    assert [(one.subject.host, one.onset_step) for one in verdicts(job)] == [
        ("xn3", one.onset_step) for one in verdicts(Job(LONE))
    ]


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(SagParams(min_loss=0.2), id="a larger loss"),
        pytest.param(SagParams(moments=MomentParams(min_ratio=2.0)), id="a longer pause"),
        pytest.param(SagParams(rhythm=RhythmParams(min_hits=400)), id="more comings"),
        pytest.param(SagParams(rhythm=RhythmParams(max_chance_share=0.0)), id="less chance"),
    ],
)
def test_a_stricter_threshold_finds_no_more(params: SagParams) -> None:
    """Asking for more than there is finds nothing."""
    job = Job(TURNS)

    assert find_periodic_sags(job.paces, job.jobs, NO_EVENTS, params).is_empty()


def pauses_of(run: str, peers: str | None, cause: str = "unsynchronised_pauses") -> Verdict:
    """A finding on the pauses of a run."""
    subject = Subject(run=run, attempt=0)
    return Verdict(
        kind="imbalance", level="job", subject=subject, confidence="high", cause=cause, peers=peers
    )


def test_pauses_are_told_once() -> None:
    """Where the period of a job's pauses is known, the finding without one is left out."""
    timed = [one for one in verdicts(Job(TURNS)) if one.peers is not None]
    same, other = pauses_of("r", "ranks"), pauses_of("s", "ranks")
    apart = pauses_of("r", None, "sequence_lengths")

    assert without_repeated_pauses([same, other, apart, *timed]) == [other, apart, *timed]


LONE_HOST = Verdict(
    kind="flapping",
    level="host",
    subject=Subject(run="r", attempt=0, host="n3"),
    confidence="medium",
    cause="periodic_pauses",
    onset=START,
    cleared=START + timedelta(hours=1),
)
GPU = replace(
    LONE_HOST, level="gpu", subject=Subject(run="r", attempt=0, host="n3", gpu=5), cause="thermal"
)
RANK = Subject(run="r", attempt=0, rank=7)


@pytest.mark.parametrize(
    ("pauses", "other", "is_told"),
    [
        pytest.param(LONE_HOST, GPU, False, id="a GPU of the host flaps"),
        pytest.param(
            LONE_HOST,
            replace(GPU, subject=Subject(host="n3", gpu=5)),
            False,
            id="a GPU of the host flaps, in whatever run",
        ),
        pytest.param(LONE_HOST, replace(GPU, onset=None), False, id="nobody knows since when"),
        pytest.param(
            LONE_HOST, replace(GPU, onset=LONE_HOST.cleared, cleared=None), True, id="afterwards"
        ),
        pytest.param(
            LONE_HOST, replace(GPU, subject=Subject(run="r", host="n4")), True, id="another host"
        ),
        pytest.param(
            LONE_HOST, replace(GPU, subject=Subject(run="s", host="n3")), True, id="another run"
        ),
        pytest.param(LONE_HOST, replace(GPU, kind="telemetry_lost"), True, id="nothing slow"),
        pytest.param(
            LONE_HOST, replace(GPU, level="job", subject=Subject(run="r")), True, id="the job"
        ),
        pytest.param(
            replace(LONE_HOST, level="rank", subject=RANK),
            replace(GPU, level="rank", subject=RANK),
            False,
            id="the rank itself",
        ),
    ],
)
def test_a_sick_part_tells_its_host(pauses: Verdict, other: Verdict, *, is_told: bool) -> None:
    """Pauses of a host that a slow part of it explains are no finding of their own."""
    left = without_repeated_pauses([pauses, other])

    assert (pauses in left, other in left) == (is_told, True)


def test_rhythms() -> None:
    """What recurs must do so often, over the whole time, and more often than by chance."""
    params = RhythmParams()
    even: Floats = np.arange(0.0, 1000.0, 50.0)
    one = np.zeros(20, dtype=np.int64)
    found = find_rhythm(one, even, 1000.0, 2.0, params)
    bursts: Floats = np.concatenate([np.arange(0.0, 60.0, 10.0), np.arange(900.0, 960.0, 10.0)])

    assert found is not None
    assert (found.seconds, found.hits, found.share) == (50.0, 19, 1.0)
    assert find_rhythm(one[:5], even[:5], 1000.0, 2.0, params) is None
    assert find_rhythm(one, even, 1000.0, 0.0, params) is None
    assert find_rhythm(one, even, 0.0, 2.0, params) is None
    assert find_rhythm(one, even * 0.1, 10_000.0, 4.0, params) is None
    assert find_rhythm(one[:8], even[:8] ** 2, 1e4, 2.0, params) is None
    assert find_rhythm(one[:12], bursts, 1000.0, 2.0, params) is None
    assert find_rhythm(one, even, 1000.0, 2.0, RhythmParams(max_p_value=1e-60)) is None
    assert find_rhythm(one, even, 1000.0, 2.0, RhythmParams(min_share=1.1)) is None


def test_refused_frames() -> None:
    """What is no `PACES` is refused at the door."""
    with pytest.raises(SchemaError):
        find_periodic_sags(
            pl.LazyFrame({"run": ["r"], "attempt": [0], "host": ["h"]}),
            JOB_PACES.to_frame().lazy(),
            NO_EVENTS,
            SagParams(),
        )
