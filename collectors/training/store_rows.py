"""From the wide rows of a metric store to points, steps, and what the rows tell beside.

Source: formats of progress streams, section 12 (W&B). After a resume W&B drops the rows below the
step that it has already: a rollback leaves no falling step, only a stop of `_step` while
`_timestamp` runs on. `_runtime` stands still while no process runs, or begins anew. What
`run.history()` and the page export is a sample of the rows.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.training.metric_names import known_metrics
from collectors.training.metric_points import POINTS, steps_of_points

ROWS: Final = schema_of(
    {"position": pl.Int64, "step": pl.Int64, "time": TIME, "runtime": pl.Float64}
)
"""What each row of a history has, beside a column of text or numbers for each series."""

MAX_SAMPLES: Final = 500
"""Rows of a history that is not asked for more. Source: W&B's `Run.history`, `samples`."""

MIN_STOP_RATIO: Final = 10.0
"""A time between rows this many times the usual one, and that of both neighbours, is a stop; ours.
A job that slows down is slow on both sides of each row."""

MIN_STOP_SECONDS: Final = 30.0
"""Shorter stops are pauses of a step; ours."""

MIN_PLANNED_STOPS: Final = 3
"""So many stops at equal distances are pauses that somebody planned; ours."""

MIN_DOWN_SECONDS: Final = 30.0
"""The clock ahead of the runtime by more than this between two rows: no process ran; ours."""


def read_store_rows(rows: pl.DataFrame, run: str | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the steps and events in the rows of one history.

    Args:
        rows: `ROWS` and the series' columns, in the order of the store.
        run: The run's name, null if the store does not tell.

    Returns:
        `STEPS` and `EVENTS` without their source. The time of the step behind a stop is not known,
        unless the store tells it. Events: run_start (`resumed`) where a new process goes on,
        warning `step_stop` at a stop, warning `sampled` of a history with holes of uneven size.
    """
    known = rows.drop_nulls("step").sort("position", maintain_order=True)
    marked = known.with_columns(_waits()).with_columns(
        segment=pl.col("resumed").cum_sum(), stopped=_stopped() & ~pl.col("resumed")
    )
    parts = [
        steps_of_points(_points(part, run)).with_columns(pl.col("attempt") + number)
        for (number,), part in marked.partition_by("segment", as_dict=True).items()
    ]
    steps = pl.concat([steps_of_points(POINTS.to_frame()), *parts], how="diagonal_relaxed")
    return _without_stops(steps, marked), _events(marked, run)


def _waits() -> list[pl.Expr]:
    """Return the seconds since the row before by the clock, and whether a process went on."""
    clock = pl.col("time").diff().dt.total_microseconds() / 1e6
    ran = pl.col("runtime").diff()
    resumed = (clock - ran > MIN_DOWN_SECONDS) | (ran < 0)
    return [clock.alias("waited"), resumed.fill_null(value=False).alias("resumed")]


def _stopped() -> pl.Expr:
    waited = pl.col("waited")
    usual = pl.max_horizontal(waited.median(), waited.shift(1), waited.shift(-1))
    return ((waited >= MIN_STOP_RATIO * usual) & (waited >= MIN_STOP_SECONDS)).fill_null(
        value=False
    )


def _points(rows: pl.DataFrame, run: str | None) -> pl.DataFrame:
    tags = known_metrics(pl.Series([one for one in rows.columns if one not in ROWS]))["tag"]
    return (
        rows.select(
            "position", "time", "step", pl.col(tags.to_list()).cast(pl.Float64, strict=False)
        )
        .unpivot(index=["position", "time", "step"], variable_name="tag")
        .drop_nulls("value")
        .with_columns(run=pl.lit(run, dtype=pl.String))
        .select(POINTS.names())
    )


def _without_stops(steps: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the steps without the times that were read off the clock over a stop."""
    stops = rows.filter("stopped")["position"].implode()
    unknown = pl.col("position").is_in(stops) & (pl.col("time_kind") == "arrival")
    return steps.with_columns(
        pl.when(~unknown.fill_null(value=False)).then(name).alias(name)
        for name in ("step_seconds", "time_kind")
    )


def _events(rows: pl.DataFrame, run: str | None) -> pl.DataFrame:
    waited = pl.col("waited").round(1).cast(pl.String)
    since = pl.concat_str(pl.lit("no row for "), waited, pl.lit(" s before step "), "step")
    resumed = rows.filter("resumed").select(
        "position",
        "time",
        kind=pl.lit("run_start"),
        code=pl.lit("resumed"),
        severity=pl.lit("info"),
        message=pl.concat_str(since, pl.lit(": a new process goes on")),
    )
    stops = rows.filter("stopped")
    stopped = stops.head(0 if _is_planned(stops) else stops.height).select(
        "position",
        "time",
        kind=pl.lit("warning"),
        code=pl.lit("step_stop"),
        severity=pl.lit("warning"),
        message=pl.concat_str(
            since, pl.lit(": a stall, or a rollback whose rows the store has dropped")
        ),
    )
    events = pl.concat([resumed, stopped, sampled_events(rows.head(int(_is_sampled(rows))))])
    return events.with_columns(run=pl.lit(run, dtype=pl.String), count=pl.lit(1))


def _is_planned(stops: pl.DataFrame) -> bool:
    """Return whether stops come at equal distances: evaluations and checkpoints do."""
    gaps = stops["step"].diff().drop_nulls()
    return gaps.len() + 1 >= MIN_PLANNED_STOPS and gaps.n_unique() == 1


def _is_sampled(rows: pl.DataFrame) -> bool:
    """Return whether rows look like a sample: as many as one has, with holes of uneven size."""
    gaps = rows["step"].diff().drop_nulls()
    return rows.height >= MAX_SAMPLES and gaps.filter(gaps > 0).n_unique() > 1


def sampled_events(first: pl.DataFrame) -> pl.DataFrame:
    """Return the events that say that a history is a sample.

    Args:
        first: `position` and `time` of the first row of each such history.
    """
    return first.select(
        "position",
        "time",
        kind=pl.lit("warning"),
        code=pl.lit("sampled"),
        severity=pl.lit("warning"),
        message=pl.lit("a sample of the history: steps between its rows are not there"),
    )
