"""Read Megatron's per-rank reports: the straggler detector's line and the timers of all ranks.

Source: formats of progress streams, sections 1.5 and 1.6 (megatron/core/utils.py, timers.py). A
rank whose timer is zero or missing is not listed: absent is not fast. Power is labelled W and
printed in mW.
"""

from typing import Final

import polars as pl

from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time

STRAGGLER_HINT: Final = r"MnRtt/Rnk:|\^\^\^\^ (?:Bottom|Top)|times? across ranks \(ms\):"

_PIECE: Final = r"(?:Mn|Mx)(?:Rtt|Pwr|Tmp|Utl|Clk|DRtt|Etpt)/Rnk: [\d.]+[A-Za-z%]+/\d+"

_PARTS: Final = r"^(?P<name>\w+)/Rnk: (?P<value>[\d.]+)(?P<unit>[A-Za-z%]+)/(?P<rank>\d+)$"

_UNITS: Final = {
    "ms": ("forward_seconds", 1e-3),
    "W": ("power_watts", 1.0),
    "C": ("temperature_celsius", 1.0),
    "%": ("busy_ratio", 1e-2),
    "MHz": ("sm_clock_hertz", 1e6),
    "us": ("batch_fetch_seconds", 1e-6),
    "TF": ("throughput_flops", 1e12),
}
"""Our signal of a unit, with its size in base units."""

MAX_POWER_WATTS: Final = 5000.0
"""No device draws more: a larger number is in milliwatts."""

_LIST: Final = r"\^\^\^\^ (?:Bottom|Top) +\d+ Ranks"

_ALL: Final = r"(?:^|:)\s*times across ranks \(ms\):"

_TIMER: Final = r"^\s*([a-z][\w-]*):\s*$"

_RANK: Final = r"^\s*rank +(\d+): ([\d.]+)\s*$"

_SUMMARY: Final = (
    r"\(min, max\) time across ranks|max time across ranks|^\s+[a-z][\w-]* \.+: \(?[\d.]+"
)

_COMPUTE: Final = ("forward-compute", "backward-compute")

_COMM: Final = r"recv|send|all-reduce|reduce-scatter|all-gather|grads-sync"


def read_straggler_reports(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the per-rank facts in Megatron's reports.

    Args:
        lines: `LINES`, with the iteration lines that number the steps.
        options: The zone of stamps that carry none.

    Returns:
        `STEPS` of each rank from the timers of all ranks: compute and communication, null where
        not listed; the step is that of the iteration line before, else the report's number.
        `EVENTS` of kind straggler_report, one a figure: rank, code (`min` or `max` and our
        signal), and the value in base units as message.
    """
    reports = _figures(lines, options.time_zone)
    timers, timer_lines = _timers(lines)
    other = lines.filter(pl.col("text").str.contains(f"{_LIST}|{_SUMMARY}"))["line"]
    return LineReading(
        reading=reading_of(events=reports, steps=timers),
        claimed=pl.concat([reports["line"].unique(maintain_order=True), timer_lines, other]),
    )


def _figures(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    hits = lines.filter(pl.col("text").str.contains(_PIECE))
    pieces = hits.with_columns(
        piece=pl.col("text").str.extract_all(_PIECE),
        time=pl.col("time").fill_null(iso_time(pl.col("text"), time_zone)),
    ).explode("piece", empty_as_null=False)
    parts = pieces.drop("rank").hstack(
        pieces.select(pl.col("piece").str.extract_groups(_PARTS)).unnest("piece")
    )
    signal = pl.col("unit").replace_strict(
        {unit: name for unit, (name, _) in _UNITS.items()}, default=None, return_dtype=pl.String
    )
    size = pl.col("unit").replace_strict(
        {unit: size for unit, (_, size) in _UNITS.items()}, default=None, return_dtype=pl.Float64
    )
    value = pl.col("value").cast(pl.Float64, strict=False) * size
    is_milliwatts = (pl.col("unit") == "W") & (value > MAX_POWER_WATTS)
    side = pl.col("name").str.slice(0, 2).replace({"Mn": "min", "Mx": "max"})
    return parts.with_columns(
        pl.col("rank").cast(pl.Int32, strict=False),
        kind=pl.lit("straggler_report"),
        code=pl.concat_str(side, signal, separator=" "),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message=pl.when(is_milliwatts).then(value / 1000).otherwise(value).cast(pl.String),
    )


def _timers(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return `STEPS` of ranks, and the lines of the reports they come from."""
    text = pl.col("text")
    heads = text.str.contains(_ALL)
    step = text.str.extract(r"\biteration +(\d+)/").cast(pl.Int64, strict=False)
    known = text.str.contains(f"{_TIMER}|{_RANK}") | heads
    marked = lines.with_columns(report=heads.cum_sum().cast(pl.Int64), at=step.forward_fill())
    parts = marked.filter((pl.col("report") > 0) & known).with_columns(
        timer=text.str.extract(_TIMER).forward_fill().over("report"),
        rank=text.str.extract(_RANK, 1).cast(pl.Int32, strict=False),
        seconds=text.str.extract(_RANK, 2).cast(pl.Float64, strict=False) / 1000,
    )
    is_compute = pl.col("timer").is_in(_COMPUTE)
    is_comm = pl.col("timer").str.contains(_COMM)
    steps = (
        parts.drop_nulls(["rank", "seconds"])
        .group_by("report", "rank", maintain_order=True)
        .agg(
            step=pl.col("at").first(),
            compute_seconds=pl.col("seconds").filter(is_compute).sum(),
            computed=is_compute.any(),
            comm_seconds=pl.col("seconds").filter(is_comm).sum(),
            communicated=is_comm.any(),
        )
        .with_columns(
            pl.col("step").fill_null(pl.col("report")),
            compute_seconds=pl.when("computed").then("compute_seconds"),
            comm_seconds=pl.when("communicated").then("comm_seconds"),
            interval_steps=pl.lit(1),
        )
    )
    return steps, parts["line"]
