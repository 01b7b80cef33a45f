"""Find runs that skip their steps: mixed precision that overflows whatever its loss scale is.

Source: progress reference, sections 1.2 and 3: Megatron counts the iterations that were skipped
since its last line, DeepSpeed those since the start (the reader takes differences). A run begins by
skipping while its loss scale falls, and skips one step now and then when the scale has risen: both
are how it works. Skipping nearly all steps for long is a run that does not train; a loss scale that
underflows to nothing is the same.
"""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, STEPS, require
from detectors.quiet.restoring import proven_saves, restore_words
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_JOB: Final = ("run", "attempt")

_LANE: Final = (*_JOB, "rank", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkipParams:
    """When a run skips too much.

    Attributes:
        min_skipped_share: Of the steps of each report in a stretch.
        min_steps: Steps that a stretch must have skipped, once a step was taken before it.
        min_first_steps: The same where none was taken yet: halving from 2^32 to 1 takes 32.
        min_reports: Reports of a stretch.
    """

    min_skipped_share: float = 0.8
    min_steps: int = 20
    min_first_steps: int = 100
    min_reports: int = 2

    def __post_init__(self) -> None:
        """Refuse a share that a healthy run passes."""
        if not 0.5 <= self.min_skipped_share <= 1.0:  # noqa: PLR2004 -- half of all
            raise ValueError(f"min_skipped_share must be half at least, {self.min_skipped_share}")


def find_skipped_steps(
    steps: pl.LazyFrame, events: pl.LazyFrame, params: SkipParams
) -> pl.DataFrame:
    """Return the stretches in which a run skipped nearly all of its steps.

    Args:
        steps: `STEPS`; a null `skipped_steps` was not told, and says nothing.
        events: `EVENTS`; checkpoints tell where to go back to.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind numerical at level job and cause steps_skipped, one row a run and
        attempt: its longest stretch. Nobody is named: an overflow is found together. Partition
        key: run and attempt.

    Raises:
        SchemaError: A frame lacks a column.
    """
    interval = pl.col("interval_steps").fill_null(1).clip(1)
    share = pl.col("skipped_steps") / interval
    rows = (
        steps.pipe(require, STEPS)
        .drop_nulls(["step", "skipped_steps"])
        .sort(*_LANE, "step", "end_time", nulls_last=False)
        .unique([*_LANE, "step"], keep="last", maintain_order=True)
        .with_columns(is_bad=share >= params.min_skipped_share, taken=share < 1.0)
        .with_columns(had=pl.col("taken").cum_sum().over(_LANE) > 0)
        .with_columns(turn=(~pl.col("is_bad")).cum_sum().over(_LANE))
        .filter("is_bad")
        .group_by(*_LANE, "turn")
        .agg(
            pl.col("had", "step", "end_time").first(),
            pl.col("skipped_steps").cast(pl.Int64).sum(),
            reports=pl.len(),
            last_step=pl.col("step").last(),
        )
    )
    least = pl.when("had").then(params.min_steps).otherwise(params.min_first_steps)
    found = (
        rows.filter(pl.col("skipped_steps") >= least, pl.col("reports") >= params.min_reports)
        .sort(*_JOB, "skipped_steps", "step", "rank", "source", descending=False, nulls_last=True)
        .unique(_JOB, keep="last", maintain_order=True)
        .collect()
    )
    saves = proven_saves(events.pipe(require, EVENTS))
    return verdict_frame(_verdict(row, saves) for row in found.iter_rows(named=True))


def _verdict(row: dict[str, Any], saves: pl.DataFrame) -> Verdict:
    what = (
        f"{row['skipped_steps']} steps skipped in {row['reports']} reports, from step "
        f"{row['step']} to {row['last_step']}"
        f"{'' if row['had'] else ', and none was taken before'}"
    )
    return Verdict(
        kind="numerical",
        level="job",
        subject=Subject(run=row["run"], attempt=row["attempt"]),
        onset=row["end_time"],
        detected=row["end_time"],
        onset_step=row["step"],
        cause="steps_skipped",
        confidence="high",
        evidence=(Evidence(source=row["source"] or "steps", time=row["end_time"], what=what),),
        action="stop the run: it does not train; "
        + restore_words(saves, row["run"], row["step"])
        + ", with a lower learning rate or in bf16",
        needed="loss and gradient norm before the first overflow tell divergence from bad data",
    )
