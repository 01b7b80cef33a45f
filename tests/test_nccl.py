"""What NCCL's lines become: events with the right peer and class, communicators, operations."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.communication.communicators import name_communicators
from collectors.communication.nccl import read_nccl
from collectors.communication.nccl_places import read_places
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


def attributes(text: str) -> list[dict[str, str]]:
    """Return the attributes of each event in a log's text."""
    return [
        {pair["key"]: pair["value"] for pair in row or []} for (row,) in events(text, "attributes")
    ]


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
        ("rings_connected", "NVLS tree", None, 1),
        ("torn", None, None, 2),
        ("ring", "0 1 2 3", None, 2),
    ]
    first, _, second, _ = attributes(text)
    assert first == {
        "pid": "161264",
        "torn": "true",
        "transport": "NET",
        "plugin": "IB",
        "net_device": "8",
    }
    assert second == {
        "pid": "161258",
        "torn": "true",
        "comm": "0x55cd",
        "comm_rank": "1",
        "world": "16",
        "cuda_device": "1",
        "bus": "3b000",
    }


def test_operations_count_in_hex() -> None:
    """An operation's number is hex; its group is a communicator of its process."""
    text = "\n".join(
        f"hx8-001:{10 + device}:1 [{device}] NCCL INFO {name}: opCount 20 sendbuff 0x1 recvbuff "
        "0x2 count 512 datatype 7 op 0 root 0 comm 0xa [nranks=2] stream 0x3"
        for device, name in enumerate(("AllReduce", "Broadcast"))
    )
    found = read(text).reading.collectives
    assert found.select(
        "host", "group", "sequence", "operation", "input_count", "state"
    ).rows() == [
        ("hx8-001", "10:0/0xa", 32, "AllReduce", 512, "called"),
        ("hx8-001", "11:1/0xa", 32, "Broadcast", 512, "called"),
    ]


def test_sends_have_a_peer_and_no_number() -> None:
    """Several sends share one count, so they have none; a torn operation is none."""
    tail = "sendbuff 0x1 recvbuff 0x2 count 512 datatype 7 op 0 root 6 comm 0xa [nranks=8] stream 1"
    text = (
        f"hx8-001:1:1 [0] NCCL INFO Send: opCount 20 {tail}\n"
        f"hx8-001:1:1 [0] NCCL INFO Recv: opCount 20 {tail}\n"
        "hx8-001:1:1 [0] NCCL INFO AllReduce: opCount 21 sendbuff 0x1 rec"
        "hx8-001:2:2 [1] NCCL INFO AllReduce: opCount 21 sendbuff\n"
    )
    found = read(text)
    assert found.reading.collectives.select("operation", "sequence").rows() == [
        ("send ->6", None),
        ("recv <-6", None),
    ]
    assert found.reading.events["kind"].to_list() == ["torn", "note"]


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


INFO = "hx8-017:4412:4680 [3] NCCL INFO"


