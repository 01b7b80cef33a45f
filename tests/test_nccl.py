"""What NCCL's lines become: events with the right peer and class, communicators, operations."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from collectors.communication.nccl import read_nccl
from collectors.line_reading import LineReading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines
from collectors.texts.torn_records import split_records


def read(text: str) -> LineReading:
    """Return what NCCL's dialect makes of a log's text."""
    return read_nccl(split_records(read_lines(text.encode()), []), ReadOptions())


def events(text: str, *columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the events in a log's text."""
    return read(text).reading.events.select(columns).rows()


WARN = "hx8-017:4412:4680 [3] transport/net_ib.cc:1696 NCCL WARN"

COMPLETIONS = [
    pytest.param(
        "NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129",
        ("12", None, None, "error"),
        id="up to 2.9 there is no peer",
    ),
    pytest.param(
        "NET/IB : Got completion from peer hx8-048<37948> with error 12, opcode 2, len 1, "
        "vendor err 129",
        ("12", "hx8-048", None, "error"),
        id="a peer may be a name",
    ),
    pytest.param(
        "NET/IB : Got completion from peer 10.77.3.7<4500> with error 4, opcode 0, len 32600, "
        "vendor err 81 (Flush)",
        ("4", "10.77.3.7", None, "error"),
        id="2.18 names the request",
    ),
    pytest.param(
        "NET/IB : Got completion from peer 10.77.3.21<48122> with status=12 opcode=32616 len=0 "
        "vendor err 129 (Recv) localGid ::ffff:10.78.3.17 remoteGids::ffff:10.78.3.21",
        ("12", "10.77.3.21", None, "error"),
        id="2.20 glues the remote address",
    ),
    pytest.param(
        "NET/IB: Got completion from peer 10.77.3.21<48122> with status=12 opcode=0 len=32612 "
        "vendor err 129 (Send) localGid ::ffff:10.78.3.17 remoteGids::ffff:10.78.3.21 hca mlx5_3",
        ("12", "10.77.3.21", "mlx5_3", "error"),
        id="2.22 names the device",
    ),
    pytest.param(
        "NET/IB: Got completion from peer 10.77.3.14<4600> with status=IBV_WC_WR_FLUSH_ERR(5) "
        "opcode=IBV_WC_SEND(0) vendor_err=249   hca mlx5_0",
        ("5", "10.77.3.14", "mlx5_0", "warning"),
        id="2.29 spells the status, and a flush is only a consequence",
    ),
    pytest.param(
        "NET/IB: Got completion from peer fd00::11%eth0<46> with "
        "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) reqSize=4 vendor_err=129 "
        "req_type=Send hca mlx5_1",
        ("12", "fd00::11%eth0", "mlx5_1", "error"),
        id="a peer may be an IPv6 address with its zone",
    ),
    pytest.param(
        "NET/IBext_v8 : Got completion from peer 10.77.3.2<1> with error 13, opcode 0, len 0, "
        "vendor err 130",
        ("13", "10.77.3.2", None, "error"),
        id="a plugin speaks as the release it came from",
    ),
]


@pytest.mark.parametrize(("message", "expected"), COMPLETIONS)
def test_completions(message: str, expected: tuple[str | None, ...]) -> None:
    """A completion error names status, peer and device in every release's words."""
    found = events(f"{WARN} {message}", "kind", "host", "code", "peer", "device", "severity")
    assert found == [("net_error", "hx8-017", *expected)]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("NET/IB : Got async event : port error", ("link_down", None), id="old"),
        pytest.param(
            "NET/IB : mlx5_1:1 Got async error event: port error",
            ("link_down", "mlx5_1"),
            id="2.23 names the device",
        ),
        pytest.param(
            "NET/IB : mlx5_1:1 Got non-fatal async event: port error(10)",
            ("link_down", "mlx5_1"),
            id="2.28 adds a number",
        ),
        pytest.param(
            "NET/IB : mlx5_0:1 Got async error event: port active",
            ("link_up", "mlx5_0"),
            id="a link that comes back is no error",
        ),
        pytest.param(
            "NET/IB : Got async event : local catastrophic error",
            ("nic_fault", None),
            id="a device that dies",
        ),
        pytest.param(
            "NET/IB : mlx5_3:1 async fatal event on QP (0x7f): local access violation work queue "
            "error",
            ("nic_fault", "mlx5_3"),
            id="a queue pair that dies",
        ),
        pytest.param(
            "NET/IB : mlx5_0:1 Got async error event: client reregistration",
            ("nic_note", "mlx5_0"),
            id="the subnet manager's housekeeping is benign",
        ),
        pytest.param(
            "NET/IB : mlx5_0:1 unknown event type (18)",
            ("nic_note", "mlx5_0"),
            id="an unknown event is a changed table",
        ),
        pytest.param(
            "NET/IB: Marking device 1 as permanently failed",
            ("net_recovery", None),
            id="a device given up",
        ),
        pytest.param("HINT: In many cases ...", ("hint", None), id="a hint stays a hint"),
    ],
)
def test_classes_of_events(message: str, expected: tuple[str, str | None]) -> None:
    """What a device reports is told apart by its words, in every release."""
    assert events(f"{WARN} {message}", "kind", "device") == [expected]


