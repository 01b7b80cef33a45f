"""What PyTorch's process groups say: whose rank, which group, which collective."""

from datetime import UTC, datetime
from typing import Any

import pytest

from collectors.communication.desync import read_desync
from collectors.communication.watchdog import read_watchdog
from collectors.line_reading import LineReading
from collectors.lines import LINE_DIALECTS
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines
from collectors.texts.event_labels import label_value
from collectors.texts.torn_records import split_records

OPTIONS = ReadOptions(year=2026)

STARTS = [dialect.start for dialect in LINE_DIALECTS if dialect.start]


def read(text: str, options: ReadOptions = OPTIONS) -> LineReading:
    """Return what the watchdog's dialect makes of a log's text."""
    return read_watchdog(split_records(read_lines(text.encode()), STARTS), options)


def rows(text: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the collectives in a log's text."""
    return read(text).reading.collectives.select(columns).rows()


def caught(
    rank: int, place: int, sequence: int, operation: str = "ALLREDUCE", size: int = 5
) -> str:
    """Return a watchdog's line on a time-out."""
    return (
        f"[rank{rank}]:[E311 04:00:10.000000001 ProcessGroupNCCL.cpp:632] [Rank {place}] Watchdog "
        f"caught collective operation timeout: WorkNCCL(SeqNum={sequence}, OpType={operation}, "
        f"NumelIn={size}, NumelOut={size}, Timeout(ms)=600000) ran for 600013 milliseconds before "
        "timing out."
    )


def status(rank: int, head: str, sequence: int, enqueued: int, completed: int) -> str:
    """Return a watchdog's line on its group's standing."""
    return (
        f"[rank{rank}]:[E311 04:00:10.000000900 ProcessGroupNCCL.cpp:1785] [{head}] Exception "
        f"(either an error or timeout) detected by watchdog at work: {sequence}, last enqueued "
        f"NCCL work: {enqueued}, last completed NCCL work: {completed}."
    )


def test_five_rank_zeros_are_five_ranks() -> None:
    """Ranks inside groups are never global: the group comes from the status that follows."""
    text = "\n".join(
        [
            caught(8, 0, 5),
            status(8, "PG ID 4 PG GUID 31(DATA_PARALLEL_GROUP) Rank 0", 5, 5, 4),
            caught(12, 0, 77, "BROADCAST"),
            status(12, "PG ID 4 PG GUID 33(TENSOR_MODEL_PARALLEL_GROUP) Rank 0", 77, 77, 76),
        ]
    )
    columns = ("rank", "group", "group_name", "group_rank", "sequence", "operation", "completed")
    assert rows(text, *columns) == [
        (8, "31", "DATA_PARALLEL_GROUP", 0, 5, "ALLREDUCE", 4),
        (12, "33", "TENSOR_MODEL_PARALLEL_GROUP", 0, 77, "BROADCAST", 76),
    ]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        pytest.param("Rank 2", (None, None, 2), id="2.2 names no group"),
        pytest.param("PG 3 Rank 2", ("3", None, 2), id="2.3 numbers it"),
        pytest.param("PG 0 (default_pg) Rank 2", ("0", "default_pg", 2), id="2.4 describes it"),
        pytest.param("PG ID 2 PG GUID 9 Rank 7", ("9", None, 7), id="2.5 without description"),
        pytest.param(
            "PG ID 6 PG GUID 90(PIPELINE_MODEL_PARALLEL_GROUP) Rank 1",
            ("90", "PIPELINE_MODEL_PARALLEL_GROUP", 1),
            id="2.5 with description",
        ),
    ],
)
def test_heads_of_groups(head: str, expected: tuple[str | None, str | None, int]) -> None:
    """The head names the group in every release's words."""
    found = rows(status(9, head, 7, 7, 6), "group", "group_name", "group_rank")
    assert found == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Timeout at NCCL work: 1, last enqueued NCCL work: 1, last completed NCCL work: "
            "76280750235782912.",
            (1, 1, None),
            id="memory that was never set is not known",
        ),
        pytest.param(
            "Timeout at NCCL work: 4411, last enqueued NCCL work: 4413, last completed NCCL work: "
            "4410.",
            (4411, 4413, 4410),
            id="2.3",
        ),
        pytest.param(
            " failure detected by watchdog at work sequence id: 4411 PG status: last enqueued "
            "work: 4413, last completed work: 4410",
            (4411, 4413, 4410),
            id="2.6",
        ),
        pytest.param(
            "Timeout at NCCL work: 3, last enqueued NCCL work: 3, last completed NCCL work: 9.",
            (3, 3, None),
            id="more completed than enqueued is not known",
        ),
        pytest.param(
            "Timeout at NCCL work: 1, last enqueued NCCL work: 1, last completed NCCL work: -1.",
            (1, 1, -1),
            id="nothing yet is -1",
        ),
    ],
)
def test_standings(text: str, expected: tuple[int, int, int | None]) -> None:
    """A group's standing is read in every release's words."""
    line = f"[rank1]:[E ProcessGroupNCCL.cpp:1537] [PG 3 Rank 1] {text}"
    assert rows(line, "sequence", "enqueued", "completed") == [expected]


