"""Which reader wants a file: decided by its content, never by its name alone."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Final

import polars as pl

from collectors.readings import Reading
from collectors.texts.packed_files import first_bytes

HEAD_BYTES: Final = 65_536
"""How much of a file a dialect may look at before it says whether it wants it."""

SURE: Final = 0.95
"""From here on a dialect knows that a head is nobody else's."""

MAX_CONTROL_SHARE: Final = 0.05
"""Above this share of control bytes a head is binary; logs hold escapes and stray NULs."""


_CONTROL: Final = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27})
"""Control bytes that no log writes: all but bell, backspace, white space and escape."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """The start of a file.

    Attributes:
        name: The file's name without its folder; a hint that breaks ties, never more.
        data: Its first `HEAD_BYTES` bytes, unpacked.
    """

    name: str
    data: bytes

    @cached_property
    def text(self) -> str:
        """Return the head as text; bytes that are not UTF-8 become replacement characters."""
        return self.data.decode("utf-8", errors="replace").removeprefix("\ufeff")

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Return the head's non-empty lines; the last one may be cut."""
        return tuple(line for line in self.text.splitlines() if line.strip())

    @cached_property
    def column(self) -> pl.Series:
        """Return the lines as a column: a pattern over all of them costs what one line costs."""
        return pl.Series("line", self.lines, dtype=pl.String)

    @cached_property
    def is_binary(self) -> bool:
        """Return whether the head is not text: many control bytes that no log writes."""
        control = len(self.data) - len(self.data.translate(None, _CONTROL))
        return control > MAX_CONTROL_SHARE * len(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What a file cannot say of itself.

    Attributes:
        time_zone: IANA zone of stamps that carry none.
        year: Year of stamps that carry none; null: such a time is not known. In a log that goes
            over New Year it is the year of the last stamp.
        host: Host of files that name none; null: the file's name may still tell.
        taken: When a file without stamps was taken, with a zone; null: its name may still tell.
        boot: When the host of a kernel log started, with a zone; null: only lines that show both
            clocks can tell.
        xid_table: A table of Xids to use instead of `collectors/hosts/xid_table.toml`.
    """

    time_zone: str = "UTC"
    year: int | None = None
    host: str | None = None
    taken: datetime | None = None
    boot: datetime | None = None
    xid_table: Path | None = None

    def __post_init__(self) -> None:
        """Refuse a time that could mean two."""
        for name, time in (("taken", self.taken), ("boot", self.boot)):
            if time is not None and time.tzinfo is None:
                raise ValueError(f"{name} must have a zone, got {time}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One file format and its reader.

    Attributes:
        name: The format's short name in reports.
        wants: How sure the dialect is of a head, 0 (not mine) to 1 (nobody else's).
        read: Reads the file at a path; the text is the source's name in evidence. Never raises
            on content.
        stream: Does the same a part at a time, in bounded memory; null for formats whose files
            are small. The parts joined say what `read` says.
        resume: Reads the end of a file of lines that grew, with as many lines in front as it is
            told; null for formats whose lines need none of those before them.
        unpacks: Whether it reads packed files itself; others are given an unpacked copy.
    """

    name: str
    wants: Callable[[Head], float]
    read: Callable[[Path, str, ReadOptions], Reading]
    stream: Callable[[Path, str, ReadOptions], Iterator[Reading]] | None = None
    resume: Callable[[Path, str, ReadOptions, int], Iterator[Reading]] | None = None
    unpacks: bool = False


def read_head(path: Path) -> Head:
    """Return the head of the file at `path`.

    Raises:
        OSError: The file cannot be opened.
    """
    return Head(name=path.name, data=first_bytes(path, HEAD_BYTES))


def choose(head: Head, dialects: tuple[Dialect, ...]) -> Dialect | None:
    """Return the dialect that is surest of the head; the earlier listed one wins a tie.

    Args:
        head: The start of a file.
        dialects: In order of specificity; one that is `SURE` ends the search.

    Returns:
        The dialect, or null when none wants the head at all.
    """
    best, chosen = 0.0, None
    for dialect in dialects:
        wish = dialect.wants(head)
        if wish > best:
            best, chosen = wish, dialect
        if best >= SURE:
            break
    return chosen
