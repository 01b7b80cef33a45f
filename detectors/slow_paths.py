"""Find the hosts whose paths are slow: those that every slow set of hosts has, and no other.

Source: methods of the NCCL reference, section 12.5 (pair tests, communicators that cross a host).
Like is compared with like alone: the same operation, size, number of ranks and of hosts, variant
and way of timing. Two hosts fine and three slow is a path, not a host.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import polars as pl

from collectors.frames import TRANSFERS, require
from collectors.texts.templates import filled
from detectors.corruption import HOSTS_BETWEEN
from detectors.quotes import quoted
from detectors.verdicts import Confidence, Subject, Verdict, verdict_frame

MAX_QUOTED: Final = 4

_FEW: Final = 3
"""Hosts for each that is named, at least, where the naming is sure."""

_HOST_NAME: Final = r"[a-z][a-z0-9]*-\d{2,}"
"""A host's name in the name of a test's file, where the test does not tell its hosts."""

_ALIKE: Final = ("scope", "operation", "size", "world", "nodes", "timing", "variant")


@dataclass(frozen=True, slots=True, kw_only=True)
class PathParams:
    """When a set of hosts is slow.

    Attributes:
        max_rate_ratio: Of the rate of the good sets, at or below which a set is slow.
        min_bytes: Smaller messages measure latency, not bandwidth.
        min_sets: So many sets alike are compared, at least.
        max_host_share: Above this share of the hosts nobody is named: too few are good.
    """

    max_rate_ratio: float = 0.8
    min_bytes: int = 1_048_576
    min_sets: int = 3
    max_host_share: float = 0.5


def find_slow_paths(transfers: pl.LazyFrame, params: PathParams) -> pl.DataFrame:
    """Return the hosts, or single sets of hosts, whose communication is slow.

    Args:
        transfers: `TRANSFERS`; a row of a benchmark names its hosts in `group`, with `+` between,
            rows of a profiler by the hosts that report the same group. Rows without a rate, of
            nothing at all, and of a single host tell nothing here.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow and cause slow_link: at level host for each host whose sets are all
        slow while all others are not, with `slowdown`; at level link or group for one set that no
        host explains. Tests of one kind are compared whatever folder, and so run, they are of.
        Partition key: run for profilers, none for tests.

    Raises:
        SchemaError: A frame lacks a column.
    """
    sets = _sets(transfers.pipe(require, TRANSFERS), params)
    rates = sets.group_by("scope", "hosts", maintain_order=True).agg(
        pl.col("ratio").median(), pl.col("run", "rate", "source", "position", "time", "what").last()
    )
    only = pl.col("run").n_unique().over("scope") == 1
    found = [
        one
        for part in rates.with_columns(pl.when(only).then("run")).partition_by(
            "scope", maintain_order=True
        )
        for one in _judged(part.to_dicts(), params)
    ]
    return verdict_frame(found)


def _sets(transfers: pl.LazyFrame, params: PathParams) -> pl.DataFrame:
    """Return one row a set of hosts and kind of measurement, with the ratio to the good ones."""
    rate = pl.coalesce("bus_bytes_per_second", "algorithm_bytes_per_second")
    good = pl.col("rate").quantile(0.75, "higher").over(_ALIKE)
    return (
        transfers.with_columns(
            rate=rate,
            scope=pl.when(pl.col("rank").is_not_null()).then("run"),
            size=pl.col("bytes").cast(pl.Float64).log(2).floor(),
            hosts=_hosts(),
        )
        .filter(
            pl.col("rate") > 0,
            pl.col("bytes").is_null() | (pl.col("bytes") >= params.min_bytes),
            pl.col("hosts").list.len() > 1,
        )
        .group_by(*_ALIKE, "hosts")
        .agg(
            pl.col("rate").median(),
            pl.col("run", "source", "position", "time").sort_by("source", "position").first(),
        )
        .filter(pl.len().over(_ALIKE) >= params.min_sets)
        .with_columns(ratio=pl.col("rate") / good, what=_words())
        .sort("scope", "hosts", "size", "operation", "variant", "timing", nulls_last=True)
        .collect()
    )


def _hosts() -> pl.Expr:
    """Return the hosts that took part: listed, in the file's name, or all that report a group."""
    listed = pl.col("group").str.split(HOSTS_BETWEEN).list.sort()
    told = pl.col("host").drop_nulls().unique().sort().over("run", "group", mapping_strategy="join")
    is_listed = pl.col("group").str.contains(HOSTS_BETWEEN, literal=True).fill_null(value=False)
    named = (
        pl.col("source").str.to_lowercase().str.extract_all(_HOST_NAME).list.unique().list.sort()
    )
    is_named = pl.col("group").is_null() & pl.col("rank").is_null() & (named.list.len() > 1)
    return pl.when(is_listed).then(listed).when(is_named).then(named).otherwise(told)


