"""Read parquet tables: which one it is, only its footer tells.

Source: formats of progress streams, sections 12 (histories of W&B), 13.3 (operation traces) and
13.4 (the generic table of steps and phases by rank).
"""

import io
from pathlib import Path
from typing import Final

import polars as pl

from collectors.hosts.device_tables import is_device_table, read_device_frame
from collectors.readings import Reading, count_lines, reject_file
from collectors.sniffing import Head, ReadOptions
from collectors.training.operation_traces import is_operation_trace, read_operation_frame
from collectors.training.step_fields import COUNTS, DURATIONS, NUMBERS, TEXTS
from collectors.training.step_records import read_records
from collectors.training.wandb_history import CLOCKS, STEP, read_history_frame

_MAGIC: Final = b"PAR1"

_KEYS: Final = frozenset(
    key for table in (TEXTS, COUNTS, NUMBERS) for keys in table.values() for key in keys
) | frozenset(key for keys in DURATIONS.values() for key, _ in keys)


def wants_parquet_tables(head: Head) -> float:
    """Return how sure it is that a head is parquet."""
    return 0.5 if head.data.startswith(_MAGIC) else 0.0


def read_parquet_tables(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return what a parquet table holds.

    Args:
        path: The file.
        source: The name to quote.
        options: The zone of stamps that carry none.

    Returns:
        `OPS` of an operation trace, `STEPS` of a history or of a table of steps by rank, `SAMPLES`
        of a table of devices. Any other table is one reject that names its columns.

    Raises:
        OSError: The file cannot be read.
    """
    content = io.BytesIO(path.read_bytes())
    try:
        schema = pl.read_parquet_schema(content)
        if is_operation_trace(schema):
            return read_operation_frame(pl.scan_parquet(content), source)
        columns = set(schema)
        if is_device_table(columns):
            table = pl.read_parquet(content)
            devices = read_device_frame(table, source, options)
            return count_lines(devices, table.height - devices.rejects.height)
        if STEP in columns and columns.intersection(CLOCKS):
            return read_history_frame(pl.read_parquet(content), source)
        if columns.intersection(COUNTS["step"]):
            wanted = sorted(columns & _KEYS)
            return _records(pl.read_parquet(content, columns=wanted), path, source, options)
    except (pl.exceptions.PolarsError, OverflowError) as error:
        return reject_file(source, f"broken parquet: {type(error).__name__}")
    return reject_file(source, f"parquet of no known table, with columns {sorted(columns)[:20]}")


def _records(frame: pl.DataFrame, path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the steps in a table whose columns the table of keys knows."""
    texts = [_text(name, kind) for name, kind in frame.schema.items()]
    objects = frame.select(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias("position"),
        pl.lit("").alias("text"),
        *texts,
    )
    broken = objects.clear().select("position", "text", reason=pl.lit(""))
    reading = read_records(objects, broken, (path.name, source), options)
    return count_lines(reading, frame.height - reading.rejects.height)


def _text(name: str, kind: pl.DataType) -> pl.Expr:
    """Return a column as text; a time becomes unix seconds, whatever its unit and zone."""
    if isinstance(kind, pl.Datetime):
        return (pl.col(name).dt.epoch("us") / 1e6).cast(pl.String)
    return pl.col(name).cast(pl.String, strict=False)