def test_repeats_are_one_collective() -> None:
    """A time-out, its repeat behind another launcher, and its status are one row."""
    text = "\n".join(
        [
            f"(Worker pid=8, ip=10.77.3.12) [2026-03-11 04:00:10] {caught(15, 1, 900)}",
            f"[default7]:{caught(15, 1, 900)}",
            status(15, "PG ID 3 PG GUID 22(mesh_tp) Rank 1", 900, 900, 899),
        ]
    )
    columns = ("rank", "host", "group", "sequence", "state", "timeout_seconds", "running_seconds")
    expected = (15, "10.77.3.12", "22", 900, "timed_out", 600.0, 600.013)
    assert rows(text, *columns) == [expected]


def test_sizes_not_known_are_null() -> None:
    """The largest number of 64 bits stands for a size that is not known."""
    text = caught(0, 0, 1, "COALESCED", 18446744073709551615)
    assert rows(text, "input_count", "output_count") == [(None, None)]


def test_a_group_that_nobody_names_is_the_default_one() -> None:
    """Where all count as globally, and no status names the group, it holds every rank."""
    assert rows("\n".join([caught(3, 3, 9), caught(1, 1, 9)]), "rank", "group") == [
        (3, "0"),
        (1, "0"),
    ]


def test_a_dump_signal_is_a_standing() -> None:
    """A rank told to dump tells its standing in the default group, and who timed out first."""
    text = (
        "[rank3]:[E311 04:00:11.0000000 ProcessGroupNCCL.cpp:1484] [PG ID 0 PG GUID "
        "0(default_pg) Rank 3] Received a dump signal due to a collective timeout from  rank 5 "
        "and we will try our best to dump the debug info. Last enqueued NCCL work: 2204, last "
        "completed NCCL work: 2204.This is most likely caused by ..."
    )
    result = read(text)
    columns = ("rank", "group", "state", "sequence", "enqueued", "completed")
    assert (
        result.reading.collectives.select(columns).rows(),
        result.reading.events.select("rank", "kind", "code", "peer").rows(),
    ) == ([(3, "0", "signalled", None, 2204, 2204)], [(3, "dump_signal", "received", "5")])


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress",
            ("heartbeat_stuck", "480"),
            id="a heartbeat that stands",
        ),
        pytest.param(
            "Could not acquire GIL within 300 ms on exit, possible GIL induced hang",
            ("gil_blocked", None),
            id="a process that holds its own lock",
        ),
        pytest.param(
            'Failed to check the "should dump" flag on TCPStore, (maybe ...)',
            ("store_lost", None),
            id="a store that is gone",
        ),
        pytest.param(
            "Failed to rerieve TORCH_NCCL_DESYNC_DEBUG report.  Please file an issue.",
            ("desync_report", "failed"),
            id="a report that failed, misspelt as it is",
        ),
        pytest.param("ProcessGroupNCCL preparing to dump", ("note", None), id="anything else"),
    ],
)
def test_other_lines(message: str, expected: tuple[str, str | None]) -> None:
    """What else the groups say has a kind, and the rank that said it."""
    text = f"[rank4]:[E516 12:46:57.891000001 ProcessGroupNCCL.cpp:1783] [PG ID 0 Rank 4] {message}"
    assert read(text).reading.events.select("rank", "kind", "code").rows() == [(4, *expected)]


@pytest.mark.parametrize(
    ("stamp", "options", "expected"),
    [
        pytest.param(
            "E617 02:11:07.418220913",
            ReadOptions(year=2026),
            datetime(2026, 6, 17, 2, 11, 7, 418220, tzinfo=UTC),
            id="one digit of month",
        ),
        pytest.param(
            "E1104 02:11:07.418220913",
            ReadOptions(year=2026, time_zone="Asia/Shanghai"),
            datetime(2026, 11, 3, 18, 11, 7, 418220, tzinfo=UTC),
            id="two digits, and a zone",
        ),
        pytest.param("E1104 02:11:07.418220913", ReadOptions(), None, id="no year, no time"),
        pytest.param("E", ReadOptions(year=2026), None, id="old heads have no stamp"),
    ],
)
def test_stamps(stamp: str, options: ReadOptions, expected: datetime | None) -> None:
    """The last two digits before the blank are the day; year and zone are given from outside."""
    text = f"[rank1]:[{stamp} ProcessGroupNCCL.cpp:1] [Rank 1] First PG on this rank to signal"
    assert read(text, options).reading.events["time"].to_list() == [expected]


