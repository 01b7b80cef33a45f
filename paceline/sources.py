"""Read everything below some paths, each file by the dialect that wants it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import polars as pl

from collectors.communication.call_folds import FoldedCalls, fold_calls, join_folded
from collectors.communication.communicators import name_communicators
from collectors.communication.flight_copies import drop_stale_dumps
from collectors.communication.flight_groups import name_groups
from collectors.communication.nccl_places import read_places
from collectors.dialects import read_file
from collectors.hosts.replayed_lines import drop_replays
from collectors.hosts.xid_hints import drop_told_xids
from collectors.names.aliases import resolve_devices
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from paceline.metric_parts import join_metric_parts
from paceline.naming import Origin, name_runs
from paceline.run_attempts import (
    join_attempts,
    join_exports,
    name_lost_nodes,
    number_rounds,
)
from paceline.successions import number_successions
from paceline.undated import would_be_dated

if TYPE_CHECKING:
    from datetime import datetime

WORKERS: Final = 4
"""Files read at once: parsing runs outside of the interpreter's lock."""

_DATED: Final = (("steps", "end_time"), ("samples", "time"), ("events", "time"))


class NoSuchPathError(FileNotFoundError):
    """A path that was asked for is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One file to read.

    Attributes:
        path: Where it is.
        name: What evidence calls it.
        origin: Where it lies, for naming its run.
    """

    path: Path
    name: str
    origin: Origin


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
    folds = _read(files, options, say)
    if options.year is None:
        year = _newest_year([one.reading for one in folds])
        again = replace(options, year=year)
        if year is not None:
            undated = [
                at
                for at, (file, one) in enumerate(zip(files, folds, strict=True))
                if would_be_dated(file.path, one.reading)
            ]
            fresh = _read([files[at] for at in undated], again, _say_nothing)
            for at, fold in zip(undated, fresh, strict=True):
                folds[at] = fold
    origins = {one.name: one.origin for one in files}
    return name_things(join_folded(folds), origins)


def name_things(reading: Reading, origins: Mapping[str, Origin]) -> Reading:
    """Return a reading with every run, device and group called by one name.

    Args:
        reading: What all readers found.
        origins: Where each `source` lies.
    """
    placed = _placed(_with_runs(reading, origins))
    named = drop_told_xids(drop_replays(resolve_devices(placed)))
    fresh = drop_stale_dumps(named.collectives, named.events)
    said = name_communicators(fresh, named.events)
    return replace(named, collectives=name_groups(said))


def _placed(reading: Reading) -> Reading:
    """Return a reading with what the lives of communicators tell of where ranks run."""
    placements, aliases = read_places(reading.events)
    return replace(
        reading,
        placements=pl.concat(
            [reading.placements, placements.with_columns(pl.col("attempt").fill_null(0))]
        ),
        aliases=pl.concat([reading.aliases, aliases]),
    )


def _with_runs(reading: Reading, origins: Mapping[str, Origin]) -> Reading:
    named = name_runs(join_attempts(join_exports(reading)), origins)
    return join_metric_parts(number_successions(number_rounds(name_lost_nodes(named))))


def _read(
    files: Sequence[SourceFile], options: ReadOptions, say: Callable[[str, int, int], None]
) -> list[FoldedCalls]:
    folds: list[FoldedCalls] = []
    with ThreadPoolExecutor(WORKERS) as pool:
        results = pool.map(partial(_read_one, options=options), files)
        for one, fold in zip(files, results, strict=True):
            folds.append(fold)
            say(one.name, len(folds), len(files))
    return folds


def _read_one(file: SourceFile, *, options: ReadOptions) -> FoldedCalls:
    """Return what a file says, its calls folded at once: those of all files are too many."""
    return fold_calls(read_file(file.path, file.name, options))


def _say_nothing(_name: str, _done: int, _all: int) -> None:
    """Tell nobody."""


def _newest_year(readings: Sequence[Reading]) -> int | None:
    newest = [
        cast("datetime | None", reading.frame(name)[column].max())
        for reading in readings
        for name, column in _DATED
    ]
    return max((time.year for time in newest if time is not None), default=None)
