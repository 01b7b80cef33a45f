"""A window of rows that survives a kill: pieces on disk, of which a cursor says which ones count.

A piece is written before its number is committed with the tick's results. Who starts again takes
the committed pieces and drops the others: their rows are read again where they came from. So no row
is lost and none counts twice, wherever the kill came.
"""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

import polars as pl

from collectors.readings import FRAMES, Reading, join_readings, reading_of, with_own_memory
from paceline.spans import TIMED

MAX_PIECES: Final = 48
"""More pieces than this are joined by halves: a frame of hundreds of chunks is slow to scan."""


class TornPieceError(ValueError):
    """A committed piece is not there, or cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some rows of a window.

    Attributes:
        number: Its folder's name.
        reading: The rows.
        newest: Time of its newest row; null when none has a clock.
    """

    number: int
    reading: Reading
    newest: datetime | None


class Spool:
    """A window of rows, in memory and on disk.

    Attributes:
        pieces: In the order in which they came.
    """

    def __init__(self, folder: Path) -> None:
        """Begin an empty window that is kept below a folder."""
        self.pieces: list[Piece] = []
        self._folder = folder
        self._next = 0

    @classmethod
    def load(cls, folder: Path, numbers: Sequence[int]) -> "Spool":
        """Return the window as it was committed; pieces that never were go.

        Raises:
            TornPieceError: A committed piece is missing or torn; the window has to be read anew.
        """
        spool = cls(folder)
        spool.pieces = [_read_piece(folder, number) for number in numbers]
        spool._next = max(numbers, default=-1) + 1
        spool.sweep()
        return spool

    @property
    def numbers(self) -> list[int]:
        """The pieces that count now: what a cursor has to say."""
        return [one.number for one in self.pieces]

    @property
    def newest(self) -> datetime | None:
        """Time of the newest row; null when none has a clock."""
        return max((one.newest for one in self.pieces if one.newest), default=None)

    def add(self, reading: Reading) -> None:
        """Take rows, and write them to disk; a reading without a row is none."""
        if not any(reading.frame(name).height for name in FRAMES):
            return
        own = with_own_memory(reading)
        self.pieces.append(self._written(own))
        if len(self.pieces) > MAX_PIECES:
            old = self.pieces[: MAX_PIECES // 2]
            joined = self._written(join_readings(one.reading for one in old))
            self.pieces = [joined, *self.pieces[MAX_PIECES // 2 :]]

    def forget_before(self, moment: datetime) -> None:
        """Drop the pieces whose every row is older than a time."""
        self.pieces = [one for one in self.pieces if one.newest is None or one.newest >= moment]

    def joined(self, since: datetime | None = None) -> Reading:
        """Return all rows in one reading; with a time, without those of before."""
        whole = join_readings(one.reading for one in self.pieces)
        return whole if since is None else rows_since(whole, since)

    def sweep(self) -> None:
        """Remove from disk what does not count; called when the numbers are committed."""
        if not self._folder.is_dir():
            return
        kept = {str(one.number) for one in self.pieces}
        for path in self._folder.iterdir():
            if path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)

    def _written(self, reading: Reading) -> Piece:
        number, self._next = self._next, self._next + 1
        place = self._folder / str(number)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for name in FRAMES:
            frame = reading.frame(name)
            if frame.height:
                frame.write_ipc(place / f"{name}.arrow", compression="lz4")
        return Piece(number=number, reading=reading, newest=newest_time([reading]))


def newest_time(readings: Iterable[Reading]) -> datetime | None:
    """Return the newest time of any row; null when none has a clock."""
    times = [
        cast("datetime | None", one.frame(name)[at].max()) for one in readings for name, at in TIMED
    ]
    return max((time for time in times if time is not None), default=None)


def rows_since(reading: Reading, since: datetime) -> Reading:
    """Return a reading without the rows of before a time; rows without a clock stay."""
    frames: dict[str, Any] = {
        name: reading.frame(name).filter(pl.col(at).is_null() | (pl.col(at) >= since))
        for name, at in TIMED
    }
    return replace(reading, **frames)


def _read_piece(folder: Path, number: int) -> Piece:
    place = folder / str(number)
    try:
        frames: dict[str, Any] = {
            path.stem: pl.read_ipc(path) for path in sorted(place.iterdir()) if path.stem in FRAMES
        }
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TornPieceError(f"{place} cannot be read: {error}; the window is read anew") from error
    reading = reading_of(**frames)
    return Piece(number=number, reading=reading, newest=newest_time([reading]))
