"""Read a store like a folder of files: the same frames, the same names."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from collectors.readings import FRAMES, Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.storage.store import Store, Wanted, is_store
from collectors.storage.store_tables import FILES
from collectors.storage.store_tiers import tier_coverage
from collectors.training.attempts import mend_attempts
from paceline.named_things import name_things
from paceline.naming import Origin
from paceline.progress import Say


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpan:
    """Which part of a store to read.

    Attributes:
        start: First moment, included; null for the first there is.
        end: Last moment, included; null for the last there is.
    """

    start: datetime | None = None
    end: datetime | None = None


def read_places(
    paths: Sequence[Path],
    options: ReadOptions,
    span: StoredSpan,
    say: Say,
    frames: Collection[str] = tuple(FRAMES),
) -> Reading:
    """Return what files, folders and stores hold together.

    Args:
        paths: Where to look.
        options: What files cannot say of themselves.
        span: When, of stores.
        say: Told after each file: its name, how many are done, how many there are.
        frames: What is read of stores; files are read as a whole.

    Raises:
        NoSuchPathError: One of them does not exist.
        NoStoreError: There is no store at an address of an object storage.
        UnreadableStoreError: A newer Paceline wrote a store, or files of it are torn or gone.
    """
    stores = [path for path in paths if is_store(path)]
    others = [path for path in paths if path not in stores]
    files = [_read_files(others, options, say)] if others else []
    return join_readings([*files, *(read_store(store, span, frames=frames) for store in stores)])


def _read_files(paths: Sequence[Path], options: ReadOptions, say: Say) -> Reading:
    from paceline.sources import find_files, read_sources  # noqa: PLC0415 -- readers load for long

    return read_sources(find_files(paths), options, say)


def read_store(
    root: Path | str,
    span: StoredSpan,
    options: Mapping[str, str] | None = None,
    frames: Collection[str] = tuple(FRAMES),
) -> Reading:
    """Return what a store holds, with every run, device and group named.

    Args:
        root: The store's folder, or its address in an object storage.
        span: When; with a start or an end, rows of which no time is known are left out.
        options: What an object storage wants to know.
        frames: Which frames; the others stay empty. Coverage also tells which samples are gone.

    Raises:
        NoStoreError: It is none.
        UnreadableStoreError: A newer Paceline wrote it, or files of it are torn or gone.
    """
    store = Store.open_at(str(root), options)
    until = None if span.end is None else span.end + timedelta(microseconds=1)
    stored = store.read_all(Wanted(since=span.start, until=until), frames)
    reading = replace(
        stored,
        steps=mend_attempts(stored.steps, stored.events),
        coverage=pl.concat([stored.coverage, tier_coverage(store, span.start, until)]),
    )
    return name_things(reading, _origins(store, reading, root))


def _origins(store: Store, reading: Reading, root: Path | str) -> dict[str, Origin]:
    """Return where each source lay; one that is no file lies in the store."""
    known = store.read(FILES.name).select("source", "root", "folder", "stem").unique().collect()
    sources = pl.concat(
        reading.frame(name).get_column("source") for name in FRAMES if "source" in FRAMES[name]
    )
    inside = Origin(root=str(root), folder=".", stem="prometheus")
    origins = {str(source): inside for source in sources.drop_nulls().unique().sort()}
    for source, folder_root, folder, stem in known.sort("source", "folder").iter_rows():
        origins[source] = Origin(root=folder_root, folder=folder, stem=stem)
    return origins
