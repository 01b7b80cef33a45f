"""Which files a pattern of the settings names, and what evidence calls them."""

import glob
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from paceline.file_batches import SourceFile
from paceline.naming import Origin

_MAGIC: Final = frozenset("*?[")


def matched_files(patterns: Sequence[str]) -> list[SourceFile]:
    """Return the files that patterns name now, each once, by name.

    Args:
        patterns: Files, folders (all files below), and globs, of which `**` is any depth. Hidden
            files are left out. A pattern that names nothing yet is no error: logs come later.
    """
    found: dict[Path, SourceFile] = {}
    for pattern in patterns:
        root = _root_of(pattern)
        matches = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207 -- a pattern may be absolute
        for path in (one for match in matches for one in _files_at(Path(match))):
            found.setdefault(path.resolve(), _source(root, path))
    return sorted(found.values(), key=lambda one: one.name)


def _root_of(pattern: str) -> Path:
    """Return the folder, or the file, that a pattern begins with."""
    parts = Path(pattern).parts
    plain = [part for part in parts if not _MAGIC & set(part)]
    if len(plain) == len(parts):
        return Path(pattern)
    first = next(at for at, part in enumerate(parts) if _MAGIC & set(part))
    return Path(*parts[:first]) if first else Path()


def _files_at(path: Path) -> list[Path]:
    """Return a file, or the files below a folder that are not hidden."""
    if path.is_file():
        return [path]
    inside = sorted(path.rglob("*")) if path.is_dir() else []
    return [one for one in inside if one.is_file() and not _is_hidden(one.relative_to(path))]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _source(root: Path, path: Path) -> SourceFile:
    """Return a file with where it lies, as `paceline.sources.find_files` tells it."""
    is_alone = root == path
    inside = path.name if is_alone else path.relative_to(root).as_posix()
    folder = path.resolve().parent.as_posix()
    origin = Origin(root=root.as_posix(), folder="." if is_alone else folder, stem=path.stem)
    named = root.name or root.resolve().name
    return SourceFile(path=path, name=inside if is_alone else f"{named}/{inside}", origin=origin)
