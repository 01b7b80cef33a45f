"""Number the attempts of a run: a step number that goes back is a restart, not an error.

Source: formats of progress streams, section 0.6 (step regressions are data).
"""

import polars as pl


def attempt_number(step: pl.Expr, value: pl.Expr, starts: pl.Expr) -> pl.Expr:
    """Return how many restarts lie before each row of one rank, in the order of its log.

    Args:
        step: Step numbers in log order.
        value: What tells a replay from a line printed twice: the same step with another value
            is a replay; with an equal one it is the same line again.
        starts: How many start marks the log shows up to the row; each mark after the first
            begins an attempt, and no step that goes back right after it counts twice.

    Returns:
        Int32 from 0; use it `.over` the run and rank.
    """
    back = step < step.shift(1)
    again = (step == step.shift(1)) & value.ne_missing(value.shift(1))
    unmarked = (back | again) & (starts == starts.shift(1))
    base = starts.first().clip(upper_bound=1)
    return (starts - base + unmarked.fill_null(value=False).cum_sum()).cast(pl.Int32)
