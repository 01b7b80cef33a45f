"""Network faults and odd settings, from events."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, SchemaError
from detectors.network_faults import NetworkFaultParams, find_network_faults
from detectors.placing import ROLES
from detectors.verdicts import Verdict, verdicts_of

START = datetime(2026, 1, 5, 0, 30, tzinfo=UTC)


def error(host: str, peer: str | None, status: int = 12, **more: Any) -> dict[str, Any]:
    """A completion error of a host."""
    return {"kind": "net_error", "host": host, "peer": peer, "code": str(status), **more}


def port(kind: str, host: str, seconds: float | None = 0.0, **more: Any) -> dict[str, Any]:
    """An event of a host's port, so long after the start."""
    time = None if seconds is None else START + timedelta(seconds=seconds)
    return {
        "kind": kind,
        "host": host,
        "device": "mlx5_3",
        "device_kind": "nic",
        "time": time,
    } | more


def said(kind: str, *values: tuple[str, str], **more: Any) -> list[dict[str, Any]]:
    """What hosts say: (host, code)."""
    return [{"kind": kind, "host": host, "code": code} | more for host, code in values]


def labels(**pairs: str) -> list[dict[str, str]]:
    """Attributes of an event."""
    return [{"key": key, "value": value} for key, value in pairs.items()]


def setting(host: str, value: str, name: str = "NCCL_IB_GID_INDEX") -> dict[str, Any]:
    """An echo of the environment."""
    return {"kind": "setting", "host": host, "code": name, "attributes": labels(value=value)}


def channel(
    host: str, rank: int, peer: int, device: str, direction: str, **more: str
) -> dict[str, Any]:
    """One end of a channel between hosts."""
    said = {"comm_rank": str(rank), "direction": direction, "net_device": device}
    attributes = labels(pid="7", transport="NET", channels="00 01", **said, **more)
    rest = {"peer": str(peer), "code": f"NET/IB/{device}/GDRDMA", "attributes": attributes}
    return {"kind": "channel", "host": host, **rest}


def alive(*hosts: str) -> list[dict[str, Any]]:
    """Hosts that are known."""
    return [{"kind": "note", "host": host} for host in hosts]


def judge(events: list[dict[str, Any]], params: NetworkFaultParams | None = None) -> list[Verdict]:
    """The verdicts on some events."""
    frame = pl.DataFrame(events, schema=EVENTS).lazy()
    roles = ROLES.to_frame().lazy()
    return verdicts_of(find_network_faults(frame, roles, params or NetworkFaultParams()))


def who(verdict: Verdict) -> str:
    """The subject's fields but the run, in their order."""
    known = verdict.subject.known().items()
    return " ".join(f"{name}={value}" for name, value in known if name != "run")


