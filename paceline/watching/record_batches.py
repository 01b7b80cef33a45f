"""Read the new step records of many ranks at once: a job writes one file a rank, all a line a step.

A reader's cost is one of a call, not of a line, and 256 calls are a tick. Files whose records say
their own rank, and whose run a line at the start says, are read as one text; what is found is told
of the file and the line that it is from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from collectors.identity import file_rank
from collectors.readings import FRAMES, Reading
from collectors.sniffing import ReadOptions
from collectors.texts.json_lines import read_json_lines
from collectors.training.step_fields import known_keys
from collectors.training.step_records import read_records
from paceline.watching.tails import NewLines

_PLACED: Final = tuple(name for name, kind in FRAMES.items() if "position" in kind)
_RANK: Final = b'"rank"'
_RUN: Final = '"run"'


@dataclass(frozen=True, slots=True, kw_only=True)
class RankLines:
    """New lines of one rank's records.

    Attributes:
        source: The name to quote.
        folder: Where the file lies: ranks of two jobs are not read together.
        lines: The lines.
    """

    source: str
    folder: str
    lines: NewLines

    @property
    def marks(self) -> bytes:
        """The lines that say whose these are."""
        return "".join(f"{mark}\n" for mark in self.lines.tail.marks).encode()

    @property
    def text(self) -> bytes:
        """The marks and the new lines, with an end to each."""
        data = self.lines.data
        return self.marks + (data if data.endswith(b"\n") else data + b"\n")


def batched(files: Sequence[RankLines]) -> tuple[list[list[RankLines]], list[RankLines]]:
    """Return which files can be read together, and those that cannot.

    Args:
        files: New lines of step records.
    """
    groups, alone = dict[str, dict[int, RankLines]](), list[RankLines]()
    for one in files:
        rank = file_rank(one.lines.path.name)
        group = groups.setdefault(one.folder, {})
        if rank is None or rank in group or not _speaks_for_itself(one):
            alone.append(one)
        else:
            group[rank] = one
    whole = [list(group.values()) for group in groups.values() if len(group) > 1]
    alone += [one for group in groups.values() if len(group) == 1 for one in group.values()]
    return whole, alone


def _speaks_for_itself(one: RankLines) -> bool:
    """Return whether each line says its rank, and the first of all whose run it is."""
    text = one.text
    first = text.split(b"\n", 1)[0].decode("utf-8", "replace")
    return text.count(_RANK) >= text.count(b"\n") and '"event"' in first and _RUN in first


def read_batch(files: Sequence[RankLines], options: ReadOptions) -> Reading:
    """Return what the new lines of several ranks say.

    Args:
        files: Of one job, one a rank.
        options: What the files cannot say of themselves.
    """
    texts = [one.text for one in files]
    data = b"".join(texts)
    objects, broken = read_json_lines(data, known_keys(data))
    reading = read_records(objects, broken, ("", files[0].source), options)
    places = _places(files, texts)
    frames: dict[str, Any] = {
        name: _told_of_files(reading.frame(name), places)
        for name in _PLACED
        if reading.frame(name).height
    }
    return replace(reading, **frames)


def _places(files: Sequence[RankLines], texts: Sequence[bytes]) -> pl.DataFrame:
    """Return which lines of the whole text are whose: the first, the first new one, the shift."""
    counts = [text.count(b"\n") for text in texts]
    seen = [one.marks.count(b"\n") for one in files]
    firsts = [1 + sum_before for sum_before in _sums(counts)]
    return pl.DataFrame(
        {
            "position": firsts,
            "_new": [first + count for first, count in zip(firsts, seen, strict=True)],
            "_shift": [
                one.lines.tail.lines - first - count + 1
                for one, first, count in zip(files, firsts, seen, strict=True)
            ],
            "_source": [one.source for one in files],
        },
        schema={
            "position": pl.Int64,
            "_new": pl.Int64,
            "_shift": pl.Int64,
            "_source": pl.String,
        },
    ).set_sorted("position")


def _sums(counts: Sequence[int]) -> list[int]:
    sums, total = list[int](), 0
    for count in counts:
        sums.append(total)
        total += count
    return sums


def _told_of_files(frame: pl.DataFrame, places: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of new lines, each with its file and its line there."""
    return (
        frame.sort("position", maintain_order=True)
        .join_asof(places, on="position", strategy="backward")
        .filter(pl.col("position") >= pl.col("_new"))
        .with_columns(position=pl.col("position") + pl.col("_shift"), source=pl.col("_source"))
        .select(frame.columns)
    )
