"""Waits of pairs, where nobody stands in a collective."""

from typing import Any

import polars as pl
import pytest

from collectors.frames import COLLECTIVES
from detectors.pair_waits import pair_belonging, pair_members
from detectors.standings import member_states, ranked


def entry(rank: int, operation: str, position: int, state: str = "scheduled") -> dict[str, Any]:
    """A call of a rank in a pipeline of four, in its dump."""
    row = {"rank": rank, "group": "3", "group_ranks": [4, 5, 6, 7], "operation": operation}
    return row | {"position": position, "state": state, "source": f"dump_{rank}"}


def stands(rank: int) -> dict[str, Any]:
    """A rank that waits in a collective."""
    row = {"rank": rank, "group": "0", "sequence": 5, "operation": "all_reduce"}
    return row | {"state": "started", "source": f"dump_{rank}", "position": 99}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param([], [], id="nothing was said"),
        pytest.param([entry(4, "recv 0<-1", 1)], [(4, 5, 0)], id="its peer is not heard"),
        pytest.param(
            [entry(4, "recv 0<-1", 1), entry(5, "send 1->0", 1, "completed")],
            [(4, 5, 0), (5, 4, None)],
            id="its peer is, and waits in nothing",
        ),
        pytest.param(
            [entry(4, "recv 0<-1", 1), entry(4, "send 0->1", 2, "completed")],
            [],
            id="a call behind it is done: it is scheduled for ever",
        ),
        pytest.param(
            [entry(4, "recv 0<-1", 1), entry(4, "recv 0<-2", 2)],
            [(4, 5, 0), (4, 6, 0)],
            id="each call that is open is a wait",
        ),
        pytest.param([entry(4, "recv 0<-9", 1)], [], id="a peer that is no member"),
        pytest.param([entry(4, "coalesced", 1)], [], id="a call without a peer"),
        pytest.param(
            [entry(4, "recv 0<-1", 1), stands(6)], [], id="somebody stands in a collective"
        ),
    ],
)
def test_pairs(rows: list[dict[str, Any]], expected: list[tuple[int, int, int | None]]) -> None:
    """Rank, its peer, and the number in which it waits."""
    told = ranked(pl.LazyFrame(rows, COLLECTIVES)).collect().lazy()
    found = pair_members(told, member_states(told)).collect()
    assert found.select("rank", "peer", "blocked").rows() == expected


def test_both_belong() -> None:
    """A pair has two members, heard or not."""
    told = ranked(pl.LazyFrame([entry(4, "recv 0<-1", 1)], COLLECTIVES)).collect().lazy()
    found = pair_belonging(pair_members(told, member_states(told))).sort("rank").collect()
    assert found.select("group", "rank", "listed").rows() == [
        ("3, recv 0<-1 of rank 4", 4, True),
        ("3, recv 0<-1 of rank 4", 5, True),
    ]