def told(verdicts: list[Verdict]) -> list[tuple[str, str, str, str | None, str]]:
    """Kind, level, subject, cause and confidence of verdicts."""
    return [(v.kind, v.level, who(v), v.cause, v.confidence) for v in verdicts]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([], [], id="no event is no fault"),
        pytest.param(
            [error("a1", "c1"), error("b1", "c1"), *alive("c1")],
            [("link_fault", "host", "host=c1", "unreachable", "medium")],
            id="a host that two others cannot reach",
        ),
        pytest.param(
            [error("a1", "c1.cluster.example"), error("b1", "c1"), *alive("c1")],
            [("link_fault", "host", "host=c1", "unreachable", "medium")],
            id="a host under its long name is the same host",
        ),
        pytest.param(
            [error("a1", "b1"), error("a1", "c1"), *alive("b1", "c1")],
            [("link_fault", "host", "host=a1", "unreachable", "low")],
            id="a host that reaches neither of two is itself the likelier",
        ),
        pytest.param(
            [error("a1", "10.0.0.9"), error("b1", "10.0.0.9")],
            [("link_fault", "host", "host=10.0.0.9", "unreachable", "low")],
            id="an address that maps to no host is named with less confidence",
        ),
        pytest.param(
            [error("a1", "c1", 13), error("b1", "c1", 13), *alive("c1")],
            [("link_fault", "host", "host=c1", "receiver_not_ready", "medium")],
            id="a peer that lives and posts no buffers",
        ),
        pytest.param(
            [
                *(error(host, "c1", time=START) for host in ("a1", "b1")),
                *alive("c1"),
                {"kind": "cuda_error", "rank": 8, "time": START + timedelta(seconds=60)},
            ],
            [("link_fault", "host", "host=c1", "unreachable", "medium")],
            id="a process that died somewhere afterwards explains no silence",
        ),
        pytest.param(
            [
                *(error(host, "c1", time=START) for host in ("a1", "b1")),
                *alive("c1"),
                {"kind": "cuda_error", "rank": 8, "time": START - timedelta(seconds=60)},
            ],
            [],
            id="a process that died somewhere before does",
        ),
        pytest.param(
            [error("a1", "b1"), error("b1", "c1"), error("c1", "a1")],
            [("config_drift", "job", "", "every_pair", "low")],
            id="no pair of three hosts works",
        ),
        pytest.param(
            [error("a1", "c1", 13), *alive("c1")],
            [("link_fault", "host", "host=c1", "receiver_not_ready", "low")],
            id="a single pair with a stalled receiver",
        ),
        pytest.param(
            [error("a1", "b1"), error("b1", "a1"), *alive()],
            [("link_fault", "link", "link=a1 - b1", "unreachable", "low")],
            id="both ends of one pair are one link",
        ),
        pytest.param(
            [error("a1", "b1"), error("c1", "d1")],
            [
                ("link_fault", "link", "link=a1 - b1", "unreachable", "low"),
                ("link_fault", "link", "link=c1 - d1", "unreachable", "low"),
            ],
            id="two pairs without a common end are two links",
        ),
        pytest.param(
            [error("a1", "b1", device="mlx5_3"), error("c1", "d1", device="mlx5_3")],
            [("link_fault", "group", "group=rail mlx5_3", "rail", "low")],
            id="pairs that share only the device number are a rail",
        ),
        pytest.param(
            [error("a1", "b1"), error("b1", "c1"), error("c1", "a1"), error("d1", "e1")],
            [("link_fault", "job", "", "fabric", "low")],
            id="everybody complaining of everybody accuses no host",
        ),
        pytest.param(
            [error("a1", "b1", 11), *alive("b1")],
            [("link_fault", "host", "host=b1", "remote_access", "medium")],
            id="a refusal is the other side's",
        ),
        pytest.param(
            [error("a1", "10.0.0.9", 10)],
            [("link_fault", "link", "link=10.0.0.9 - a1", "remote_access", "low")],
            id="a refusal by an address that maps to no host",
        ),
        pytest.param(
            [error("a1", "b1", 4), error("a1", "c1", 4)],
            [("config_drift", "host", "host=a1", "memory_registration", "medium")],
            id="a local protection error blames no peer",
        ),
        pytest.param(
            [error("a1", None)],
            [("unknown", "job", "", "network", "low")],
            id="an error without a peer decides nothing",
        ),
        pytest.param(
            [error("a1", "b1"), {"kind": "oom", "host": "b1"}, *alive("b1")],
            [],
            id="a peer whose process died is a crash, and the error its cascade",
        ),
        pytest.param(
            [error("a1", "b1", 5), {"kind": "traceback", "host": "b1", "code": "ValueError"}],
            [],
            id="a flush beside a crash follows it",
        ),
        pytest.param(
            [port("link_down", "a1"), port("link_up", "a1", 4)],
            [("link_fault", "nic", "host=a1 device=mlx5_3", "flap", "medium")],
            id="a port that is soon back has flapped",
        ),
        pytest.param(
            [port("link_down", "a1"), port("link_up", "a1", 400)],
            [("link_fault", "nic", "host=a1 device=mlx5_3", "link_down", "high")],
            id="a port that is back late was down",
        ),
        pytest.param(
            [
                port("link_down", "a1", None, position=4),
                port("link_up", "a1", None, position=5),
                error("b1", "a1"),
            ],
            [("link_fault", "nic", "host=a1 device=mlx5_3", "flap", "high")],
            id="without a clock the order of the log tells a flap",
        ),
        pytest.param(
            [
                port("link_down", "a1"),
                port("link_up", "b1", 1),
                port("link_up", "a1", 2, device="x"),
            ],
            [("link_fault", "nic", "host=a1 device=mlx5_3", "link_down", "high")],
            id="another port that comes up is not this one",
        ),
        pytest.param(
            [port("link_up", "a1"), port("nic_note", "a1")],
            [],
            id="a port that comes up is no fault",
        ),
        pytest.param(
            [port("nic_fault", "a1", code="local catastrophic error")],
            [("link_fault", "nic", "host=a1 device=mlx5_3", "device_fatal", "high")],
            id="a device that fails for good",
        ),
        pytest.param(
            [port("link_down", host, at) for at, host in enumerate(("a1", "b1", "c1"))]
            + [port("nic_fault", "d1")],
            [
                ("link_fault", "group", "group=rail mlx5_3", "switch", "medium"),
                ("link_fault", "nic", "host=d1 device=mlx5_3", "device_fatal", "high"),
            ],
            id="ports of many hosts that go down together are their switch's",
        ),
        pytest.param(
            [
                port("link_down", host, at, device=f"mlx5_{at}")
                for at, host in enumerate(("a1", "b1", "c1"))
            ],
            [("link_fault", "job", "", "switch", "medium")],
            id="so are those of several rails",
        ),
        pytest.param(
            [port("link_down", host, 100 * at) for at, host in enumerate(("a1", "b1", "c1"))],
            [
                ("link_fault", "nic", f"host={host} device=mlx5_3", "link_down", "high")
                for host in ("a1", "b1", "c1")
            ],
            id="ports that go down one after the other are each their own",
        ),
        pytest.param(
            [{"kind": "mismatch", "host": "a1", "peer": "b1", "code": "size"}],
            [("mismatch", "job", "", "size", "low")],
            id="two ends that disagree on a size",
        ),
    ],
)
def test_network_faults(
    events: list[dict[str, Any]], expected: list[tuple[str, str, str, str | None, str]]
) -> None:
    """The fault, its level, its subject, its cause and how sure that is."""
    assert told(judge(events)) == expected


