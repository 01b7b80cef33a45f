"""Read the reports of Megatron's straggler detector: figures with the rank that has them.

Source: formats of progress streams, section 1.6 (megatron/core/utils.py). Power is labelled W and
printed in mW. The lists of lowest and highest throughput hold as many ranks as were asked for: to
stand in one is no accusation. The detector may be off for a while.
"""

from typing import Final

import polars as pl

from collectors.frames import LABEL
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time

STRAGGLER_HINT: Final = r"/Rnk: |\^\^\^\^ (?:Bottom|Top)|StragglerDetector"

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

_SWITCH: Final = r"StragglerDetector State (?:ON|OFF)|Toggling StragglerDetector"

_TERA: Final = 1e12


def read_straggler_reports(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the figures in the straggler detector's reports.

    Args:
        lines: `LINES`.
        options: The zone of stamps that carry none.

    Returns:
        `EVENTS` of kind straggler_report, one a figure: rank, code (`min` or `max` and our signal),
        and the value in base units as message. Of kind straggler_list, one a list: code `bottom` or
        `top`, attributes throughput by rank. A switch of the detector is a note.
    """
    reports = _figures(lines, options.time_zone)
    lists = _lists(lines)
    switches = lines.filter(pl.col("text").str.contains(_SWITCH)).with_columns(
        kind=pl.lit("note"), code=pl.lit("straggler_detector"), message="text"
    )
    events = pl.concat([reports, lists, switches], how="diagonal_relaxed").sort("line")
    return LineReading(
        reading=reading_of(events=events.with_columns(severity=pl.lit("info"), count=pl.lit(1))),
        claimed=events["line"].unique(maintain_order=True),
    )


def _lists(lines: pl.DataFrame) -> pl.DataFrame:
    hits = lines.filter(pl.col("text").str.contains(_LIST))
    text = pl.col("text")
    entry = pl.element().str.extract_groups(r"^(?P<value>[\d.]+)/(?P<key>\d+)$")
    label = pl.struct(
        key=entry.struct.field("key"),
        value=(entry.struct.field("value").cast(pl.Float64, strict=False) * _TERA).cast(pl.String),
    )
    return hits.with_columns(
        kind=pl.lit("straggler_list"),
        code=text.str.extract(r"\^ (Bottom|Top)").str.to_lowercase(),
        message="text",
        attributes=text.str.extract_all(r"[\d.]+/\d+").list.eval(label).cast(pl.List(LABEL)),
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
        message=pl.when(is_milliwatts).then(value / 1000).otherwise(value).cast(pl.String),
    )
