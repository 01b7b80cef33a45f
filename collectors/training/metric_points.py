"""Turn the points of a metric store into `STEPS`: one row a step of an attempt.

Source: formats of progress streams, sections 0.6, 4 and 12. A series whose step falls as its clock
runs on was started again; a store has no word for that. torchtitan divides the time of an interval
by its logging interval even where fewer steps lie in it.
"""

from typing import Final

import polars as pl

from collectors.frames import STEPS, TIME, schema_of
from collectors.training.metric_names import RATE, known_metrics
from collectors.training.rates import seconds_by_rate

POINTS: Final = schema_of(
    {
        "run": pl.String,
        "position": pl.Int64,
        "time": TIME,
        "tag": pl.String,
        "step": pl.Int64,
        "value": pl.Float64,
    }
)
"""One point of a series, in the order in which the store got it."""

_LANE: Final = ("run", "attempt")

_SUMMED: Final = ("data_seconds", "compute_seconds", "comm_seconds", "optimizer_seconds")

_SINGLE: Final = (*("step_seconds", "checkpoint_seconds", "loss", "grad_norm"), "samples", "tokens")

_DIVIDED_TAG: Final = r"end_to_end\(s\)$"

_SAMPLE_AXIS: Final = r"^(?:Train/Samples/|Train_Samples_)"
"""DeepSpeed's monitors count samples, not steps."""


def steps_of_points(points: pl.DataFrame) -> pl.DataFrame:
    """Return the steps that points tell of.

    Args:
        points: `POINTS`; series that are no part of a step are left out.

    Returns:
        `STEPS` without their source, by run, attempt and step. A time that no series tells is read
        off the clock between two steps (`arrival`), without a clock off the rate. Nothing is known
        of the first step's time then.
    """
    ours = _numbered(_on_steps(points.join(known_metrics(points["tag"]), on="tag")))
    if ours.is_empty():
        return STEPS.to_frame()
    rows = (
        ours.group_by(*_LANE, "step", maintain_order=True)
        .agg(
            pl.col("time").max(),
            pl.col("position").min(),
            pl.col("divided").any(),
            *(_value(name).sum().alias(name) for name in _SUMMED),
            *(_value(name).is_not_null().any().alias(f"has_{name}") for name in _SUMMED),
            *(_value(name).last().alias(name) for name in (*_SINGLE, RATE)),
        )
        .sort(*_LANE, "step", nulls_last=False)
        .with_columns(pl.when(f"has_{name}").then(name).alias(name) for name in _SUMMED)
    )
    return pl.concat([_timed(lane) for lane in rows.partition_by(_LANE, maintain_order=True)])


def _value(column: str) -> pl.Expr:
    return pl.col("value").filter(pl.col("column") == column)


def _on_steps(points: pl.DataFrame) -> pl.DataFrame:
    """Return points whose step is one, in base units; samples per step are learned from gaps."""
    by_samples = pl.col("tag").str.contains(_SAMPLE_AXIS)
    gap = pl.col("step").diff().over("run", "tag")
    size = gap.filter(by_samples & (gap > 0)).mode().min()
    return points.with_columns(
        value=pl.col("value") * pl.col("unit"),
        divided=pl.col("tag").str.contains(_DIVIDED_TAG),
        step=pl.when(by_samples & (size > 0)).then(pl.col("step") // size).otherwise("step"),
    )


def _numbered(points: pl.DataFrame) -> pl.DataFrame:
    """Return the points with their attempt; of a point that is there twice one stays."""
    series = ["run", "tag"]
    before = pl.col("step").shift(1).over(series)
    other = pl.col("value").ne_missing(pl.col("value").shift(1).over(series))
    is_back = (pl.col("step") < before) | ((pl.col("step") == before) & other)
    return (
        points.sort("position", maintain_order=True)
        .with_columns(attempt=is_back.fill_null(value=False).cum_sum().over(series).cast(pl.Int32))
        .unique([*series, "attempt", "step"], keep="last", maintain_order=True)
    )


def _timed(steps: pl.DataFrame) -> pl.DataFrame:
    """Return the steps of one attempt with their interval and seconds."""
    wall = pl.col("time").diff().dt.total_microseconds() / 1e6
    rated = seconds_by_rate(steps.with_columns(wall_seconds=wall))
    usual = pl.col("gap").mode().min()
    gap = pl.col("gap").fill_null(pl.min_horizontal(usual.fill_null(1.0), "step").clip(1.0))
    told = pl.when("divided").then(pl.col("step_seconds") * usual / gap).otherwise("step_seconds")
    arrival = pl.when(pl.col("wall_seconds") > 0).then(pl.col("wall_seconds") / pl.col("gap"))
    no_clock = pl.col("wall_seconds").is_null().all()
    timed = rated.with_columns(
        interval_steps=gap,
        told=_sound(told),
        arrival=arrival,
        rated=pl.when(no_clock).then("rate_seconds"),
    )
    return timed.with_columns(
        step_seconds=pl.coalesce("told", "arrival", "rated"),
        time_kind=_time_kind(),
        end_time="time",
        tokens=pl.col("tokens").fill_null(pl.when(pl.col("rated").is_not_null()).then(1.0)),
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
    ).drop("gap", "work", "rate", "rate_seconds", "wall_seconds", "told", "arrival", "rated")


def _time_kind() -> pl.Expr:
    """Return what a time stands for: told of one step or of several, or read off the clock."""
    told = pl.coalesce("told", pl.when(pl.col("arrival").is_null()).then("rated"))
    return (
        pl.when(pl.col("told").is_not_null() & (pl.col("interval_steps") == 1))
        .then(pl.lit("single_step"))
        .when(told.is_not_null())
        .then(pl.lit("interval_mean"))
        .when(pl.col("arrival").is_not_null())
        .then(pl.lit("arrival"))
    )


def _sound(seconds: pl.Expr) -> pl.Expr:
    return pl.when(seconds.is_finite() & (seconds >= 0)).then(seconds)
