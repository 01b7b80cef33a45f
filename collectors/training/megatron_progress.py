"""Read Megatron's `progress.txt`: the history of a run over all its restarts.

Source: formats of progress streams, section 1.4 (megatron/training/utils.py and forks). Lines of a
stamp and fields between tabs, appended to by each attempt. Fields are told by their names: forks
add some, and a job without a scheduler has no id.
"""

from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import LABEL
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.plain_lines import account, plain_lines
from collectors.texts.stamps import iso_time

_LINE: Final = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\tJob ID: [^\t]*\t# GPUs: \d+\t"

_KINDS: Final = {
    "Starting job": "run_start",
    "Saved checkpoint": "checkpoint",
    "Saved async checkpoint": "checkpoint",
    "Saved async local checkpoint": "checkpoint",
    "Saving async checkpoint": "checkpoint_start",
    "Deleted checkpoint": "checkpoint_delete",
}
"""Our kind of an event's name; any other is a note."""

_FIXED_FIELDS: Final = 3
"""Stamp, job and GPUs stand before the event's name."""


def wants_megatron_progress(head: Head) -> float:
    """Return how sure it is that a head is a `progress.txt`: its first lines all look like it."""
    first = head.column.head(5)
    fits = first.str.contains(_LINE)
    return 0.97 if len(first) and fits.sum() * 2 > len(first) else 0.0


def read_megatron_progress(path: Path, source: str, options: ReadOptions) -> Reading:
    """Return the starts and checkpoints that a `progress.txt` tells.

    Args:
        path: The file.
        source: The name to quote.
        options: The zone of its stamps, which carry none.

    Returns:
        `EVENTS` of kind run_start, checkpoint (saved, `code` is the iteration), checkpoint_start,
        checkpoint_delete; `attributes` are the other fields in their own words. `JOBS`, one row a
        start, with its number of GPUs; when an attempt ended is not told.

    Raises:
        OSError: The file cannot be read.
    """
    lines = plain_lines(path.read_bytes()).with_columns(reason=pl.lit("no line of progress"))
    events = _events_of(lines.filter(pl.col("text").str.contains(_LINE)), options.time_zone)
    return account(lines, events["position"], source, events=events, jobs=_jobs_of(events))


def _events_of(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    fields = pl.col("text").str.split("\t")
    name = fields.list.get(_FIXED_FIELDS, null_on_oob=True).str.strip_chars()
    pairs = fields.list.slice(1).list.eval(_label(pl.element())).list.drop_nulls()
    return lines.with_columns(
        time=iso_time(fields.list.get(0), time_zone),
        kind=name.replace_strict(_KINDS, default="note"),
        code=pl.col("text").str.extract(r"\tIteration: *(\d+)"),
        world=pl.col("text").str.extract(r"\t# GPUs: (\d+)\t").cast(pl.Int32, strict=False),
        severity=pl.lit("info"),
        count=pl.lit(1),
        message="text",
        attributes=pairs.cast(pl.List(LABEL)),
    )


def _label(field: pl.Expr) -> pl.Expr:
    """Return `Name: value` as a label; null for a field without a value."""
    parts = field.str.extract_groups(r"^ *(?P<key>[^:]+): *(?P<value>.*\S) *$")
    return pl.when(parts.struct.field("key").is_not_null()).then(parts)


def _jobs_of(events: pl.DataFrame) -> pl.DataFrame:
    starts = events.filter(pl.col("kind") == "run_start")
    return starts.select("world", start="time", attempt=pl.int_range(pl.len(), dtype=pl.Int32))
