"""Network errors and settings in logs of public shape, from text to verdict."""

from collections.abc import Callable

import pytest

from detectors.verdicts import Verdict

MAP = "".join(
    f"hx8-{n:03}:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.77.3.{n}<0>\n" for n in range(1, 61)
)
"""Who has which bootstrap address."""

PORT_ERROR = """\
hx8-048:34050:34121 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error

hx8-048:34052:34141 [0] transport/net_ib.cc:93 NCCL WARN NET/IB : Got async event : port error

"""
ERROR_12 = """\
hx8-051:7306:7318 [4] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer \
hx8-048<37948> with error 12, opcode 2, len 1, vendor err 129
hx8-051:7306:7318 [4] NCCL INFO transport/net.cc:1034 -> 6
hx8-050:8810:8822 [1] transport/net_ib.cc:1238 NCCL WARN NET/IB : Got completion from peer \
hx8-048<41220> with error 12, opcode 0, len 0, vendor err 129
"""
DEVICE_FATAL = """\
2025-02-03T16:13:44.884Z: [1,12]<stdout>:hx8-057:815:864 [0] transport/net_ib.cu:80 NCCL WARN \
NET/IB : Got async event : local catastrophic error
2025-02-03T16:13:44.884Z: [1,12]<stdout>:
2025-02-03T16:13:44.884Z: [1,12]<stdout>:hx8-057:815:864 [0] misc/ibvwrap.cu:220 NCCL WARN Call to \
ibv_get_async_event failed
2025-02-03T16:13:44.888Z: [1,14]<stdout>:
2025-02-03T16:13:44.888Z: [1,14]<stdout>:hx8-057:814:868 [0] transport/net_ib.cu:80 NCCL WARN \
NET/IB : Got async event : local catastrophic error
"""
GARBAGE = """\
hx8-017:4412:4680 [3] transport/net_ib.cc:1696 NCCL WARN NET/IB : Got completion from peer \
10.77.3.21<48122> with status=12 opcode=32616 len=0 vendor err 129 (Recv) localGid \
::ffff:10.78.3.17 remoteGids::ffff:10.78.3.21
hx8-017:4412:4680 [3] transport/net_ib.cc:1696 NCCL WARN NET/IB : Got completion from peer \
10.77.3.21<48122> with status=5 opcode=0 len=-1291845632 vendor err 249 (Recv) localGid \
::ffff:10.78.3.17 remoteGids::ffff:10.78.3.21
hx8-017:4413:4682 [4] transport/net_ib.cc:1696 NCCL WARN NET/IB : Got completion from peer \
10.77.3.21<49000> with status=5 opcode=1 len=4 vendor err 249 (Send) localGid \
::ffff:10.78.4.17 remoteGids::ffff:10.78.4.21
"""
STATUS_4 = """\
hx8-006:3000:3055 [1] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer \
10.77.3.7<4500> with error 4, opcode 0, len 32600, vendor err 81 (Flush)
"""
FLUSH = """\
[2026-03-01 10:00:00] hx8-012:210:260 [0] transport/net_ib/p2p.cc:688 \
(ncclIbLogCompletionWithError) NCCL WARN NET/IB: Got completion from peer 10.77.3.14<4600> with \
status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0) vendor_err=249   hca mlx5_0
hx8-012:210:260 [0] NCCL INFO HINT: In many cases the peer went away first
hx8-012:210:260 [0] NCCL INFO HINT: a retry may take longer, see NCCL_IB_TIMEOUT
"""
BENIGN = """\
hx8-003:1:9 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_0:1 Got async error event: \
client reregistration
hx8-003:1:9 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_0:1 Got async error event: \
port active
hx8-003:1:9 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_0:1 Got async error event: \
last WQE reached
hx8-003:1:9 [0] transport/net_ib.cc:204 NCCL WARN NET/IB : mlx5_0:1 unknown event type (18)
"""
RECOVERY = """\
hx8-033:5:25 [1] NCCL INFO NET/IB: ncclIbResiliencyHandle: Got completion with error (devIndex=1, \
wc->status=(IBV_WC_RETRY_EXC_ERR)12, wc->opcode=(IBV_WC_RDMA_WRITE)1, wc->wr_id=7, \
wc->qp_num=913, wc->byte_len=0)
hx8-033:5:25 [1] NCCL INFO NET/IB: Starting port recovery for send comm=0x7f01 devIndex=1
"""
GAVE_UP = f"""{RECOVERY}\
hx8-033:5:25 [1] NCCL INFO NET/IB: Recovery for device 1 failed due to max attempts
hx8-033:5:25 [1] NCCL INFO NET/IB: Marking device 1 as permanently failed
"""
RECOVERED = f"{RECOVERY}hx8-033:5:25 [1] NCCL INFO NET/IB: Port recovery succeeded for devIndex=1\n"
BRIDGE = """\
[0m hx8-002:71:71 [0] NCCL INFO Bootstrap : Using [0]docker0:172.17.0.1<0> \
[1]veth5a1c:fe80::1c5a%veth5a1c<0>
hx8-004:66:66 [0] NCCL INFO Bootstrap : Using [0]docker0:172.17.0.1<0>
hx8-004:66:80 [0] NCCL INFO Call to connect returned Connection refused, retrying
"""
VISITOR = {
    "pod.log": """\
2025-11-24T03:20:21.001125857Z [2025-11-24 11:20:21] hx8-030:9:44 [0] misc/socket.cc:700 NCCL WARN \
socketProgress: Connection closed by remote peer scan-7.sec.example<51514>
2025-11-24T03:20:21.001200000Z hx8-030:9:44 [0] NCCL INFO socketFinalizeAccept: didn't receive a \
valid magic from 10.99.0.7<51514>
""",
    "hx8-031.log": """\
hx8-031:9:44 [0] misc/socket.cc:484 NCCL WARN socketFinalizeAccept: wrong magic \
5448202f20544547 != 5d21aa0199e3c870
""",
}


