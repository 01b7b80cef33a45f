"""Read a store like a folder of files: the same frames, the same names."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl

from collectors.readings import FRAMES, Reading
from collectors.storage.store import Store, Wanted
from collectors.storage.store_tables import FILES
from collectors.training.attempts import mend_attempts
from paceline.naming import Origin
from paceline.sources import name_things


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSpan:
    """Which part of a store to read.

    Attributes:
        start: First moment, included; null for the first there is.
        end: Last moment, included; null for the last there is.
    """

    start: datetime | None = None
    end: datetime | None = None


def read_store(root: Path, span: StoredSpan) -> Reading:
    """Return what a store holds, with every run, device and group named.

    Args:
        root: The store's folder.
        span: When; with a start or an end, rows of which no time is known are left out.

    Raises:
        NoStoreError: It is none.
        NewerStoreError: A newer Paceline wrote it.
    """
    store = Store.open_at(str(root))
    until = None if span.end is None else span.end + timedelta(microseconds=1)
    stored = store.read_all(Wanted(since=span.start, until=until))
    reading = replace(stored, steps=mend_attempts(stored.steps, stored.events))
    return name_things(reading, _origins(store, reading, root))


def _origins(store: Store, reading: Reading, root: Path) -> dict[str, Origin]:
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