@pytest.mark.parametrize(
    ("message", "kind", "code", "expected"),
    [
        pytest.param(
            "NCCL_IB_HCA set by environment to mlx5_0,mlx5_1.",
            "setting",
            "NCCL_IB_HCA",
            {"value": "mlx5_0,mlx5_1"},
            id="an echo of the environment",
        ),
        pytest.param(
            "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]",
            "net_devices",
            "IB",
            {"devices": "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE"},
            id="the devices of the host in their order",
        ),
        pytest.param(
            "Assigned NET plugin AWS Libfabric to comm",
            "net_choice",
            "AWS Libfabric",
            {},
            id="2.27 assigns the plugin; a name may hold blanks",
        ),
        pytest.param(
            "comm 0x55 rank 3 nRanks 16 nNodes 2 localRanks 8 localRank 3 MNNVL 0",
            "comm_nodes",
            "0x55",
            {
                "comm_rank": "3",
                "world": "16",
                "nodes": "2",
                "local_ranks": "8",
                "local_rank": "3",
                "mnnvl": "0",
            },
            id="how the ranks lie on nodes",
        ),
        pytest.param(
            "16 coll channels, 4 nvls channels, 32 p2p channels, 2 p2p channels per peer",
            "channel_counts",
            "16",
            {"coll": "16", "nvls": "4", "p2p": "32", "p2p_per_peer": "2"},
            id="how many channels of each kind",
        ),
        pytest.param(
            "Connected all rings, use ring PXN 0 GDR 1",
            "rings_connected",
            "all rings",
            {"pxn": "0", "gdr": "1"},
            id="2.24 tells with the rings how they go",
        ),
        pytest.param(
            "Init timings - ncclCommInitRank: rank 3 nranks 16 total 2.21 (kernels 0.21, "
            "bootstrap 1.02, rest 0.98)",
            "init_timing",
            "2.21",
            {
                "function": "ncclCommInitRank",
                "comm_rank": "3",
                "world": "16",
                "total": "2.21",
                "kernels_seconds": "0.21",
                "bootstrap_seconds": "1.02",
                "rest_seconds": "0.98",
            },
            id="where the start's time went",
        ),
        pytest.param(
            "Bootstrap timings total 0.012 (create 0.001, ring 0.004, delay 0.0)",
            "init_timing",
            "0.012",
            {
                "total": "0.012",
                "create_seconds": "0.001",
                "ring_seconds": "0.004",
                "delay_seconds": "0.0",
            },
            id="where the bootstrap's time went",
        ),
        pytest.param(
            "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}",
            "tuning",
            "AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE",
            {},
            id="the algorithm for a size",
        ),
        pytest.param(
            "[Service thread] Connection closed by localRank 2",
            "peer_left",
            "local_rank",
            {},
            id="another rank of this host left",
        ),
        pytest.param(
            "ncclCommSplit comm 0x7 rank 1 nranks 4 cudaDev 1 nvmlDev 1 busId 3b000 parent 0x5 "
            "splitCount 2 color 11 key 1- Init START",
            "comm_start",
            "0x7",
            {
                "function": "ncclCommSplit",
                "comm": "0x7",
                "comm_rank": "1",
                "world": "4",
                "cuda_device": "1",
                "nvml_device": "1",
                "bus": "3b000",
                "parent": "0x5",
                "child": "2",
                "color": "11",
                "key": "1",
                "what": "Init",
                "phase": "START",
            },
            id="a split tells its parent, 2.24 without a blank before the dash",
        ),
        pytest.param(
            "[Rank 1] ncclCommInitRank comm 0x7 rank 1 nRanks 4 cudaDev 1 nvmlDev 1 busId 3b000 "
            "commId 0xfe - Revoke COMPLETE, result 6",
            "comm_end",
            "0x7",
            {
                "function": "ncclCommInitRank",
                "comm": "0x7",
                "comm_rank": "1",
                "world": "4",
                "cuda_device": "1",
                "nvml_device": "1",
                "bus": "3b000",
                "comm_id": "0xfe",
                "what": "Revoke",
                "phase": "COMPLETE",
                "result": "6",
            },
            id="2.29 puts the rank before, a revoked one tells the result",
        ),
        pytest.param(
            "NET/IB: ncclIbResiliencyHandle: Got completion with error (devIndex=1, "
            "wc->status=(IBV_WC_RETRY_EXC_ERR)12, wc->opcode=(IBV_WC_RDMA_WRITE)1, wc->wr_id=7)",
            "net_error",
            "12",
            {
                "opcode": "1",
                "status_name": "IBV_WC_RETRY_EXC_ERR",
                "dev_index": "1",
                "unreliable": "opcode",
            },
            id="an index of a communicator's devices is no device",
        ),
        pytest.param(
            "NET/IB : mlx5_0:2 Got async error event: port error",
            "link_down",
            "port error",
            {"port": "2"},
            id="a port of a device, which may be the wrong one",
        ),
        pytest.param(
            "NET/Socket : peer 10.77.3.9<5> message truncated : receiving 4096 bytes instead of 8",
            "mismatch",
            "size",
            {"remote_bytes": "4096", "local_bytes": "8"},
            id="both sizes of a mismatch",
        ),
    ],
)
def test_what_else_a_message_says(
    message: str, kind: str, code: str, expected: dict[str, str]
) -> None:
    """Each message keeps what it says as attributes, beside its process."""
    text = f"{INFO} {message}"
    assert (events(text, "kind", "code"), attributes(text)) == (
        [(kind, code)],
        [{"pid": "4412", **expected}],
    )


