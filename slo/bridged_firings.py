"""Firings of one alert that a short break tore apart, as one, with the break told.

Source: prometheus issue 15175 and grafana/mimir issue 3814: after a restart a rule that waits less
than ten minutes is pending again, so that its alert resolves and fires anew. Whoever was woken is
not to be told that something new has happened.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.objectives import Objective
from slo.restarts import PAIR

MAX_BREAK_SECONDS: Final = 600
"""Ten minutes: a restart and the wait of any rule that a restart makes wait again."""

BRIDGED_FIRINGS: Final = schema_of(
    {
        "objective": pl.String,
        "severity": pl.String,
        "long_seconds": pl.Int64,
        "short_seconds": pl.Int64,
        "active_at": TIME,
        "fired_at": TIME,
        "resolved_at": TIME,
        "break_count": pl.Int64,
        "break_seconds": pl.Float64,
    }
)
"""`BURN_ALERTS` with firings joined over breaks: how many there were, and how long they lasted in
all."""


def bridge_firings(
    alerts: pl.DataFrame, objective: Objective, *, max_break_seconds: float = MAX_BREAK_SECONDS
) -> pl.DataFrame:
    """Return firings of the same labels that follow each other shortly as one.

    Args:
        alerts: `BURN_ALERTS` with the objective's group labels.
        objective: Whose alerts.
        max_break_seconds: Seconds from a resolution to the next firing up to which they are one.

    Returns:
        The group labels and `BRIDGED_FIRINGS`, by group, severity, long window and time.
    """
    key = ["_all", *objective.group_labels, *PAIR]
    broke = pl.col("fired_at") - pl.col("resolved_at").shift(1).over(key)
    seconds = broke.dt.total_milliseconds() / 1000
    is_new = (seconds > max_break_seconds).fill_null(value=True)
    return (
        alerts.with_columns(_all=0)
        .sort(*key, "fired_at")
        .with_columns(_seconds=seconds, _firing=is_new.cum_sum())
        .group_by("_firing", *key, "objective", maintain_order=True)
        .agg(
            pl.col("active_at", "fired_at").first(),
            pl.col("resolved_at").last(),
            break_count=(pl.len() - 1).cast(pl.Int64),
            break_seconds=pl.col("_seconds").slice(1).sum(),
        )
        .select(*objective.group_labels, *BRIDGED_FIRINGS.names())
    )
