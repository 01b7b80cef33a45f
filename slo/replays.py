"""Which steps of a run were done twice: what a rollback wasted, and the pass that counts.

Source: progress reference, sections 0.6 and 15.2: a step number that comes again means that all
steps from there on in the attempts before are lost, whatever checkpoints were written.
"""

from typing import Final

import polars as pl

from collectors.frames import STEPS, require, schema_of

REPLAYS: Final = schema_of(
    {
        "run": pl.String,
        "last_step": pl.Int64,
        "wasted_steps": pl.Int64,
        "wasted_seconds": pl.Float64,
        "productive_seconds": pl.Float64,
    }
)
"""What a run did. `wasted_steps` were done again later; seconds are those that steps tell, null
where none does."""

_LANE: Final = ("run", "rank")


def latest_passes(steps: pl.LazyFrame) -> pl.LazyFrame:
    """Return the steps without those that a later attempt did again.

    Args:
        steps: `STEPS`; a null rank speaks for the whole job.

    Returns:
        `STEPS`, by run, rank and step: of a report that was partly done again the whole is gone,
        since its mean is over both parts.
    """
    rows = with_resumption(steps)
    kept = rows.filter(pl.col("step") <= pl.col("resumed"))
    return kept.select(STEPS.names()).sort(*_LANE, "step", "attempt", "end_time")


def budget_replays(steps: pl.LazyFrame) -> pl.DataFrame:
    """Return what each run spent on steps that count, and on steps that it did again.

    Args:
        steps: `STEPS`; reports of the whole job where there are any, else of the lowest rank.

    Returns:
        `REPLAYS`, by run.
    """
    rank = pl.col("rank").fill_null(-1)
    one = steps.pipe(require, STEPS).filter(rank == rank.min().over("run"))
    again = (pl.col("step") - pl.col("resumed")).clip(0, pl.col("interval_steps").fill_null(1))
    seconds, count = pl.col("step_seconds"), pl.col("interval_steps").fill_null(1)
    known = seconds.is_finite().any()
    return (
        with_resumption(one)
        .with_columns(again=again.fill_null(0))
        .group_by("run")
        .agg(
            last_step=pl.col("step").max(),
            wasted_steps=pl.col("again").sum(),
            wasted_seconds=pl.when(known).then((seconds * pl.col("again")).sum()),
            productive_seconds=pl.when(known).then((seconds * (count - pl.col("again"))).sum()),
        )
        .sort("run")
        .select(pl.col(name).cast(kind) for name, kind in REPLAYS.items())
        .collect()
    )


def with_resumption(steps: pl.LazyFrame) -> pl.LazyFrame:
    """Return the steps with `resumed`: the earliest step from which a later attempt went on.

    Args:
        steps: `STEPS`. A step that is printed twice in one attempt is one report.

    Returns:
        `STEPS` with `resumed`; without a later attempt it is the step itself.
    """
    before = pl.col("step") - pl.col("interval_steps").fill_null(1)
    rows = (
        steps.pipe(require, STEPS)
        .drop_nulls("step")
        .unique([*_LANE, "attempt", "step"], keep="last", maintain_order=True)
    )
    begins = (
        rows.group_by(*_LANE, "attempt")
        .agg(start=before.sort_by("step").first())
        .sort(*_LANE, "attempt")
        .with_columns(later=pl.col("start").shift(-1).over(_LANE))
        .with_columns(later=pl.col("later").cum_min(reverse=True).over(_LANE))
    )
    return rows.join(begins, on=[*_LANE, "attempt"], how="left", nulls_equal=True).with_columns(
        resumed=pl.min_horizontal("later", "step")
    )