def test_an_address_that_two_hosts_share_maps_to_neither() -> None:
    """A bootstrap address seen on one host alone names it; one seen on two names nobody."""
    maps = [
        {"kind": "oob_address", "host": "c1", "peer": "10.0.0.3"},
        {"kind": "oob_address", "host": "d1", "peer": "fd00::3%eth0"},
        {"kind": "oob_address", "host": "d1", "peer": "10.0.0.9"},
        {"kind": "oob_address", "host": "e1", "peer": "10.0.0.9"},
    ]
    pairs = [error("a1", "10.0.0.3"), error("a1", "fd00::3"), error("a1", "10.0.0.9")]
    links = [
        v.subject.link for one in pairs for v in judge([*maps, one]) if v.kind != "config_drift"
    ]
    assert links == ["a1 - c1", "a1 - d1", "10.0.0.9 - a1"]


def test_the_run_is_that_of_the_hosts() -> None:
    """An event without a run belongs to the run whose ranks are on its host."""
    roles = pl.DataFrame([{"run": "R", "rank": 0, "host": "a1"}], schema=ROLES).lazy()
    events = pl.DataFrame([port("link_down", "a1")], schema=EVENTS).lazy()
    (verdict,) = verdicts_of(find_network_faults(events, roles, NetworkFaultParams()))
    assert verdict.subject.run == "R"


def test_another_frame_is_refused() -> None:
    """A frame that lacks columns is refused at the door."""
    with pytest.raises(SchemaError, match="time: wanted"):
        find_network_faults(pl.LazyFrame(), ROLES.to_frame().lazy(), NetworkFaultParams())


