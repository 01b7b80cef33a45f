"""Give each run a name: what its sources say, else where they lie.

A source that names its run is believed. Below one path with a single named run, the sources that
name none belong to it; else they are named after their folder, or after their own file where a
folder holds several jobs side by side.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final

import polars as pl

from collectors.readings import Reading
from paceline.node_folders import node_folders
from paceline.telling import join_jobs, tell_runs

_NAMED_FRAMES: Final = (
    *("steps", "ops", "placements", "jobs"),
    *("collectives", "transfers", "events"),
)
_PARTS: Final = r"^events\.out\.tfevents|^(?:Train|Eval|Validation)_[A-Z]\w+$"
"""Files of which one run has many: a process each (TensorBoard), or a metric each (DeepSpeed)."""
_STORE_FOLDERS: Final = (
    r"(?i)^(?:tensorboard|tb|tb_?logs?|csv_?monitor|train|training|version_\d+)$"
)
"""Folders that are called after what lies in them, inside the folder of the run."""
_LAUNCH_FOLDERS: Final = r"^(?:attempt_\d+|\d{1,3})$"
"""Folders of one process each: torchrun writes `attempt_0/3/stdout.log`."""
_UNNAMED: Final = "job"
"""The run of ranks' files that were given one by one, from the folder in which one is."""
_RANK_WORDS: Final = r"(?i)[-_.]*(?:global[-_]?)?(?:rank|dump|trace)[-_]?\d*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a source lies.

    Attributes:
        root: The path given by the user that it was found below.
        folder: Its folder as text, relative to nothing: two equal ones are one folder.
        stem: Its file name without the last ending.
    """

    root: str
    folder: str
    stem: str


def name_runs(reading: Reading, origins: Mapping[str, Origin]) -> Reading:
    """Return the reading with every run named and every attempt numbered.

    Args:
        reading: What all readers found; a null run is not told.
        origins: Where each `source` lies.

    Returns:
        The same rows; a null attempt is 0.
    """
    joined = join_jobs(reading, {name: one.root for name, one in origins.items()})
    names = _names(joined, origins)
    table = pl.DataFrame(
        {"source": list(names), "_run": list(names.values())},
        schema={"source": pl.String, "_run": pl.String},
    )
    named: dict[str, Any] = {name: _named(joined.frame(name), table) for name in _NAMED_FRAMES}
    return replace(joined, **named)


def _named(frame: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    named = frame.join(table, on="source", how="left", maintain_order="left").with_columns(
        run=pl.coalesce("run", "_run")
    )
    if "attempt" in frame.columns:
        named = named.with_columns(pl.col("attempt").fill_null(0))
    return named.select(frame.columns)


def _names(reading: Reading, origins: Mapping[str, Origin]) -> dict[str, str]:
    """Return the name for the unnamed rows of each source."""
    places = {name: (one.root, one.folder, one.stem) for name, one in origins.items()}
    telling = tell_runs(reading, places)
    nodes = node_folders(reading, {name: one.folder for name, one in origins.items()})
    whole = {one for one in _whole_jobs(reading) if not _is_part(origins[one])}
    per_folder: dict[str, int] = {}
    for source in whole:
        folder = origins[source].folder
        per_folder[folder] = per_folder.get(folder, 0) + 1
    beside = Counter(_parent(one) for one in origins.values() if _is_bare_rank(one))
    return {
        source: telling.run_of(source, *places[source])
        or (_parent(origin) if _is_bare_rank(origin) and beside[_parent(origin)] > 1 else "")
        or _name(origin, per_folder, None if source in whole else nodes)
        for source, origin in origins.items()
    }


def _is_bare_rank(origin: Origin) -> bool:
    """Return whether a file was given by itself and is called after a rank alone."""
    return origin.folder == "." and not re.sub(_RANK_WORDS, "", origin.stem)


def _parent(origin: Origin) -> str:
    """Return the name of the folder in which a file lies that was given by itself."""
    return PurePosixPath(origin.root).parent.name or _UNNAMED


def _name(origin: Origin, per_folder: Mapping[str, int], nodes: frozenset[str] | None) -> str:
    """Return the name that a source has by where it lies.

    Args:
        origin: Where it lies.
        per_folder: How many sources of a folder each speak for a whole job.
        nodes: Folders that are part of the run above them; null: it speaks for a whole job.
    """
    own = re.sub(_RANK_WORDS, "", origin.stem)
    if _is_part(origin):
        return _folder_of_run(origin, _STORE_FOLDERS) or own
    if own and nodes is None and (per_folder[origin.folder] > 1 or origin.folder == "."):
        return own
    return _folder_of_run(origin, _LAUNCH_FOLDERS, nodes or frozenset()) or own or origin.stem


def _is_part(origin: Origin) -> bool:
    return re.search(_PARTS, origin.stem) is not None


def _folder_of_run(origin: Origin, others: str, nodes: frozenset[str] = frozenset()) -> str:
    """Return the name of the nearest folder that is none of the others, nor a node's."""
    folder = PurePosixPath(origin.folder)
    above = [one for one in (folder, *folder.parents) if str(one) not in nodes]
    return next((one.name for one in above if one.name and not re.search(others, one.name)), "")


def _whole_jobs(reading: Reading) -> set[str]:
    """Return the sources that speak for a whole job: of no rank, or of several."""
    found: set[str] = set()
    for name in ("steps", "ops"):
        ranks = (
            reading.frame(name)
            .group_by("source")
            .agg(
                pl.col("rank").n_unique().alias("ranks"),
                pl.col("rank").null_count().alias("unsaid"),
            )
        )
        speaking = ranks.filter((pl.col("ranks") > 1) | (pl.col("unsaid") > 0))
        found |= set(speaking["source"].to_list())
    return found
