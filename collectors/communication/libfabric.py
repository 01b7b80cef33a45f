"""Read what libfabric itself logs below NCCL's OFI plugin, and the plugin where NCCL is not asked.

Source: formats of NCCL logs, section 4.4 (libfabric `src/log.c`): process, seconds since the epoch,
provider, subsystem, function and line, level. The plugin logs the same fault once more.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels

LIBFABRIC_HINT: Final = r"libfabric:[0-9]+:|: NET/OFI "

_LINE: Final = (
    r"libfabric:(?P<pid>\d+):(?P<epoch>\d{9,11}):(?P<provider>[^:]*):(?P<subsystem>[^:]*):"
    r"(?P<function>\w*)\(\):(?P<at>\d+)<(?P<level>\w+)> ?(?P<message>.*)$"
)

_PLUGIN: Final = (
    r"\b(?P<level>[A-Z]+): Function: (?P<function>\w+) Line: \d+: NET/OFI (?P<message>.*)$"
)
"""What the plugin printed before it logged through NCCL."""

_ERROR: Final = r"(?i)error|unreachable|timed? ?out|unresponsive|failed"

_CODE: Final = r"(?i)(?:RC|err(?:or)?|prov_errno|status)[:= ]+\(?(\d+)"


def read_libfabric(lines: pl.DataFrame, _options: ReadOptions) -> LineReading:
    """Return one event for each line of libfabric.

    Args:
        lines: `LINES`.

    Returns:
        `EVENTS` of kind net_error, whose code is the provider's number if it tells one, or note.
        The peer is an address of the fabric, which no host is known by.
    """
    parts = pl.concat([_matched(lines, _LINE), _matched(lines, _PLUGIN)], how="diagonal")
    level = pl.col("level").str.to_lowercase()
    is_error = level.is_in(["warn", "error"]) & pl.col("message").str.contains(_ERROR)
    severity = pl.when(is_error).then(pl.lit("error")).otherwise(pl.lit("info"))
    names = ("pid", "provider", "subsystem", "function")
    seconds = pl.col("epoch").cast(pl.Int64, strict=False)
    events = parts.with_columns(
        time=pl.coalesce((seconds * 1_000_000).cast(TIME), "time"),
        kind=pl.when(is_error).then(pl.lit("net_error")).otherwise(pl.lit("note")),
        code=pl.col("message").str.extract(_CODE),
        severity=severity,
        count=pl.lit(1),
        attributes=event_labels({name: pl.col(name) for name in names}),
        message="text",
    )
    return LineReading(reading=reading_of(events=events), claimed=events["line"])


def _matched(lines: pl.DataFrame, pattern: str) -> pl.DataFrame:
    """Return the lines that a pattern fits, with its groups as columns."""
    hits = lines.filter(pl.col("text").str.contains(pattern))
    return hits.hstack(hits["text"].str.extract_groups(pattern).struct.unnest())
