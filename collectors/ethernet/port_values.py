"""From what a tool prints of a port to samples: numbers in our units, or null and why.

A part of a port (lane, priority, queue, priority group, FEC bin) is a device of its own, named
after the port and its kind: `Ethernet12/lane2`, `eth4/priority3`, `Ethernet12/priority_group3`.
"""

from typing import Final

import polars as pl

from collectors.frames import SAMPLES, TIME, conform, schema_of
from collectors.metrics.series import MIN_INEXACT_VALUE
from collectors.signals import COUNTERS
from collectors.texts.blanks import word_reason
from collectors.texts.error_ratios import floor_reason
from collectors.texts.templates import filled

PORT_VALUES: Final = schema_of(
    {
        "position": pl.Int64,
        "time": TIME,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "part": pl.String,
        "index": pl.Int32,
        "signal": pl.String,
        "text": pl.String,
        "factor": pl.Float64,
        "reason": pl.String,
    }
)
"""One printed value. `part` is the kind of the port's part that it is of and `index` its number,
null if it is of the port; `factor` makes the signal's unit of the printed one. `reason` says why
there is no value, where the reader knows."""

DARK: Final = "dark"
"""Reason of a power that is null because no light was there, or none can be measured."""

COPPER: Final = "copper"
"""Reason of a power that is null because the cable has no light."""

MAX_DARK_DBM: Final = -39.9
"""Modules print -40.0 for no light at all."""

WRAP_64: Final = 2.0**64

_FLOORED: Final = ("pre_fec_error_ratio", "post_fec_error_ratio", "symbol_error_ratio")

_MINUS_INFINITE: Final = r"(?i)^-inf(?:inity)?$"


def samples_of_values(values: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` (without a source) of printed values.

    Args:
        values: `PORT_VALUES`; thousands may have commas.

    Returns:
        One row a value, in its order. A word or blank is null with its reason, a counter below 0
        `negative` (a clear that older tools subtract), a BER at the firmware's floor
        `no_errors_seen`, a power of no light `dark`.
    """
    text = pl.col("text").str.strip_chars().str.replace_all(",", "")
    number = text.cast(pl.Float64, strict=False)
    part = filled("{}/{}{}", "device", "part", "index")
    rows = (
        values.lazy()
        .with_columns(number=number, digits=text)
        .with_columns(reason=_reason())
        .with_columns(
            value=pl.when(pl.col("reason").is_null()).then(pl.col("number") * pl.col("factor")),
            exact=_exact(),
            device=pl.when(pl.col("part").is_not_null()).then(part).otherwise("device"),
            device_kind=pl.coalesce("part", "device_kind"),
        )
    )
    return conform(rows, SAMPLES).collect()


def _reason() -> pl.Expr:
    number, digits = pl.col("number"), pl.col("digits")
    is_power = pl.col("signal").str.ends_with("_power_dbm")
    is_dark = is_power & (digits.str.contains(_MINUS_INFINITE) | (number <= MAX_DARK_DBM))
    is_counter = pl.col("signal").is_in(COUNTERS)
    is_ratio = pl.col("signal").is_in(_FLOORED)
    return pl.coalesce(
        "reason",
        word_reason(digits),
        pl.when(digits.is_null() | (digits == "")).then(pl.lit("blank")),
        pl.when(is_dark).then(pl.lit(DARK)),
        pl.when(number.is_null()).then(pl.lit("no_number")),
        pl.when(~number.is_finite()).then(pl.lit("non_finite")),
        pl.when(is_counter & (number < 0)).then(pl.lit("negative")),
        pl.when(is_ratio).then(floor_reason(number)),
    )


def _exact() -> pl.Expr:
    """Return a count that float64 cannot hold; null where it can."""
    is_big = pl.col("number") >= MIN_INEXACT_VALUE
    is_count = pl.col("reason").is_null() & (pl.col("factor") == 1) & is_big
    return pl.when(is_count).then(pl.col("digits").cast(pl.UInt64, strict=False))


def counter_width() -> pl.Expr:
    """Return where counters of 64 bits start again from 0, by `signal`; null for what is none."""
    return pl.when(pl.col("signal").is_in(COUNTERS)).then(WRAP_64)


def port_totals(values: pl.DataFrame, signals: tuple[str, ...]) -> pl.DataFrame:
    """Return the values with one more for each port: the sum over its priorities or lanes.

    Args:
        values: `PORT_VALUES`; a device that stands twice in a file at one time is summed apart by
            the order in which it comes.
        signals: Signals of parts to be summed.

    Returns:
        `PORT_VALUES`. A part without a value leaves the sum without one, and gives its reason.
    """
    is_part = pl.col("part").is_not_null() & pl.col("signal").is_in(signals)
    keys = ("time", "host", "device_kind", "device", "signal", "round")
    count = pl.col("text").str.replace_all(",", "").cast(pl.Int128, strict=False)
    repeat = pl.int_range(pl.len()).over("time", "host", "device", "signal", "part", "index")
    sums = (
        values.filter(is_part)
        .with_columns(count=count, round=repeat)
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("position").min(),
            pl.col("factor").first(),
            text=pl.when(pl.col("count").null_count() == 0)
            .then(pl.col("count").sum())
            .cast(pl.String),
            reason=pl.coalesce(pl.col("reason"), word_reason(pl.col("text"))).drop_nulls().first(),
        )
    )
    return pl.concat([values, conform(sums.lazy(), PORT_VALUES).collect()])
