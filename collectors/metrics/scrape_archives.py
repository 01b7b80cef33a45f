"""Read an archive of scrapes a part at a time, in memory that does not grow with it.

Scrapes below each other are handed to the mappers whole, each part with the last scrapes of the
part before it in front: a change of the last Xid, or a GPU that is gone, shows only against what
was there. What those scrapes said themselves has been said already and is left out.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.frames import ALIASES, EVENTS, LINKS, TIME
from collectors.gpus.gpu_presence import scrape_coverage
from collectors.metric_mappers import read_series, readable_names
from collectors.metrics.exposition import Page, read_page_parts
from collectors.metrics.series import IDENTITIES, POINTS, Series, date_pages, number_pages
from collectors.readings import Reading, count_lines, join_readings, reading_of
from collectors.sniffing import ReadOptions
from collectors.taken import taken_at
from collectors.texts.text_blocks import BLOCK_BYTES

CONTEXT_SCRAPES: Final = 4
"""Scrapes of the part before that a part sees: a GPU is lost after two without it."""

MAX_DISORDER: Final = timedelta(minutes=5)
"""Targets are scraped at different moments; times that go back by more are an archive in the order
of its series, such as a dump of a database, and not of its scrapes."""

MAX_HELD_POINTS: Final = 4_000_000
"""A scrape larger than this is no scrape: its points are told as they come."""

_PRESENCE: Final = ("gpu_series_lost", "gpu_series_back")

_REPEATED: Final = {
    "samples": ("time", "host", "device_kind", "device", "signal"),
    "events": tuple(name for name in EVENTS if name != "attributes"),
    "links": tuple(LINKS),
    "aliases": tuple(ALIASES),
}
"""Frames whose rows come again when their scrape is seen again, and what makes a row the same."""


def stream_exposition(
    path: Path, source: str, options: ReadOptions, block_bytes: int = BLOCK_BYTES
) -> Iterator[Reading]:
    """Yield what an archive of scrapes says, a part at a time.

    Args:
        path: A file in exposition format, plain or packed.
        source: The name to quote in evidence.
        options: When a page without stamps was taken, if its name does not tell.
        block_bytes: About how much is read at once.

    Yields:
        Readings. An archive in the order of its series is told without what only whole scrapes
        can tell, lost series and coverage; a warning says so. In one without time stamps nothing
        is compared over the end of a part.
    """
    pages = read_page_parts(path, source, block_bytes)
    first = next(pages, None)
    if first is None:
        return
    if _goes_back(first.series.points):
        yield from _by_series(_with_identities(first, pages), source)
    else:
        taken = taken_at(source, options)
        yield from _by_scrapes(_with_identities(first, pages), source, taken)


def _goes_back(points: pl.DataFrame) -> bool:
    return points.select((pl.col("time").diff() < -MAX_DISORDER).any()).item() is True


def _with_identities(first: Page, rest: Iterator[Page]) -> Iterator[Page]:
    """Yield the pages, each with all label sets up to it."""
    identities = IDENTITIES.to_frame()
    page: Page | None = first
    while page is not None:
        identities = identities.vstack(page.series.identities)
        series = Series(points=page.series.points, identities=identities)
        yield replace(page, series=series)
        page = next(rest, None)


def _by_series(pages: Iterator[Page], source: str) -> Iterator[Reading]:
    """Yield readings of parts that each hold some series whole or in part."""
    for page in pages:
        points = number_pages(page.series.points)
        reading = _mapped(points, page.series.identities, source)
        events = reading.events.filter(~pl.col("kind").is_in(_PRESENCE))
        told = replace(reading, events=events, coverage=reading.coverage.clear())
        yield _accounted(told, page)
    row = {
        "kind": ["warning"],
        "code": ["series_order"],
        "severity": ["low"],
        "source": [source],
        "message": ["in the order of its series: lost series and coverage are not judged"],
    }
    yield reading_of(events=pl.DataFrame(row))


def _by_scrapes(pages: Iterator[Page], source: str, taken: datetime | None) -> Iterator[Reading]:
    """Yield readings of whole scrapes; `taken` is the time of the only one that tells none."""
    held = context = POINTS.to_frame()
    said, start = Reading(), pl.lit(None, dtype=TIME)
    identities = IDENTITIES.to_frame()
    for page in pages:
        identities = page.series.identities
        ready, held = _whole_scrapes(held.vstack(page.series.points))
        taken = None if ready.height else taken
        points = context.vstack(ready)
        reading = _mapped(points, identities, source)
        yield _accounted(_fresh(reading, said, start, source), page)
        context, start = _last_scrapes(points, identities)
        said = _said(reading, said)
    if held.height:
        last = date_pages(number_pages(held), taken)
        reading = _mapped(context.vstack(last), identities, source)
        yield _accounted(_fresh(reading, said, start, source), None)


def _whole_scrapes(pool: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the points of all scrapes but the last, whose end may be in the next part, and it."""
    numbered = number_pages(pool)
    scrape = pl.coalesce(pl.col("time").to_physical(), pl.col("page").cast(pl.Int64))
    is_last = numbered.select(scrape == scrape.max()).to_series()
    if numbered.height > MAX_HELD_POINTS and is_last.all():
        return numbered, POINTS.to_frame()
    held = pool.join(numbered.filter(is_last), on="position", how="semi", maintain_order="left")
    return numbered.filter(~is_last), held


