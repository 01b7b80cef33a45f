"""The rank that waits least is the one whom the others wait for."""

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TRANSFERS, SchemaError
from detectors.late_ranks import LateParams, find_late_ranks
from detectors.verdicts import Verdict, verdicts_of


def rows(
    late: int | None, *, world: int = 4, collectives: int = 25, **more: Any
) -> list[dict[str, Any]]:
    """Return what the ranks of a group timed; one of them comes last to each collective."""
    return [
        {
            "group": "0xaa",
            "operation": "AllReduce",
            "sequence": number,
            "rank": rank,
            "world": world,
            "host": f"h{rank}",
            "seconds": 0.0001 if rank == late else 0.002 + rank * 1e-6,
            "timing": "kernel_gpu",
            "source": f"rank{rank}",
            "position": number,
            **more,
        }
        for number in range(collectives)
        for rank in range(world)
    ]


def find(found: list[dict[str, Any]]) -> list[Verdict]:
    """Return the findings."""
    frame = pl.DataFrame(found, schema=TRANSFERS).lazy()
    return verdicts_of(find_late_ranks(frame, LateParams()))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(rows(2), [(2, "h2", "0xaa")], id="one rank always last"),
        pytest.param(rows(None), [], id="all alike"),
        pytest.param(rows(2, collectives=19), [], id="too few collectives"),
        pytest.param(rows(1, world=2), [], id="a pair has no majority"),
        pytest.param(rows(2, timing="collective_cpu"), [], id="times of the host's call"),
        pytest.param(rows(2, peer_rank=1), [], id="sends and receives"),
        pytest.param(
            [row for row in rows(2) if row["rank"] != 3], [], id="a rank that did not report"
        ),
        pytest.param(
            [{**row, "timing": "kernel_cpu"} if row["rank"] == 0 else row for row in rows(2)],
            [],
            id="one rank timed in another way",
        ),
        pytest.param(
            [row for late in range(4) for row in rows(late) if row["sequence"] % 4 == late],
            [],
            id="another rank each time is the work's doing",
        ),
        pytest.param(
            rows(2) + rows(1, world=8, group="0xbb"),
            [(1, "h1", "0xbb"), (None, "h2", "0xaa")],
            id="only in the largest group ranks are the job's",
        ),
        pytest.param(
            [row for row in rows(2, world=8) if (3 * row["rank"] + row["sequence"]) % 5],
            [(2, "h2", "0xaa")],
            id="a fifth of the reports is lost",
        ),
        pytest.param(
            [row for row in rows(2) if row["rank"] < 2 or row["sequence"] < 2],
            [],
            id="most reports are lost",
        ),
        pytest.param(rows(2) * 2, [(2, "h2", "0xaa")], id="every row twice"),
        pytest.param([], [], id="nothing"),
        pytest.param(rows(0, operation="Broadcast"), [], id="a root need not wait"),
        pytest.param(
            [{**row, "seconds": row["seconds"] / 50} for row in rows(2)],
            [],
            id="the others wait for a moment",
        ),
    ],
)
def test_late(found: list[dict[str, Any]], expected: list[tuple[object, ...]]) -> None:
    """Only one rank, the same each time, among all of its group."""
    told = [(one.subject.rank, one.subject.host, one.subject.group) for one in find(found)]

    assert told == expected


def test_what_it_says() -> None:
    """The finding is no speed: it tells how long the others wait."""
    one = find(rows(2))[0]

    assert (one.kind, one.cause, one.slowdown, one.confidence) == (
        "slow",
        "arrives_last",
        None,
        "medium",
    )
    assert "the others wait 1.9 ms in each (kernel_gpu)" in one.evidence[0].what


@settings(max_examples=10)
@given(st.integers())
def test_row_order(seed: int) -> None:
    """The same rows in another order give the same finding."""
    mixed = rows(2)
    random.Random(seed).shuffle(mixed)

    assert find(mixed) == find(rows(2))


def test_other_frames() -> None:
    """A frame of another kind is refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        find_late_ranks(pl.LazyFrame(), LateParams())