SHARED = [
    {"kind": "channel", "host": host, "code": f"NET/IB/{nic}", "device": gpu, "device_kind": "gpu"}
    for host, gpu, nic in (("a1", "0", 0), ("a1", "1", 0), ("b1", "0", 0), ("b1", "1", 1))
]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            said("net_choice", ("a1", "IB"), ("b1", "IB"), ("c1", "Socket")),
            [("host", "host=c1", "network_plugin", "high")],
            id="sockets where the others have InfiniBand",
        ),
        pytest.param(
            said("net_choice", ("a1", "X"), ("b1", "X"), ("c1", "Y"), ("d1", "Y")),
            [("job", "", "network_plugin", "medium")],
            id="two against two: both sides are listed, none is odd",
        ),
        pytest.param(
            said("channel", ("a1", "NET/IB/0"), ("b1", "NET/IB/1"), ("c1", "NET/Socket/0")),
            [("host", "host=c1", "network_plugin", "high")],
            id="channels tell the plugin where its choice was not logged",
        ),
        pytest.param(
            said("version", ("a1", "2.27.7"), ("b1", "2.27.7"), ("c1", "2.21.5")),
            [("host", "host=c1", "nccl_version", "high")],
            id="another version on one host",
        ),
        pytest.param(
            said(
                "channel",
                ("a1", "NET/IB/0/GDRDMA"),
                ("b1", "NET/IB/0/GDRDMA"),
                ("c1", "NET/IB/0"),
                ("c1", "NET/IB/1"),
            ),
            [("host", "host=c1", "gpudirect", "medium")],
            id="no path from the GPU to the NIC on one host",
        ),
        pytest.param(
            said(
                "channel",
                ("a1", "P2P/CUMEM"),
                ("b1", "P2P/CUMEM"),
                ("c1", "P2P/CUMEM"),
                ("c1", "SHM/direct/direct"),
            ),
            [("host", "host=c1", "peer_to_peer", "medium")],
            id="host memory between GPUs where the others go directly",
        ),
        pytest.param(
            SHARED, [("host", "host=a1", "shared_nic", "medium")], id="two GPUs on one NIC"
        ),
        pytest.param(SHARED[:2], [], id="a host alone has no peers"),
        pytest.param(SHARED[:2] * 2, [], id="where all share alike nobody is odd"),
        pytest.param(
            [
                *said("oob_address", ("a1", "eth0"), ("b1", "eth0"), peer="10.0.0.1"),
                *said("oob_bridge", ("c1", "docker0"), peer="172.17.0.1"),
            ],
            [("host", "host=c1", "bridge_interface", "high")],
            id="a bridge on one host where the others use a network",
        ),
        pytest.param(
            [
                *said("oob_address", ("a1", "eth0"), peer="10.0.0.1"),
                *said("oob_bridge", ("a1", "docker0"), ("c1", "docker0"), peer="172.17.0.1"),
            ],
            [],
            id="a bridge beside a network, or on as many hosts as not, is not odd",
        ),
        pytest.param(
            said("config_error", ("a1", "Duplicate GPU detected")),
            [("host", "host=a1", "duplicate_gpu", "high")],
            id="what NCCL itself calls wrong on one host",
        ),
        pytest.param(
            said("comm_error", ("a1", "wrong_type"), ("b1", "wrong_type")),
            [("job", "", "nccl_version", "medium")],
            id="another build that all hosts complain of is the job's",
        ),
        pytest.param(said("config_error", ("a1", "rails")), [], id="a crossing of rails is a note"),
        pytest.param(
            said(
                "channel",
                ("a1", "NET/IB/0/GDRDMA"),
                ("b1", "NET/IB/0/GDRDMA"),
                ("c1", "NET/IB/0/GDRDMA"),
                ("c1", "NET/IB/1"),
            ),
            [("host", "host=c1", "gpudirect", "medium")],
            id="GPUDirect on some channels where the others have it on all",
        ),
        pytest.param(
            [
                *said(
                    "rings_connected", ("a1", "all rings"), ("b1", "x"), attributes=labels(gdr="1")
                ),
                *said("rings_connected", ("c1", "all rings"), attributes=labels(gdr="0")),
            ],
            [("host", "host=c1", "gpudirect", "medium")],
            id="no GPUDirect, as the communicator says with its rings",
        ),
        pytest.param(
            [
                *said("channel_counts", ("a1", "16"), ("b1", "16"), ("c1", "8"), position=1),
                *said("channel_counts", ("a1", "2"), position=9),
            ],
            [("host", "host=c1", "channel_count", "medium")],
            id="fewer channels than the others",
        ),
        pytest.param(
            [setting("a1", "3"), setting("b1", "3"), setting("c1", "0")],
            [("host", "host=c1", "environment", "medium")],
            id="another value of a variable",
        ),
        pytest.param(
            [
                setting("a1", "3"),
                setting("b1", "3"),
                setting("c1", "x", name="NCCL_DEBUG"),
                setting("a1", "a", name="NCCL_IB_HCA"),
            ],
            [("host", "host=c1", "environment", "medium")],
            id="a variable that is not set there; those that name a host's own things may differ",
        ),
        pytest.param(
            [setting("a1", "3"), setting("b1", "0")], [], id="of two hosts nobody sets it oddly"
        ),
        pytest.param(
            [setting("a1", "3"), setting("b1", "2"), setting("c1", "0")],
            [],
            id="where all differ nobody is odd",
        ),
        pytest.param(
            [channel("a1", 0, 8, "1", "send"), channel("b1", 8, 0, "0", "receive")],
            [("job", "", "cross_rail", "low")],
            id="a channel from one rail to another names no host",
        ),
        pytest.param(
            [channel("a1", 0, 8, "1", "send"), channel("b1", 8, 0, "1", "receive")],
            [],
            id="a channel inside a rail",
        ),
        pytest.param(
            [
                channel("a1", 0, 8, "1", "send"),
                channel("b1", 8, 0, "0", "receive"),
                channel("c1", 0, 8, "1", "send"),
            ],
            [],
            id="ranks of two communicators with the same numbers are not joined",
        ),
        pytest.param(
            [
                channel("a1", 0, 8, "1", "send", proxy_rank="1"),
                channel("b1", 8, 0, "0", "receive"),
            ],
            [],
            id="a device reached through another rank is not the printer's rail",
        ),
        pytest.param(
            said("stray_visitor", ("a1", "GET / HT"), peer="10.9.0.7"),
            [("job", "", "stray_visitor", "high")],
            id="a stranger is from outside",
        ),
        pytest.param(
            [
                *said("stray_visitor", ("a1", None)),  # type: ignore[arg-type]  # no greeting
                {"kind": "comm_error", "host": "b1", "severity": "error"},
            ],
            [("job", "", "stray_visitor", "medium")],
            id="a stranger beside errors",
        ),
    ],
)
def test_odd_settings(
    events: list[dict[str, Any]], expected: list[tuple[str, str, str, str]]
) -> None:
    """A host set up unlike most others is drift of that host, not a bad link."""
    found = judge(events)
    assert all(v.kind == "config_drift" for v in found)
    assert [(v.level, who(v), v.cause, v.confidence) for v in found] == expected


