"""Tests of following files: whole new lines, once, through rotation, copies and truncation."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paceline.watching.tails import MAX_READ_BYTES, TailedFiles


def take(files: TailedFiles, path: Path) -> list[bytes]:
    """What a look at a file gives; it counts as taken."""
    found = list(files.new_lines(path))
    for lines in found:
        files.tails[str(path)] = lines.after
    return [lines.data for lines in found]


def append(path: Path, data: bytes) -> None:
    """Write to the end of a file."""
    with path.open("ab") as stream:
        stream.write(data)


def renamed(path: Path) -> None:
    """Put a file aside by its name, and begin another."""
    path.rename(path.with_name(f"{path.name}.1"))
    path.write_bytes(b"new\n")


def copied_and_cut(path: Path) -> None:
    """Put a file aside as a copy, and cut it."""
    path.with_name(f"{path.name}.1").write_bytes(path.read_bytes())
    os.truncate(path, 0)
    append(path, b"new\n")


def cut(path: Path) -> None:
    """Cut a file."""
    os.truncate(path, 0)
    append(path, b"new\n")


@pytest.mark.parametrize(
    ("rotate", "expected"),
    [
        pytest.param(renamed, [b"late\nhalf", b"new\n"], id="renamed: its rest, half a line too"),
        pytest.param(
            copied_and_cut, [b"late\nhalf", b"new\n"], id="copied and cut: the copy's rest"
        ),
        pytest.param(cut, [b"new\n"], id="cut without a copy: only what is there"),
    ],
)
def test_rotation(tmp_path: Path, rotate: Callable[[Path], None], expected: list[bytes]) -> None:
    """What was still written to a file that is put aside is told before the new one's lines."""
    path, files = tmp_path / "a.log", TailedFiles()
    path.write_bytes(b"first\n")
    before = take(files, path)
    append(path, b"late\nhalf")
    rotate(path)

    assert (before, take(files, path), take(files, path)) == ([b"first\n"], expected, [])


def test_half_line(tmp_path: Path) -> None:
    """A line without an end waits for it, and is told once."""
    path, files = tmp_path / "a.log", TailedFiles()
    told = list[list[bytes]]()
    for data in (b"one\ntw", b"o", b"\n", b""):
        append(path, data)
        told.append(take(files, path))

    assert told == [[b"one\n"], [], [b"two\n"], []]


def test_same_inode(tmp_path: Path) -> None:
    """A file that got the inode of another is read from its start, longer or not."""
    path, files = tmp_path / "a.log", TailedFiles()
    path.write_bytes(b"one\n")
    take(files, path)
    with path.open("r+b") as stream:
        stream.write(b"another start, and longer\n")

    assert take(files, path) == [b"another start, and longer\n"]


def test_large(tmp_path: Path) -> None:
    """Of a file that grew by a lot, a tick takes a part, and the next ones the rest."""
    path, files = tmp_path / "a.log", TailedFiles()
    path.write_bytes(b"x" * (MAX_READ_BYTES - 3) + b"\ny\nz\n")
    sizes = [[len(data) for data in take(files, path)] for _ in range(3)]

    assert sizes == [[MAX_READ_BYTES], [2], []]


def test_gone(tmp_path: Path) -> None:
    """A file that is not there gives nothing, and is forgotten when nobody asks for it."""
    path, files = tmp_path / "a.log", TailedFiles()
    path.write_bytes(b"one\n")
    take(files, path)
    path.unlink()

    assert take(files, path) == []
    files.forget(frozenset())
    assert files.tails == {}
