"""The main job on simulated clusters of 32 GPUs: who is named, when, and who never is."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from detectors.verdicts import rfc3339
from paceline.analysis import Analysis, AnalysisParams, analyze
from paceline.simulation.orion import OrionParams, Truth, simulate
from paceline.sources import find_files, read_sources
from paceline.utilisation import utilisation_alert

NODES = 4
NAMING_LEVELS = frozenset({"rank", "gpu", "nic", "link", "host"})
PARAMS = {
    "throttled-gpu": OrionParams(nodes=NODES, minutes=150, onset_minutes=75, fault_minutes=60),
    "dirty-link": OrionParams(nodes=NODES, minutes=60, onset_minutes=30),
    "nccl-hang": OrionParams(nodes=NODES, minutes=45, onset_minutes=20),
    "bad-qos-profile": OrionParams(nodes=NODES, minutes=75, onset_minutes=35),
    "healthy": OrionParams(nodes=NODES, minutes=35),
    "imbalanced-stage": OrionParams(nodes=NODES, minutes=35),
}
SEEDS = (1,)
"""Ten seeds of each are run by `python -m benchmarks.scenarios`."""

Run = Callable[[str, int], tuple[Truth, Analysis]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A runner: simulates a scenario with a seed, once, and analyses what it wrote."""
    done: dict[tuple[str, int], tuple[Truth, Analysis]] = {}

    def go(scenario: str, seed: int) -> tuple[Truth, Analysis]:
        if (scenario, seed) not in done:
            folder = tmp_path_factory.mktemp(scenario)
            truth = simulate(scenario, folder, seed=seed, params=PARAMS[scenario])
            reading = read(folder / "sources")
            done[scenario, seed] = (truth, analyze(reading, AnalysisParams(), lambda *_: None))
        return done[scenario, seed]

    return go


def read(folder: Path) -> Reading:
    """Return what a folder holds."""
    return read_sources(find_files([folder]), ReadOptions(), lambda *_: None)


def named(analysis: Analysis) -> list[tuple[str, str, str | None]]:
    """Return kind, level and cause of every finding that names something to act on."""
    return [
        (one.kind, one.level, one.cause) for one in analysis.verdicts if one.level in NAMING_LEVELS
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_throttled_gpu(run: Run, seed: int) -> None:
    """The suspect is exactly the throttled GPU, by its heat, and the job's loss is told."""
    truth, analysis = run("throttled-gpu", seed)
    assert truth.culprit is not None
    culprit = next(one for one in analysis.verdicts if one.level == "gpu")
    whole = next(one for one in analysis.verdicts if one.level == "job")

    assert named(analysis) == [("slow", "gpu", "thermal")]
    assert (culprit.subject.host, culprit.subject.gpu, culprit.subject.rank) == (
        truth.culprit.host,
        truth.culprit.gpu,
        truth.culprit.rank,
    )
    assert (whole.kind, whole.slowdown) == ("slow", pytest.approx(1.18, rel=0.03))


@pytest.mark.parametrize("seed", SEEDS)
def test_throttled_gpu_in_time(run: Run, seed: int) -> None:
    """Detectors find it within 5 minutes of the onset, and the page fires within 17."""
    truth, analysis = run("throttled-gpu", seed)
    incident = analysis.incidents[0]

    assert (incident.severity, len(analysis.incidents)) == ("page", 1)
    assert incident.detected is not None
    assert incident.paged_at is not None
    assert str(truth.onset) < rfc3339(incident.detected) < _after(truth, 5)
    assert str(truth.onset) < rfc3339(incident.paged_at) < _after(truth, 17)


def _after(truth: Truth, minutes: int) -> str:
    return rfc3339(datetime.fromisoformat(str(truth.onset)) + timedelta(minutes=minutes))


def test_utilisation_sees_nothing(run: Run) -> None:
    """An alert on GPU utilisation would have stayed silent on the same data."""
    _, analysis = run("throttled-gpu", 1)

    assert utilisation_alert(analysis.reading.samples).startswith("stays silent")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", ["healthy", "imbalanced-stage"])
def test_nobody_is_named(run: Run, scenario: str, seed: int) -> None:
    """Noise and uneven stages name no device and wake nobody."""
    _, analysis = run(scenario, seed)

    assert (named(analysis), [one for one in analysis.incidents if one.severity == "page"]) == (
        [],
        [],
    )


def test_uneven_stage_is_told(run: Run) -> None:
    """The heavier stage is a finding about the partitioning."""
    _, analysis = run("imbalanced-stage", 1)

    assert [(one.kind, one.subject.pp) for one in analysis.verdicts] == [("imbalance", 3)]


def test_healthy_says_nothing(run: Run) -> None:
    """A healthy cluster gives no finding at all."""
    _, analysis = run("healthy", 1)

    assert analysis.verdicts == []


@pytest.mark.parametrize("seed", SEEDS)
def test_dirty_link(run: Run, seed: int) -> None:
    """The link whose receiver counts errors is named with both ends, and nothing else."""
    truth, analysis = run("dirty-link", seed)
    assert truth.culprit is not None
    assert truth.culprit.link is not None
    link = str(analysis.verdicts[0].subject.link)

    assert named(analysis) == [("link_fault", "link", "dirty")]
    assert all(end.device in link and str(end.port) in link for end in truth.culprit.link)


@pytest.mark.parametrize("seed", SEEDS)
def test_hang(run: Run, seed: int) -> None:
    """The rank that stopped entering collectives is the only one named."""
    truth, analysis = run("nccl-hang", seed)
    assert truth.culprit is not None

    assert [(one.kind, one.subject.rank) for one in analysis.verdicts] == [
        ("hang", truth.culprit.rank)
    ]


@pytest.mark.parametrize("seed", SEEDS)
def test_bad_qos_profile(run: Run, seed: int) -> None:
    """A fabric that pauses everywhere is a finding about the job, and no GPU is named."""
    _, analysis = run("bad-qos-profile", seed)

    assert (named(analysis), {(one.kind, one.level) for one in analysis.verdicts}) == (
        [],
        {("slow", "job"), ("congestion", "job")},
    )
