"""Weeks of history from files and stores, for the questions of who owns a fleet."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from rich.console import Console

from collectors.readings import FRAMES, Reading
from collectors.sniffing import ReadOptions
from collectors.storage.store_faults import UnreadableStoreError
from paceline.commands.arguments import refused
from paceline.progress import progress_bar
from paceline.stored_sources import StoredSpan, read_places

RECORDS: Final = ("events", "jobs", "placements", "links", "aliases")
"""What tells who ran where, and what happened there: kept for ever, and small."""


def read_history(
    paths: list[Path], options: ReadOptions, frames: Collection[str] = tuple(FRAMES)
) -> Reading:
    """Return what files and stores hold.

    Args:
        paths: Files, folders and stores.
        options: What the files cannot say of themselves.
        frames: What is read of stores: months of samples are not, where nobody asks for them.

    Raises:
        typer.Exit: One of them is not there, or a store is newer than this program.
    """
    try:
        with progress_bar("Reading", Console(stderr=True)) as say:
            return read_places(paths, options, StoredSpan(), say, frames)
    except (FileNotFoundError, UnreadableStoreError) as error:
        raise refused(str(error), code=1) from error
