"""Reports and events of NCCL's RAS client, as text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.communication.ras_texts import read_ras
from collectors.line_reading import LineReading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines
from collectors.texts.event_labels import label_value

UNIFORM = """\
NCCL version 2.28.9 compiled with CUDA 12.9
CUDA runtime version 12090, driver version 12090

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32
"""
BY_NODES = """\
Job summary
===========

  Nodes  Processes         GPUs
          per node  per process
      3          8            1
      1          7            1

  Nodes  Processes         GPUs
(total)    (total)      (total)
      4         31           31

The outlier node:
  Node 10.77.3.19 running processes 1,2,3,4,5,6,7
"""
BY_PROCESSES = """\
Job summary
===========

  Nodes  Processes
          per node
      4          2

         Processes         GPUs
                    per process
                 7            4
                 1            3

  Nodes  Processes         GPUs
(total)    (total)      (total)
      4          8           31
"""
TABLE = """
Communicators... (0.02s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4       7-8        {size}        {size}   RUNNING  MISMATCH
    1         8         4         1         4        32   RUNNING      OK

Errors
======

"""
COUNTS = """
Warnings
========

TIMEOUT
  Encountered 2 communication timeouts while gathering communicator data

#0-0 (5f0c2a9be1774d03) MISMATCH
  Communicator ranks have different AllReduce operation counts
  30 ranks have launched up to operation 9120
  2 ranks have launched up to operation 9119
  Rank 20 -- GPU 4 managed by process 6119 on node 10.77.3.19
  Rank 21 -- GPU 5 (NVML 6) managed by process 6120 on node 10.77.3.19
  Communicator ranks have different Broadcast operation counts
  31 ranks have launched up to operation 12
  Rank 7 has not launched any operations -- GPU 7 managed by process 6107 on node 10.77.3.17
"""
GARBAGE = """\
    0         1         4         8        32        32   RUNNING      OK
    2         1         1         8         0         8   RUNNING  INCOMPLETE
#2-0 (00000000deadbeef) INCOMPLETE
  Missing communicator data from 255 ranks
  Rank 1057455228 -- [process information not found]
  Rank 3 -- GPU 3 managed by process 910 on node 10.77.3.51
"""
SKEW = """\
 Warning: negative travel times were observed across 3 connections,
 indicating that the system clocks are *not* synchronized.
 Ordering of events based on local timestamps should be considered unreliable
  The affected connections:
  From node 10.77.3.5 process 71 to node 10.77.3.9 process 80: observed travel time of -41.200s
  From node 10.77.3.5 process 71 to node 10.77.3.8 process 90: observed travel time of 0.002s
"""


def read(text: str) -> LineReading:
    """Read a log."""
    return read_ras(read_lines(text.encode()), ReadOptions())


def standings(text: str) -> list[tuple[object, ...]]:
    """Return what the ranks have reached."""
    names = ("rank", "group_rank", "operation", "state", "enqueued", "host")
    return read(text).reading.collectives.select(names).rows()


def kinds(text: str) -> list[tuple[object, ...]]:
    """Return kind, code and host of all events."""
    return read(text).reading.events.select("kind", "code", "host").rows()


@pytest.mark.parametrize(
    ("summary", "size"),
    [
        pytest.param(UNIFORM, 32, id="all nodes alike"),
        pytest.param(BY_NODES, 31, id="nodes with fewer processes"),
        pytest.param(BY_PROCESSES, 31, id="processes with fewer GPUs"),
    ],
)
def test_summaries(summary: str, size: int) -> None:
    """All layouts of the summary are parts of the report, and tell how large the job is."""
    text = summary + TABLE.format(size=size) + COUNTS.replace("\n30 ranks", "\n29 ranks")
    result = read(text)
    filled = [line for line in text.split("\n") if line.strip()]

    assert len(result.claimed) == len(filled) - filled[0].startswith("NCCL version")
    assert result.reading.collectives["rank"].drop_nulls().to_list() == [20, 21, 7]


def test_counts() -> None:
    """A rank listed under a count stands there; one that has launched nothing is at -1."""
    assert standings(UNIFORM + TABLE.format(size=32) + COUNTS) == [
        (None, None, "AllReduce", "launched", 9120, None),
        (None, None, "AllReduce", "launched", 9119, None),
        (20, 20, "AllReduce", "launched", 9119, "10.77.3.19"),
        (21, 21, "AllReduce", "launched", 9119, "10.77.3.19"),
        (None, None, "Broadcast", "launched", 12, None),
        (7, 7, "Broadcast", "launched", -1, "10.77.3.17"),
    ]


def test_rank_in_a_part() -> None:
    """A rank of a communicator that is not the whole job has no global rank."""
    text = UNIFORM + TABLE.format(size=16) + COUNTS

    assert [row[:2] for row in standings(text)][2] == (None, None)
    assert {row[0] for row in standings(text)} == {None}


def test_generic_mismatch() -> None:
    """Before 2.26 one block spoke of all collectives."""
    text = (
        "#0-0 (5f0c2a9be1774d03) MISMATCH\n"
        "  Communicator ranks have different collective operation counts\n"
        "  Rank 2 has launched up to operation 5 -- GPU 5 managed by process 6 on node 10.7.3.1\n"
    )

    assert standings(text) == [(2, 2, None, "launched", 5, "10.7.3.1")]


def test_garbage() -> None:
    """What cannot be is kept, marked, and gives no rank; other groups stay what they are."""
    result = read(GARBAGE)
    marks = result.reading.events.select("kind", "code", invalid=label_value("invalid")).rows()

    assert marks == [
        ("ras_group", "RUNNING", None),
        ("ras_group", "RUNNING", "size"),
        ("rank_missing", "invalid", "rank"),
        ("rank_missing", "invalid", "rank"),
    ]
    assert result.reading.collectives.is_empty()
    assert len(result.claimed) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "  Missing communicator data from 1 rank\n"
            "  Rank 0 -- GPU 0 managed by process 910 on node 10.77.3.51\n",
            [("rank_missing", None, "10.77.3.51")],
            id="a silent rank, without a heading",
        ),
        pytest.param(
            "DEAD\n  1 job process is considered dead (unreachable via the RAS network)\n"
            "  Process 34 on node 10.77.3.18 managing GPU 5\n"
            "INCOMPLETE\n  Missing communicator data from 2 job processes\n"
            "  Process 35 on node 10.77.3.18 managing GPUs 5,6 (NVML 6,7)\n"
            "  [could not find information on 1 process]\n",
            [("process_dead", None, "10.77.3.18"), ("process_missing", None, "10.77.3.18")],
            id="dead and missing processes",
        ),
        pytest.param(
            "#0-0 (5f0c2a9be1774d03) ERROR\n  Asynchronous error on 1 rank\n"
            "  Rank 9 reported remote process error -- GPU 1 managed by process 6 on node h8\n"
            "#0-0 (5f0c2a9be1774d03) ERROR\n  Initialization error(s) on 4 rank(s)\n",
            [("ras_error", "remote process error", "h8")],
            id="errors, in both spellings, with and without details",
        ),
        pytest.param(
            "#0-0 (5f0c2a9be1774d03) MISMATCH\n  Communicator ranks have different status\n"
            "  31 ranks have status RUNNING\n"
            "  Rank 3 has status ABORT -- GPU 5 managed by process 6120 on node 10.77.3.17\n",
            [("ras_standing", "RUNNING", None), ("ras_standing", "ABORT", "10.77.3.17")],
            id="states that differ",
        ),
        pytest.param(SKEW, [("clock_skew", "-41.200", "10.77.3.5")], id="a clock that is behind"),
        pytest.param(
            "[2026-01-05 04:03:02] PEER_DEAD: Process 71 on node 10.77.3.5 managing GPU 3\n"
            "[2026-01-05 04:03:02] PEER_CONNECTING: 10.77.3.5<28028>\n",
            [("process_dead", "PEER_DEAD", "10.77.3.5"), ("ras_event", "PEER_CONNECTING", None)],
            id="events of the monitor",
        ),
        pytest.param("Errors\n======\nWarnings\n 1 2 3\n", [], id="words that anybody may print"),
    ],
)
def test_events(text: str, expected: list[tuple[str, str | None, str | None]]) -> None:
    """Each block, line and event says what it says."""
    assert kinds(text) == expected


def test_monitor_time() -> None:
    """The monitor's stamp is the event's time."""
    text = "[2026-01-05 04:03:02] PEER_NEW: Process 71 on node 10.77.3.5 managing GPUs 3\n"
    row = read(text).reading.events.row(0, named=True)

    assert (row["time"].isoformat(), row["severity"]) == ("2026-01-05T04:03:02+00:00", "info")


WHOLE = UNIFORM + TABLE.format(size=32) + COUNTS + GARBAGE + SKEW


@settings(max_examples=60)
@given(st.data())
def test_cut_and_mixed(data: st.DataObject) -> None:
    """Cut anywhere and mixed with other lines, a report never raises and stays inside its lines."""
    cut = data.draw(st.integers(0, len(WHOLE)))
    lines = WHOLE[:cut].split("\n")
    at = data.draw(st.integers(0, len(lines)))
    text = "\n".join([*lines[:at], "iteration 5 | loss 2.1", *lines[at:]])
    result = read(text)

    assert result.claimed.is_unique().all()
    assert result.reading.events["position"].drop_nulls().is_between(1, len(lines) + 1).all()
