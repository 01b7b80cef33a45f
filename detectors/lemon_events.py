"""Open a score into the events that it is made of.

Source: methods reference, section 10: nobody drains a node for a number. What a failure counts is
its blame, as history fades and repairs forgive; together they are the node's own part of the score.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from detectors.decayed_counts import DecayParams, with_weights
from detectors.lemon_histories import FleetHistory
from detectors.part_stints import REPAIRS

SCORE_EVENTS: Final = schema_of(
    {
        "host": pl.String,
        "part": pl.String,
        "time": TIME,
        "kind": pl.String,
        "run": pl.String,
        "counts": pl.Float64,
        "is_named": pl.Boolean,
        "what": pl.String,
        "source": pl.String,
    }
)
"""One event behind a score. `kind`: failure (of the job `run`), signal, repair. `counts` is what a
failure adds to the score, null for what adds nothing to it. `part` is null for a node's score."""


def find_score_events(history: FleetHistory, decay: DecayParams) -> pl.DataFrame:
    """Return what the score of each node and each named part is made of.

    Args:
        history: What happened.
        decay: How history fades.

    Returns:
        `SCORE_EVENTS`, by host and part, the newest first. Failures that a part took along from a
        node are with both.
    """
    failures = history.failures.with_columns(kind=pl.lit("failure"))
    of_nodes = _weighted(failures, history.repairs, history, decay).with_columns(
        part=pl.lit(None, pl.String)
    )
    named = failures.filter("is_named").drop_nulls("part")
    of_parts = _weighted(named, REPAIRS.to_frame(), history, decay)
    signals = history.signals.with_columns(kind=pl.lit("signal"), part=pl.lit(None, pl.String))
    repairs = history.repairs.with_columns(kind=pl.lit("repair"))
    both = pl.concat([of_nodes, of_parts, signals, repairs], how="diagonal_relaxed")
    return both.select(
        (pl.col(name) if name in both.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in SCORE_EVENTS.items()
    ).sort(
        *("host", "part", "time", "kind", "run", "what", "source"),
        descending=[False, False, True, False, False, False, False],
        nulls_last=[False, False, True, True, True, True, True],
    )


def _weighted(
    failures: pl.DataFrame, repairs: pl.DataFrame, history: FleetHistory, decay: DecayParams
) -> pl.DataFrame:
    weighted = with_weights(failures.lazy(), repairs.lazy(), history.as_of, decay)
    return weighted.with_columns(counts=pl.col("blame") * pl.col("weight")).collect()