def test_copies_of_one_event_are_one() -> None:
    """Eight processes of a host that saw a port fail are one event, seen again it is another."""
    lines = [
        f"hx8-048:{process}:1 [0] net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error"
        for process in (1, 2, 1, 2, 3)
    ]
    assert events("\n".join(lines), "kind", "count") == [("link_down", 3), ("link_down", 2)]


def test_copies_are_close_in_time() -> None:
    """With stamps, copies are those within seconds of the one before."""
    stamps = ("02:10:58", "02:11:01", "02:20:00")
    lines = [
        f"[2025-11-04 {stamp}] hx8-048:{process}:1 [0] net_ib.cc:93 NCCL WARN "
        "NET/IB : mlx5_1:1 Got async error event: port error"
        for process, stamp in enumerate(stamps)
    ]
    times = [datetime(2025, 11, 4, 2, 10, 58, tzinfo=UTC), datetime(2025, 11, 4, 2, 20, tzinfo=UTC)]
    assert events("\n".join(lines), "time", "count") == list(zip(times, (2, 1), strict=True))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(
            "socketProgress: Connection closed by remote peer hx8-021.cl.example<40011>",
            ("comm_error", "peer_closed", "hx8-021.cl.example"),
            id="a peer that went away first",
        ),
        pytest.param(
            "Call to connect returned Connection refused, retrying",
            ("comm_retry", "connect", None),
            id="a retry may still succeed",
        ),
        pytest.param(
            "socketPollConnect: connect to 10.77.3.21<40011> returned Connection refused, "
            "exceeded error retry count after 34 attempts",
            ("comm_error", "connect", "10.77.3.21"),
            id="retries that ran out",
        ),
        pytest.param(
            "socketFinalizeAccept: wrong magic 5448202f20544547 != 5d21aa0199e3c870",
            ("stray_visitor", "GET / HT", None),
            id="a stranger's greeting is printed as it came",
        ),
        pytest.param(
            "socketFinalizeAccept: didn't receive a valid magic from 10.99.0.7<51514>",
            ("stray_visitor", None, "10.99.0.7"),
            id="newer releases name the stranger",
        ),
        pytest.param(
            "NET/IB : req 0/1 tag 1f peer 10.77.3.21<4101> collective mismatch error, local size "
            "4096 remote size 8192",
            ("mismatch", "size", "10.77.3.21"),
            id="two ends that disagree on bytes",
        ),
        pytest.param("Using network IBext_v8", ("net_choice", "IBext_v8", None), id="a plugin"),
        pytest.param(
            "transport/net.cc:1034 -> 6", ("trail", "6", None), id="a trail is context only"
        ),
        pytest.param(
            "p2p.cc:33 (fn) transport/net.cc:1034 -> 6",
            ("trail", "6", None),
            id="2.30 puts the place before",
        ),
        pytest.param("something new", ("warning", None, None), id="an unknown warning is kept"),
    ],
)
def test_other_messages(message: str, expected: tuple[str, str | None, str | None]) -> None:
    """Sockets, choices and trails have kinds of their own."""
    assert events(f"{WARN} {message}", "kind", "code", "peer") == [expected]


def test_a_cuda_failure_is_on_its_device() -> None:
    """Memory that runs out names the printing thread's device."""
    text = f"{WARN} Cuda failure 2 'out of memory'"
    found = events(text, "kind", "device_kind", "device", "severity")
    assert found == [("oom", "gpu", "3", "critical")]