def test_an_error_completion_in_full() -> None:
    """Both vendor codes look alike in decimal; opcode and length are memory nobody set."""
    text = (
        f"{WARN} NET/IB : Got completion from peer 10.77.3.7<4500> with error 4, opcode 0, len "
        "32600, vendor err 81 (Flush)\n"
        f"{WARN} NET/IB : Got completion from peer 10.77.3.21<48122> with status=12 opcode=32616 "
        "len=0 vendor err 129 (Recv) localGid ::ffff:10.78.3.17 remoteGids::ffff:10.78.3.21"
    )
    assert attributes(text) == [
        {
            "pid": "4412",
            "opcode": "0",
            "len": "32600",
            "vendor": "81",
            "request": "Flush",
            "vendor_hex": "0x51",
            "unreliable": "opcode len",
        },
        {
            "pid": "4412",
            "opcode": "32616",
            "len": "0",
            "vendor": "129",
            "request": "Recv",
            "local_gid": "::ffff:10.78.3.17",
            "remote_gid": "::ffff:10.78.3.21",
            "vendor_hex": "0x81",
            "unreliable": "opcode len",
        },
    ]


@pytest.mark.parametrize(
    ("via", "expected"),
    [
        pytest.param("P2P/CUMEM/read", ("P2P", None, None, None), id="peer to peer"),
        pytest.param("P2P/indirect/2[2]", ("P2P", None, None, None), id="over a third GPU"),
        pytest.param("SHM/direct/direct", ("SHM", None, None, None), id="host memory"),
        pytest.param(
            "direct shared memory", ("SHM", None, None, None), id="host memory until 2.12"
        ),
        pytest.param("NET/IB/0", ("NET", "IB", "0", "false"), id="no direct path said is none"),
        pytest.param(
            "NET/IB/0(3)/GDRDMA(PCI)/Shared", ("NET", "IB", "0", "true"), id="another rank's proxy"
        ),
        pytest.param("NET/Socket/12", ("NET", "Socket", "12", "false"), id="sockets"),
        pytest.param(
            "NET/AWS Libfabric/2/GDRDMA", ("NET", "AWS Libfabric", "2", "true"), id="a blank"
        ),
        pytest.param("NET/IBext_v8/1", ("NET", "IBext_v8", "1", "false"), id="a plugin"),
        pytest.param("COLLNET/SHARP/1", ("COLLNET", "SHARP", "1", None), id="in the network"),
    ],
)
def test_what_channels_run_over(via: str, expected: tuple[str | None, ...]) -> None:
    """A channel tells transport, plugin, device and whether the NIC reads the GPU directly."""
    (found,) = attributes(f"{INFO} Channel 00/0 : 3[3] -> 11[3] [send] via {via}")
    keys = ("transport", "plugin", "net_device", "gdr")
    assert tuple(found.get(key) for key in keys) == expected


def test_connections_were_called_rings() -> None:
    """Before 2.7 a connection is called a ring, and a network's has no brackets."""
    text = (
        f"{INFO} Ring 00 : 15[41000] -> 0[1b000] [receive] via NET/IB/0\n"
        f"{INFO} Ring 01 : 3 -> 6 [send] via NET/Socket/1\n"
    )
    assert events(text, "kind", "peer", "code") == [
        ("channel", "15", "NET/IB/0"),
        ("channel", "6", "NET/Socket/1"),
    ]


