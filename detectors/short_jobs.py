"""Find plain slowdowns of a job that reports too rarely for statistics: epochs, long intervals.

Source: progress reference, section 15.5 (an isolated spike is no episode), and the contention of a
shared node reported at cBio/cbio-cluster, where epochs of 32 s became 100 s and then 1100 s.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import log

import numpy as np
import polars as pl

from collectors.frames import require
from detectors.panels import Floats
from detectors.pauses import JOB_PACES
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortJobParams:
    """When few reports show a slow job.

    Attributes:
        max_reports: With as many reports or more the detector of jobs judges.
        good_reports: Reports in a row, alike, that say how fast the job is; as many must come
            before a stretch, so that a start is none.
        max_good_spread: Largest over smallest of them.
        min_slowdown: Ratio to their median from which a report is bad.
        min_bad_reports: Bad reports in a row that are an episode.
        min_level_ratio: Ratio of neighbouring bad reports from which they are two levels.
    """

    max_reports: int = 40
    good_reports: int = 2
    max_good_spread: float = 1.25
    min_slowdown: float = 1.5
    min_bad_reports: int = 3
    min_level_ratio: float = 2.0

    def __post_init__(self) -> None:
        """Refuse a threshold that every job would pass."""
        if self.min_slowdown <= 1.0:
            raise ValueError(f"min_slowdown must be above 1.0, got {self.min_slowdown}")


def find_short_slow_jobs(paces: pl.LazyFrame, params: ShortJobParams) -> pl.DataFrame:
    """Return the stretches in which a job with few reports was plainly slower than its good pace.

    Args:
        paces: `JOB_PACES`; paused steps are left out.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind group_slow at level job, one row a stretch, whose levels are its
        evidence; `slowdown` is that of the whole stretch. Partition key: run and attempt.

    Raises:
        SchemaError: `paces` is not a `JOB_PACES`.
    """
    rows = paces.pipe(require, JOB_PACES).filter(~pl.col("paused").fill_null(value=False))
    parts = rows.sort("step", "end_time").collect().partition_by("run", "attempt")
    return verdict_frame(one for part in parts for one in _judged(part, params))


def _judged(part: pl.DataFrame, params: ShortJobParams) -> Iterator[Verdict]:
    seconds = part["step_seconds"].to_numpy()
    usual = _good_pace(seconds, params)
    if usual is None:
        return
    bad = np.concatenate([[False], seconds >= params.min_slowdown * usual, [False]])
    for start, stop in np.flatnonzero(bad[1:] != bad[:-1]).reshape(-1, 2).tolist():
        if start >= params.good_reports and stop - start >= params.min_bad_reports:
            yield _verdict(part, (start, stop), usual, params)


def _good_pace(seconds: Floats, params: ShortJobParams) -> float | None:
    """Return the best pace that a few reports in a row agree on; null if none do, or too many."""
    if not params.good_reports < seconds.size < params.max_reports:
        return None
    views = np.lib.stride_tricks.sliding_window_view(seconds, params.good_reports)
    alike = views[views.max(axis=1) <= params.max_good_spread * views.min(axis=1)]
    return float(np.median(alike, axis=1).min()) if alike.size else None


def _levels(seconds: Floats, params: ShortJobParams) -> list[tuple[int, int]]:
    """Return the first and past-the-end reports of each level in a stretch."""
    jumps = np.abs(np.diff(np.log(seconds))) >= log(params.min_level_ratio)
    bounds = [0, *(np.flatnonzero(jumps) + 1).tolist(), seconds.size]
    return list(pairwise(bounds))


def _verdict(
    part: pl.DataFrame, span: tuple[int, int], usual: float, params: ShortJobParams
) -> Verdict:
    start, stop = span
    rows = part.slice(start, stop - start)
    after = part.slice(stop, 1).to_dicts()
    inside, steps = rows["step_seconds"].to_numpy(), rows["step"].to_list()
    ratio = float(inside.sum()) / (usual * inside.size)
    seen = [
        f"steps {steps[at]} to {steps[to - 1]}: {np.median(inside[at:to]):.4g} s, "
        f"x{np.median(inside[at:to]) / usual:.1f} of its good {usual:.4g} s"
        for at, to in _levels(inside, params)
    ]
    return Verdict(
        kind="group_slow",
        level="job",
        subject=Subject(run=part["run"][0], attempt=part["attempt"][0]),
        onset=rows["end_time"][0],
        detected=rows["end_time"][params.min_bad_reports - 1],
        cleared=after[0]["end_time"] if after else None,
        onset_step=steps[0],
        cleared_step=after[0]["step"] if after else None,
        slowdown=ratio,
        confidence="medium",
        peers="the run's own good reports",
        peer_count=0,
        evidence=tuple(
            Evidence(source="steps", time=rows["end_time"][0], what=one) for one in seen
        ),
        action="look for a neighbour on the same nodes, and for what all ranks share",
    )
