"""Find jobs that as a whole run slower than they did: the test that peers cannot make.

When every rank slows alike no peer stands out, so a job is compared with its own earlier pace.
Source: methods reference, section 6. With nothing to cancel what the surroundings do, the change
must be clear of the noise of single steps before it counts.
"""

from dataclasses import dataclass, field, replace
from math import exp
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import require
from detectors.episodes import Episode, EpisodeParams, find_episodes
from detectors.level_words import level_evidence
from detectors.panels import Floats
from detectors.pauses import JOB_PACES
from detectors.peers import known_median, tick_noise
from detectors.timelines import step_timeline
from detectors.trend_words import trend_verdict
from detectors.trends import TrendParams, find_trend
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

MIN_CAUSE_SHARE: Final = 0.6
"""The slowest rank sets the step and the median rank shows the wait, so less than all of the excess
is asked for."""

NEVER_BY_LEVEL: Final = 1000.0
"""A job has no peers, so no level of its own is too high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobParams:
    """When a job counts as slower than before.

    Attributes:
        episodes: When a stretch counts.
        baseline_steps: Steps of the good pace that must come before the change.
        min_noise_ratio: Effect over the noise of single steps.
        trends: When a run slows from its first step on.
    """

    episodes: EpisodeParams = field(
        default_factory=lambda: EpisodeParams(min_level=NEVER_BY_LEVEL, flap_runs=1_000_000)
    )
    baseline_steps: int = 20
    min_noise_ratio: float = 3.0
    trends: TrendParams = field(default_factory=TrendParams)


def find_slow_jobs(
    paces: pl.LazyFrame, params: JobParams, all_paces: pl.LazyFrame | None = None
) -> pl.DataFrame:
    """Return the stretches in which a job was slower than before.

    Args:
        paces: `JOB_PACES`; paused steps are left out.
        params: The thresholds.
        all_paces: `JOB_PACES` with the warm-up, in which a trend may have begun; null: the paces.

    Returns:
        `VERDICTS` at level job, of kind group_slow, or degrading where the pace grew worse bit by
        bit: who is at fault is another detector's matter, and stays unknown where no rank reports
        its phases. A job of one rank has no peers: its verdict is unknown, cause
        `slower_than_own_past`, since its work may have changed as well as its device. A run
        that slows from its first step on is one finding. Partition key: run and attempt.

    Raises:
        SchemaError: `paces` is not a `JOB_PACES`.
    """
    rows = paces.pipe(require, JOB_PACES).filter(~pl.col("paused").fill_null(value=False))
    parts = rows.collect().partition_by("run", "attempt")
    whole = (paces if all_paces is None else all_paces).pipe(require, JOB_PACES).collect()
    return verdict_frame(verdict for part in parts for verdict in _judge(part, whole, params))


def _judge(part: pl.DataFrame, whole: pl.DataFrame, params: JobParams) -> list[Verdict]:
    rows = part.sort("step", "end_time")
    values = np.log(rows["step_seconds"].to_numpy())
    trend = find_trend(values, params.trends)
    if trend is not None:
        same = rows.select("run", "attempt").head(1)
        early = whole.join(same, on=["run", "attempt"], how="semi", nulls_equal=True)
        return [trend_verdict(rows, trend, early, params.trends)]
    if values.size < 2 * params.baseline_steps:
        return []
    noise = float(tick_noise(values[None, :], params.episodes.noise_floor)[0])
    relative = values - _good_pace(values, params.baseline_steps)
    episodes = find_episodes(relative, noise, params.episodes)
    return [
        _verdict(rows, episode)
        for episode in episodes
        if episode.start >= params.baseline_steps
        and episode.effect >= params.min_noise_ratio * noise
    ]


def _good_pace(values: Floats, window: int) -> float:
    """Return the best median pace of any window: the yardstick near which the good level lies."""
    views = np.lib.stride_tricks.sliding_window_view(values, window)
    return float(np.min(known_median(views, -1)))


def _verdict(rows: pl.DataFrame, episode: Episode) -> Verdict:
    ticks = rows["step"].to_numpy()
    span = step_timeline(rows, ticks).span(episode)
    seconds = rows["step_seconds"].to_numpy()
    inside = float(np.median(seconds[episode.start : episode.stop]))
    ratio = exp(episode.effect)
    what = (
        f"step time {inside:.4g} s, x{ratio:.2f} of the run's own good pace, over "
        f"{episode.bad_ticks} steps from step {int(ticks[episode.start])}"
    )
    levels = level_evidence(rows[episode.start : episode.stop])
    verdict = Verdict(
        kind="degrading" if episode.is_ramp else "group_slow",
        level="job",
        subject=Subject(run=rows["run"][0], attempt=rows["attempt"][0]),
        slowdown=ratio,
        cause=_cause(rows, episode),
        confidence="high" if ratio >= 1.3 else "medium",  # noqa: PLR2004 -- the ratio from which timing alone is enough
        peers="the run's own earlier steps",
        peer_count=0,
        evidence=(Evidence(source="steps", time=span["onset"], what=what), *levels),
        action="look for what all ranks share: fabric, storage, power, a changed configuration",
        **span,
    )
    return _of_one(verdict) if rows["ranks"][0] == 1 else verdict


def _cause(rows: pl.DataFrame, episode: Episode) -> str | None:
    """Return `data` where the wait of the median rank for its data makes up the excess."""
    inside = pl.int_range(pl.len()).is_between(episode.start, episode.stop, "left")
    both = pl.col("step_seconds", "data_seconds")
    there, before = (rows.filter(side).select(both.median()).row(0) for side in (inside, ~inside))
    if None in {*there, *before}:
        return None
    step, data = (one - other for one, other in zip(there, before, strict=True))
    return "data" if step > 0 and data >= MIN_CAUSE_SHARE * step else None


def _of_one(verdict: Verdict) -> Verdict:
    """Return what may be said of a job of one rank: it is slower than its own past."""
    return replace(
        verdict,
        kind="unknown",
        cause="slower_than_own_past",
        confidence="low",
        action="blame no device: compare its clocks, power and input with its good stretch first",
        needed="a peer at the same work, or the history of jobs of this type: the work may have "
        "changed",
    )
