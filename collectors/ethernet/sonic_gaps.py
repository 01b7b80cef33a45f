"""What SONiC's tables leave out or get wrong, and what speed and FEC mode of the file make of it.

Source: sonic-net/sonic-utilities `netstat.py` (utilisation), sonic-net/sonic-buildimage 23168 (FEC
off blinds a port), sonic-net/sonic-swss `port_rates.lua` (the first ratio after boot).
"""

from typing import Final

import polars as pl

from collectors.ethernet.port_values import PORT_VALUES
from collectors.frames import COVERAGE, EVENTS, conform
from collectors.texts.templates import filled

FEC_OFF: Final = "fec_none"
"""Reason of counters that a switch does not keep for a port without FEC."""

BOOT: Final = "boot"
"""Reason of the first error ratio after a boot, which is counted from nothing."""

MIN_BOOT_RATIO: Final = 100.0
"""So many times larger than the next one is the first ratio if it is made up; the same one then
stands as the highest ever."""

_PORT: Final = ("host", "device")

_BUSY: Final = {
    "receive_bytes_per_second": "receive_busy_ratio",
    "transmit_bytes_per_second": "transmit_busy_ratio",
}

_NONE: Final = ("N/A", "n/a")


def mend_gaps(values: pl.DataFrame) -> pl.DataFrame:
    """Return the values of SONiC's tables with busy ratios, and reasons of what is no reading.

    Args:
        values: `PORT_VALUES` of one file.

    Returns:
        `PORT_VALUES`. A port whose counters are all N/A and whose FEC is off in the same file has
        the reason `fec_none`; the first pre-FEC ratio of a port that is its highest, far above
        the next, is `boot`.
    """
    return pl.concat([_hush_boot(_name_gaps(values)), _busy(values)])


def gap_rows(values: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return `COVERAGE` and `EVENTS` of ports that count nothing.

    Args:
        values: What `mend_gaps` returns.
    """
    blind = _blind_ports(values)
    reason = (
        values.filter(pl.col("reason") == FEC_OFF)
        .select(*_PORT, off=pl.lit(value=True))
        .unique(maintain_order=True)
    )
    told = blind.join(reason, on=_PORT, how="left", nulls_equal=True, maintain_order="left")
    cause = (
        pl.when("off")
        .then(pl.lit("FEC is none, and this switch then counts nothing"))
        .otherwise(pl.lit("all its counters are N/A"))
    )
    events = told.with_columns(
        kind=pl.lit("warning"),
        code=pl.lit("counters_not_available"),
        severity=pl.lit("low"),
        message=filled("{}: {}", "device", cause),
    )
    missing = values.join(
        told.select(*_PORT, "time"), on=[*_PORT, "time"], nulls_equal=True
    ).filter(pl.col("text").is_in(_NONE))
    coverage = missing.select(
        "signal",
        entity=pl.concat_str("host", "device", separator="/", ignore_nulls=True),
        start="time",
        end="time",
        seen=pl.lit(0),
        expected=pl.lit(1),
    )
    return (
        conform(coverage.lazy(), COVERAGE).collect(),
        conform(events.lazy(), EVENTS).collect(),
    )


def _blind_ports(values: pl.DataFrame) -> pl.DataFrame:
    """Return the ports of switches all of whose counters are N/A, by time."""
    counters = values.filter(
        pl.col("device_kind") == "switch_port",
        pl.col("part").is_null(),
        pl.col("signal").str.ends_with("_total"),
    )
    return (
        counters.group_by(*_PORT, "time", "device_kind", maintain_order=True)
        .agg(pl.col("position").min(), blind=pl.col("text").is_in(_NONE).all())
        .filter("blind")
        .drop("blind")
    )


def _name_gaps(values: pl.DataFrame) -> pl.DataFrame:
    off = (
        values.filter(pl.col("signal") == "fec_mode", pl.col("text") == "0")
        .select(_PORT)
        .unique(maintain_order=True)
    )
    blind = (
        _blind_ports(values)
        .join(off, on=_PORT, nulls_equal=True)
        .select(*_PORT, "time", gap=pl.lit(FEC_OFF))
    )
    joined = values.join(
        blind, on=[*_PORT, "time"], how="left", nulls_equal=True, maintain_order="left"
    )
    is_gap = pl.col("text").is_in(_NONE)
    return joined.with_columns(reason=pl.coalesce("reason", pl.when(is_gap).then("gap"))).select(
        PORT_VALUES.names()
    )


def _hush_boot(values: pl.DataFrame) -> pl.DataFrame:
    """Return the values without a first ratio after boot: the highest ever, and never again."""
    number = pl.col("text").cast(pl.Float64, strict=False)
    is_first = pl.int_range(pl.len()).over(*_PORT, "signal") == 0
    keys = [*_PORT, "time"]
    highest = (
        values.filter(pl.col("signal") == "max_pre_fec_error_ratio")
        .select(*keys, highest=number)
        .unique(keys, keep="first", maintain_order=True)
    )
    first = (
        values.filter(pl.col("signal") == "pre_fec_error_ratio")
        .with_columns(number=number, later=number.shift(-1).over(_PORT), is_first=is_first)
        .join(highest, on=keys, nulls_equal=True)
        .filter(
            "is_first",
            pl.col("number") == pl.col("highest"),
            pl.col("number") >= MIN_BOOT_RATIO * pl.col("later"),
        )
    )
    is_made_up = (pl.col("signal") == "pre_fec_error_ratio") & pl.col("position").is_in(
        first["position"].implode()
    )
    return values.with_columns(reason=pl.when(is_made_up).then(pl.lit(BOOT)).otherwise("reason"))


def _busy(values: pl.DataFrame) -> pl.DataFrame:
    """Return what share of a port's speed passes, where the file tells the speed."""
    number = pl.col("text").str.replace_all(",", "").cast(pl.Float64, strict=False)
    speeds = (
        values.filter(pl.col("signal") == "port_rate_bytes_per_second")
        .with_columns(speed=number * pl.col("factor"))
        .filter(pl.col("speed") > 0)
        .group_by(_PORT)
        .agg(pl.col("speed").last())
    )
    rates = values.filter(pl.col("signal").is_in([*_BUSY])).join(
        speeds, on=_PORT, nulls_equal=True, maintain_order="left"
    )
    rows = rates.with_columns(
        signal=pl.col("signal").replace_strict(_BUSY, return_dtype=pl.String),
        factor=pl.col("factor") / pl.col("speed"),
    )
    return conform(rows.lazy(), PORT_VALUES).collect()