def plugins(*names: str) -> dict[str, str]:
    """Logs of hosts from hx8-021 on, each with its plugin and a start without an end."""
    return {
        f"hx8-{21 + at:03}.log": f"""\
hx8-{21 + at:03}:1:5 [0] NCCL INFO Using network {name}
hx8-{21 + at:03}:1:5 [0] NCCL INFO ncclCommInitRank comm 0x55cd rank {at} nranks {len(names)} \
cudaDev 0 nvmlDev 0 busId 1b000 commId 0x7e1f - Init START
"""
        for at, name in enumerate(names)
    }


SHARED_NIC = """\
hx8-011:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1/GDRDMA
hx8-011:2:9 [1] NCCL INFO Channel 01/0 : 1[1] -> 9[1] [send] via NET/IB/1/GDRDMA
hx8-012:1:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [receive] via NET/IB/0/GDRDMA
hx8-012:2:9 [1] NCCL INFO Channel 01/0 : 1[1] -> 9[1] [receive] via NET/IB/1/GDRDMA
"""
LYING_CLOCKS = {
    "hx8-005.log": """\
[2025-07-07 10:00:50] hx8-005:71:90 [0] transport/net_ib.cc:199 NCCL WARN NET/IB : mlx5_1:1 \
Got async error event: port error
""",
    "hx8-009.log": """\
[2025-07-07 10:00:40] hx8-009:80:99 [0] transport/net_ib.cc:2458 NCCL WARN NET/IB: Got completion \
from peer 10.77.3.5<900> with status=12 opcode=0 len=0 vendor err 129 (Send) hca mlx5_1
""",
    "map.log": MAP,
}


