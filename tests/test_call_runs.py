"""Who made logged calls, by the runs of calls of one caller."""

from typing import Any

import polars as pl
import pytest

from collectors.communication.call_runs import are_local, are_of, callers_of, values_of
from collectors.frames import COLLECTIVES, EVENTS
from collectors.logs import read_log_lines
from collectors.sniffing import ReadOptions

NAMES = ("source", "host", "group")


def life(what: str, rank: int = 0, comm: str = "0xa") -> str:
    """The line of a communicator's start or end."""
    return (
        f"hx8-001:7:1 [0] NCCL INFO ncclCommInitRank comm {comm} rank {rank} nranks 4 cudaDev 0 "
        f"nvmlDev 0 busId 1b000 commId 0xfeed{rank} - Init {what}\n"
    )


def call(number: int, comm: str = "0xa") -> str:
    """The line of one operation."""
    return (
        f"hx8-001:7:1 [0] NCCL INFO AllReduce: opCount {number:x} sendbuff 0x1 recvbuff 0x2 count "
        f"5 datatype 7 op 0 root 0 comm {comm} [nranks=4] stream 0x3\n"
    )


def read(*texts: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Calls and events of some logs."""
    logs = [
        read_log_lines(text.encode(), name := f"{at}.log", name, ReadOptions())
        for at, text in enumerate(texts)
    ]
    return pl.concat(one.collectives for one in logs), pl.concat(one.events for one in logs)


READY = life("COMPLETE")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param([READY + call(1) + call(2)], ["0xfeed0"], id="one caller, and its name"),
        pytest.param([call(1)], ["0xa of hx8-001"], id="a pointer without a life"),
        pytest.param(
            [READY + life("COMPLETE", 1, "0xb") + call(1) + call(1, "0xb") + call(2)],
            ["0xfeed0", "0xfeed1"],
            id="two callers in turn",
        ),
        pytest.param(
            [READY + call(1), life("COMPLETE", 1) + call(1)],
            ["0xfeed0", "0xfeed1"],
            id="the same pointer in two files",
        ),
        pytest.param([call(1) + READY + call(2)], None, id="it has another name at first"),
        pytest.param(
            [READY + call(1) + life("COMPLETE", 1) + call(2)], None, id="a pointer that is reborn"
        ),
        pytest.param([READY + call(0) + call(0)], None, id="a counter that stands still"),
    ],
)
def test_callers(texts: list[str], expected: list[str] | None) -> None:
    """The communicators of the callers in the order of their first calls; null: look at each."""
    calls, events = read(*texts)
    found = callers_of(calls, events, NAMES)
    assert (found and found.members["communicator"].to_list()) == expected


def test_calls_in_no_order_are_looked_at_one_by_one() -> None:
    """What comes first is not known where positions fall."""
    calls, events = read(READY + call(1) + call(2))
    assert callers_of(calls.reverse(), events, NAMES) is None


@pytest.mark.parametrize(
    ("rows", "table", "numbers"),
    [
        pytest.param([], [], [], id="no row"),
        pytest.param([("a", 1), ("a", 1)], [("a", 1)], [0, 0], id="one value"),
        pytest.param(
            [("a", None), ("b", 1), ("b", 2), ("a", None)],
            [("a", None), ("b", 1), ("b", 2)],
            [0, 1, 2, 0],
            id="null is a value of its own",
        ),
        pytest.param([(None, 1), (None, 1)], [(None, 1)], [0, 0], id="also at first"),
    ],
)
def test_values(rows: list[Any], table: list[Any], numbers: list[int]) -> None:
    """The values in the order in which they come, and which of them each row has."""
    frame = pl.DataFrame(rows, {"name": pl.String, "count": pl.Int64}, orient="row")
    found, of_rows = values_of(frame, ("name", "count"))
    assert (found.rows(), of_rows.to_list()) == (table, numbers)


def test_which_rows_are_calls() -> None:
    """Only calls whose group is a pointer count, and only those of sources of members."""
    rows = [
        {"state": "called", "group": "7:0/0xa", "source": "a"},
        {"state": "called", "group": "0xfeed", "source": "b"},
        {"state": "timed_out", "group": "7:0/0xa", "source": "a"},
        {"state": None, "group": None, "source": None},
    ]
    frame = pl.DataFrame(rows, COLLECTIVES)
    assert are_local(frame).to_list() == [True, False, False, False]
    members = pl.DataFrame({"source": ["a", None]}, {"source": pl.String})
    assert are_of(frame, members).to_list() == [True, False, True, True]
    assert are_of(frame, EVENTS.to_frame()).to_list() == [False] * 4
