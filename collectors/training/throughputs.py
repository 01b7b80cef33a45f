"""Tell where a job's TFLOP/s began to count something else at the same speed.

Source: formats of progress streams, section 1.2 (a fix of a formula in Megatron-Bridge changed the
values reported, with no change in speed). What a log calls the floating-point operations of a
sample is its rate times the time of a sample; within one version that is a constant.
"""

from math import log
from typing import Final

import polars as pl

from collectors.texts.event_labels import event_labels
from collectors.texts.templates import filled

MIN_CHANGE: Final = 1.03
"""Least ratio of two works per sample that are two definitions. Curricula of the sequence length
move in smaller steps; figures are printed to about a thousandth."""

MAX_ROUNDING: Final = 0.01
"""Largest share that the last printed digit may have of a figure; coarser ones tell nothing."""

_LAST_DIGIT: Final = 0.05


def changed_definitions(records: pl.DataFrame) -> pl.DataFrame:
    """Return the places where the work that a log counts for a sample changes.

    Args:
        records: By line: `line`, `position`, `host`, `end_time`, `text`-less iteration records with
            `step`, `step_seconds`, `samples` and `tokens` (of a step) and `tera_flops` (of a GPU).
            Where tokens are counted, it is their work: sequences may grow longer.

    Returns:
        `EVENTS` with `line`, of kind throughput_changed; `code` is TFLOP/s before and after,
        `attributes` are `work_ratio` (after over before) and `step_seconds_before`.
    """
    rate = pl.col("tera_flops")
    coarse = _LAST_DIGIT / rate + _LAST_DIGIT / (1000 * pl.col("step_seconds")) > MAX_ROUNDING
    is_counted = pl.col("tokens").is_not_null().any()
    size = pl.when(is_counted).then("tokens").otherwise("samples")
    work = rate * pl.col("step_seconds") / size
    sound = records.with_columns(work=work).filter(work.is_finite(), work > 0, ~coarse)
    before = {name: pl.col(name).shift(1) for name in ("work", "tera_flops", "step_seconds")}
    ratio = pl.col("work") / before["work"]
    changed = sound.with_columns(
        ratio=ratio, was=before["tera_flops"], was_seconds=before["step_seconds"]
    ).filter(pl.col("ratio").log().abs() > log(MIN_CHANGE))
    return changed.select(
        "line",
        "position",
        "host",
        time="end_time",
        kind=pl.lit("throughput_changed"),
        code=pl.concat_str("was", "tera_flops", separator="->"),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message=filled("TFLOP/s {} at step {}, {} before", "tera_flops", "step", "was"),
        attributes=event_labels(
            {"work_ratio": pl.col("ratio"), "step_seconds_before": pl.col("was_seconds")}
        ),
    )