def who(verdict: Verdict) -> str:
    """The subject's fields but the run, in their order."""
    known = verdict.subject.known().items()
    return " ".join(f"{name}={value}" for name, value in known if name != "run")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param(
            {"job.log": PORT_ERROR + ERROR_12},
            [("link_fault", "host", "host=hx8-048", "link_down", "high")],
            id="a port error on the accused explains error 12 of the accusers",
        ),
        pytest.param(
            {"mpi.log": DEVICE_FATAL},
            [("link_fault", "host", "host=hx8-057", "device_fatal", "high")],
            id="a device that fails for good is named behind any prefix",
        ),
        pytest.param(
            {"job.log": GARBAGE, "map.log": MAP},
            [("link_fault", "link", "link=hx8-017 - hx8-021", "unreachable", "low")],
            id="one pair alone is a link and accuses neither end",
        ),
        pytest.param(
            {"job.log": STATUS_4, "map.log": MAP},
            [("config_drift", "host", "host=hx8-006", "memory_registration", "medium")],
            id="a local protection error is the reporter's own",
        ),
        pytest.param(
            {"job.log": FLUSH, "map.log": MAP},
            [("unknown", "job", "", "network", "low")],
            id="a flush and its hints decide nothing",
        ),
        pytest.param({"job.log": BENIGN}, [], id="benign events phrased as errors are no fault"),
        pytest.param(
            {"job.log": GAVE_UP},
            [("link_fault", "host", "host=hx8-033", "link_down", "medium")],
            id="a port that recovery gave up is down here or at its peer",
        ),
        pytest.param({"job.log": RECOVERED}, [], id="a port that recovered is no fault"),
        pytest.param(
            {"job.log": BRIDGE},
            [("config_drift", "job", "", "bridge_interface", "high")],
            id="the same bridge address on two hosts is a wrong interface of the job",
        ),
        pytest.param(
            VISITOR,
            [("config_drift", "job", "", "stray_visitor", "high")],
            id="a stray visitor is from outside and no rank's fault",
        ),
        pytest.param(
            plugins("IBext_v8", "IBext_v8", "IB", "IBext_v8"),
            [("config_drift", "host", "host=hx8-023", "network_plugin", "high")],
            id="the host without the plugin of the others is odd",
        ),
        pytest.param(
            plugins("IBext_v8", "IB", "IB", "IBext_v8"),
            [("config_drift", "job", "", "network_plugin", "medium")],
            id="with as many on both sides neither is odd",
        ),
        pytest.param(
            {"job.log": SHARED_NIC},
            [("config_drift", "host", "host=hx8-011", "shared_nic", "medium")],
            id="two GPUs on one NIC are a setting, not a bad cable",
        ),
        pytest.param(
            LYING_CLOCKS,
            [("link_fault", "nic", "host=hx8-005 device=mlx5_1", "link_down", "high")],
            id="a victim that complains first by its own clock acquits nobody",
        ),
    ],
)
def test_network_cases(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]],
    files: dict[str, str],
    expected: list[tuple[str, str, str, str, str]],
) -> None:
    """The fault, its level, its subject, its cause and how sure that is."""
    found = log_verdicts(files)
    told = [(v.kind, v.level, who(v), v.cause, v.confidence) for v in found]
    assert [one for one in told if one[0] != "hang"] == expected


def test_the_accusers_are_victims(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]],
) -> None:
    """Two hosts that name the one with the port error support it; which NIC is to be told."""
    (verdict,) = log_verdicts({"job.log": PORT_ERROR + ERROR_12})
    assert verdict.victims == ("hx8-050", "hx8-051")
    assert [one.what.count("port error") for one in verdict.evidence] == [1, 0, 0]
    assert verdict.needed == "the host's kernel log names the NIC"


def test_a_shared_nic_crosses_rails(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]],
) -> None:
    """The channel that leaves on one device and arrives on another supports the finding."""
    (verdict,) = log_verdicts({"job.log": SHARED_NIC})
    assert [one.what for one in verdict.evidence] == [
        "GPUs 0, 1 of hx8-011 share NET/IB/1",
        "channel 00 goes from device 1 of hx8-011 to device 0 of hx8-012",
    ]


def test_a_visitor_is_told_by_what_he_said(
    log_verdicts: Callable[[dict[str, str]], list[Verdict]],
) -> None:
    """An address outside of the job, and the greeting that the magic number spells."""
    (verdict,) = log_verdicts(VISITOR)
    assert verdict.alternatives == ("outside: 10.99.0.7", "outside: says 'GET / HT'")