def test_bridges_map_no_host() -> None:
    """An address on a bridge is told apart from one that names its host."""
    text = (
        "[0m hx8-002:71:71 [0] NCCL INFO Bootstrap : Using [0]docker0:172.17.0.1<0> "
        "[1]veth5a1c:fe80::1c5a%veth5a1c<0>\n"
        "hx8-003:7:7 [0] NCCL INFO Bootstrap: Using eth0:10.77.3.3<0>\n"
    )
    assert events(text, "host", "kind", "code", "peer") == [
        ("hx8-002", "oob_bridge", "docker0", "172.17.0.1"),
        ("hx8-002", "oob_bridge", "veth5a1c", "fe80::1c5a%veth5a1c"),
        ("hx8-003", "oob_address", "eth0", "10.77.3.3"),
    ]


def test_torn_records_claim_nothing() -> None:
    """A record that another process cut short keeps its text and says nothing else."""
    text = (
        "hx8-083:161264:166015 [7] NCCL INFO Channel 11/0 : 7[7] -> 15[7] [send] via NET/IB/8/GD"
        "hx8-083:161258:166018 [1] NCCL INFO Connected NVLS tree\n"
        "hx8-083:161258:166018 [1] NCCL INFO comm 0x55cd rank 1 nranks 16 cudaDev 1 busId 3b000 "
        "parent 0x55cd375hx8-083:161262:166017 [5] NCCL INFO Channel 00/16 :    0   1   2   3\n"
    )
    assert events(text, "kind", "code", "peer", "position") == [
        ("torn", "NET/IB/8/GD", None, 1),
        ("note", None, None, 1),
        ("torn", None, None, 2),
        ("note", None, None, 2),
    ]


def test_operations_count_in_hex() -> None:
    """An operation's number is hex; without a communicator's life the device stands for a rank."""
    text = "\n".join(
        f"hx8-001:{10 + device}:1 [{device}] NCCL INFO {name}: opCount 20 sendbuff 0x1 recvbuff "
        "0x2 count 512 datatype 7 op 0 root 0 comm 0xa [nranks=2] stream 0x3"
        for device, name in enumerate(("AllReduce", "Broadcast"))
    )
    found = read(text).reading.collectives
    assert found.select("group", "group_rank", "sequence", "operation", "state").rows() == [
        ("0xa", 0, 32, "AllReduce", "scheduled"),
        ("0xa", 1, 32, "Broadcast", "scheduled"),
    ]


def test_a_start_without_an_end_is_open() -> None:
    """A communicator that was started and not completed is told so, by its identity."""
    head = "NCCL INFO ncclCommInitRank comm 0x55 rank"
    tail = "nranks 2 cudaDev 0 nvmlDev 0 busId 9b000 commId 0xfeed"
    text = (
        f"hx8-001:1:1 [0] {head} 0 {tail} - Init START\n"
        f"hx8-001:1:1 [0] {head} 0 {tail} - Init COMPLETE\n"
        f"hx8-002:1:1 [0] {head} 1 {tail} - Init START\n"
    )
    found = read(text).reading.collectives
    columns = ("host", "group", "group_rank", "group_ranks", "operation", "state")
    assert found.select(columns).rows() == [
        ("hx8-001", "0xfeed", 0, [0, 1], "init", "completed"),
        ("hx8-002", "0xfeed", 1, [0, 1], "init", "started"),
    ]


def test_the_envelope_keeps_the_time() -> None:
    """A container's UTC stamp wins over NCCL's local one."""
    text = (
        "2025-11-24T03:20:21.001125857Z [2025-11-24 11:20:21] hx8-030:9:44 [0] "
        "misc/socket.cc:700 NCCL WARN socketProgress: Connection closed by remote peer a<5>"
    )
    assert events(text, "time") == [(datetime(2025, 11, 24, 3, 20, 21, 1125, tzinfo=UTC),)]


def test_a_version_line_has_no_prefix() -> None:
    """The version is read with and without NCCL's prefix, also with macros for numbers."""
    text = "NCCL version 2.27.7+cuda12.9\nhx8-1:1:1 [0] NCCL INFO NCCL version 2.26.2+cudaX.Y\n"
    assert events(text, "kind", "code") == [("version", "2.27.7"), ("version", "2.26.2")]


def test_other_lines_are_left_alone() -> None:
    """Lines of other producers are not claimed."""
    result = read("12:30:45 hello\nnothing here\n")
    assert (result.claimed.len(), result.reading.events.height) == (0, 0)


def test_each_record_is_claimed_once() -> None:
    """All records are claimed, operations and communicators too."""
    text = "\n".join(f"{WARN} {case.values[0]}" for case in COMPLETIONS)
    assert read(text).claimed.equals(pl.Series("line", range(len(COMPLETIONS))).cast(pl.Int64))