def test_channels_of_an_edge_are_one_event() -> None:
    """An edge has a line a channel, from both ends; each end's own rank is told."""
    text = "\n".join(
        f"{INFO} {message}"
        for message in (
            "Channel 00/0 : 7[7] -> 3[3] [receive] via NET/IB/2/GDRDMA",
            "Channel 04/0 : 7[7] -> 3[3] [receive] via NET/IB/2/GDRDMA",
            "Channel 00/0 : 3[3] -> 7[7] [send] via NET/IB/2/GDRDMA",
            "Channel 01 : 3[9b000] -> 4[bb000] via P2P/IPC",
            "Channel 00/02 :    0   1   2   3",
            "Ring 00 : 2 -> 3 -> 4",
            "Ring 01 : 2 -> 3 -> 4",
            "Trees [0] 4/-1/-1->3->2",
        )
    )
    assert events(text, "kind", "peer", "count", "position") == [
        ("channel", "7", 2, 1),
        ("channel", "7", 1, 3),
        ("channel", "4", 1, 4),
        ("ring", None, 1, 5),
        ("ring", None, 2, 6),
        ("tree", None, 1, 8),
    ]
    assert [found.get("channels") for found in attributes(text)[:3]] == ["00 04", "00", "01"]
    assert [found.get("comm_rank") for found in attributes(text)[:3]] == ["3", "3", "3"]


def test_what_a_process_repeats_is_one_event() -> None:
    """Notes that differ in numbers, trails and hints are one event a process, by its first line."""
    other = INFO.replace("4412", "4413")
    lines = [
        f"{INFO} Setting affinity for GPU 3 to ffff",
        f"{INFO} Setting affinity for GPU 4 to ffff",
        f"{INFO} transport/net.cc:1338 -> 6",
        f"{INFO} proxy.cc:761 -> 3 [Progress Thread]",
        f"{other} transport/net.cc:1338 -> 6",
    ]
    assert events("\n".join(lines), "kind", "code", "count", "position") == [
        ("note", None, 2, 1),
        ("trail", "6", 2, 3),
        ("trail", "6", 1, 5),
    ]


def test_a_record_of_the_greatest_length_is_cut() -> None:
    """Through 2.28 a record ends after 1023 bytes: a list of devices is not whole."""
    start = f"{INFO} NET/IB : Using [0]mlx5_0:1/IB "
    text = start + "[1]mlx5_1:1/IB " * 90
    assert events(text[:1023], "kind") == [("torn",)]
    assert events(text[:1000], "kind") == [("net_devices",)]


def test_flushes_of_a_process_are_one_event() -> None:
    """All that waits on a queue pair is flushed after its first error: one event a peer."""
    lines = [
        f"{WARN} NET/IB : Got completion from peer 10.77.3.{peer}<1> with error {status}, "
        "opcode 0, len 0, vendor err 249"
        for peer, status in ((7, 12), (7, 5), (7, 5), (8, 5), (7, 12))
    ]
    assert events("\n".join(lines), "code", "peer", "count") == [
        ("12", "10.77.3.7", 1),
        ("5", "10.77.3.7", 2),
        ("5", "10.77.3.8", 1),
        ("12", "10.77.3.7", 1),
    ]


def test_before_2_4_networks_were_chosen_in_other_words() -> None:
    """The interface and the network of the first releases."""
    text = (
        "hx8-001:17280:17553 [0] INFO NET : Using interface eth0:10.77.3.1<0>\n"
        "hx8-001:17280:17553 [0] INFO Using internal Network Socket\n"
    )
    assert events(text, "kind", "code", "peer") == [
        ("oob_address", "eth0", "10.77.3.1"),
        ("net_choice", "Socket", None),
    ]


def test_the_first_line_before_the_name() -> None:
    """Before 2.4 lines do not name NCCL, and a bar without newline may stand before a record."""
    text = (
        "hx8-1:5:5 [0] INFO Using network Socket\n"
        "Epoch 1:  37%|NCCL x| 410/1108 hx8-1:5:5 [0] NCCL WARN Cuda failure 'out of memory'\n"
        "hx8-1:5:5 [0] NCCL INFO\n"
        "hx8-1:5:5 NCCL CALL ncclAllReduce(1)\n"
        "hx8-1:5:5 [0] 81.5 initTransportsRank:912 NCCL TRACE hello\n"
    )
    assert events(text, "host", "kind") == [
        ("hx8-1", "net_choice"),
        ("hx8-1", "oom"),
        ("hx8-1", "note"),
        ("hx8-1", "note"),
        ("hx8-1", "note"),
    ]


