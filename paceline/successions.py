"""Number the attempts of a run over the files that its processes left, one after the other.

Source: formats of progress streams, sections 0.6 and 12: a job that was started again writes a new
event file, whose first step lies before the last one of the file before.
"""

import re
from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, cast

import polars as pl

from collectors.readings import Reading

_PROCESS_FILES: Final = r"\btfevents\."
"""Files that every process of a run begins anew. Source: the names of TensorBoard's event files."""

_KEY: Final = ("run", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What one file tells of a run: its span in time and steps, and its attempts."""

    source: str
    start: datetime
    end: datetime
    first_step: int
    last_step: int
    attempts: int


def number_successions(reading: Reading) -> Reading:
    """Return the reading with attempts that count on from file to file of a run.

    Args:
        reading: What was read, with its runs named. Files of ranks, files without a clock and
            files that number their attempts otherwise than from 0 keep what they say.

    Returns:
        The same rows. A file that begins after another one of its run ended, and not behind its
        last step, is the next attempt; one that goes on behind it is the same attempt, unless
        it is of a kind that each process begins anew.
    """
    moves = [
        (run, source, by)
        for run, parts in _parts(reading.steps).items()
        for source, by in _moves(parts)
        if by
    ]
    if not moves:
        return reading
    schema = {"run": pl.String, "source": pl.String, "_by": pl.Int32}
    table = pl.DataFrame(moves, schema=schema, orient="row")
    steps = reading.steps.join(
        table, on=_KEY, how="left", maintain_order="left", nulls_equal=True
    ).with_columns(pl.col("attempt") + pl.col("_by").fill_null(0))
    return replace(reading, steps=steps.drop("_by"))


def _parts(steps: pl.DataFrame) -> dict[str | None, list[_Part]]:
    """Return the files of each run that may follow each other, by when they begin."""
    spans = (
        steps.lazy()
        .group_by(_KEY)
        .agg(
            pl.col("rank").is_null().all().alias("whole"),
            pl.col("attempt").min().alias("first_attempt"),
            (pl.col("attempt").max() + 1).alias("attempts"),
            pl.col("end_time").min().alias("start"),
            pl.col("end_time").max().alias("end"),
            pl.col("step").sort_by("attempt", "step").first().alias("first_step"),
            pl.col("step").sort_by("attempt", "step").last().alias("last_step"),
        )
        .filter("whole", pl.col("first_attempt") == 0)
        .drop_nulls(["start", "first_step", "last_step"])
        .sort("start", "source")
        .collect()
    )
    found: dict[str | None, list[_Part]] = {}
    for row in spans.drop("whole", "first_attempt").iter_rows(named=True):
        run = cast("str | None", row.pop("run"))
        found.setdefault(run, []).append(_Part(**row))
    return found


def _moves(parts: Iterable[_Part]) -> list[tuple[str, int]]:
    """Return by how much the attempts of each file count on from those before it."""
    is_new = re.compile(_PROCESS_FILES)
    done: list[tuple[str, int]] = []
    ended: list[tuple[_Part, int]] = []
    for part in parts:
        before = bisect_right(ended, part.start, key=lambda one: one[0].end)
        moved = 0
        if before:
            last, by = ended[before - 1]
            goes_on = part.first_step > last.last_step and not is_new.search(part.source)
            moved = by + last.attempts - goes_on
        insort(ended, (part, moved), key=lambda one: (one[0].end, one[0].source))
        done.append((part.source, moved))
    return done
