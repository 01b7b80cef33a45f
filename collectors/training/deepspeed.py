"""Read DeepSpeed's step, speed, pipeline and overflow lines.

Source: formats of progress streams, section 3 (DeepSpeed 0.3 to 0.18). A running mean since the
start hides a late slowdown, so it is differenced; samples a second become seconds a step once two
stamps have told how many samples a step has. That way a rate that is wrong by the accumulation
factor, as before 0.8, still gives the right seconds.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time
from collectors.training.own_times import nearer_time
from collectors.training.rates import seconds_by_rate

DEEPSPEED_HINT: Final = r"SamplesPerSec=|OVERFLOW!|overflow!|, skipped=|iter time \(s\):"

_SPEED: Final = (
    r"(?:epoch=\d+/micro_step=\d+/global_step=(?P<new>\d+)|(?:^|[\] ])\d+/(?P<old>\d+)), "
    r"(?:RunningAvg)?SamplesPerSec=(?P<mean>[-\d.infae+]+)"
    r"(?:, CurrSamplesPerSec=(?P<current>[-\d.infae+]+))?"
)

_STEP: Final = r"\bstep=(?P<step>\d+), skipped=(?P<skipped>\d+), lr="

_PIPELINE: Final = (
    r"steps: (?P<new>\d+) loss: (?P<loss>[-\d.naifeE+]+) iter time \(s\): (?P<seconds>[\d.]+)"
    r"(?: samples/sec: (?P<current>[\d.]+))?"
)

_OVERFLOW: Final = (
    r"(?i)overflow! (?:Rank (?P<rank>\d+) )?Skipping step\. Attempted loss scale: "
    r"(?P<from>[\d.e+-]+), (?:but|reducing to (?P<to>[\d.e+-]+))"
)

_NUMBERS: Final = ("new", "old", "mean", "current", "loss", "seconds", "step", "skipped")

_MAX_APART_LINES: Final = 20
"""The lines of one step stand together; other processes may write between them."""


def read_deepspeed(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps and events in DeepSpeed's lines.

    Args:
        lines: `LINES`.
        options: The zone of DeepSpeed's stamps, which carry none.

    Returns:
        `STEPS` of the whole job, one a step that is told of, by however many lines. `step_seconds`
        is told (pipelines), or the samples of a step over the rate since the last line
        (`interval_mean`), or the time between stamps (`arrival`); with a rate but without stamps to
        tell the samples it is the seconds of one sample, and `samples` is 1: only ratios count. The
        first running mean has none before it (`running_mean_since_start`).
        `skipped_steps` are those since the line before. `EVENTS` of kind loss_scale, whose code is
        `from->to`: equal sides are a scale at its minimum, one side a scale that is given another
        chance.
    """
    told = [_matched(lines, pattern) for pattern in (_SPEED, _PIPELINE, _STEP)]
    speeds = pl.concat(told, how="diagonal").sort("line")
    overflows = _matched(lines, _OVERFLOW)
    return LineReading(
        reading=reading_of(
            steps=_steps_of(_one_a_step(speeds, options.time_zone)).filter(pl.col("step") > 0),
            events=_events_of(overflows, options.time_zone),
        ),
        claimed=pl.concat([speeds["line"], overflows["line"]]),
    )


def _matched(lines: pl.DataFrame, pattern: str) -> pl.DataFrame:
    hits = lines.filter(pl.col("text").str.contains(pattern)).rename({"rank": "printer_rank"})
    groups = hits.select(pl.col("text").str.extract_groups(pattern)).unnest("text")
    lacking = [pl.lit(None, dtype=pl.String).alias(n) for n in _NUMBERS if n not in groups.columns]
    numbered = groups.with_columns(lacking).with_columns(
        pl.col(name).cast(pl.Float64, strict=False) for name in _NUMBERS
    )
    return hits.hstack(numbered)


def _one_a_step(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return one row a step: what its step line and its speed line say stands together.

    The stamp inside a line is nearer to the step than its envelope's.
    """
    own = iso_time(pl.col("text"), time_zone)
    step = pl.coalesce("step", "new", "old")
    timed = lines.with_columns(step=step, end_time=nearer_time(own, pl.col("time")))
    far = pl.col("line").diff() > _MAX_APART_LINES
    again = pl.any_horizontal(
        pl.col(name).is_not_null() & pl.col(name).shift(1).is_not_null()
        for name in ("skipped", "mean", "seconds")
    )
    begins = (pl.col("step").diff() != 0) | far | again
    return (
        timed.with_columns(record=begins.fill_null(value=True).cum_sum())
        .group_by("record", maintain_order=True)
        .agg(
            pl.col("line", "position", "host", "step").first(),
            pl.col("mean", "current", "loss", "seconds", "skipped").drop_nulls().first(),
            pl.col("end_time").max(),
        )
    )


def _steps_of(records: pl.DataFrame) -> pl.DataFrame:
    mean = pl.col("mean")
    samples = pl.when(mean.is_finite() & (mean > 0)).then(pl.col("step") / mean)
    since = pl.col("step").diff() / samples.diff()
    mean_rate = pl.when(samples.shift(1).is_null()).then(mean).otherwise(since)
    wall = pl.col("end_time").diff().dt.total_microseconds() / 1e6
    rates = seconds_by_rate(
        records.with_columns(rate=pl.col("current").fill_null(mean_rate), wall_seconds=wall)
    )
    seconds = pl.col("seconds").fill_null(pl.col("rate_seconds"))
    rated = (pl.col("mean").is_not_null() | pl.col("seconds").is_not_null()).any()
    arrival = pl.when(~rated & (wall > 0)).then(wall / pl.col("gap"))
    skipped = pl.col("skipped").diff()
    is_mean = pl.col("current").is_null() & samples.shift(1).is_null() & pl.col("seconds").is_null()
    return rates.with_columns(
        interval_steps=pl.col("gap"),
        step_seconds=seconds.fill_null(arrival),
        samples=pl.when(pl.col("rate").is_not_null()).then("work"),
        time_kind=pl.when(seconds.is_not_null() & is_mean)
        .then(pl.lit("running_mean_since_start"))
        .when(seconds.is_not_null())
        .then(pl.lit("interval_mean"))
        .when(arrival.is_not_null())
        .then(pl.lit("arrival")),
        skipped_steps=pl.when(skipped >= 0).then(skipped),
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
    )


def _events_of(overflows: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    return overflows.with_columns(_scale("from"), _scale("to")).with_columns(
        time=iso_time(pl.col("text"), time_zone).fill_null(pl.col("time")),
        rank=pl.col("rank").cast(pl.Int32, strict=False),
        kind=pl.lit("loss_scale"),
        code=pl.concat_str("from", "to", separator="->", ignore_nulls=True),
        severity=pl.lit("warning"),
        count=pl.lit(1),
        message="text",
    )


def _scale(name: str) -> pl.Expr:
    """Return a loss scale as its shortest text: `32768.0` and `32768` are one."""
    number = pl.col(name).cast(pl.Float64, strict=False)
    whole = number.cast(pl.Int64, strict=False)
    return pl.when(whole == number).then(whole.cast(pl.String)).otherwise(number.cast(pl.String))
