"""Find who is slow in a matrix of transfers between pairs of ranks: a host, one end, or one path.

Source: methods reference, section 8, slow link: row and column high is the node, a column alone the
receiver, one cell the link. Pairs inside a host and across hosts are two kinds and never compared;
neither are two sizes or two operations.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import exp, log
from typing import Any, Final

import numpy as np
import polars as pl

from collectors.frames import TRANSFERS, require
from detectors.changes import HUBER_LIMIT, segment_bounds
from detectors.peers import MAD_TO_SIGMA
from detectors.placing import ROLES
from detectors.verdicts import Evidence, Level, Subject, Verdict, verdict_frame

_ALIKE: Final = ("run", "operation", "size", "crossing")

_CELL: Final = ("rank", "peer_rank")

SLOW_QUANTILE: Final = 0.75
"""A pair counts by its upper quartile, so that it need not be slow for half of the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairParams:
    """When a pair is slow.

    Attributes:
        min_slowdown: Median time of a pair over that of pairs alike.
        min_scales: How far outside the other pairs it must lie, in scales of theirs.
        min_share: Of a rank's pairs in one direction that make it the rank's own.
        min_peers: Pairs that both ends must have to be judged by them: a pipeline's neighbours wait
            for each other's work, and have no others to compare with.
        min_pairs: Pairs alike, below which nothing is usual.
        max_slow_share: Of all pairs; above it the fabric is slow.
    """

    min_slowdown: float = 1.3
    min_scales: float = 5.0
    min_share: float = 0.7
    min_peers: int = 3
    min_pairs: int = 6
    max_slow_share: float = 0.4

    def __post_init__(self) -> None:
        """Refuse a ratio that every pair would pass."""
        if self.min_slowdown <= 1.0:
            raise ValueError(f"min_slowdown must be above 1.0, got {self.min_slowdown}")


def find_slow_pairs(
    transfers: pl.LazyFrame, roles: pl.LazyFrame, params: PairParams
) -> pl.DataFrame:
    """Return the hosts, ranks' ports or paths on which transfers between pairs are slow.

    Args:
        transfers: `TRANSFERS` with `rank` and `peer_rank`; others tell nothing here.
        roles: `ROLES`, for the hosts of both ends.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow and cause slow_link: at level host where all its ranks are slow both
        ways, nic where one rank is, with the direction in the evidence, link where one pair is.
        Partition key: run.

    Raises:
        SchemaError: `transfers` is not a `TRANSFERS`.
    """
    rows = _timed(transfers.pipe(require, TRANSFERS), roles).collect()
    parts = rows.partition_by("run", maintain_order=True)
    return verdict_frame(one for part in parts for one in _judge(part, params))


def _timed(transfers: pl.LazyFrame, roles: pl.LazyFrame) -> pl.LazyFrame:
    """Return transfers with both hosts and `excess`, the log time over the median pair alike."""
    places = roles.select(ROLES.names()).drop_nulls("host")
    places = places.group_by("run", "rank").agg(pl.col("host").sort().last())
    peers = places.rename({"rank": "peer_rank", "host": "far"})
    told = (
        transfers.filter(pl.col("seconds") > 0, pl.col("rank") != pl.col("peer_rank"))
        .join(places.rename({"host": "own"}), on=["run", "rank"], how="left", nulls_equal=True)
        .join(peers, on=["run", "peer_rank"], how="left", nulls_equal=True)
        .with_columns(host=pl.coalesce("own", "host"))
        .with_columns(
            crossing=pl.col("host").ne_missing(pl.col("far")),
            size=pl.col("bytes").cast(pl.Float64).log(2).floor(),
            log_seconds=pl.col("seconds").log(),
        )
    )
    pair = pl.col("log_seconds").median().over(*_ALIKE, *_CELL)
    return told.with_columns(pair=pair).with_columns(
        excess=pl.col("log_seconds") - pl.col("pair").median().over(_ALIKE)
    )


def _judge(part: pl.DataFrame, params: PairParams) -> Iterator[Verdict]:
    high = pl.col("excess").quantile(SLOW_QUANTILE, "linear")
    peers = pl.min_horizontal(pl.len().over(name) for name in _CELL)
    cells = (
        part.group_by(*_CELL, "host", "far").agg(high).filter(peers >= params.min_peers).sort(_CELL)
    )
    if cells.height < params.min_pairs:
        return
    excess = cells["excess"].to_numpy()
    scale = MAD_TO_SIGMA * float(np.median(np.abs(excess - np.median(excess))))
    least = max(log(params.min_slowdown), params.min_scales * scale) + float(np.median(excess))
    marked = cells.with_columns(slow=pl.col("excess") >= least)
    slow = marked.filter("slow")
    if slow.is_empty() or slow.height > params.max_slow_share * cells.height:
        return
    sends, receives = (_guilty(marked, slow, name, params) for name in _CELL)
    explained = (pl.col("rank").is_in(sends)) | (pl.col("peer_rank").is_in(receives))
    yield from _ends(part, marked, (sends, receives))
    for row in slow.filter(~explained).iter_rows(named=True):
        mine = pl.all_horizontal(pl.col(name) == row[name] for name in _CELL)
        yield _path(part.filter(mine), row, cells.height)


