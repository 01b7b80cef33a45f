"""Read DeepSpeed's speed, step and overflow lines.

Source: formats of progress streams, section 3 (DeepSpeed 0.3 to 0.18). A running mean since the
start hides a late slowdown, so it is differenced; samples a second become seconds a step once two
stamps have told how many samples a step has.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time
from collectors.training.rates import seconds_by_rate

DEEPSPEED_HINT: Final = r"SamplesPerSec=|OVERFLOW!|\bstep=\d+, skipped=|iter time \(s\):|_microstep"

_SPEED: Final = (
    r"(?:epoch=\d+/micro_step=\d+/global_step=(?P<new>\d+)|(?:^|[\] ])\d+/(?P<old>\d+)), "
    r"(?:RunningAvg)?SamplesPerSec=(?P<mean>[-\d.inf]+)"
    r"(?:, CurrSamplesPerSec=(?P<current>[-\d.]+))?"
)

_PIPELINE: Final = (
    r"steps: (?P<new>\d+) loss: (?P<loss>[-\d.naif]+) iter time \(s\): (?P<seconds>[\d.]+)"
    r"(?: samples/sec: (?P<current>[\d.]+))?"
)

_OVERFLOW: Final = (
    r"OVERFLOW! Rank (?P<rank>\d+) Skipping step\. Attempted loss scale: (?P<from>[\d.e+]+), "
    r"reducing to (?P<to>[\d.e+]+)"
)

_PART: Final = r"\bstep=\d+, skipped=\d+, lr=|\btime \(ms\) \| (?:fwd|bwd|forward)|_microstep: "

_NUMBERS: Final = ("new", "old", "mean", "current", "loss", "seconds")


def read_deepspeed(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the steps and events in DeepSpeed's lines.

    Args:
        lines: `LINES`.
        options: The zone of DeepSpeed's stamps, which carry none.

    Returns:
        `STEPS` of the whole job. `step_seconds` is told (pipelines), or the samples of a step over
        the rate since the last line (`interval_mean`); without stamps to tell the samples it is
        the seconds of one sample, and `samples` is 1: only ratios count. `EVENTS` of kind
        loss_scale, whose code is `from->to`: equal sides are a scale at its minimum.
    """
    speeds = pl.concat([_matched(lines, _SPEED), _matched(lines, _PIPELINE)], how="diagonal")
    overflows = _matched(lines, _OVERFLOW)
    parts = lines.filter(pl.col("text").str.contains(_PART))["line"]
    return LineReading(
        reading=reading_of(
            steps=_steps_of(speeds.sort("line"), options.time_zone),
            events=_events_of(overflows, options.time_zone),
        ),
        claimed=pl.concat([speeds["line"], overflows["line"], parts]),
    )


def _matched(lines: pl.DataFrame, pattern: str) -> pl.DataFrame:
    hits = lines.filter(pl.col("text").str.contains(pattern)).rename({"rank": "printer_rank"})
    groups = hits.select(pl.col("text").str.extract_groups(pattern)).unnest("text")
    lacking = [pl.lit(None, dtype=pl.String).alias(n) for n in _NUMBERS if n not in groups.columns]
    numbered = groups.with_columns(lacking).with_columns(
        pl.col(name).cast(pl.Float64, strict=False) for name in _NUMBERS
    )
    return hits.hstack(numbered)


def _steps_of(speeds: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return `STEPS`; the stamp inside the line is nearer to the step than its envelope's."""
    end = iso_time(pl.col("text"), time_zone).fill_null(pl.col("time"))
    timed = speeds.with_columns(step=pl.coalesce("new", "old"), end_time=end)
    mean_rate = pl.col("step").diff() / (pl.col("step") / pl.col("mean")).diff()
    wall = pl.col("end_time").diff().dt.total_microseconds() / 1e6
    rates = seconds_by_rate(
        timed.with_columns(rate=pl.col("current").fill_null(mean_rate), wall_seconds=wall)
    )
    seconds = pl.col("seconds").fill_null(pl.col("rate_seconds"))
    return rates.drop("rank", strict=False).with_columns(
        interval_steps=pl.col("gap"),
        step_seconds=seconds,
        samples=pl.when(pl.col("rate").is_not_null()).then("work"),
        time_kind=pl.when(seconds.is_not_null()).then(pl.lit("interval_mean")),
        loss_state=pl.when(pl.col("loss").is_not_null()).then(pl.lit("printed")),
    )


def _events_of(overflows: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    sides = pl.col("from", "to").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    return overflows.with_columns(sides).with_columns(
        time=iso_time(pl.col("text"), time_zone).fill_null(pl.col("time")),
        rank=pl.col("rank").cast(pl.Int32, strict=False),
        kind=pl.lit("loss_scale"),
        code=pl.concat_str("from", "to", separator="->"),
        severity=pl.lit("warning"),
        count=pl.lit(1),
        message="text",
    )
