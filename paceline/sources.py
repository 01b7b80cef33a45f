"""Read everything below some paths, each file by the dialect that wants it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from collectors.communication.call_folds import join_folded
from collectors.dialects import DIALECTS
from collectors.log_shapes import KnownHeads
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from paceline.file_batches import BatchReader, ReadFiles, SourceFile, batches_of
from paceline.named_things import name_things
from paceline.naming import Origin

if TYPE_CHECKING:
    from datetime import datetime

WORKERS: Final = 2
"""Files read at once: parsing runs outside of the interpreter's lock."""

_DATED: Final = (("steps", "end_time"), ("samples", "time"), ("events", "time"))


class NoSuchPathError(FileNotFoundError):
    """A path that was asked for is not there."""


def find_files(paths: Sequence[Path]) -> list[SourceFile]:
    """Return every file below the paths, by name.

    Args:
        paths: Files and folders; hidden files are left out.

    Raises:
        NoSuchPathError: One of them does not exist.
    """
    found: dict[Path, SourceFile] = {}
    for root in paths:
        if not root.exists():
            raise NoSuchPathError(f"no such file or folder: {root}")
        for path in _below(root):
            found.setdefault(path.resolve(), _source(root, path))
    return sorted(found.values(), key=lambda one: one.name)


def _below(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        hidden = any(part.startswith(".") for part in parts)
        if path.is_file() and not hidden:
            yield path


def _source(root: Path, path: Path) -> SourceFile:
    inside = path.name if root.is_file() else path.relative_to(root).as_posix()
    folder = root.resolve() if root.is_dir() else path.resolve().parent
    nested = (folder / inside).parent.as_posix()
    origin = Origin(root=root.as_posix(), folder="." if root.is_file() else nested, stem=path.stem)
    many = inside if root.is_file() else f"{root.name or folder.name}/{inside}"
    return SourceFile(path=path, name=many, origin=origin)


def read_sources(
    files: Sequence[SourceFile], options: ReadOptions, say: Callable[[str, int, int], None]
) -> Reading:
    """Return all that the files hold, with every run named and each device by one name.

    Args:
        files: What to read.
        options: What the files cannot say of themselves. Without a year, the newest year that
            any dated source shows stands in for stamps that carry none.
        say: Told after each file: its name, how many are done, how many there are.

    Returns:
        One reading of all; rows keep the files' order.
    """
    parts = _read(files, options, say)
    if options.year is None:
        year = _newest_year([one.fold.reading for one in parts])
        parts = parts if year is None else _dated(parts, replace(options, year=year))
    origins = {one.name: one.origin for one in files}
    return name_things(join_folded([one.fold for one in parts]), origins)


def _read(
    files: Sequence[SourceFile], options: ReadOptions, say: Callable[[str, int, int], None]
) -> list[ReadFiles]:
    """Return what the files say, some of them together."""
    parts, done = list[ReadFiles](), 0
    with ThreadPoolExecutor(WORKERS) as pool:
        for some in pool.map(_reader(options).read, batches_of(files)):
            parts += some
            for file in (file for one in some for file in one.files):
                done += 1
                say(file.name, done, len(files))
    return parts


def _dated(parts: Sequence[ReadFiles], options: ReadOptions) -> list[ReadFiles]:
    """Return what was read, of files whose stamps want a year what is read anew with one."""
    with ThreadPoolExecutor(WORKERS) as pool:
        return [one for some in pool.map(_reader(options).read_dated, parts) for one in some]


def _reader(options: ReadOptions) -> BatchReader:
    log = next(one for one in DIALECTS if one.name == "log")
    return BatchReader(options=options, heads=KnownHeads(dialects=DIALECTS, log=log))


def _newest_year(readings: Sequence[Reading]) -> int | None:
    newest = [
        cast("datetime | None", reading.frame(name)[column].max())
        for reading in readings
        for name, column in _DATED
    ]
    return max((time.year for time in newest if time is not None), default=None)
