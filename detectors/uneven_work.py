"""Find jobs that lose time to work that is uneven, now on one rank and now on another: no device.

Source: methods reference, section 8: pauses at a random rank in each step (garbage collection), and
sequences of different lengths, whose forward and backward times rise together; ByteDance's what-if
analysis of stragglers (arXiv 2505.05713). A slow worker correlates as well, so we look at each rank
around its own mean, and ask that the slowest rank changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from collectors.frames import require
from detectors.paces import PACES
from detectors.panels import Bools, Floats, Ints, Panel, build_panel
from detectors.peers import known_median, peer_medians, robust_scale
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

GROUP: Final = ("run", "attempt", "pp", "ep", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseParams:
    """When ranks pause on their own.

    Attributes:
        min_ratio: A pause makes a step longer by this, at least.
        min_noise_ratio: And by so many times the noise.
        min_rank_share: Of the ranks that pause.
        max_step_share: Of a rank's steps that have a pause.
        min_single_share: Of the pauses that last for one step.
        max_together_share: Of the ranks that pause in one step, at the median pause.
        max_size_spread: Robust scale of the pauses' seconds, over their median: a collector takes
            about as long each time, the tail of some noise does not.
        min_loss: Mean excess of the slowest rank over the mean step.
    """

    min_ratio: float = 1.05
    min_noise_ratio: float = 4.5
    min_rank_share: float = 0.5
    max_step_share: float = 0.05
    min_single_share: float = 0.8
    max_together_share: float = 0.2
    max_size_spread: float = 0.2
    min_loss: float = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class UnevenParams:
    """When work counts as uneven.

    Attributes:
        pauses: When ranks pause on their own.
        min_ranks: Ranks of a job that is judged.
        min_steps: Steps of a job that is judged.
        min_correlation: Of forward and backward time, at the median rank.
        min_ratio: Slowest over usual rank, at the mean step.
        max_slowest_share: Of the steps in which the same rank of a group is slowest; in small
            groups `slowest_by_chance` times what chance gives.
        slowest_by_chance: See above.
    """

    pauses: PauseParams = field(default_factory=PauseParams)
    min_ranks: int = 8
    min_steps: int = 100
    min_correlation: float = 0.9
    min_ratio: float = 1.10
    max_slowest_share: float = 0.25
    slowest_by_chance: float = 2.0


def find_uneven_work(paces: pl.LazyFrame, params: UnevenParams) -> pl.DataFrame:
    """Return the jobs whose ranks take turns in holding the others up.

    Args:
        paces: `PACES`; null passes are not told. Without both passes the length of sequences cannot
            be told from noise.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind imbalance at level job, cause unsynchronised_pauses or sequence_lengths;
        `slowdown` is the mean step over what it were without. Partition key: run and attempt.

    Raises:
        SchemaError: `paces` is not a `PACES`.
    """
    rows = paces.pipe(require, PACES).filter(
        pl.col("measure") == "busy", pl.col("end_time").is_not_null()
    )
    parts = rows.collect().partition_by("run", "attempt", maintain_order=False)
    return verdict_frame(one for part in parts for one in _judge(part, params))


def _judge(part: pl.DataFrame, params: UnevenParams) -> Iterator[Verdict]:
    if part["rank"].n_unique() < params.min_ranks or part["step"].n_unique() < params.min_steps:
        return
    work = _view(part, "pace_seconds")
    told = part.filter(pl.all_horizontal(pl.col("forward_seconds", "backward_seconds") > 0))
    passes = None
    if 2 * told.height >= part.height:
        passes = (_view(told, "forward_seconds"), _view(told, "backward_seconds"))
    loss = _pause_loss(passes[0] if passes else work, work, params.pauses)
    if loss is not None:
        yield _pausing(part, *loss)
    elif passes is not None and (ratio := _sequence_ratio(work, *passes, params)) is not None:
        yield _of_lengths(part, ratio)


@dataclass(frozen=True, slots=True)
class _View:
    """Seconds of ranks by step, their log ratios to peers, and the same around their own mean."""

    panel: Panel
    levels: Floats
    ratios: Floats


def _view(part: pl.DataFrame, column: str) -> _View:
    panel = build_panel(
        part.lazy().with_columns(log_pace=pl.col(column).log()),
        group=GROUP,
        entity=("rank",),
        tick="step",
        value="log_pace",
    )
    ratios = panel.values - peer_medians(panel.values, panel.groups)
    return _View(panel, ratios, ratios - known_median(ratios, 1)[:, None])


def _pause_loss(view: _View, work: _View, params: PauseParams) -> tuple[float, float, int] | None:
    """Return what pauses cost, how long one is, and how many there are; null where none are."""
    ratios = np.nan_to_num(view.ratios, nan=0.0)
    noise = float(np.nanmedian(robust_scale(view.ratios)))
    least = max(np.log(params.min_ratio), params.min_noise_ratio * noise)
    pauses = ratios >= least
    if not _is_scattered(pauses, params):
        return None
    seconds = np.exp(view.panel.values) * -np.expm1(-ratios)
    sizes = seconds[pauses]
    middle = float(np.median(sizes))
    if float(robust_scale(sizes)) > params.max_size_spread * middle:
        return None
    step = float(np.nanmean(known_median(np.exp(work.panel.values), 0)))
    loss = float(np.where(pauses, seconds, 0.0).max(axis=0).mean()) / step
    return (1.0 + loss, middle, int(pauses.sum())) if loss >= params.min_loss else None


def _is_scattered(pauses: Bools, params: PauseParams) -> bool:
    """Return whether most ranks pause, seldom, for single steps, and not together."""
    shares: Floats = np.mean(pauses, axis=1)
    by_step: Ints = pauses.sum(axis=0)
    begins: Bools = pauses & ~np.pad(pauses, ((0, 0), (1, 0)))[:, :-1]
    count = int(np.count_nonzero(pauses))
    usual = float(np.median(by_step[np.nonzero(pauses)[1]])) / pauses.shape[0] if count else 1.0
    return (
        float(np.mean(shares > 0)) >= params.min_rank_share
        and float(np.max(shares)) <= params.max_step_share
        and int(np.count_nonzero(begins)) >= params.min_single_share * count
        and usual <= params.max_together_share
    )


def _sequence_ratio(
    work: _View, forward: _View, backward: _View, params: UnevenParams
) -> float | None:
    """Return the slowest rank over the usual one, where the length of sequences is the reason."""
    slowest = np.exp(np.fmax.reduce(np.nan_to_num(work.ratios, nan=0.0), axis=0))
    ratio = float(slowest.mean())
    if ratio < params.min_ratio or not _takes_turns(work, params):
        return None
    correlation = float(np.median(_correlations(forward.ratios, backward.ratios)))
    return ratio if correlation >= params.min_correlation else None


def _takes_turns(work: _View, params: UnevenParams) -> bool:
    """Return whether no rank of a group is the slowest in too many steps."""
    ratios = np.nan_to_num(work.levels, nan=-np.inf)
    for group in np.unique(work.panel.groups):
        members = ratios[work.panel.groups == group]
        counts = np.bincount(members.argmax(axis=0), minlength=members.shape[0])
        limit = max(params.max_slowest_share, params.slowest_by_chance / members.shape[0])
        if counts.max() > limit * members.shape[1]:
            return False
    return True


def _correlations(first: Floats, second: Floats) -> Floats:
    """Return the correlation of two series of each rank; 0 where one does not move."""
    both = ~np.isnan(first) & ~np.isnan(second)
    left, right = (
        np.where(both, one - np.nanmean(np.where(both, one, np.nan), axis=1)[:, None], 0.0)
        for one in (first, second)
    )
    power = np.sqrt((left**2).sum(axis=1) * (right**2).sum(axis=1))
    result: Floats = np.divide(
        (left * right).sum(axis=1), power, out=np.zeros_like(power), where=power > 0
    )
    return result


def _pausing(part: pl.DataFrame, ratio: float, seconds: float, count: int) -> Verdict:
    what = (
        f"{count} single steps of ranks are {seconds:.2g} s longer, each rank at its own steps: "
        f"the job waits for one of them again and again"
    )
    return Verdict(
        cause="unsynchronised_pauses",
        evidence=(Evidence(source="steps", what=what),),
        action="no device to drain: let all ranks collect garbage at the same step, and look at "
        "what else pauses a process",
        **_shared(part, ratio),
    )


def _of_lengths(part: pl.DataFrame, ratio: float) -> Verdict:
    what = (
        f"the slowest rank of a step takes x{ratio:.2f} of the usual one, forward and backward "
        "alike, and it is another one from step to step"
    )
    return Verdict(
        cause="sequence_lengths",
        evidence=(Evidence(source="steps", what=what),),
        action="no device to drain: balance the length of sequences over the ranks",
        **_shared(part, ratio),
    )


def _shared(part: pl.DataFrame, ratio: float) -> dict[str, Any]:
    return {
        "kind": "imbalance",
        "level": "job",
        "subject": Subject(run=part["run"][0], attempt=part["attempt"][0]),
        "onset_before_data": True,
        "slowdown": ratio,
        "confidence": "medium",
        "peers": "ranks of the same part, step by step",
        "peer_count": part["rank"].n_unique(),
    }
