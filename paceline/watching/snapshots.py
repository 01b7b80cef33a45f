"""Frames that are carried from tick to tick, as they were when the last tick was committed.

As with the pieces of a spool, a snapshot is written first and counts when a cursor names it.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from paceline.watching.spools import TornPieceError


@dataclass(slots=True, kw_only=True)
class Snapshots:
    """The newest snapshot of a folder.

    Attributes:
        folder: Where they are.
        number: The newest; null before the first.
    """

    folder: Path
    number: int | None = None
    _next: int = field(default=0)

    def save(self, frames: Mapping[str, pl.DataFrame]) -> None:
        """Write frames as the newest snapshot."""
        number, self._next = self._next, self._next + 1
        place = self.folder / str(number)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for name, frame in frames.items():
            frame.write_ipc(place / f"{name}.arrow", compression="lz4")
        self.number = number

    def load(self, number: int | None) -> dict[str, pl.DataFrame]:
        """Return the frames of a snapshot, by name; none for no snapshot.

        Raises:
            TornPieceError: It is missing or torn.
        """
        self.number, self._next = number, 0 if number is None else number + 1
        if number is None:
            return {}
        place = self.folder / str(number)
        try:
            found = {path.stem: pl.read_ipc(path) for path in sorted(place.iterdir())}
        except (OSError, pl.exceptions.PolarsError) as error:
            raise TornPieceError(f"{place} cannot be read: {error}") from error
        self.sweep()
        return found

    def sweep(self) -> None:
        """Remove all but the newest from disk; called when its number is committed."""
        if not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            if path.name != str(self.number):
                shutil.rmtree(path, ignore_errors=True)
