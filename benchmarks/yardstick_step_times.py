"""Y6: whom step times of real jobs name, and when; each goes through the whole product.

Tables of workers that are not in lockstep (Alibaba PAI), logs of healthy jobs (MLPerf training
5.0), series of Megatron-LM's functional tests, raw Slurm logs of 2021 (BigScience), small real runs
with a rank that was held back, and tables of sacct.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

from benchmarks.figures import Figure
from benchmarks.real_run_scores import score_run
from benchmarks.scenarios import run
from benchmarks.worker_windows import Window, f1_score, hits, windows_of
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from detectors.verdicts import Verdict
from paceline.sources import find_files, read_sources

YARDSTICK: Final = "Y6 step times"

MIN_F1: Final = 0.9

TABLES: Final = {
    "job_1": (Window(6, 1811, 1941), Window(4, 101, 331)),
    "job_2": (),
}
"""Slow workers of each table."""

RESUMED: Final = "gpt3_resume_whole_attempt_slow"
RESUMED_RATIO: Final = 16.0
"""The one series that is slow, from its resume behind step 50 to its end."""

STEPS: Final = {"ds-off": 62, "ds-on": 49, "base_n8_dp1": 20, "base_n16_dp1": 9}
"""Iterations of the raw logs, by a part of their names; the others hold dicts only."""

JOBS_OVER_MIDNIGHT: Final = 306

_DICT: Final = re.compile(rb"\{'(?:loss|train_runtime)':")


def figures(data: Path) -> list[Figure]:
    """Return the figures of all parts of the public data."""
    return [
        *_of_tables(data / "minibatch-times"),
        _of_healthy(data / "mlperf-405b"),
        *_of_series(data / "megatron-series"),
        *(_of_log(path) for path in sorted((data / "slurm-train-logs").glob("*.out"))),
        *(_of_run(path.parent) for path in sorted((data / "real-runs").glob("*/truth.json"))),
        _of_jobs(data / "sacct" / "sample-sacct-output-midnight-edge-case.txt"),
    ]


def _verdicts(path: Path) -> tuple[Verdict, ...]:
    return tuple(run(path).verdicts)


def _read(path: Path) -> Reading:
    return read_sources(find_files([path]), ReadOptions(), _quiet)


def _quiet(*_: object) -> None:
    """Say nothing while files are read."""


def _told(verdicts: Iterable[Verdict]) -> str:
    return ", ".join(f"{one.kind} {one.subject.phrase()}" for one in verdicts) or "nothing"


def _of_tables(folder: Path) -> Iterator[Figure]:
    """Return the windows of each table, and F1 over them all."""
    hit = found = 0
    for name, truth in TABLES.items():
        path = folder / f"{name}_norm.csv"
        last = int(str(pl.read_csv(path)["time"].max()))
        told = windows_of(_verdicts(path), last)
        hit, found = hit + hits(told, truth), found + len(told)
        words = ", ".join(f"worker {one.worker} {one.first}-{one.last}" for one in told)
        yield Figure(yardstick=YARDSTICK, what=f"windows of {name}", value=words or "none")
    score = f1_score(hit, found, sum(len(truth) for truth in TABLES.values()))
    yield Figure(
        yardstick=YARDSTICK,
        what="F1 over workers and windows, tolerance 10 samples",
        value=f"{score:.2f}",
        bar=f">= {MIN_F1}",
        holds=score >= MIN_F1,
    )


def _of_healthy(folder: Path) -> Figure:
    """Return what is said of healthy jobs: at most one thing over them all."""
    logs = sorted(folder.glob("*.txt"))
    said = [one for path in logs for one in _verdicts(path)]
    return Figure(
        yardstick=YARDSTICK,
        what=f"false episodes in {len(logs)} healthy logs of MLPerf",
        value=f"{len(said)} ({_told(said)})",
        bar="<= 1",
        holds=len(said) <= 1,
    )


def _of_series(folder: Path) -> Iterator[Figure]:
    """Return what is said of the series with a resume, and of the one that stayed slow."""
    paths = [path for path in sorted(folder.glob("*.json")) if path.stem != RESUMED]
    said = [one for path in paths for one in _verdicts(path)]
    yield Figure(
        yardstick=YARDSTICK,
        what=f"false episodes in {len(paths)} series of Megatron-LM",
        value=f"{len(said)} ({_told(said)})",
        bar="0",
        holds=not said,
    )
    told = _verdicts(folder / f"{RESUMED}.json")
    right = [
        one.kind == "group_slow"
        and one.onset_step in range(51, 54)
        and one.cleared_step is None
        and abs((one.slowdown or 1.0) / RESUMED_RATIO - 1.0) <= 0.2  # noqa: PLR2004 -- a fifth
        for one in told
    ]
    yield Figure(
        yardstick=YARDSTICK,
        what="the series that is slow from its resume",
        value=", ".join(f"{one.kind} from {one.onset_step} x{one.slowdown:.1f}" for one in told),
        bar="slow from the resume to the end, 16x",
        holds=right == [True],
    )


def _of_log(path: Path) -> Figure:
    """Return how many records of a raw log are read: iterations, or dicts."""
    reading = _read(path)
    steps = [count for part, count in STEPS.items() if part in path.name]
    there = sum(steps) if steps else len(_DICT.findall(path.read_bytes()))
    last_words = int((reading.events["kind"] == "run_summary").sum())
    read = reading.steps.height + (0 if steps else last_words)
    return Figure(
        yardstick=YARDSTICK,
        what=f"{'iterations' if steps else 'records'} read of {path.stem}",
        value=f"{read} of {there}",
        bar="all",
        holds=read == there,
    )


def _of_run(folder: Path) -> Figure:
    """Return what is said of a small real run."""
    score = score_run(folder, _verdicts(folder))
    return Figure(
        yardstick=YARDSTICK,
        what=f"real run {folder.name}",
        value=score.said,
        bar="rank, onset and effect right",
        holds=score.holds,
    )


def _of_jobs(path: Path) -> Figure:
    """Return how many jobs the table over midnight holds."""
    jobs = _read(path).jobs["run"].n_unique()
    return Figure(
        yardstick=YARDSTICK,
        what="jobs in the table of sacct over midnight",
        value=str(jobs),
        bar=str(JOBS_OVER_MIDNIGHT),
        holds=jobs == JOBS_OVER_MIDNIGHT,
    )
