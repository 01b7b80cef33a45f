"""Turn rates into seconds a step: how much a step does is learned from the log's own stamps."""

from typing import Final

import polars as pl

NEIGHBOUR_LINES: Final = 100
"""How far away a line may stand to tell how much a step does: work may change on the way."""


def seconds_by_rate(lines: pl.DataFrame, lane: str | None = None) -> pl.DataFrame:
    """Return the lines with the seconds of their steps, from the rate since the line before.

    Args:
        lines: In log order: `step`, `rate` (samples or tokens a second; null or not positive is
            not known) and `wall_seconds` since the line before (null without stamps).
        lane: Column of who printed each, where there are several; the line before is their own.

    Returns:
        The lines with `gap`, the steps since the line before (null at the first and where the
        number goes back); `work`, the samples or tokens of a step, 1 where no stamp near tells; and
        `rate_seconds`, its time: with a `work` of 1 only ratios of it count.
    """
    gap = _within(pl.col("step").diff(), lane)
    sound = pl.col("rate").is_finite() & (pl.col("rate") > 0)
    known = lines.with_columns(
        gap=pl.when(gap > 0).then(gap).cast(pl.Float64), rate=pl.when(sound).then("rate")
    )
    seen = pl.col("rate") * pl.col("wall_seconds") / pl.col("gap")
    window = 2 * NEIGHBOUR_LINES + 1
    guess = _within(seen.rolling_median(window, min_samples=1, center=True), lane).round()
    work = pl.when(guess >= 1).then(guess).otherwise(1.0)
    return known.with_columns(work=work, rate_seconds=work / pl.col("rate"))


def _within(value: pl.Expr, lane: str | None) -> pl.Expr:
    return value if lane is None else value.over(lane)
