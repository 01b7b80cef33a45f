"""Read wide tables of device telemetry: one row a device and time, one column a signal.

Such tables come out of notebooks and archives (PERSEUS' drives: host, disk, time, latency,
throughput). A column named like one of our signals is that signal; a bare `latency` or `throughput`
says no unit, and stays without one: only ratios count.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.readings import MAX_REJECT_CHARACTERS, Reading, count_lines, reading_of
from collectors.signals import SIGNALS
from collectors.sniffing import Head, ReadOptions
from collectors.texts.csv_rows import csv_fields, fits, header_fields
from collectors.texts.plain_lines import judged_lines, plain_lines
from collectors.texts.stamps import epoch_time, iso_time

TIMES: Final = ("time", "timestamp", "ts")
HOSTS: Final = ("host", "hostname", "node")

DEVICES: Final[Mapping[str, str]] = {
    "disk": "disk",
    "drive": "disk",
    "gpu": "gpu",
    "gpu_uuid": "gpu",
    "nic": "nic",
}
"""Columns that name a device, and the kind of device that they name."""

SCALED: Final[Mapping[str, tuple[str, float]]] = {
    **{name: (name, 1.0) for name in SIGNALS},
    "latency_s": ("latency_seconds", 1.0),
    "latency_ms": ("latency_seconds", 1e-3),
    "latency_us": ("latency_seconds", 1e-6),
}
"""Columns that are signals: our name, and what a number is multiplied by."""

_NAMES: Final = ("_host", "_device")

_NO_PLACE: Final = "not a row of a table of devices: no host, device or time"


def is_device_table(columns: Collection[str]) -> bool:
    """Return whether columns are those of such a table: a time, a host, a device and a signal."""
    names = {name.lower() for name in columns}
    keys = (TIMES, HOSTS, DEVICES)
    return all(names.intersection(key) for key in keys) and bool(names.intersection(SCALED))


def wants_device_tables(head: Head) -> float:
    """Return how sure it is that a head is such a table as CSV: its header row says so."""
    lines = judged_lines(head)
    names = [name.strip().strip('"') for name in lines[0].split(",")] if lines else []
    return 0.8 if is_device_table(names) else 0.0


def read_device_tables(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the samples in a table as CSV.

    Args:
        path: The file.
        source: The name to quote.
        options: The zone of stamps that carry none.

    Returns:
        `SAMPLES`; a line without a host, a device or a time is a reject, a repeated header too.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes())
    names = [name.lower() for name in header_fields("".join(lines["text"].head(1)))]
    if not is_device_table(names):
        return reading_of(rejects=_rejects(lines, source))
    rows = lines[1:].with_columns(fields=csv_fields(pl.col("text")))
    table = rows.select(
        "position",
        "text",
        *(
            pl.when(fits(pl.col("fields"), len(names)))
            .then(pl.col("fields").list.get(at, null_on_oob=True))
            .alias(name)
            for at, name in enumerate(names)
            if name not in names[:at]
        ),
    )
    reading = read_device_frame(table, source, options)
    return count_lines(reading, lines.height - reading.rejects.height)


def read_device_frame(table: pl.DataFrame, source: str, options: ReadOptions) -> Reading:
    """Return the samples of a table.

    Args:
        table: One row a device and time; `position` and `text` are where a row stands and how it
            looks, where it is a line.
        source: The name to quote.
        options: The zone of stamps that carry none.

    Returns:
        `SAMPLES`, a value that is no number as null; rows without a host, a device or a time are
        rejects.
    """
    named = table.rename({name: name.lower() for name in table.columns if name != name.lower()})
    kinds = named.schema
    device = next(name for name in DEVICES if name in kinds)
    host = next(name for name in HOSTS if name in kinds)
    at = next(name for name in TIMES if name in kinds)
    rows = named.with_columns(
        _time=_times(at, kinds[at], options.time_zone),
        _host=canonical_host(pl.col(host).cast(pl.String).str.strip_chars()),
        _device=pl.col(device).cast(pl.String).str.strip_chars(),
    )
    sound = pl.all_horizontal(
        pl.col("_time").is_not_null(), *(pl.col(name).fill_null("") != "" for name in _NAMES)
    )
    samples = rows.lazy().filter(sound)
    signals = [name for name in kinds if name in SCALED]
    return reading_of(
        samples=pl.concat([_samples(samples, name, device, source) for name in signals]),
        rejects=_rejects(rows.filter(~sound), source),
    )


def _samples(rows: pl.LazyFrame, column: str, device: str, source: str) -> pl.LazyFrame:
    """Return the samples of one column."""
    signal, factor = SCALED[column]
    value = pl.col(column).cast(pl.Float64, strict=False) * factor
    number = pl.col("_device").cast(pl.Int32, strict=False)
    return rows.select(
        pl.col("_time").alias("time"),
        pl.col("_host").alias("host"),
        pl.lit(DEVICES[device]).alias("device_kind"),
        pl.col("_device").alias("device"),
        index=number if DEVICES[device] == "gpu" else pl.lit(None, dtype=pl.Int32),
        signal=pl.lit(signal),
        value=pl.when(value.is_finite()).then(value),
        source=pl.lit(source),
    )


def _times(name: str, kind: pl.DataType, time_zone: str) -> pl.Expr:
    """Return a column as UTC microseconds, whatever says its times."""
    column = pl.col(name)
    if isinstance(kind, pl.Datetime):
        whole = column.dt.cast_time_unit("us")
        if kind.time_zone is None:
            whole = whole.dt.replace_time_zone(time_zone, ambiguous="earliest", non_existent="null")
        return whole.dt.convert_time_zone("UTC")
    if kind.is_numeric():
        return epoch_time(column.cast(pl.Float64))
    text = column.cast(pl.String)
    return pl.coalesce(epoch_time(text.cast(pl.Float64, strict=False)), iso_time(text, time_zone))


def _rejects(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return what is no row of a table, with its line where it has one."""
    lines = "position" in rows.columns
    return rows.with_columns(
        position=pl.col("position") if lines else pl.lit(None, dtype=pl.Int64),
        text=pl.col("text").str.slice(0, MAX_REJECT_CHARACTERS) if lines else pl.lit(""),
        reason=pl.lit(_NO_PLACE),
        source=pl.lit(source),
    ).select("position", "text", "reason", "source")