def test_the_year_of_other_stamps_will_do() -> None:
    """Without a year given, that of the log's other stamps is taken."""
    text = "[2027-01-02 03:04:05] hello\n[rank1]:[E102 03:04:06.0000000 A.cpp:1] x"
    times = read(text, ReadOptions()).reading.events["time"].to_list()
    assert times == [datetime(2027, 1, 2, 3, 4, 6, tzinfo=UTC)]


def test_stacks_belong_to_their_record() -> None:
    """Frames after a line are claimed with it."""
    text = f"{caught(1, 1, 2)}\n#0 all_reduce from /x.py:3\nframe #1: c10d::x\nelse\n"
    assert read(text).claimed.to_list() == [0, 1, 2]


REPORT = """[rank0]:[E311 04:00:10.0000000 ProcessGroupNCCL.cpp:5] [PG ID 1 PG GUID {group} Rank 0]
\t - [0] Timeout at collective: ALLREDUCE, #311
\t - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
\t   - [0, 1, 2] joined but didn't finish collective #311 (count from 1)
\t     [3] finished collective #310, but didn't join collective #311 (count from 1)
\t - Snapshot of ranks' latest states:
\t   #311 started ranks:
\t     [0,1,2] started ALLREDUCE
\t   #310 finished ranks:
\t     [3] finished ALLREDUCE
"""


@pytest.mark.parametrize(
    ("group", "ranks"),
    [
        pytest.param("0(default_pg)", [0, 1, 2, 3], id="the default group counts globally"),
        pytest.param("7(DP)", [None] * 4, id="another group does not"),
    ],
)
def test_a_desync_report_is_one_record(group: str, ranks: list[int | None]) -> None:
    """A report tells what each rank of the group had reached; who did not join is behind."""
    result = read_desync(read_lines(REPORT.format(group=group).encode()), OPTIONS)
    found = result.reading.collectives
    columns = ("group_rank", "sequence", "state", "enqueued", "completed")
    assert (found.select(columns).rows(), found["rank"].to_list()) == (
        [
            (0, 311, "started", 311, 310),
            (1, 311, "started", 311, 310),
            (2, 311, "started", 311, 310),
            (3, 310, "completed", 310, 310),
        ],
        ranks,
    )


def test_a_desync_report_is_one_event() -> None:
    """All lines of a report are claimed, and it is one event with its head's time."""
    result = read_desync(read_lines(REPORT.format(group="0").encode()), OPTIONS)
    events = result.reading.events.select("rank", "kind", "time").rows()
    assert (events, result.claimed.to_list()) == (
        [(None, "desync_report", datetime(2026, 3, 11, 4, 0, 10, tzinfo=UTC))],
        list(range(1, 10)),
    )


def test_ranks_that_never_joined() -> None:
    """A report may name ranks that joined no collective at all."""
    text = (
        "\t - [5] Timeout at collective: ALLREDUCE, #1\n"
        "\t - To our best knowledge, ranks [5] are the lagging ranks that caused this timeout. "
        "They never joined any collectives\n"
    )
    found = read_desync(read_lines(text.encode()), OPTIONS).reading.collectives
    columns = ("group_rank", "state", "enqueued", "completed")
    assert found.select(columns).rows() == [(5, "reported", -1, -1)]


def test_no_report_claims_nothing() -> None:
    """Lines that look like parts are left alone without a report."""
    assert read_desync(read_lines(b"  [1,2] started it\n"), OPTIONS).claimed.len() == 0


def test_the_default_group_counts_as_the_job_does() -> None:
    """Without `[rankN]:` the rank inside the group of all is global, in any other it is not."""
    start = "[E311 04:00:10.000000900 ProcessGroupNCCL.cpp:1785]"
    text = (
        f"{start} [PG ID 0 PG GUID 0(default_pg) Rank 3] First PG on this rank to signal dumping.\n"
        f"{start} [PG ID 1 PG GUID 31(TENSOR) Rank 2] First PG on this rank to signal dumping.\n"
    )
    assert read(text).reading.events["rank"].to_list() == [3, None]