def _last_scrapes(points: pl.DataFrame, identities: pl.DataFrame) -> tuple[pl.DataFrame, pl.Expr]:
    """Return what the next part must see of this one, and the time of the first of its scrapes.

    These are the points of the last scrapes, and the last point of each series that is silent:
    without it nobody could tell that it is back. Points without times are none.
    """
    times = points["time"].drop_nulls().unique().sort().tail(CONTEXT_SCRAPES)
    start = pl.lit(times.min(), dtype=TIME)
    names = readable_names(identities["name"].unique(maintain_order=True))
    read = identities.filter(pl.col("name").is_in(names.implode()))
    time = pl.col("time")
    late = points.filter((time >= start) | (time == time.max().over("series")))
    return late.join(read, on="series", how="semi", maintain_order="left"), start


def _mapped(points: pl.DataFrame, identities: pl.DataFrame, source: str) -> Reading:
    known = identities.join(points, on="series", how="semi", maintain_order="left")
    return read_series(Series(points=points, identities=known), source)


def _said(reading: Reading, before: Reading) -> Reading:
    """Return what has been said and may come again: this part, and all names."""
    return replace(
        reading,
        samples=reading.samples.drop_nulls("time"),
        links=pl.concat([before.links, reading.links]).unique(maintain_order=True),
        aliases=pl.concat([before.aliases, reading.aliases]).unique(maintain_order=True),
    )


def _fresh(reading: Reading, said: Reading, start: pl.Expr, source: str) -> Reading:
    """Return a reading without what was said before.

    Args:
        reading: What a part says, its context in front.
        said: What was said before.
        start: First scrape of the context: an event there was seen against the one before it.
        source: The name to quote in coverage.
    """
    parts: dict[str, Any] = {
        name: getattr(reading, name).join(
            getattr(said, name), on=keys, how="anti", nulls_equal=True, maintain_order="left"
        )
        for name, keys in _REPEATED.items()
    }
    if said.samples.height:
        known = pl.col("time") <= start
        parts["events"] = parts["events"].filter(~known.fill_null(value=False))
        parts["coverage"] = scrape_coverage(parts["samples"], source)
    return replace(reading, **parts)


def _accounted(reading: Reading, page: Page | None) -> Reading:
    """Return a reading with its page's rejects and the number of lines that were used.

    The points of a page's last scrape are told with the next one: the sum over all parts counts
    each line once.
    """
    unread = int(reading.rejects["count"].sum())
    if page is None:
        return count_lines(reading, -unread)
    used = page.lines - page.rejects.height - unread
    return count_lines(join_readings([reading, reading_of(rejects=page.rejects)]), used)