def lost(host: str, peer: str, code: str = "peer_closed", **more: Any) -> dict[str, Any]:
    """A host that lost another."""
    return {"kind": "comm_error", "host": host, "peer": peer, "code": code} | more


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [lost("a1", "c1.cluster"), lost("b1", "c1"), lost("b1", "c1"), *alive("c1")],
            [("crash", "host", "host=c1", "peer_closed", "medium")],
            id="a host that two others lost, by any of its names",
        ),
        pytest.param(
            [
                lost("a1", "10.0.0.3", "connect"),
                lost("b1", "10.0.0.3", "connect"),
                *said("oob_address", ("c1", "eth0"), peer="10.0.0.3"),
            ],
            [("crash", "host", "host=c1", "not_listening", "medium")],
            id="a host that refuses all",
        ),
        pytest.param(
            [lost("a1", "b1"), lost("b1", "c1"), lost("d1", "b1"), lost("d1", "c1"), *alive("c1")],
            [("crash", "host", "host=c1", "peer_closed", "medium")],
            id="who lost a peer went away after it",
        ),
        pytest.param(
            [
                lost("a1", "c1", "connect", attributes=labels(error="No route to host")),
                lost("b1", "c1", "connect", attributes=labels(error="Connection timed out")),
                *alive("c1"),
            ],
            [("link_fault", "host", "host=c1", "no_route", "medium")],
            id="a host to which nothing gets",
        ),
        pytest.param(
            [lost("a1", "c1"), *alive("c1")],
            [("unknown", "job", "", "peer_closed", "low")],
            id="one host alone names it",
        ),
        pytest.param(
            [lost("a1", "c1"), lost("b1", "d1"), *alive("c1", "d1")],
            [("unknown", "job", "", "peer_closed", "low")],
            id="two that were lost first",
        ),
        pytest.param([lost("a1", "b1"), lost("b1", "a1")], [], id="each lost the other"),
        pytest.param(
            [
                lost("a1", "b1", "connect", attributes=labels(error="No route to host")),
                lost("b1", "a1", "connect", attributes=labels(error="Connection timed out")),
            ],
            [("config_drift", "job", "", "no_route", "low")],
            id="neither finds a way to the other",
        ),
        pytest.param([lost("a1", "a1"), lost("a1", "scan-7.example")], [], id="itself, a stranger"),
        pytest.param(
            [lost("a1", "c1"), lost("b1", "c1"), *said("comm_end", ("c1", "0x5"))],
            [],
            id="communicators that ended in order",
        ),
        pytest.param(
            [lost("a1", "c1"), lost("b1", "c1"), {"kind": "oom", "host": "c1"}],
            [],
            id="a fault that explains it",
        ),
    ],
)
def test_lost_peers(
    events: list[dict[str, Any]], expected: list[tuple[str, str, str, str, str]]
) -> None:
    """Whoever is lost and lost nobody went away first."""
    assert told(judge(events)) == expected