ERROR_HEAD = "[E311 04:00:10.000000900 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0 Rank"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            "Process group watchdog thread terminated with exception: CUDA error: an illegal "
            "memory access was encountered",
            ("cuda_error", "an illegal memory access was encountered", None, "critical"),
            id="a fault of the GPU comes out at the watchdog",
        ),
        pytest.param(
            "Process group watchdog thread terminated with exception: CUDA error: out of memory",
            ("oom", "out of memory", None, "critical"),
            id="memory that runs out",
        ),
        pytest.param(
            "Process group watchdog thread terminated with exception: NCCL error: remote process "
            "exited, Last error: socketProgress: Connection closed by remote peer hx8-021<40011>",
            ("comm_error", "backend", "hx8-021", "warning"),
            id="an error about the other end names it",
        ),
        pytest.param(
            "Process group watchdog thread terminated with exception: NCCL error: unhandled system "
            "error",
            ("comm_error", "backend", None, "warning"),
            id="an error of NCCL",
        ),
        pytest.param(
            "Stack trace of the failed collective: #0 all_reduce from distributed_c10d.py:2806",
            ("stack", "all_reduce", None, "info"),
            id="where this rank waits",
        ),
        pytest.param(
            "Stack trace of the failed collective not found, potentially because FlightRecorder is "
            "disabled.",
            ("stack", None, None, "info"),
            id="a stack that is not there",
        ),
    ],
)
def test_what_ended_a_watchdog(message: str, expected: tuple[str | None, ...]) -> None:
    """An error that ends a watchdog is told by its kind; what it says of a peer is second hand."""
    events = read(f"[rank1]:{ERROR_HEAD} 1] {message}\n").reading.events
    assert events.select("kind", "code", "peer", "severity").rows() == [expected]


def test_an_aborted_communicator_tells_the_original_reason() -> None:
    """The reason is kept beside the rank it is told of."""
    message = (
        "NCCL communicator was aborted on rank 5. Original reason for failure was: NCCL is odd"
    )
    events = read(f"[rank1]:{ERROR_HEAD} 1] {message}\n").reading.events
    labels = [label_value(name).alias(name) for name in ("group", "group_rank", "reason")]
    assert events.select("kind", "code", "peer", *labels).rows() == [
        ("comm_error", "aborted", "5", "0", "1", "NCCL is odd")
    ]


def test_a_work_that_failed_did_not_time_out() -> None:
    """A watchdog that saw an error, and no time-out, leaves works that failed."""
    error = (
        f"[rank1]:{ERROR_HEAD} 1] Process group watchdog thread terminated with exception: NCCL "
        "error: unhandled system error"
    )
    text = f"{status(1, 'PG ID 0 PG GUID 0 Rank 1', 5, 5, 4)}\n{error}\n"
    assert rows(text, "state", "sequence") == [("failed", 5)]
    assert rows(f"{caught(1, 1, 5)}\n{text}", "state", "sequence") == [("timed_out", 5)]


def test_sentences_of_a_desync_report_alone() -> None:
    """Without a snapshot the sentences tell who joined and who did not."""
    text = (
        "[rank0]:[E311 04:00:10.0000009 ProcessGroupNCCL.cpp:1] [PG ID 0 PG GUID 0 Rank 0] \n"
        "\t - [0] Timeout at collective: ALLREDUCE, #311\n"
        "\t - To our best knowledge, the lagging ranks that caused the desync are:\n"
        "\t   - [0,1] joined but didn't finish collective #311 (count from 1)\n"
        "\t     [2, 3] finished collective #310, but didn't join collective #311 (count from 1)\n"
    )
    lines = split_records(read_lines(text.encode()), STARTS)
    found = read_desync(lines, OPTIONS).reading.collectives
    assert found.select("rank", "sequence", "state", "completed").rows() == [
        (0, 311, "started", 310),
        (1, 311, "started", 310),
        (2, 310, "completed", 310),
        (3, 310, "completed", 310),
    ]


def test_lines_that_a_launcher_left_out_are_told() -> None:
    """Ray shows one actor's line in place of several: whose the others were, nobody knows."""
    text = f"(Trainer pid=8, ip=10.77.3.9) {caught(1, 1, 5)} [repeated 14x across cluster]"
    assert rows(text, "rank", "sequence", "state") == [(1, 5, "timed_out")]
    told = read(text).reading.events.select("kind", "rank", "host", "count").rows()
    assert told == [("lines_left_out", None, None, 14)]
