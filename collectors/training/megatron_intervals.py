"""Tell over how many steps each iteration line speaks, and what its missing loss means.

Source: formats of progress streams, section 1.2. The mean is over the steps since the last line,
not over the configured interval: a resume gives a short first one. Since core 0.16 the first step
is printed extra and counts in the next line's mean again.
"""

from typing import Final

import polars as pl

NEIGHBOUR_LINES: Final = 200
"""How far away a printed loss may stand to tell that losses are asked for."""


def with_intervals(records: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the records with the steps they speak for.

    Args:
        records: `line`, `step` and the numbers of iteration records, by line.
        marks: `line` and `resumed` of starts and loads: the iteration that was loaded, or null.

    Returns:
        The records with `interval_steps`, at least 1; `is_first`, where an attempt begins in these
        lines; and `gap`, the steps since the record before, null there and at a repeated step.
    """
    step, mark, gap = pl.col("step"), pl.col("marks"), pl.col("step").diff()
    begins = (step < step.shift(1)) | (mark > mark.shift(1))
    return (
        _marked(records, marks)
        .with_columns(is_first=begins.fill_null(value=True))
        .with_columns(gap=pl.when(~pl.col("is_first") & (gap > 0)).then(gap))
        .with_columns(interval_steps=_interval())
    )


def _marked(records: pl.DataFrame, marks: pl.DataFrame) -> pl.DataFrame:
    """Return the records with how many marks stand before each, and what was loaded last."""
    if marks.is_empty():
        return records.with_columns(marks=0, resumed=pl.lit(None, dtype=pl.Int64))
    counted = marks.sort("line").with_columns(
        pl.col("resumed").forward_fill(), marks=pl.int_range(1, pl.len() + 1)
    )
    joined = records.join_asof(counted, on="line", strategy="backward", check_sortedness=False)
    return joined.with_columns(pl.col("marks").fill_null(0))


def _interval() -> pl.Expr:
    """Return the steps that a record's mean is over, from it and the records beside it."""
    gap, step, is_first = pl.col("gap"), pl.col("step"), pl.col("is_first")
    after = gap.shift(-1)
    later = pl.when(after.is_not_null()).then(gap.shift(-2))
    since = pl.when(pl.col("resumed") < step).then(step - pl.col("resumed"))
    usual = pl.when(after.is_not_null()).then(pl.min_horizontal(after, step))
    extra = (step == 1) | (after + 1 == later)
    alone = pl.when(extra).then(1).otherwise(pl.coalesce(since, usual, 1))
    lone_second = (step.shift(1) == 1) & after.is_null()
    again = is_first.shift(1) & (gap > 1) & ((gap + 1 == after) | lone_second)
    steps = pl.when(is_first).then(alone).when(again).then(gap + 1).otherwise(gap)
    return steps.forward_fill()


def loss_states() -> pl.Expr:
    """Return why a loss is there or not; a record cut before its place tells nothing.

    `printed`; `all_skipped` (each step of the interval was, the harmless start of mixed precision);
    `not_printed` (NaN, negative, or zero before core 0.17); null where no line near has a loss and
    nothing else is odd: that log prints none.
    """
    loss = pl.col("loss").is_not_null()
    whole = pl.col("loss_scale").is_not_null() | pl.col("skipped").is_not_null()
    window = 2 * NEIGHBOUR_LINES + 1
    near = loss.cast(pl.Int32).rolling_sum(window, min_samples=1, center=True) > 0
    odd = pl.col("grad_norm").is_nan() | (pl.col("skipped") > 0)
    return (
        pl.when(loss)
        .then(pl.lit("printed"))
        .when(pl.col("skipped") >= pl.col("interval_steps"))
        .then(pl.lit("all_skipped"))
        .when(whole & (near | odd.fill_null(value=False)))
        .then(pl.lit("not_printed"))
    )
