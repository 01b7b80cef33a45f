"""Know the folders into which the files of one node were copied: they are no runs.

Source: formats of NCCL and PyTorch-distributed logs, section 10.1: dumps, and logs, are collected
from several nodes. A folder that is called as a host of the same reading (or but for its number as
one beside it that is), or that holds dumps, or complaints of waiting, of other ranks than all that
the folders beside it tell of, is part of what lies above it.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

import polars as pl

from collectors.readings import Reading

_RANKED: Final = ("events", "collectives", "steps")

_NAMING: Final = ("events", "samples", "collectives", "transfers", "placements")


def node_folders(reading: Reading, folders: Mapping[str, str]) -> frozenset[str]:
    """Return the folders that are a node's, or a few ranks', of the run above them.

    Args:
        reading: What all readers found.
        folders: The folder of each source.
    """
    hosts = {host for name in _NAMING for host in reading.frame(name)["host"].unique().to_list()}
    below = {folder for folder in folders.values() if _has_parent(folder)}
    known = {_kind(folder) for folder in below if PurePosixPath(folder).name.lower() in hosts}
    called = {folder for folder in below if _kind(folder) in known}
    return frozenset(called | _rank_folders(reading, folders))


def _kind(folder: str) -> tuple[str, str]:
    """Return where a folder lies and its name without its numbers: nodes are numbered alike."""
    path = PurePosixPath(folder)
    return str(path.parent), re.sub(r"\d+", "0", path.name.lower())


def _has_parent(folder: str) -> bool:
    return len(PurePosixPath(folder).parts) > 1


def _rank_folders(reading: Reading, folders: Mapping[str, str]) -> set[str]:
    """Return the folders side by side in which ranks stand that no other one knows."""
    ranks = {folder: set[int]() for folder in folders.values() if _has_parent(folder)}
    for name in _RANKED:
        rows = reading.frame(name).select("source", "rank").drop_nulls().unique()
        for source, rank in rows.iter_rows():
            ranks.get(folders.get(source, ""), set[int]()).add(rank)
    held = dict[str, list[str]]()
    for folder in sorted({folders.get(one, "") for one in _stand(reading)} & ranks.keys()):
        held.setdefault(str(PurePosixPath(folder).parent), []).append(folder)
    return {
        folder
        for parts in held.values()
        if len(parts) > 1
        and len({rank for one in parts for rank in ranks[one]})
        == sum(len(ranks[one]) for one in parts)
        for folder in parts
    }


def _stand(reading: Reading) -> set[str]:
    """Return the sources that are dumps of ranks, or in which ranks complain of waiting."""
    dumps = reading.events.filter(pl.col("kind") == "flight_dump")
    waits = reading.collectives.filter(pl.col("state") == "timed_out")
    told = [frame.drop_nulls(["rank", "source"])["source"] for frame in (dumps, waits)]
    return set(pl.concat(told))