def _words() -> pl.Expr:
    return filled("{}: {} GB/s", pl.col("hosts").list.join(" - "), (pl.col("rate") / 1e9).round(1))


def _judged(rows: list[dict[str, Any]], params: PathParams) -> list[Verdict]:
    """Return the verdicts on the sets of one run."""
    slow = [row for row in rows if row["ratio"] <= params.max_rate_ratio]
    fast = [row for row in rows if row["ratio"] > params.max_rate_ratio]
    good = {host for row in fast for host in row["hosts"]}
    hosts = {host for row in rows for host in row["hosts"]}
    counts = {host: sum(host in row["hosts"] for row in slow) for host in hosts - good}
    culprits = sorted(host for host, count in counts.items() if count > 1)
    if not slow or not fast or len(culprits) > params.max_host_share * len(hosts):
        return []
    mine = {host: [row for row in slow if host in row["hosts"]] for host in culprits}
    rest = [row for row in slow if not set(culprits) & set(row["hosts"])]
    is_clear = not rest and len(fast) > 1 and _FEW * len(culprits) <= len(hosts)
    shared = median(row["ratio"] for row in fast)
    return [
        *(_host(host, mine, fast, "high" if is_clear else "medium", shared) for host in culprits),
        *(_lone(row, fast, shared) for row in rest),
    ]


def _host(
    host: str,
    mine: Mapping[str, list[dict[str, Any]]],
    fast: list[dict[str, Any]],
    confidence: Confidence,
    shared: float,
) -> Verdict:
    """Return the verdict on a host all of whose sets are slow."""
    rows = mine[host]
    factor = median(row["ratio"] for row in rows) / shared
    what = f"{len(rows)} of {len(rows)} sets with {host} run at {factor:.2f} of the others' rate"
    return Verdict(
        kind="slow",
        level="host",
        subject=Subject(run=rows[0]["run"], host=host),
        slowdown=1 / factor,
        cause="slow_link",
        confidence=confidence,
        peers="sets of hosts without it, at the same operation and size",
        peer_count=len(fast),
        evidence=(
            quoted(rows[0], what),
            *(quoted(row, row["what"]) for row in [*rows[:MAX_QUOTED], *fast[:MAX_QUOTED]]),
        ),
        action="compare this host's links, rails and NIC settings with a good host's",
        needed="the same test rail by rail tells which of its NICs",
    )


def _lone(row: dict[str, Any], fast: list[dict[str, Any]], shared: float) -> Verdict:
    """Return the verdict on a set that is slow while each of its hosts is fast elsewhere."""
    is_pair = len(row["hosts"]) == 2  # noqa: PLR2004 -- two hosts have one path
    name = " - ".join(row["hosts"])
    return Verdict(
        kind="slow",
        level="link" if is_pair else "group",
        subject=Subject(run=row["run"], link=name)
        if is_pair
        else Subject(run=row["run"], group=name),
        slowdown=shared / row["ratio"],
        cause="slow_link",
        confidence="low",
        peers="sets of hosts at the same operation and size",
        peer_count=len(fast),
        evidence=(
            quoted(row, row["what"]),
            *(quoted(one, one["what"]) for one in fast[:MAX_QUOTED]),
        ),
        alternatives=tuple(row["hosts"]),
        action="repeat the test of this set, then of each of its hosts with a third one",
        needed="the path between these hosts: which switches and rails they share",
    )
