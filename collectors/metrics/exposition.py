"""Read pages of Prometheus text exposition and OpenMetrics into series.

Source: Prometheus exposition format and OpenMetrics 1.0; see `collectors.metrics.exposition_lines`
for the grammar. A repeated HELP or TYPE is a warning. Time stamps are whole milliseconds, on
OpenMetrics pages (`# EOF`) seconds. A page without time stamps has null times: when it was taken is
not in it, and the file's own date is not evidence.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import REJECTS, conform
from collectors.metrics.exposition_lines import (
    HEADS,
    REPEATS,
    declared,
    identities_of,
    known_heads,
    lines_of,
    sort_out,
    split_samples,
)
from collectors.metrics.series import POINTS, Series, number_pages
from collectors.texts.packed_files import open_unpacked
from collectors.texts.text_blocks import BLOCK_BYTES, line_blocks

MIN_MILLISECONDS: Final = 1e11
"""An OpenMetrics stamp from here on is in milliseconds after all: in seconds it is year 5138."""

TAIL_BYTES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a file in exposition format, or a part of it, holds.

    Attributes:
        series: The points and their label sets.
        rejects: `REJECTS`, one row a line that is no sample.
        repeats: `REPEATS`.
        lines: How many lines it has that are not empty.
    """

    series: Series
    rejects: pl.DataFrame
    repeats: pl.DataFrame
    lines: int


def read_page(path: Path, source: str, block_bytes: int = BLOCK_BYTES) -> Page:
    """Return the series in the file at `path`.

    Args:
        path: A text file in exposition format, one scrape or many below each other.
        source: The name to quote in rejects.
        block_bytes: About how much is read at once.

    Returns:
        The page; each line that is neither empty nor a comment is a point or a reject, but for
        an untimed line that repeats the one before it.
    """
    parts = list(read_page_parts(path, source, block_bytes))
    points = pl.concat([POINTS.to_frame(), *(part.series.points for part in parts)])
    identities = pl.concat([part.series.identities for part in parts]) if parts else None
    kept = number_pages(points)
    return Page(
        series=Series(points=kept, identities=_used(identities, kept)),
        rejects=pl.concat([REJECTS.to_frame(), *(part.rejects for part in parts)]),
        repeats=_repeats([part.repeats for part in parts], kept),
        lines=sum(part.lines for part in parts),
    )


def read_page_parts(path: Path, source: str, block_bytes: int = BLOCK_BYTES) -> Iterator[Page]:
    """Yield the series in the file at `path`, a block of lines at a time.

    The parts number their series alike: an identity comes with the first part that has it, and
    `page` is not numbered yet. Memory is that of a block and of all label sets.

    Args:
        path: A text file in exposition format, plain or packed.
        source: The name to quote in rejects.
        block_bytes: About how much is read at once.
    """
    unit = _stamp_unit(path)
    heads = HEADS.to_frame()
    with open_unpacked(path) as stream:
        for block, offset in _numbered(stream, block_bytes):
            lines = lines_of(block, offset)
            samples = split_samples(lines)
            known, heads = heads.height, known_heads(heads, samples)
            joined = samples.join(heads, on="head", how="left", maintain_order="left")
            points, bad = sort_out(joined, unit)
            yield Page(
                series=Series(points=points, identities=identities_of(heads[known:])),
                rejects=conform(bad.lazy().with_columns(source=pl.lit(source)), REJECTS).collect(),
                repeats=declared(lines),
                lines=lines.select((pl.col("line") != "").sum()).item(),
            )


def _numbered(stream: BufferedIOBase, block_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Yield blocks with the number of their first line."""
    offset = 1
    for block in line_blocks(stream, block_bytes):
        yield block, offset
        offset += block.count(b"\n") + (not block.endswith(b"\n"))


def _stamp_unit(path: Path) -> pl.Expr:
    """Return how a time stamp of this file becomes microseconds."""
    with path.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, 2) - TAIL_BYTES))
        is_open_metrics = b"# EOF" in stream.read()
    stamp = pl.col("stamp").cast(pl.Float64, strict=False)
    if not is_open_metrics:
        return stamp * 1e3
    return pl.when(stamp.abs() < MIN_MILLISECONDS).then(stamp * 1e6).otherwise(stamp * 1e3)


def _used(identities: pl.DataFrame | None, points: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets that have points."""
    if identities is None:
        return identities_of(HEADS.to_frame())
    return identities.join(points, on="series", how="semi", maintain_order="left")


def _repeats(comments: list[pl.DataFrame], points: pl.DataFrame) -> pl.DataFrame:
    """Return declarations that came again; in a history of many scrapes that is no fault."""
    if points["time"].n_unique() > 1:
        return REPEATS.to_frame()
    return (
        pl.concat([REPEATS.to_frame(), *comments])
        .group_by("keyword", "name", maintain_order=True)
        .agg(pl.col("count").sum(), pl.col("position").drop_nulls().first())
        .filter(pl.col("count") > 1)
        .cast(REPEATS)
    )