def starts(*seconds: float, world: int = 4, first: int = 0) -> list[dict[str, Any]]:
    """How long the bootstrap of each rank took, each on its own host."""
    return [
        {
            "kind": "init_timing",
            "host": f"a{rank}",
            "attributes": labels(
                comm_rank=str(rank), world=str(world), bootstrap_seconds=str(value)
            ),
        }
        for rank, value in enumerate(seconds, first)
    ]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            starts(60, 61, 0.2, 60),
            [("slow", "host", "host=a2", "late_start", "medium")],
            id="one that waited for nobody",
        ),
        pytest.param(starts(60, 61, 59, 60), [], id="all came together"),
        pytest.param(starts(6, 6, 0.2, 6), [], id="a wait that is no loss"),
        pytest.param(starts(60, 0.2, 60), [], id="too few to say who is usual"),
        pytest.param(starts(60, 0.2, 0.1, 60, 60), [], id="two came last"),
        pytest.param(
            starts(60, 0.2, 60, 60) + starts(60, 60, 0.2, 60), [], id="two groups of one size"
        ),
        pytest.param(
            [one | {"host": None} for one in starts(60, 61, 0.2, 60)],
            [("slow", "job", "", "late_start", "medium")],
            id="on a host that nobody names",
        ),
    ],
)
def test_late_starts(
    events: list[dict[str, Any]], expected: list[tuple[str, str, str, str, str]]
) -> None:
    """Who came last to a start is the one that did not wait."""
    assert told(judge(events)) == expected


def test_a_process_accuses_once() -> None:
    """What a process tells after its first error follows it; a flush before is none."""
    mine = {"source": "a.log", "attributes": labels(pid="7")}
    events = [
        error("a1", "c1", 5, position=1, **mine),
        error("a1", "c1", 12, position=2, **mine),
        error("a1", "d1", 12, position=3, **mine),
        *alive("c1", "d1"),
    ]
    assert told(judge(events)) == [("link_fault", "link", "link=a1 - c1", "unreachable", "low")]


MIXED = [
    error("a1", "c1", source="a.log", position=1, message="12"),
    error("b1", "c1", source="b.log", position=1, message="12"),
    error("b1", "c1", 5, source="b.log", position=2, message="5"),
    port("link_down", "d1", source="d.log", position=1),
    port("link_up", "d1", 3, source="d.log", position=2),
    *said("net_choice", ("a1", "IB"), ("b1", "IB"), ("c1", "Socket"), source="m", message="x"),
]


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(len(MIXED))), twice=st.sets(st.sampled_from(range(len(MIXED)))))
def test_neither_order_nor_doubled_lines_matter(order: list[int], twice: set[int]) -> None:
    """The verdicts are the same for any order of the events, and when some come twice."""
    rows = [MIXED[at] for at in order] + [MIXED[at] for at in sorted(twice)]
    assert judge(rows) == judge(MIXED)


@settings(max_examples=15, deadline=None)
@given(share=st.floats(0.5, 1.0))
def test_a_stricter_share_never_accuses_more(share: float) -> None:
    """Asking for a larger share of the edges can only take hosts away."""
    events = [
        error("a1", "c1"),
        error("b1", "c1"),
        error("d1", "c1"),
        error("d1", "e1"),
        *alive("c1"),
    ]
    counts = [
        sum(v.level == "host" for v in judge(events, NetworkFaultParams(min_edge_share=one)))
        for one in (share, (share + 1) / 2)
    ]
    assert counts[1] <= counts[0]
