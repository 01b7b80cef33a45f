"""A member that nobody heard is told from what the others say; a torn dump is no silence."""

from typing import Any

import polars as pl
import pytest

from collectors.frames import COLLECTIVES, EVENTS, conform
from detectors.standings import ranked
from detectors.unheard import missing_members, unread_dumps


def spoke(group: str, place: int, rank: int, **more: Any) -> dict[str, Any]:
    """A collective of a member."""
    return {"group": group, "group_rank": place, "rank": rank, "sequence": 7, **more}


UNEVEN = ((0, 0), (1, 3), (3, 2))
GATHER = {"operation": "ALLGATHER", "input_count": 4, "output_count": 8}
SCATTER = {"operation": "_REDUCE_SCATTER_BASE", "input_count": 8, "output_count": 4}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [spoke("21", 0, 0, **GATHER), spoke("21", 1, 1), spoke("22", 0, 2, **GATHER)],
            [("22", 3)],
            id="what a gather puts out",
        ),
        pytest.param([spoke("22", 0, 2, **SCATTER)], [], id="several that nobody heard are open"),
        pytest.param(
            [spoke("21", 0, 0), spoke("21", 1, 1), spoke("22", 1, 3, **SCATTER)],
            [("22", 2)],
            id="what a scatter takes in",
        ),
        pytest.param(
            [spoke("3", 0, 0), spoke("3", 1, 1), spoke("3", 3, 3)], [("3", 2)], id="a gap in places"
        ),
        pytest.param([spoke("3", 1, 1)], [], id="one alone shows no gap"),
        pytest.param(
            [spoke("0", 1, 1), spoke("0", 0, 0), *(spoke("5", at, 2 * at) for at in (0, 1, 3))],
            [],
            id="a place of a rank that is nowhere",
        ),
        pytest.param(
            [*(spoke("0", at, at) for at in range(4)), spoke("5", 0, 1), spoke("5", 2, 3)],
            [("5", 2)],
            id="evenly spaced members tell who is between, though it spoke elsewhere",
        ),
        pytest.param(
            [*(spoke("0", at, at) for at in range(4)), *(spoke("5", *at) for at in UNEVEN)],
            [],
            id="uneven members tell nothing",
        ),
        pytest.param(
            [spoke("3", 0, 0, group_ranks=[0, 1, 2, 3]), spoke("3", 3, 3), spoke("3", 1, 1)],
            [],
            id="members that are listed need no guess",
        ),
    ],
)
def test_missing_members(rows: list[dict[str, Any]], expected: list[tuple[str, int]]) -> None:
    """One group lacks one place, and one rank of all was never heard."""
    told = ranked(conform(pl.LazyFrame(rows), COLLECTIVES))
    world = pl.LazyFrame({"run": [None] * 4, "rank": [0, 1, 2, 3]}).cast(
        {"run": pl.String, "rank": pl.Int32}
    )
    found = missing_members(told, world).collect()
    assert found.select("group", "rank").rows() == expected


def test_unread_dumps() -> None:
    """Only dumps that could not be read, of a rank that their name tells, count."""
    rows = [
        {"kind": "flight_dump", "code": code, "rank": rank, "run": "a"}
        for code, rank in (("unread", 2), ("unread", None), ("2.10", 3))
    ]
    found = unread_dumps(conform(pl.LazyFrame(rows), EVENTS)).collect()
    assert found.rows() == [("a", 2, True)]
