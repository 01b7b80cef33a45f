"""Know the folders into which the files of one node were copied: they are no runs.

Source: formats of NCCL and PyTorch-distributed logs, section 10.1: dumps, and logs, are collected
from several nodes. A folder that is called as a host of the same reading (or but for its number as
one beside it that is), or that holds dumps of other ranks than the folders beside it, is part of
what lies above it.
"""

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

import polars as pl

from collectors.readings import Reading

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
    return frozenset(called | _rank_folders(reading.events, folders))


def _kind(folder: str) -> tuple[str, str]:
    """Return where a folder lies and its name without its numbers: nodes are numbered alike."""
    path = PurePosixPath(folder)
    return str(path.parent), re.sub(r"\d+", "0", path.name.lower())


def _has_parent(folder: str) -> bool:
    return len(PurePosixPath(folder).parts) > 1


def _rank_folders(events: pl.DataFrame, folders: Mapping[str, str]) -> set[str]:
    """Return the folders side by side whose dumps are of ranks that no other one has."""
    dumps = events.filter(pl.col("kind") == "flight_dump").drop_nulls(["rank", "source"])
    held = dict[str, dict[str, list[int]]]()
    for source, rank in dumps.select("source", "rank").unique().iter_rows():
        folder = folders.get(source, "")
        if _has_parent(folder):
            above = str(PurePosixPath(folder).parent)
            held.setdefault(above, {}).setdefault(folder, []).append(rank)
    apart = [
        parts
        for parts in held.values()
        if len(parts) > 1
        and len({r for ranks in parts.values() for r in ranks}) == sum(map(len, parts.values()))
    ]
    return {folder for parts in apart for folder in parts}
