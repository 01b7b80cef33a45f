"""Transfers between pairs of ranks: a slow host, a slow end, a slow path."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TRANSFERS, SchemaError, conform
from detectors.pair_times import PairParams, find_slow_pairs
from detectors.placing import ROLES

START = datetime(2026, 1, 5, tzinfo=UTC)
RANKS, TIMES = 12, 20

Slow = dict[tuple[int | None, int | None], float]


def transfers(slow: Slow, since: int = 0, scatter: float = 0.05) -> pl.DataFrame:
    """Every pair of ranks, two ranks a host, a transfer a minute; null is any rank."""
    rng = np.random.default_rng(9)
    rows: list[dict[str, Any]] = []
    for at in range(TIMES):
        for rank in range(RANKS):
            for peer in range(RANKS):
                if rank == peer:
                    continue
                seconds = 0.002 if rank // 2 == peer // 2 else 0.01
                seconds *= float(np.exp(scatter * rng.standard_normal()))
                for (first, second), factor in slow.items():
                    if first in {None, rank} and second in {None, peer} and at >= since:
                        seconds *= factor
                time = START + timedelta(minutes=at)
                rows.append({"rank": rank, "peer_rank": peer, "seconds": seconds, "time": time})
    frame = pl.LazyFrame(rows).with_columns(
        run=pl.lit("r"),
        operation=pl.lit("Send"),
        bytes=pl.lit(1 << 24),
        host=pl.format("n{}", pl.col("rank") // 2),
    )
    return conform(frame, TRANSFERS).collect()


def roles(*, hosts: bool = True) -> pl.LazyFrame:
    """Two ranks a host."""
    rows = [
        {"run": "r", "attempt": 0, "rank": rank, "host": f"n{rank // 2}" if hosts else None}
        for rank in range(RANKS)
    ]
    return pl.LazyFrame(rows, schema=ROLES)


def told(frame: pl.DataFrame, where: pl.LazyFrame | None = None) -> list[tuple[str, str, float]]:
    """Level, subject and slowdown of each finding."""
    places = roles() if where is None else where
    rows = find_slow_pairs(frame.lazy(), places, PairParams()).to_dicts()
    assert {(row["kind"], row["cause"]) for row in rows} <= {("slow", "slow_link")}
    return [
        (
            row["level"],
            row["subject"]["link"] or f"{row['subject']['host']}/{row['subject']['rank']}",
            round(row["slowdown"], 1),
        )
        for row in rows
    ]


BOTH_WAYS: Slow = {(rank, None): 2.0 for rank in (4, 5)} | {(None, rank): 2.0 for rank in (4, 5)}


@pytest.mark.parametrize(
    ("slow", "expected"),
    [
        pytest.param({}, [], id="all alike"),
        pytest.param({(3, 8): 2.0}, [("link", "n1 - n4", 2.0)], id="one cell is the path"),
        pytest.param({(None, 7): 2.0}, [("nic", "n3/7", 2.0)], id="a column is the receiver"),
        pytest.param({(7, None): 2.0}, [("nic", "n3/7", 2.0)], id="a row is the sender"),
        pytest.param(
            {(7, None): 2.0, (None, 7): 2.0}, [("nic", "n3/7", 2.0)], id="both are its port"
        ),
        pytest.param(BOTH_WAYS, [("host", "n2/None", 2.0)], id="all ranks of a host both ways"),
        pytest.param(
            {(None, 7): 2.0, (3, 8): 3.0},
            [("link", "n1 - n4", 3.0), ("nic", "n3/7", 2.0)],
            id="one of each",
        ),
        pytest.param({(3, 8): 1.1}, [], id="a tenth is no fault"),
        pytest.param(dict.fromkeys([(at, None) for at in range(8)], 2.0), [], id="the fabric"),
    ],
)
def test_pairs(slow: Slow, expected: list[tuple[str, str, float]]) -> None:
    """Rows and columns of the matrix tell a host, a port and a path apart."""
    assert told(transfers(slow)) == expected


def test_onset() -> None:
    """What became slow is dated by its first slow transfer."""
    rows = find_slow_pairs(transfers({(None, 7): 2.0}, since=12).lazy(), roles(), PairParams())
    row = rows.row(0, named=True)

    assert (row["onset"], row["onset_before_data"]) == (START + timedelta(minutes=12), False)
    assert "rank 7 on n3 receives slowly" in row["evidence"][0]["what"]


def test_hosts_that_are_not_told() -> None:
    """Without hosts ranks are named, and all pairs are of one kind."""
    frame = transfers({(3, 8): 20.0}).with_columns(host=pl.lit(None, pl.String))

    found = [(level, name) for level, name, _ in told(frame, roles(hosts=False))]

    assert found == [("link", "rank 3 - rank 8")]


def test_a_pipeline() -> None:
    """Neighbours that send to nobody else wait for each other, and nothing can be said."""
    frame = transfers({(3, 4): 3.0})
    ring = (pl.col("peer_rank") - pl.col("rank")).is_in([1, -1])

    assert told(frame.filter(ring)) == []


def test_few_pairs() -> None:
    """Of a few pairs nothing is usual."""
    assert told(transfers({(0, 2): 2.0}).filter(pl.col("rank") < 1, pl.col("peer_rank") < 4)) == []


def test_single_times() -> None:
    """One transfer of each pair is enough to compare them."""
    frame = transfers({(3, 8): 2.0}, scatter=0.01).filter(pl.col("time") == START)

    assert told(frame) == [("link", "n1 - n4", 2.0)]


@settings(max_examples=10)
@given(st.integers(0, 99), st.integers(1, 2), st.sampled_from([1.0, 1000.0]))
def test_properties(seed: int, copies: int, unit: float) -> None:
    """Row order, duplicates and the unit change nothing."""
    rows = transfers({(None, 7): 2.0}).sample(fraction=1.0, shuffle=True, seed=seed)
    frame = pl.concat([rows] * copies).with_columns(pl.col("seconds") * unit)

    assert told(frame) == [("nic", "n3/7", 2.0)]


def test_doors() -> None:
    """A frame that is no `TRANSFERS` and a ratio that all pass are refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        find_slow_pairs(pl.LazyFrame({"run": ["r"]}), roles(), PairParams())
    with pytest.raises(ValueError, match=r"min_slowdown must be above 1\.0"):
        PairParams(min_slowdown=1.0)