def _guilty(marked: pl.DataFrame, slow: pl.DataFrame, end: str, params: PairParams) -> list[int]:
    """Return the ranks most of whose pairs in a direction are slow.

    A rank with a slow direction makes one pair of each other rank slow, too few to make it guilty.
    """
    counts = Counter(slow[end].to_list())
    pairs = Counter(marked[end].to_list())
    return sorted(
        rank
        for rank, count in counts.items()
        if count >= params.min_peers and count >= params.min_share * pairs[rank]
    )


def _ends(
    part: pl.DataFrame, marked: pl.DataFrame, guilty: tuple[list[int], list[int]]
) -> Iterator[Verdict]:
    """Yield the verdicts on ranks, or on hosts all of whose ranks are slow both ways."""
    sends, receives = guilty
    hosts = dict(marked.select("rank", "host").unique().iter_rows())
    both = set(sends) & set(receives)
    members = Counter(hosts.values())
    whole = {
        host
        for host, count in Counter(hosts.get(rank) for rank in both).items()
        if host is not None and count == members[host]
    }
    for host in sorted(whole):
        ranks = sorted(rank for rank in both if hosts.get(rank) == host)
        yield _verdict(part, "host", Subject(host=host), ranks, "sends and receives")
    for rank in sorted(set(sends) | set(receives)):
        if hosts.get(rank) in whole:
            continue
        way = "sends" if rank not in receives else "receives" if rank not in sends else ""
        subject = Subject(host=hosts.get(rank), rank=rank)
        yield _verdict(part, "nic", subject, [rank], way or "sends and receives")


def _verdict(
    part: pl.DataFrame, level: Level, subject: Subject, ranks: list[int], way: str
) -> Verdict:
    from_them, to_them = pl.col("rank").is_in(ranks), pl.col("peer_rank").is_in(ranks)
    mine = {"sends": from_them, "receives": to_them}.get(way, from_them | to_them)
    return _worded(part.filter(mine), level, subject, f"{subject.phrase()} {way} slowly")


def _path(rows: pl.DataFrame, row: dict[str, Any], pairs: int) -> Verdict:
    ends = (row["host"] or f"rank {row['rank']}", row["far"] or f"rank {row['peer_rank']}")
    words = f"from rank {row['rank']} to rank {row['peer_rank']}, one of {pairs} pairs"
    return _worded(rows, "link", Subject(link=" - ".join(ends)), words)


def _worded(rows: pl.DataFrame, level: Level, subject: Subject, words: str) -> Verdict:
    start, effect = _onset(rows)
    first = rows.sort("time", "sequence", nulls_last=True)
    time = first["time"][start] if start else None
    run = rows["run"][0]
    what = f"{words}: x{exp(effect):.2f} of the median pair alike"
    told = {name: value for name, value in subject.known().items() if name != "run"}
    return Verdict(
        kind="slow",
        level=level,
        subject=Subject(run=run, **told),  # type: ignore[arg-type]  # values come from Subject itself
        onset=time,
        onset_before_data=not start,
        slowdown=exp(effect),
        cause="slow_link",
        confidence="medium",
        peers="pairs of ranks at the same operation and size",
        peer_count=rows.select(_CELL).n_unique(),
        evidence=(Evidence(source="transfers", time=time, what=what),),
        action="look at the errors of this port and of its switch port, then at the path",
    )


def _onset(rows: pl.DataFrame) -> tuple[int, float]:
    """Return the row, by time, from which transfers are slow (0: the first), and by how much."""
    values = rows.sort("time", "sequence", nulls_last=True)["excess"].to_numpy()
    whole = float(np.median(values))
    noise = MAD_TO_SIGMA * float(np.median(np.abs(np.diff(values)))) if values.size > 1 else 0.0
    scores = np.clip((values - whole) / max(noise, 0.01), -HUBER_LIMIT, HUBER_LIMIT)
    bounds = segment_bounds(scores, penalty=3.0 * log(values.size + 1), min_ticks=4)
    levels = [float(np.median(values[at:to])) for at, to in pairwise(bounds)]
    high = max(levels)
    first = next(at for at, level in enumerate(levels) if level >= high / 2)
    return bounds[first], high
