"""Tests of the calls that are kept of NCCL's logs."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.communication.call_folds import (
    FoldedCalls,
    fold_calls,
    join_folded,
    only_sources,
)
from collectors.communication.communicators import INIT, name_communicators
from collectors.logs import read_log_lines
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from detectors.mismatches import find_mismatches
from detectors.standings import member_states, ranked

Call = tuple[str, int, int]


def life(process: int, rank: int) -> str:
    """Return the line of a communicator that all ranks share."""
    return (
        f"hx8-001:{process}:1 [{process}] NCCL INFO ncclCommInitRank comm 0x5{process} rank {rank} "
        f"nranks 4 cudaDev {process} nvmlDev {process} busId {process}b000 commId 0xfeed - "
        "Init COMPLETE\n"
    )


def call(process: int, name: str, number: int, count: int) -> str:
    """Return the line of one operation."""
    return (
        f"hx8-001:{process}:1 [{process}] NCCL INFO {name}: opCount {number:x} sendbuff 0x1 "
        f"recvbuff 0x2 count {count} datatype 7 op 0 root 0 comm 0x5{process} [nranks=4] "
        "stream 0x3\n"
    )


def read(rank: int, calls: Sequence[Call], *, with_life: bool = True) -> Reading:
    """Return what the log of one rank says."""
    lines = [life(rank, rank) if with_life else "", *(call(rank, *one) for one in calls)]
    name = f"rank_{rank}.log"
    return read_log_lines("".join(lines).encode(), name, name, ReadOptions())


def steady(count: int) -> list[Call]:
    """Return operations that go on without an end."""
    return [("AllReduce", number, 512) for number in range(count)]


def folded(*readings: Reading) -> list[FoldedCalls]:
    """Return what each source says, folded however short it is."""
    return [fold_calls(one, min_calls=1) for one in readings]


def numbers(reading: Reading) -> list[int | None]:
    """Return the numbers of all calls, in order."""
    calls = reading.collectives.filter(pl.col("state") == "called")
    return calls["sequence"].sort().to_list()


def answers(reading: Reading) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return what detectors make of a reading: where ranks stand, with and without inits."""
    rows = name_communicators(reading.collectives, reading.events)
    found = ranked(rows.lazy())
    trained = ranked(rows.filter((pl.col("operation") != INIT).fill_null(value=True)).lazy())
    return (
        find_mismatches(found),
        member_states(found).collect(),
        member_states(trained).collect(),
    )


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["AllReduce", "Broadcast", "Send"]),
        st.integers(0, 6),
        st.sampled_from([512, 512, 1024]),
    ),
    max_size=12,
)


@pytest.mark.parametrize("shown", ["all", "some"], ids=["with all lives", "one life not told"])
@settings(max_examples=12)
@given(logs=st.lists(CALLS, min_size=1, max_size=4), whole=st.sets(st.integers(0, 3)))
def test_detectors_see_no_difference(shown: str, logs: list[list[Call]], whole: set[int]) -> None:
    """Whatever ranks call, and whoever's log is short, the answers are those of all calls."""
    readings = [
        read(rank, calls, with_life=shown == "all" or rank > 0) for rank, calls in enumerate(logs)
    ]
    folds = [
        fold_calls(one, min_calls=100 if rank in whole else 1) for rank, one in enumerate(readings)
    ]
    expected, found = answers(join_readings(readings)), answers(join_folded(folds))
    assert [one.rows() for one in found] == [one.rows() for one in expected]


@settings(max_examples=12)
@given(logs=st.lists(CALLS, min_size=1, max_size=4), min_calls=st.integers(1, 9))
def test_sources_may_be_folded_at_once(logs: list[list[Call]], min_calls: int) -> None:
    """Sources that are folded together say what each says that is folded alone."""
    readings = [read(rank, calls) for rank, calls in enumerate(logs)]
    alone = [fold_calls(one, min_calls) for one in readings]
    both = fold_calls(join_readings(readings), min_calls)
    assert both.reading.collectives.equals(join_readings(one.reading for one in alone).collectives)
    assert join_folded([both]).collectives.equals(join_folded(alone).collectives)
    parts = [only_sources(both, [one.reading.events["source"][0]], 1) for one in alone]
    assert join_folded(parts).collectives.equals(join_folded(alone).collectives)


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        pytest.param(
            [steady(5000)] * 4, [0] * 4 + [4999] * 4, id="agreed calls leave the first and the last"
        ),
        pytest.param(
            [steady(50), [*steady(20), ("Broadcast", 20, 512), *steady(50)[21:]]],
            [0, 0, 20, 20, 49, 49],
            id="a number at which members differ is kept of all of them",
        ),
        pytest.param(
            [[("Send", 7, 1), ("Send", 7, 1), *steady(9)]],
            [None, 8],
            id="of pairs one is enough, beside the last call",
        ),
        pytest.param(
            [[("AllReduce", 0, 512)] * 5], [0] * 5, id="a counter that stands still keeps its calls"
        ),
        pytest.param(
            [[("AllReduce", 3, 512)] * 5, []], [3, 3], id="a rank that never called changes nothing"
        ),
    ],
)
def test_kept_calls(logs: list[list[Call]], expected: list[int | None]) -> None:
    """Of each rank's calls those are kept that tell something."""
    readings = [read(rank, calls) for rank, calls in enumerate(logs)]
    found = numbers(join_folded(folded(*readings)))
    assert sorted(found, key=lambda one: -1 if one is None else one) == expected


def test_restored_calls_are_whole() -> None:
    """A call that comes back is what it was before it was left out."""
    other = [("Broadcast", number, 512) for number in range(9)]
    readings = [read(0, steady(9)), read(1, other)]
    whole, back = join_readings(readings).collectives, join_folded(folded(*readings)).collectives
    order = ["source", "position"]
    assert back.sort(order).rows() == whole.sort(order).rows()


def test_few_calls_are_kept() -> None:
    """Sources with few calls, and those whose calls say more, keep them all."""
    short = read(0, steady(9))
    told = read(1, steady(1200))
    sized = replace(
        told, collectives=told.collectives.with_columns(output_count=pl.lit(5, pl.Int64))
    )
    assert [fold_calls(one).reading.collectives.height for one in (short, told, sized)] == [
        9,
        2,
        1200,
    ]


def test_the_first_disputed_numbers_are_kept() -> None:
    """Where members differ in everything, the first numbers tell it, not thousands."""
    other = [("Broadcast", number, 512) for number in range(400)]
    found = numbers(join_folded(folded(read(0, steady(400)), read(1, other))))
    assert found == sorted([*range(32), *range(32), 399, 399], key=lambda one: one or 0)
