"""Read the progress bars that tqdm draws: step, total and the seconds since the loop began.

Source: formats of progress streams, section 5: `{desc}: {pct}%|{bar}| {n}/{total}
[{elapsed}<{remaining}, {rate}]`, elapsed `MM:SS` or `H:MM:SS`, or `{n}it [{elapsed}, {rate}]` with
an unknown total. The rate is smoothed, so it is not used.
"""

from typing import Final

import polars as pl

BAR: Final = r"\| *[\d.]+[kMG]?/[\d.?]+[kMG]? \[[\d:]+<|\d+it \[[\d:]+, "
"""A bar, wherever it stands in a line."""

_COUNT: Final = r"([0-9]+)(?:/([0-9]+)|it) \[(?:([0-9]+):)?([0-9]+):([0-9][0-9])[<,]"


def bar_columns() -> dict[str, pl.Expr]:
    """Return `bar_step`, `bar_total` and `bar_seconds` of a text; null where it has no bar.

    The total is null where the bar does not know it either.
    Of several bars in one text the last counts: those before it were drawn over.
    """
    last = pl.col("text").str.split("%|").list.last()
    number, total, hours, minutes, seconds = (
        last.str.extract(_COUNT, group).cast(pl.Int64, strict=False) for group in (1, 2, 3, 4, 5)
    )
    return {
        "bar_step": number,
        "bar_total": total,
        "bar_seconds": hours.fill_null(0) * 3600 + minutes * 60 + seconds,
    }


MIN_WINDOW_SECONDS: Final = 5
"""A bar counts whole seconds: over a shorter time its pace would be mostly rounding."""


def bar_paces(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the seconds of a step by their bars.

    Args:
        rows: `line`, `step`, `bar_seconds` and `loop`, the number of the loop that a bar is of.

    Returns:
        The rows by line, with `bar_pace`: the mean since the last row of the loop that is five
        seconds older or more; null without one.
    """
    known = rows.drop_nulls(["step", "bar_seconds", "loop"])
    before = known.select(
        "loop", since=pl.col("bar_seconds").cast(pl.Int64), from_step="step"
    ).sort("since", maintain_order=True)
    joined = (
        rows.with_columns(limit=pl.col("bar_seconds").cast(pl.Int64) - MIN_WINDOW_SECONDS)
        .sort("limit", maintain_order=True)
        .join_asof(
            before,
            left_on="limit",
            right_on="since",
            by="loop",
            strategy="backward",
            check_sortedness=False,
        )
        .sort("line", maintain_order=True)
    )
    steps, seconds = pl.col("step") - pl.col("from_step"), pl.col("bar_seconds") - pl.col("since")
    return joined.with_columns(bar_pace=pl.when(steps > 0).then(seconds / steps)).drop(
        "limit", "since", "from_step"
    )
