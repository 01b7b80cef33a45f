"""What stands, in words."""

from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS
from detectors.hang_words import collective_title, ranks_title, stuck_watchdogs
from detectors.rank_places import Places


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        pytest.param([3], "rank 3", id="one"),
        pytest.param([7, 0, 1, 2, 1], "ranks 0 to 2, 7", id="stretches, in order"),
        pytest.param(
            range(0, 16, 2),
            "ranks 0, 2, 4, 6, 8, 10 and 2 more stretches",
            id="of very many only the first",
        ),
    ],
)
def test_ranks(ranks: list[int], expected: str) -> None:
    """Ranks that follow each other are told by their ends."""
    assert ranks_title(ranks) == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(
            {"group": "7", "sequence": 5}, "collective 5 of 7", id="no name, no operation"
        ),
        pytest.param(
            {"group": "7", "group_name": "tp", "sequence": 5, "operation": "ALLREDUCE"},
            "collective 5 ALLREDUCE of tp (7)",
            id="all of it",
        ),
        pytest.param(
            {"group": "7", "sequence": 0, "operation": "RECV"},
            "a RECV of 7",
            id="a pair's call has no number",
        ),
        pytest.param(
            {"group": "7", "sequence": 0, "operation": "init"},
            "collective 0 init of 7",
            id="the making of a communicator is its first",
        ),
        pytest.param(
            {"group": "all ranks", "sequence": 0}, "a collective of all ranks", id="nobody counts"
        ),
    ],
)
def test_collectives(row: dict[str, Any], expected: str) -> None:
    """What stands in a row."""
    assert collective_title(row) == expected


@pytest.mark.parametrize(
    ("stuck", "others", "expected"),
    [
        pytest.param([3], [0, 1], ("rank", 3, "watchdog_stuck"), id="one of three"),
        pytest.param([3], [0], ("job", None, "outside_collectives"), id="one of two"),
        pytest.param([3, 4], [0, 1], ("job", None, "outside_collectives"), id="two of four"),
        pytest.param([None], [0, 1, 2], ("job", None, "outside_collectives"), id="of no rank"),
    ],
)
def test_one_stuck_watchdog(
    stuck: list[int | None], others: list[int], expected: tuple[str, int | None, str]
) -> None:
    """Among ranks whose watchdogs go on, the one whose stands still is a weak lead."""
    rows = [{"kind": "heartbeat_stuck", "rank": rank} for rank in stuck]
    rows += [{"kind": "dump_signal", "rank": rank} for rank in others]
    (found,) = stuck_watchdogs(pl.LazyFrame(rows, EVENTS))
    assert (found.level, found.subject.rank, found.cause) == expected
    assert found.confidence == "low"


@pytest.mark.parametrize(
    ("hosts", "ranks", "world", "expected"),
    [
        pytest.param("aabb", [4, 5], 8, True, id="as many as the hosts that are known have"),
        pytest.param("aabb", [4, 5, 6, 7], 8, True, id="two hosts"),
        pytest.param("aabb", [5, 6], 8, False, id="halves of two hosts"),
        pytest.param("aabb", [4, 6], 8, False, id="not in a row"),
        pytest.param("aabb", [4], 8, False, id="one rank is no host"),
        pytest.param("", [4, 5, 6, 7], 16, True, id="no host is known, and it may be one"),
        pytest.param("", [4, 5, 6, 7], 15, False, id="hosts would not be alike"),
        pytest.param("", [3, 4, 5, 6], 16, False, id="no host begins there"),
        pytest.param("", [4, 5], 16, False, id="two may be any"),
    ],
)
def test_blocks(hosts: str, ranks: list[int], *, world: int, expected: bool) -> None:
    """Ranks in a row may be all that hosts have."""
    places = Places(hosts={("r", rank): host for rank, host in enumerate(hosts)}, gpus={})
    assert places.is_block("r", ranks, world) is expected
