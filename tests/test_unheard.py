"""A member that nobody heard is told from what the others say; a torn dump is no silence."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import COLLECTIVES, EVENTS, conform
from detectors.standings import ranked
from detectors.unheard import cut_off_ranks, missing_members, unread_ranks


def spoke(group: str, place: int, rank: int, **more: Any) -> dict[str, Any]:
    """A collective of a member."""
    return {"group": group, "group_rank": place, "rank": rank, "sequence": 7, **more}


def named(name: str, group: str, *members: tuple[int, int], **more: Any) -> list[dict[str, Any]]:
    """Collectives of the members, place and rank, of a group with a name."""
    return [spoke(group, *one, group_name=name, **more) for one in members]


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
            [("5", 4)],
            id="a place of a rank that nobody has named",
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
        pytest.param(
            [*named("tp", "7", (0, 4), (1, 5)), *named("dp", "8", (0, 0), (2, 4))],
            [("8", 2)],
            id="gaps of several groups are looked at one by one",
        ),
        pytest.param(
            [*named("tp", "7", (0, 0), (1, 1), (2, 2)), *named("tp", "8", (1, 4))],
            [("8", 3), ("8", 5)],
            id="a sister group tells how many there are, and how far apart",
        ),
        pytest.param(
            [
                *named("tp", "7", (0, 0), (1, 1)),
                *named("tp", "8", (0, 2), (1, 4)),
                spoke("9", 1, 3),
            ],
            [],
            id="sisters that are laid out in two ways tell no step",
        ),
        pytest.param(
            [*named("tp", "7", (0, 0), (3, 3)), *named("tp", "8", (0, 1), (1, 2))],
            [],
            id="who spoke in a sister group is no member: its layout is another",
        ),
        pytest.param(
            [
                *named("undefined", "7", (0, 0), (1, 1), (2, 2)),
                *named("undefined", "8", (1, 4), (3, 6)),
            ],
            [("8", 3), ("8", 5)],
            id="groups without a name are no sisters",
        ),
        pytest.param(
            [
                *(spoke("7", at, 6 + at) for at in (0, 1)),
                *(spoke("8", at, 3 * at) for at in (0, 1)),
            ],
            [("7", 8)],
            id="groups around it tell how many stand side by side",
        ),
        pytest.param(
            [spoke("3", 1, 3, **SCATTER), *(spoke("0", at, at) for at in (0, 2))],
            [("0", 1), ("3", 1)],
            id="a place that no layout explains, beside one that a layout does",
        ),
        pytest.param(
            [spoke("3", 1, 3, state="timed_out", **SCATTER)]
            + [spoke("9", at, at) for at in (0, 1)]
            + [spoke("9", 2, 2, state="signalled")],
            [("3", 2)],
            id="who was only told to dump was not heard in a collective",
        ),
    ],
)
def test_missing_members(rows: list[dict[str, Any]], expected: list[tuple[str, int]]) -> None:
    """Who is at the places of a group from which nobody spoke, as far as its layout tells."""
    told = ranked(conform(pl.LazyFrame(rows, infer_schema_length=None), COLLECTIVES))
    world = pl.LazyFrame({"run": [None] * 4, "rank": [0, 1, 2, 3]}).cast(
        {"run": pl.String, "rank": pl.Int32}
    )
    found = missing_members(told, world).collect()
    assert found.select("group", "rank").sort("group", "rank").rows() == expected


def test_unread_ranks() -> None:
    """Dumps that could not be read, of a rank that their name tells, and all of whom lines lack."""
    rows = [
        {"kind": "flight_dump", "code": code, "rank": rank, "run": "a"}
        for code, rank in (("unread", 2), ("unread", None), ("2.10", 3))
    ]
    left_out = {"kind": "lines_left_out", "run": "b", "count": 14}
    ranks = pl.LazyFrame({"run": ["a", "b", "b"], "rank": [3, 0, 1]}).cast({"rank": pl.Int32})
    events = conform(pl.LazyFrame([*rows, left_out], infer_schema_length=None), EVENTS)
    found = unread_ranks(events, ranks).sort("run", "rank").collect()
    assert found.rows() == [("a", 2, True), ("b", 0, True), ("b", 1, True)]


START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("code", "seconds", "expected"),
    [
        pytest.param("backend", 3, [6], id="as its peers gave up"),
        pytest.param("peer_closed", -3, [6], id="a little before, by another clock"),
        pytest.param("remote", None, [6], id="nobody knows when"),
        pytest.param("backend", 300, [], id="long after: it came late"),
        pytest.param("backend", -500, [], id="long before: it is why they waited"),
        pytest.param("timeout", 3, [], id="a time-out is its own"),
    ],
)
def test_cut_off_ranks(code: str, seconds: float | None, expected: list[int]) -> None:
    """Who lost its peers when the first of them gave up had been with them."""
    time = None if seconds is None else START + timedelta(seconds=seconds)
    error = {"kind": "comm_error", "code": code, "rank": 6, "time": time}
    rows = [{"rank": 0, "state": "timed_out", "time": START}]
    found = cut_off_ranks(pl.LazyFrame([error], EVENTS), pl.LazyFrame(rows, COLLECTIVES))
    assert found.collect()["rank"].to_list() == expected


def test_without_a_time_out_nobody_is_cut_off() -> None:
    """Errors alone tell of no hang."""
    error = {"kind": "comm_error", "code": "backend", "rank": 6}
    found = cut_off_ranks(pl.LazyFrame([error], EVENTS), COLLECTIVES.to_frame().lazy())
    assert found.collect().is_empty()
