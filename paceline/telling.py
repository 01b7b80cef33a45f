"""Who tells the run of a source: the source itself, its name, its neighbours, its path.

A scheduler knows a run by its job's number, a trainer by a name; a log may tell the number on one
of its lines, or be called after it. Where a path holds one job and one training, they are one run.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from collectors.readings import Reading

TRAINERS: Final = ("steps", "ops", "placements")
"""Frames whose rows name a run as a training knows it."""

_OWN: Final = (*TRAINERS, "jobs", "events")

_SLURM_OUTPUT: Final = r"^slurm-(\d+(?:_\d+)?)$"
"""What sbatch calls the output of a job. Source: sbatch(1), `--output`."""

_MIN_DIGITS: Final = 2
"""A number of one digit in a file's name is anything but a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What is told of the runs of sources.

    Attributes:
        own: By source, the runs that its rows name.
        jobs: By root, the runs that are jobs of a scheduler.
        roots: By root, all runs that any source below it names.
        folders: By folder, the runs of sources that speak of one only.
    """

    own: Mapping[str, frozenset[str]]
    jobs: Mapping[str, frozenset[str]]
    roots: Mapping[str, frozenset[str]]
    folders: Mapping[str, frozenset[str]]

    def run_of(self, source: str, root: str, folder: str, stem: str) -> str | None:
        """Return the run that the unnamed rows of a source belong to; null if nobody tells.

        Args:
            source: The source.
            root: The path that it was found below.
            folder: Its folder.
            stem: Its file name without the last ending.
        """
        numbers = set(re.findall(r"\d+(?:_\d+)?|\d+", stem)) | set(re.findall(r"\d+", stem))
        long = {one for one in numbers if len(one) >= _MIN_DIGITS}
        nothing: frozenset[str] = frozenset()
        ladder = (
            self.own.get(source, nothing),
            self.jobs.get(root, nothing) & long,
            self.roots.get(root, nothing),
            self.folders.get(folder, nothing),
        )
        return next((next(iter(runs)) for runs in ladder if len(runs) == 1), None)


def tell_runs(reading: Reading, places: Mapping[str, tuple[str, str, str]]) -> Telling:
    """Return what is told of the runs of sources.

    Args:
        reading: What all readers found; a null run is not told.
        places: Root, folder and stem of each source.
    """
    pairs = [(name, source, run) for name in _OWN for source, run in _pairs(reading.frame(name))]
    named = {source: re.match(_SLURM_OUTPUT, stem) for source, (_, _, stem) in places.items()}
    speaks = {source for _, source, _ in pairs}
    called = [("jobs", one, told[1]) for one, told in named.items() if told and one not in speaks]
    told = [*pairs, *called]
    own = _sets((source, run) for _, source, run in told)
    return Telling(
        own=own,
        jobs=_sets((places[source][0], run) for name, source, run in told if name == "jobs"),
        roots=_sets((places[source][0], run) for name, source, run in told if name != "events"),
        folders=_sets(
            (places[source][1], run)
            for source, runs in own.items()
            for run in runs
            if len(runs) == 1
        ),
    )


def _pairs(frame: pl.DataFrame) -> Iterable[tuple[str, str]]:
    return frame.select("source", "run").drop_nulls().unique().sort("source", "run").iter_rows()


def _sets(pairs: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Return the second things of pairs by the first."""
    sets = dict[str, set[str]]()
    for first, second in pairs:
        sets.setdefault(first, set()).add(second)
    return {first: frozenset(seconds) for first, seconds in sets.items()}


def join_jobs(reading: Reading, roots: Mapping[str, str]) -> Reading:
    """Return the reading with the job of a training called by the training's name.

    Args:
        reading: What all readers found.
        roots: The root of each source.

    Returns:
        Rows of the only job below a root, or of the only one with that name, belong to the only
        run that a trainer names there. Nothing else changes.
    """
    names = _trainings(reading, roots)
    if not names:
        return reading
    table = pl.DataFrame(
        [(root, job, run) for (root, job), run in names.items()],
        schema={"_root": pl.String, "run": pl.String, "_name": pl.String},
        orient="row",
    )
    places = pl.DataFrame(
        {"source": list(roots), "_root": list(roots.values())},
        schema={"source": pl.String, "_root": pl.String},
    )
    renamed: dict[str, Any] = {
        name: reading.frame(name)
        .join(places, on="source", how="left", maintain_order="left")
        .join(table, on=["_root", "run"], how="left", maintain_order="left")
        .with_columns(run=pl.coalesce("_name", "run"))
        .select(reading.frame(name).columns)
        for name in _OWN
    }
    return replace(reading, **renamed)


def _trainings(reading: Reading, roots: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Return the training's name of each job that is one, by root and job."""
    trained, jobs = dict[str, set[str]](), dict[str, dict[str, set[str]]]()
    for name in TRAINERS:
        for source, run in _pairs(reading.frame(name)):
            trained.setdefault(roots[source], set()).add(run)
    told = reading.jobs.select("source", "run", "name").drop_nulls(["source", "run"]).unique()
    for source, run, title in told.sort("source", "run", "name").iter_rows():
        jobs.setdefault(roots[source], {}).setdefault(run, set()).add(title or "")
    found = dict[tuple[str, str], str]()
    for root, runs in trained.items():
        known = jobs.get(root, {})
        if len(runs) != 1 or runs <= known.keys():
            continue
        (run,) = runs
        called = [job for job, titles in known.items() if run in titles]
        chosen = called if len(called) == 1 else list(known)
        if len(chosen) == 1:
            found[root, chosen[0]] = run
    return found
