"""Rows of several logs that were read at once: those of each log, as it would say them alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from collectors.frames import REJECTS, conform
from collectors.readings import (
    EMPTY_FILE,
    FRAMES,
    MAX_REJECT_CHARACTERS,
    Reading,
    fold_rejects,
)
from collectors.texts.file_places import FILE_LINES, file_number
from collectors.training.attempts import STARTED, number_attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The logs that were read.

    Attributes:
        names: What evidence calls each.
        is_empty: Which of them have not a byte.
    """

    names: Sequence[str]
    is_empty: pl.Series


_PLACED: Final = frozenset(name for name, kind in FRAMES.items() if "position" in kind)


def said_of(reading: Reading, file: int) -> Reading:
    """Return what a dialect says of one file, with the file's number as source of each row."""
    source = pl.lit(str(file))
    told: dict[str, Any] = {
        name: reading.frame(name).with_columns(source=source)
        for name in FRAMES
        if reading.frame(name).height
    }
    return replace(reading, **told)


def by_file(reading: Reading, sources: Sequence[str]) -> Reading:
    """Return the rows of each file together, in the files' order, with attempts and sources.

    Args:
        reading: What the dialects say; the number of a row's file is its source, else its position
            tells; what tells none is of the first.
        sources: The names to quote, by number.
    """
    rows = {name: _numbered(reading.frame(name), name) for name in FRAMES if name != "rejects"}
    attempts = number_attempts(_placed(rows["steps"]), _placed(rows["events"]), STARTED.to_frame())
    rows["steps"] = rows["steps"].with_columns(attempts[0]["attempt"])
    named: dict[str, Any] = {name: _named(one, sources) for name, one in rows.items() if one.height}
    return replace(reading, **named)


def _numbered(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return rows by `file`."""
    place = file_number() if name in _PLACED else pl.lit(None, pl.Int64)
    file = pl.col("source").cast(pl.Int64).fill_null(place).fill_null(0)
    numbered = rows.with_columns(file=file)
    in_order = numbered["file"].is_sorted()
    return numbered if in_order else numbered.sort("file", maintain_order=True)


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows whose position tells their file."""
    inside = pl.col("position").fill_null(0) % FILE_LINES
    return rows.with_columns(position=pl.col("file") * FILE_LINES + inside).drop("file")


def _named(rows: pl.DataFrame, sources: Sequence[str]) -> pl.DataFrame:
    """Return rows with the name of their file, and the position in it."""
    inside = [pl.col("position") % FILE_LINES] if "position" in rows.columns else []
    source = pl.Series(sources, dtype=pl.String).gather(rows["file"])
    return rows.with_columns(source.alias("source"), *inside).drop("file")


def rejects_of(lines: pl.DataFrame, used: pl.Series, sources: Sources) -> pl.DataFrame:
    """Return the rejects of several logs.

    Args:
        lines: `LINES` that nobody knows.
        used: How many lines of each log somebody knows; a log of none is no log of ours, and one
            reject.
        sources: The logs.

    Returns:
        `REJECTS`, folded, in the order of the logs.
    """
    rows = lines.lazy().select(
        "position",
        pl.col("text").str.head(MAX_REJECT_CHARACTERS),
        source=file_number().cast(pl.String),
        reason=pl.lit("unrecognised line"),
    )
    folded = fold_rejects(conform(rows, REJECTS).collect())
    files = pl.DataFrame({"is_known": used > 0, "is_empty": sources.is_empty})
    files = files.with_columns(file=pl.int_range(pl.len(), dtype=pl.Int64))
    numbered = folded.with_columns(file=pl.col("source").cast(pl.Int64))
    told = numbered.join(files.filter("is_known"), on="file", how="semi")
    both = pl.concat([told, _unknown(numbered, files.filter(~pl.col("is_known")))], how="diagonal")
    ordered = both.sort("file", maintain_order=True)
    return _named(ordered.select(*REJECTS.names(), "file"), sources.names)


def _unknown(folded: pl.DataFrame, files: pl.DataFrame) -> pl.DataFrame:
    """Return one reject for each log of which nobody knows a line."""
    first = folded.group_by("file").agg(pl.col("text").first(), pl.col("count").sum())
    rows = files.join(first, on="file", how="left", maintain_order="left")
    return (
        conform(
            rows.lazy().with_columns(
                pl.col("text").fill_null(""),
                pl.when("is_empty").then(1).otherwise(pl.col("count").fill_null(0)).alias("count"),
                reason=pl.when("is_empty")
                .then(pl.lit(EMPTY_FILE))
                .otherwise(pl.lit("no known format")),
            ),
            REJECTS,
        )
        .collect()
        .with_columns(rows["file"])
    )
