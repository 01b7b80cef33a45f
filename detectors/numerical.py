"""Find steps whose numbers are none: NaN or infinite loss and gradient norm, and losses left out.

Source: progress reference, sections 1.2 and 5: Megatron prints no loss that is NaN, so its absence
beside printed neighbours is the sign; losses of 0 or below go unprinted too, so it is no proof
where gradients are numbers. Nor are infinite gradients after which training goes on: an adapted
loss scale skips such steps. A loss of exactly 0 beside a gradient norm that is NaN is a collapse,
not a success. fp16 runs skip steps while their loss scale falls; that is warm-up.
"""

from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, STEPS, require
from detectors.quiet.restoring import proven_saves, restore_words
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_JOB: Final = ("run", "attempt")

_LOOK: Final = "look at the loss where it is not left out, such as in the metric store"

_CHECKSUMS: Final = "cross-replica checksums tell a sick GPU from a diverging model"

_SCALE: Final = (
    "the loss scale: where it is adapted, a step of infinite gradients is skipped and harmless"
)

_LOSS: Final = "the loss itself: what is not printed is NaN, negative, or zero"


def find_numerical(steps: pl.LazyFrame, events: pl.LazyFrame | None = None) -> pl.DataFrame:
    """Return the runs whose loss or gradient norm stopped being a number.

    Args:
        steps: `STEPS`; a null loss was not told and is no finding, unless `loss_state` says that
            the source leaves out what is no number.
        events: `EVENTS`; checkpoints tell where to go back to; null: nobody tells them.

    Returns:
        `VERDICTS` of kind numerical at level job, one row a run and attempt, from the first such
        step. Partition key: run and attempt.
    """
    no_number = [
        (pl.col(name).is_nan() | pl.col(name).is_infinite()).fill_null(value=False)
        for name in ("loss", "grad_norm")
    ]
    left_out = (pl.col("loss_state") == "not_printed").fill_null(value=False)
    is_sure = pl.any_horizontal(*no_number)
    rows = (
        steps.pipe(require, STEPS)
        .with_columns(is_skip=_is_skip())
        .filter(pl.any_horizontal(*no_number, left_out))
        .sort(*_JOB, "step", "rank", "end_time", nulls_last=True)
        .group_by(_JOB, maintain_order=True)
        .agg(
            pl.col("step").n_unique().alias("steps"),
            pl.col("step", "end_time", "rank", "loss", "grad_norm", "source").first(),
            left_out.first().alias("left_out"),
            is_sure.any().alias("is_sure"),
            pl.col("is_skip").all(),
            pl.col("grad_norm").is_not_null().any().alias("has_norms"),
        )
        .collect()
    )
    saves = proven_saves(EVENTS.to_frame().lazy() if events is None else events)
    return verdict_frame(_verdict(row, saves) for row in rows.iter_rows(named=True))


def _is_skip() -> pl.Expr:
    """Return whether gradients alone are infinite, and training went on with sound numbers."""
    infinite = pl.col("grad_norm").is_infinite() & pl.col("loss").is_finite()
    sound = pl.all_horizontal(pl.col("loss", "grad_norm").is_finite())
    last_sound = pl.col("step").filter(sound).max().over(_JOB)
    return (infinite & (pl.col("step") < last_sound)).fill_null(value=False)


def _verdict(row: dict[str, Any], saves: pl.DataFrame) -> Verdict:
    loss = "not printed" if row["left_out"] else row["loss"]
    what = (
        f"loss {loss}, gradient norm {row['grad_norm']} at step {row['step']}; "
        f"{row['steps']} such steps in all"
    )
    way = "restore the last checkpoint from before it"
    if row["step"] is not None:
        way = restore_words(saves, row["run"], row["step"])
    is_doubtful = row["is_skip"] or (row["has_norms"] and not row["is_sure"])
    return Verdict(
        kind="numerical",
        level="job",
        subject=Subject(run=row["run"], attempt=row["attempt"]),
        onset=row["end_time"],
        detected=row["end_time"],
        onset_step=row["step"],
        cause=_cause(row),
        confidence="low" if is_doubtful else "high" if row["is_sure"] else "medium",
        evidence=(Evidence(source=row["source"] or "steps", time=row["end_time"], what=what),),
        action=_LOOK if is_doubtful else f"stop the run and {way}",
        needed=_SCALE if row["is_skip"] else _LOSS if is_doubtful else _CHECKSUMS,
    )


def _cause(row: dict[str, Any]) -> str:
    if row["is_skip"]:
        return "infinite_gradient"
    if row["has_norms"] and not row["is_sure"]:
        return "loss_not_printed"
    return "collapsed" if row["loss"] == 0.0 else "not_a_number"
