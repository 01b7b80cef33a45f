"""Samples of UFM telemetry: counters, histograms, ratios, temperatures, and the clock of waits.

Source: Mellanox/ufm_sdk_3.0. Columns in plain names may come from narrow counters: one that ever
passed its classic top has 64 bits, another that stands there is blind.
"""

import polars as pl

from collectors.frames import SAMPLES, conform
from collectors.infiniband.diagnostic_ports import celsius
from collectors.infiniband.link_texts import melted
from collectors.infiniband.port_tokens import counted, whole_number
from collectors.infiniband.wait_ticks import chip_of, tick_values
from collectors.texts.error_ratios import floored


def telemetry_samples(values: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of records.

    Args:
        values: Measured columns with their port, time, text and what `COLUMNS` says of them.
        kept: The records themselves, with their ports.
    """
    return pl.concat([_counts(values), _bins(values), _levels(values), _ticks(kept)])


def _counts(values: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of counters. One that passed its classic top once has 64 bits."""
    classic = 2.0 ** pl.col("bits").cast(pl.Float64) - 1
    passed = whole_number(pl.col("text")).max().over("name") > classic
    mine = values.filter(pl.col("kind") == "counter").with_columns(
        wide=(pl.col("wide") | passed).fill_null(value=False),
        factor=pl.col("factor").cast(pl.UInt64),
        reason=pl.lit(None, pl.String),
        **_part("lane"),
    )
    told = counted(mine, has_fillers=True)
    rows = told.with_columns(_carried_reason(told))
    once = rows.unique(["host", "device", "signal", "time"], keep="first", maintain_order=True)
    return conform(once.lazy(), SAMPLES).collect()


def _carried_reason(values: pl.DataFrame) -> pl.Expr:
    """Return `reason`, with `unchanged` for values that were carried on."""
    carried = pl.col("carried") if "carried" in values.columns else pl.lit(value=False)
    reason = pl.col("reason") if "reason" in values.columns else pl.lit(None, pl.String)
    return pl.coalesce(reason, pl.when(carried).then(pl.lit("unchanged"))).alias("reason")


def _part(kind: str) -> dict[str, pl.Expr]:
    """Return device and kind of a part of a port where there is one."""
    device = pl.concat_str("device", pl.lit("/"), "part")
    is_part = pl.col("part").is_not_null()
    return {
        "device": pl.coalesce(device, "device"),
        "device_kind": pl.when(is_part).then(pl.lit(kind)).otherwise("device_kind"),
    }


def _bins(values: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of code words by the symbols that were corrected in them."""
    mine = values.filter(pl.col("kind") == "bin")
    rows = mine.with_columns(
        _carried_reason(mine),
        value=whole_number(pl.col("text")).cast(pl.Float64),
        wraps_at=pl.lit(float("inf")),
        **_part("fec_bin"),
    )
    return conform(rows.drop_nulls("value").lazy(), SAMPLES).collect()


def _levels(values: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of ratios, temperatures and times."""
    mine = values.filter(pl.col("kind") == "level")
    number = pl.col("text").str.strip_chars().cast(pl.Float64, strict=False)
    is_heat = pl.col("signal") == "module_temperature_celsius"
    finite = pl.when(number.is_finite(), number >= 0).then(number * pl.col("factor"))
    rows = mine.with_columns(
        _carried_reason(mine),
        value=pl.when(is_heat).then(celsius(pl.col("text"))).otherwise(finite),
    ).drop_nulls("value")
    ratios = pl.col("signal").str.ends_with("_error_ratio")
    samples = conform(rows.lazy(), SAMPLES).collect()
    return pl.concat([samples.filter(~ratios), floored(samples.filter(ratios))])


def _ticks(kept: pl.DataFrame) -> pl.DataFrame:
    """Return `SAMPLES` of how long a tick of the wait counter is, once a port."""
    number = pl.col("device_number").cast(pl.Int64, strict=False)
    chip = pl.coalesce(chip_of(number), "device_number", "name")
    once = kept.unique(["guid", "port"], keep="first", maintain_order=True)
    return melted(once, tick_values(chip))