def test_clocks_in_two_zones() -> None:
    """The payload's clock tells its zone where an envelope stamps it too."""
    text = (
        "2025-11-24T03:20:21.001125857Z [2025-11-24 11:20:21] hx8-030:9:44 [0] "
        "misc/socket.cc:700 NCCL WARN socketProgress: Connection closed by remote peer a<5>"
    )
    assert attributes(text) == [{"pid": "9", "clock_ahead_minutes": "480"}]


def test_a_status_that_is_cut_is_not_known() -> None:
    """A torn completion whose status may lack a digit says nothing of it."""
    start = "hx8-017:4412:4680 [3] transport/net_ib.cc:1 NCCL WARN NET/IB : Got completion from "
    text = (
        f"{start}peer 10.77.3.7<4500> with error 1hx8-017:1:1 [3] NCCL INFO Connected all rings\n"
    )
    text += f"{start}peer 10.77.3.7<4500> with error 12, ophx8-017:1:1 [3] NCCL INFO Connected x\n"
    found = events(text, "kind", "code", "peer")
    assert [row for row in found if row[0] != "rings_connected"] == [
        ("torn", "1", None),
        ("net_error", "12", "10.77.3.7"),
    ]


def test_tasks_of_copies() -> None:
    """Copies behind a launcher's labels keep the tasks that printed them."""
    text = "\n".join(
        f"2025-02-03T16:13:44.884Z: [1,{task}]<stdout>:hx8-057:{task}:864 [0] net_ib.cu:80 NCCL "
        "WARN NET/IB : Got async event : local catastrophic error"
        for task in (12, 14)
    )
    assert (events(text, "kind", "count"), attributes(text)) == (
        [("nic_fault", 2)],
        [{"pid": "12", "tasks": "12 14"}],
    )


def test_a_stamp_of_the_users_own_format_is_part_of_its_record() -> None:
    """What stands before a record and has no words is claimed with it; words are not."""
    text = (
        "11/04 02:10:58 hx8-1:5:5 [0] NCCL WARN x\n"
        "epoch 3 hx8-1:5:5 [0] NCCL WARN x\n"
        "02:10:58\nhx8-1:5:5 [0] NCCL WARN x\n"
    )
    assert read(text).claimed.sort().to_list() == [0, 1, 3, 5]


LIFE = "ncclCommInitRank comm 0x55 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 9b000 commId 0x7e"
CALL = "AllReduce: opCount 1f sendbuff 0x1 recvbuff 0x2 count 5 datatype 7 op 0 root 0 comm 0x55"
MIXED = "\n".join(
    [
        f"{INFO} {LIFE} - Init START",
        f"{INFO} Channel 00/0 : 3[3] -> 11[3] [send] via NET/AWS Libfabric/3(2)/GDRDMA/Shared",
        f"{INFO} {CALL} [nranks=16] stream 0x3",
        f"{INFO} NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.77.3.17<0>",
        f"{INFO} Trees [0] 1/-1/-1->0->-1",
        f"{INFO} transport/net.cc:1338 -> 6",
        *(f"{WARN} {case.values[0]}" for case in COMPLETIONS),
    ]
).encode()


@settings(max_examples=25, deadline=None)
@given(
    cuts=st.lists(st.tuples(st.integers(0, len(MIXED)), st.integers(0, 40)), max_size=4),
    noise=st.binary(max_size=6),
)
def test_any_log_is_read(cuts: list[tuple[int, int]], noise: bytes) -> None:
    """Torn, mended, stained: nothing raises, each line is claimed once, each row has its line."""
    data = MIXED
    for at, length in cuts:
        data = data[:at] + noise + data[at + length :]
    lines = split_records(read_lines(data), [])
    found = read_nccl(lines, ReadOptions())
    rows = pl.concat([found.reading.events["position"], found.reading.collectives["position"]])
    assert found.claimed.is_unique().all()
    assert set(found.claimed) <= set(lines["line"])
    assert set(rows) <= set(lines["position"])
    name_communicators(found.reading.collectives, found.reading.events)
    read_places(found.reading.events)
