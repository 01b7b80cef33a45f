"""Take failures out of whatever lies below some paths, and sort them by the library."""

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from collectors.dialects import DIALECTS
from collectors.readings import Reading
from collectors.signatures.failure_lines import FAILURE_LINES, read_failure_lines
from collectors.sniffing import ReadOptions, choose, read_head
from paceline.file_batches import SourceFile

_SEVERE: Final = ("critical", "error", "high")

_FILLED: Final = ("time", "host", "rank")


def failure_lines(
    files: Sequence[SourceFile],
    reading: Reading,
    options: ReadOptions,
    say: Callable[[str, int, int], None],
) -> pl.DataFrame:
    """Return all that tells of a failure: lines of the logs, and what other sources say.

    Args:
        files: What was read; logs among them are read once more, for the lines nobody knows.
        reading: What the readers made of them: an event names the line that it stands for.
        options: Zone of stamps that carry none.
        say: Told after each file.

    Returns:
        `FAILURE_LINES`.
    """
    parts = [FAILURE_LINES.to_frame()]
    for done, file in enumerate(files, start=1):
        parts += _lines_of(file, options)
        say(file.name, done, len(files))
    return with_events(pl.concat(parts), reading.events)


def _lines_of(file: SourceFile, options: ReadOptions) -> list[pl.DataFrame]:
    """Return the lines of a log; other files speak by their events."""
    try:
        dialect = choose(read_head(file.path), DIALECTS)
        if dialect is None or dialect.name != "log":
            return []
        return list(read_failure_lines(file.path, file.name, options))
    except OSError:
        return []


def with_events(lines: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return lines with what readers know them as, and the events that are no line among them.

    Args:
        lines: `FAILURE_LINES` of logs.
        events: `EVENTS`, also of those logs; those that are neither severe nor of a line are left
            out.

    Returns:
        `FAILURE_LINES`; host, rank and time of a line that has none are those of its event.
    """
    place = ("source", "position")
    known = events.filter(pl.col("message").is_not_null())
    first = known.unique(place, keep="first", maintain_order=True).drop_nulls("position")
    told = first.select(*place, "kind", "code", *(pl.col(one).alias(f"{one}_") for one in _FILLED))
    joined = lines.drop("kind", "code").join(told, on=place, how="left", maintain_order="left")
    filled = joined.with_columns(pl.coalesce(one, f"{one}_") for one in _FILLED)
    others = known.filter(pl.col("severity").is_in(_SEVERE)).join(lines, on=place, how="anti")
    own = others.with_columns(
        text="message",
        block=pl.lit(None, dtype=pl.String),
        is_failure=pl.lit(value=True),
        count=pl.col("count").fill_null(1).cast(pl.Int64),
    )
    names = FAILURE_LINES.names()
    return pl.concat([filled.select(names), own.select(names)])
