"""What the watch holds in memory: the newest hours of all rows, and what holds for longer.

Rows with a time leave the window with it. What is stated without one (where ranks run, what a job
is, how things are cabled) stays until it is stated otherwise; steps stay as one row each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import polars as pl

from collectors.readings import FRAMES, Reading, join_readings
from collectors.training.attempts import mend_attempts
from paceline.named_things import name_things
from paceline.naming import Origin
from paceline.watching.snapshots import Snapshots
from paceline.watching.spools import Spool
from paceline.watching.step_memory import empty_steps, fold_steps, forget_steps

STATED: Final = ("jobs", "placements", "links", "aliases")
"""Frames whose rows hold without a time."""

BATCH: Final = timedelta(days=1)
"""Steps are forgotten when they are older than need be by so much."""

MAX_REJECTS: Final = 2000
"""Rejected lines that are kept as examples; the newest."""

_EMPTY: Final[Mapping[str, pl.DataFrame]] = {
    name: FRAMES[name].to_frame() for name in (*STATED, "rejects")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryParams:
    """For how long things are held.

    Attributes:
        window: Rows with a time; detectors look this far back.
        steps: Steps, one row each: the longest period of a budget.
        jobs: Jobs that have ended.
    """

    window: timedelta = timedelta(hours=2)
    steps: timedelta = timedelta(days=30)
    jobs: timedelta = timedelta(days=28)


@dataclass(slots=True, kw_only=True)
class Memory:
    """The rows that are held.

    Attributes:
        params: For how long.
        spool: Rows with a time.
        snapshots: Where the rest is kept.
        steps: Steps of each run, `STEP_COLUMNS`.
        stated: Rows of `STATED` and the last rejects, by frame.
        kept: Frames of others that are kept with the same snapshot, by name.
    """

    params: MemoryParams
    spool: Spool
    snapshots: Snapshots
    steps: pl.DataFrame = field(default_factory=empty_steps)
    stated: dict[str, pl.DataFrame] = field(default_factory=lambda: dict(_EMPTY))
    kept: dict[str, pl.DataFrame] = field(default_factory=dict[str, pl.DataFrame])

    @classmethod
    def begin(cls, folder: Path, params: MemoryParams) -> "Memory":
        """Return an empty memory that is kept below a folder."""
        return cls(
            params=params,
            spool=Spool(folder / "window"),
            snapshots=Snapshots(folder=folder / "carried"),
        )

    @classmethod
    def resume(cls, folder: Path, params: MemoryParams, state: Mapping[str, Any]) -> "Memory":
        """Return the memory as it was committed.

        Raises:
            TornPieceError: Something that was committed is missing or torn.
        """
        memory = cls.begin(folder, params)
        memory.spool = Spool.load(folder / "window", state["pieces"])
        memory.kept = memory.snapshots.load(state["snapshot"])
        memory.steps = memory.kept.pop("steps", memory.steps)
        memory.stated = {name: memory.kept.pop(name, _EMPTY[name]) for name in _EMPTY}
        return memory

    def take(self, reading: Reading) -> None:
        """Take rows that are new."""
        stated: dict[str, Any] = {name: FRAMES[name].to_frame() for name in (*_EMPTY, "coverage")}
        self.spool.add(replace(reading, **stated))
        for name in STATED:
            self.stated[name] = _united(self.stated[name], reading.frame(name))
        rejects = pl.concat([self.stated["rejects"], reading.rejects])
        self.stated["rejects"] = rejects.tail(MAX_REJECTS)

    def reading(self, standing: Reading, origins: Mapping[str, Origin], now: datetime) -> Reading:
        """Return all that is held, with every run, device and group named.

        Args:
            standing: What documents say.
            origins: Where each source lies.
            now: The tick's time; what is older than the window is forgotten.
        """
        since = now - self.params.window
        self.spool.forget_before(since)
        held: dict[str, Any] = dict(self.stated)
        whole = join_readings([replace(self.spool.joined(since), **held), standing])
        mended = replace(whole, steps=mend_attempts(whole.steps, whole.events))
        named = name_things(mended, _origins(mended, origins))
        self.steps = fold_steps(self.steps, named.steps)
        return named

    def forget(self, now: datetime) -> bool:
        """Forget steps and jobs that are too old, a day of them at once; return whether any were.

        Steps are counted before they are forgotten, and that should not be at each tick.
        """
        before, jobs = self.steps.height, self.stated["jobs"]
        oldest = self.steps["end_time"].min()
        if isinstance(oldest, datetime) and oldest < now - self.params.steps - BATCH:
            self.steps = forget_steps(self.steps, now - self.params.steps)
        is_old = (pl.col("end") < now - self.params.jobs).fill_null(value=False)
        self.stated["jobs"] = jobs.filter(~is_old)
        return self.steps.height < before or self.stated["jobs"].height < jobs.height

    def save(self, others: Mapping[str, pl.DataFrame]) -> None:
        """Write to disk what holds for longer, and frames of others with it."""
        self.snapshots.save({"steps": self.steps, **self.stated, **others})

    def state(self) -> dict[str, Any]:
        """Return which pieces on disk count."""
        return {"pieces": self.spool.numbers, "snapshot": self.snapshots.number}

    def sweep(self) -> None:
        """Remove what does not count any more, after a commit."""
        self.spool.sweep()
        self.snapshots.sweep()


def _united(known: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows, each once, in the order in which they came."""
    if rows.is_empty():
        return known
    return pl.concat([known, rows]).unique(maintain_order=True)


def _origins(reading: Reading, known: Mapping[str, Origin]) -> dict[str, Origin]:
    """Return where each source of a reading lies; one that nobody knows lies nowhere."""
    sources = pl.concat(
        reading.frame(name).get_column("source") for name in FRAMES if "source" in FRAMES[name]
    )
    nowhere = {
        source: Origin(root=source, folder=".", stem=source)
        for source in sources.drop_nulls().unique().sort().to_list()
    }
    return nowhere | dict(known)
