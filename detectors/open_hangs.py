"""Say of a hang that names nobody where it stands, and which input would decide.

Source: methods of the NCCL and PyTorch reference, sections 12.2, 12.3 and 12.7. Of many groups in
which ranks wait, the one in which nobody is missing is where it stands: all others wait for it.
"""

from typing import Any, Final

import polars as pl

from detectors.hang_words import (
    COLLECT,
    MAX_QUOTED,
    collective_title,
    group_title,
    ranks_title,
)
from detectors.quotes import quoted
from detectors.rank_places import Places
from detectors.verdicts import Evidence, Subject, Verdict

MAX_SIDES: Final = 16

MAX_HOSTS: Final = 4
"""Hosts that are named beside ranks."""

_ALL_IN_STEP: Final = "network errors, power draw and flight recorder dumps of {}"

_SIDES: Final = "stack traces of both sides: no call is the majority's"

_UNHEARD: Final = "logs or flight recorder dumps of {}"


def open_verdict(
    run: str | None,
    standing: pl.DataFrame,
    accused: pl.DataFrame,
    sides: pl.DataFrame,
    placed: Places,
) -> Verdict:
    """Return the verdict that names nobody.

    Args:
        run: The run.
        standing: Rows of `detectors.waits.places` of one run and scope.
        accused: Those of them that are waited for, too many to be named.
        sides: Undecided `MISMATCHES` of it.
        placed: Where ranks are.
    """
    groups = _in_order(standing)
    first = groups[:1]
    calls = sides.sort("rank").to_dicts()
    told = tuple(f"rank {row['rank']} runs {row['signature']}" for row in calls)
    return Verdict(
        kind="hang",
        level="job",
        subject=Subject(run=run),
        confidence="low",
        evidence=(
            *(quoted(row, _heard(row)) for row in first),
            *(one for row in first for one in complaint(standing, row)),
            *(quoted(row, words) for row, words in zip(calls, told, strict=True)),
        ),
        alternatives=told[:MAX_SIDES] or _alternatives(standing, groups),
        needed=_SIDES if calls else _needed(run, standing, accused, placed),
        action=COLLECT,
    )


def complaint(standing: pl.DataFrame, row: dict[str, Any]) -> list[Evidence]:
    """Return the first wait in a row's group, quoted; a list of one, or none."""
    waiting = _group(standing, row).filter(
        pl.col("place") == "waiting", pl.col("rank") != row["rank"]
    )
    first = waiting.sort("time", "rank", nulls_last=True).head(1).to_dicts()
    return [quoted(one, f"rank {one['rank']} waits in {collective_title(one)}") for one in first]


def _group(standing: pl.DataFrame, row: dict[str, Any]) -> pl.DataFrame:
    return standing.filter(pl.col("group") == row["group"])


def _in_order(standing: pl.DataFrame) -> list[dict[str, Any]]:
    """Return one row a group: those without anybody missing first, then by how many were heard."""
    return (
        standing.with_columns(lacks=pl.col("lags").any().over("group"))
        .sort("lacks", "heard", "group", "rank", descending=[False, True, False, False])
        .unique("group", keep="first", maintain_order=True)
        .to_dicts()
    )


def _heard(row: dict[str, Any]) -> str:
    return f"{row['heard']} of {row['size']} ranks heard in {collective_title(row)}"


def _alternatives(standing: pl.DataFrame, groups: list[dict[str, Any]]) -> tuple[str, ...]:
    """Return the two sides of a group that is split, or the groups in which nobody is missing."""
    first = _group(standing, groups[0]) if groups else standing
    late = first.filter(pl.col("place") == "behind")["rank"].to_list()
    if late:
        waiting = first.filter(pl.col("place") == "waiting")["rank"].to_list()
        return (
            f"{ranks_title(late)}: have not come",
            f"{ranks_title(waiting)}: call what the others do not",
        )
    full = [row for row in groups if not row["lacks"]]
    if len(full) == len(groups) == 1:
        return ()
    return tuple(
        f"{ranks_title(_group(standing, row)['rank'].to_list())}, all in {group_title(row)}"
        for row in full[:MAX_QUOTED]
    )


def _needed(run: str | None, standing: pl.DataFrame, accused: pl.DataFrame, placed: Places) -> str:
    """Return which input would decide."""
    first = _in_order(standing)[:1]
    group = standing.filter(pl.col("group").is_in([row["group"] for row in first]))
    is_unheard = pl.col("place").is_in(["absent", "unknown"])
    unheard = pl.concat([accused, group]).filter(is_unheard)["rank"].to_list()
    if unheard or group.height <= 1:
        whom = _with_hosts(run, unheard, placed) if unheard else "the ranks that were not heard"
        return _UNHEARD.format(whom)
    if (group["place"] == "behind").any():
        return f"stack traces of both sides of {collective_title(first[0])}"
    whole = standing["rank"].n_unique() == group.height
    whom = "every host" if whole else f"the hosts of {ranks_title(group['rank'].to_list())}"
    return _ALL_IN_STEP.format(whom)


def _with_hosts(run: str | None, ranks: list[int], placed: Places) -> str:
    """Return ranks as words, with their hosts where these are known."""
    hosts = sorted({name for one in ranks if (name := placed.hosts.get((run, one)))})
    where = f" on {', '.join(hosts[:MAX_HOSTS])}" if hosts else ""
    return f"{ranks_title(ranks)}{where}"
