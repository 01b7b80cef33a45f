"""What a reader hands back: one frame of each kind, most of them empty."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, Final

import polars as pl

from collectors.frames import (
    ALIASES,
    COLLECTIVES,
    COVERAGE,
    EVENTS,
    JOBS,
    LINKS,
    OPS,
    PLACEMENTS,
    REJECTS,
    SAMPLES,
    STEPS,
    TRANSFERS,
    conform,
)

EMPTY_FILE: Final = "empty file"
"""Why a file without a byte is rejected."""

MAX_REJECT_CHARACTERS: Final = 200
"""Longer rejected lines are cut: enough to recognise one, too little to fill a report."""

MAX_REJECT_EXAMPLES: Final = 20
"""Rejected lines of one reason that are kept one by one; a large log has millions of the same."""

FRAMES: Final[Mapping[str, pl.Schema]] = {
    "samples": SAMPLES,
    "steps": STEPS,
    "ops": OPS,
    "collectives": COLLECTIVES,
    "transfers": TRANSFERS,
    "events": EVENTS,
    "jobs": JOBS,
    "placements": PLACEMENTS,
    "links": LINKS,
    "aliases": ALIASES,
    "rejects": REJECTS,
    "coverage": COVERAGE,
}
"""Every frame of a reading by its name."""


_EMPTY: Final[Mapping[str, pl.DataFrame]] = {
    name: schema.to_frame() for name, schema in FRAMES.items()
}


def _empty(name: str) -> pl.DataFrame:
    return _EMPTY[name].clone()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that came out of one input; each frame has its schema of `collectors.frames`.

    Attributes:
        samples: `SAMPLES`.
        steps: `STEPS`.
        ops: `OPS`.
        collectives: `COLLECTIVES`.
        transfers: `TRANSFERS`.
        events: `EVENTS`.
        jobs: `JOBS`.
        placements: `PLACEMENTS`.
        links: `LINKS`.
        aliases: `ALIASES`.
        rejects: `REJECTS`, every line or record that became nothing else.
        coverage: `COVERAGE`.
        lines_used: How many input lines that are not empty ended as rows or as parts of rows; the
            others are counted by the rejects.
    """

    samples: pl.DataFrame = field(default_factory=lambda: _empty("samples"))
    steps: pl.DataFrame = field(default_factory=lambda: _empty("steps"))
    ops: pl.DataFrame = field(default_factory=lambda: _empty("ops"))
    collectives: pl.DataFrame = field(default_factory=lambda: _empty("collectives"))
    transfers: pl.DataFrame = field(default_factory=lambda: _empty("transfers"))
    events: pl.DataFrame = field(default_factory=lambda: _empty("events"))
    jobs: pl.DataFrame = field(default_factory=lambda: _empty("jobs"))
    placements: pl.DataFrame = field(default_factory=lambda: _empty("placements"))
    links: pl.DataFrame = field(default_factory=lambda: _empty("links"))
    aliases: pl.DataFrame = field(default_factory=lambda: _empty("aliases"))
    rejects: pl.DataFrame = field(default_factory=lambda: _empty("rejects"))
    coverage: pl.DataFrame = field(default_factory=lambda: _empty("coverage"))
    lines_used: int = 0

    def frame(self, name: str) -> pl.DataFrame:
        """Return the frame called `name`, one of `FRAMES`."""
        frame: pl.DataFrame = getattr(self, name)
        return frame


def reading_of(**frames: pl.DataFrame | pl.LazyFrame) -> Reading:
    """Return a reading of the given frames, each brought to its schema.

    Args:
        **frames: Frames by their name in `FRAMES`; any subset of a schema's columns.

    Returns:
        The reading; frames not given are empty.
    """
    whole: dict[str, Any] = {
        name: conform(frame.lazy(), FRAMES[name]).collect() for name, frame in frames.items()
    }
    return Reading(**whole)


def count_lines(reading: Reading, used: int) -> Reading:
    """Return `reading` with the number of input lines that it was made of."""
    return replace(reading, lines_used=used)


def join_readings(readings: Iterable[Reading]) -> Reading:
    """Return one reading that holds the rows of all, in the order given."""
    parts = list(readings)
    if not parts:
        return Reading()
    whole: dict[str, Any] = {
        name: pl.concat([part.frame(name) for part in parts], how="vertical") for name in FRAMES
    }
    return Reading(**whole, lines_used=sum(part.lines_used for part in parts))


def with_own_memory(reading: Reading) -> Reading:
    """Return a reading that holds nothing but its rows; see `own_rows`."""
    own: dict[str, Any] = {
        name: own_rows(reading.frame(name)) for name in FRAMES if reading.frame(name).height
    }
    return replace(reading, **own)


def own_rows(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame that holds nothing but its rows.

    The texts of a frame point into those that they were cut out of: a few rows of a file keep the
    whole of it in memory, and so do those of thousands of files. Rows that were written and read
    again have their own.
    """
    written = BytesIO()
    frame.write_ipc_stream(written)
    written.seek(0)
    return pl.read_ipc_stream(written)


def reject_file(source: str, reason: str, text: str = "", count: int = 1) -> Reading:
    """Return the reading of an input of which nothing could be read.

    Args:
        source: The input's name.
        reason: Why, in the words of the report.
        text: The start of its content, if that helps to recognise it.
        count: How many lines it has that are not empty.
    """
    shown = text[:MAX_REJECT_CHARACTERS]
    row = {"source": [source], "text": [shown], "reason": [reason], "count": [count]}
    return reading_of(rejects=pl.DataFrame(row))


def fold_rejects(rejects: pl.DataFrame, max_examples: int = MAX_REJECT_EXAMPLES) -> pl.DataFrame:
    """Return rejects with the first lines of each reason and one row for its others.

    Args:
        rejects: `REJECTS`; a null count is one.
        max_examples: Rows that a reason may have before the rest becomes one row.

    Returns:
        `REJECTS` by source, reason and position. The last row of a long reason shows the first
        line that it stands for, and its `count` is how many there are: no line is lost.
    """
    reason = ["source", "reason"]
    ranked = rejects.sort("source", "reason", "position", nulls_last=False).with_columns(
        pl.col("count").fill_null(1),
        slot=pl.int_range(pl.len()).over(reason).clip(upper_bound=max_examples),
    )
    folded = ranked.group_by(*reason, "slot", maintain_order=True).agg(
        pl.col("position").first(), pl.col("text").first(), pl.col("count").sum()
    )
    return folded.select(REJECTS.names())
