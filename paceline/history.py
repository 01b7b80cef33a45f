"""Weeks of history from files and stores, for the questions of who owns a fleet."""

from pathlib import Path

from rich.console import Console

from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.storage.store_migrations import NewerStoreError
from paceline.commands.arguments import refused
from paceline.progress import progress_bar
from paceline.sources import NoSuchPathError
from paceline.stored_sources import StoredSpan, read_places


def read_history(paths: list[Path], options: ReadOptions) -> Reading:
    """Return what files and stores hold.

    Args:
        paths: Files, folders and stores.
        options: What the files cannot say of themselves.

    Raises:
        typer.Exit: One of them is not there, or a store is newer than this program.
    """
    try:
        with progress_bar("Reading", Console(stderr=True)) as say:
            return read_places(paths, options, StoredSpan(), say)
    except (NoSuchPathError, NewerStoreError) as error:
        raise refused(str(error), code=1) from error
