"""Planted jobs through the whole product, in frames and in files: who is named, and who never is.

The table of stories is that of the benchmark, which runs all of them with five seeds.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.planted_cases import SICK, Case, Truth, one, throttle
from benchmarks.planted_files import write_job
from benchmarks.planted_jobs import Job, Shape, healthy_job
from benchmarks.scenario_scores import Score, score
from benchmarks.yardstick_scenarios import CASES, YARDSTICK, figures_of, run
from collectors.sniffing import ReadOptions
from detectors.verdicts import Verdict
from paceline.analysis import AnalysisParams, analyze
from paceline.sources import find_files, read_sources

pytestmark = pytest.mark.slow

VARIANTS = (
    *("a hot row", "a node that was set lower", "a tensor-parallel rank", "a starved node"),
    *("a better mean", "a storage stall of most", "sequence lengths", "lost telemetry"),
)


@pytest.mark.parametrize("name", [*(one for one in CASES if one.startswith("D")), *VARIANTS])
def test_scenarios(name: str) -> None:
    """Kind, set, level, onset and effect are right; red herrings name no device."""
    found, said = run(CASES[name], seed=1)

    assert (found.value, found.why) == (1.0, ""), said


HALF = 225
SMALL = Shape(dp=8, pp=4, minutes=30)


def hot(job: Job) -> None:
    """One GPU gets hot half way."""
    job.times(1.2, SICK, slice(HALF, None))
    throttle(job, SICK, job.tick(HALF))


def busy_host(job: Job) -> None:
    """The CPUs of a host are busy half way."""
    job.forward[16:24, HALF:] *= 1.4


def set_back(job: Job) -> None:
    """A host's clock is ahead and is set."""
    job.clock_offsets[8:16, :HALF] = 0.4


HOT = one(onset=HALF, effect=1.2, causes=frozenset({"thermal"}))
BY_TIME = one(onset=HALF, effect=1.2)


def analysed(job: Job, folder: Path, hidden: tuple[str, ...]) -> list[Verdict]:
    """What is said of a job's files."""
    write_job(job, folder / "run", hidden)
    reading = read_sources(find_files([folder]), ReadOptions(), lambda *_: None)
    return analyze(reading, AnalysisParams(), lambda *_: None).verdicts


@pytest.mark.parametrize(
    ("story", "truth", "hidden"),
    [
        pytest.param(hot, HOT, (), id="all is told"),
        pytest.param(hot, HOT, ("coordinates",), id="ranks are not placed"),
        pytest.param(hot, BY_TIME, ("end_time", "samples"), id="no time is told"),
        pytest.param(
            hot, BY_TIME, ("compute_seconds", "comm_seconds", "samples"), id="passes and no wait"
        ),
        pytest.param(
            hot,
            BY_TIME,
            ("compute_seconds", "forward_seconds", "backward_seconds", "samples"),
            id="the step and the wait",
        ),
        pytest.param(
            busy_host,
            one("n02", levels=frozenset({"host"}), onset=HALF, causes=frozenset({"host_cpu"})),
            ("compute_seconds", "samples"),
            id="a busy host",
        ),
        pytest.param(
            set_back,
            Truth(beside=frozenset({("config_drift", "host", "clock_skew")})),
            ("samples",),
            id="a clock that is set",
        ),
    ],
)
def test_files(
    story: Callable[[Job], None], truth: Truth, hidden: tuple[str, ...], tmp_path: Path
) -> None:
    """The same story is told however much of it its files say."""
    job = healthy_job(1, SMALL)
    story(job)

    found = score(analysed(job, tmp_path, hidden), truth, job)

    assert (found.value, found.why) == (1.0, "")


def test_figures() -> None:
    """Scores become a row a scenario and the false alarms of them all."""
    names = list(CASES)[:2]
    rows = figures_of(
        {names[0]: [Score(value=1.0, delay_seconds=60.0)], names[1]: [Score(value=0)]}
    )

    assert [(row.yardstick, row.holds) for row in rows] == [
        (YARDSTICK, True),
        (YARDSTICK, False),
        (YARDSTICK, True),
    ]


def test_a_wrong_name_scores_nothing() -> None:
    """An innocent device costs the whole score, and nobody named does too."""
    job = healthy_job(1, Shape(dp=8, pp=1, minutes=30))
    other = Case(story=hot, truth=one("n00/1"), shape=job.shape)

    assert score([], other.truth, job).value == 0.0
