"""OpenSM's log: traps counted once, ports that move, deltas that are no totals."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from collectors.port_logs.opensm_logs import read_opensm_logs
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines

GUID = "0xb83fd2030a001101"

RECEIVED = (
    "Mar 09 04:11:07 113204 [7F21A700] 0x01 -> log_trap_info: Received Generic Notice type:1 "
    "num:128 (Link state change) Producer:2 (Switch) from LID:212 TID:0x000000000000002a"
)
REPORTED = (
    "Mar 09 04:11:07 113304 [7F21A700] 0x02 -> log_notice: Reporting Urgent Notice "
    f'"Link state change" from switch LID 212, GUID {GUID}'
)


def read(*lines: str) -> Reading:
    """Return what the dialect makes of lines."""
    text = "\n".join(lines)
    return read_opensm_logs(read_lines(text.encode()), ReadOptions(year=2031)).reading


def rows(*lines: str) -> list[tuple[Any, ...]]:
    """Return who, what and how often of the events of lines."""
    return read(*lines).events.select("host", "device", "kind", "code", "count").rows()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [RECEIVED, REPORTED],
            [(GUID, None, "link_state_change", "link_state", 2)],
            id="received and reported is once, of a port that is not named",
        ),
        pytest.param(
            [RECEIVED],
            [("lid 212", None, "link_state_change", "link_state", 1)],
            id="a switch may be known by its LID alone",
        ),
        pytest.param(
            [RECEIVED, RECEIVED, REPORTED, REPORTED],
            [(GUID, None, "link_state_change", "link_state", 2)] * 2,
            id="two traps within a second stay two",
        ),
        pytest.param(
            [RECEIVED, REPORTED.replace("04:11:07", "04:11:09")],
            [(GUID, None, "link_state_change", "link_state", 1)] * 2,
            id="two seconds apart are two",
        ),
        pytest.param(
            [
                (
                    "Jun 17 17:21:28 923315 [4E8006C0] 0x02 -> log_notice: Reporting Generic "
                    "Notice type:1 num:128 (Link state change) from LID:1 GID:fe80::20:0"
                )
            ],
            [("0x0000000000200000", None, "link_state_change", "link_state", 1)],
            id="older releases report the number, and the GUID inside a GID",
        ),
        pytest.param(
            [
                RECEIVED.replace("num:128", "num:129").replace("LID:212", "LID:212 Port 17"),
                REPORTED.replace("Link state change", "Local link integrity threshold")
                .replace("switch LID", "LID")
                .replace(GUID, f"{GUID}, port 17"),
            ],
            [(GUID, "17", "port_error", "link_integrity", 2)],
            id="the integrity threshold names the port",
        ),
        pytest.param(
            [RECEIVED.replace("num:128", "num:130").replace("LID:212", "LID:212 Port 17")],
            [("lid 212", "17", "port_error", "buffer_overrun", 1)],
            id="so does the overrun",
        ),
        pytest.param(
            [RECEIVED.replace("num:128", "num:131").replace("LID:212", "LID:212 Port 17")],
            [("lid 212", "17", "port_error", "flow_control_watchdog", 1)],
            id="so does the watchdog of the flow control",
        ),
        pytest.param(
            [RECEIVED.replace("num:128", "num:144")],
            [("lid 212", None, "trap", "144", 1)],
            id="another trap is only a trap",
        ),
        pytest.param(
            [
                (
                    "Jun 17 17:21:28 927893 [4F2006C0] 0x02 -> osm_pi_rcv_process: Switch 0x200000 "
                    "Leaf-1 port 3 changed state from ACTIVE to DOWN"
                ),
                (
                    "Jun 17 17:21:29 927893 [4F2006C0] 0x02 -> osm_pi_rcv_process: Switch 0x200000 "
                    "Leaf-1 port 3 changed state from DOWN to INIT"
                ),
                (
                    "Jun 17 17:21:31 927893 [4F2006C0] 0x02 -> osm_pi_rcv_process: Switch 0x200000 "
                    "Leaf-1 port 3 changed state from INIT to ACTIVE"
                ),
            ],
            [
                ("leaf-1", "3", "link_down", "subnet", 1),
                ("leaf-1", "3", "link_up", "subnet", 1),
                ("leaf-1", "3", "link_unchanged", "up", 1),
            ],
            id="a port goes down and comes up once",
        ),
        pytest.param(
            [
                (
                    "Mar 09 04:12:09 113204 [7F21A700] 0x01 -> x: PerfMgr: ERR 540A: Detected an "
                    f"out of band error clear on leaf-1 ({GUID}) port 17"
                )
            ],
            [("leaf-1", "17", "counters_cleared", "540A", 1)],
            id="somebody else cleared the counters",
        ),
        pytest.param(["Mar 09 04:12:09 113204 [7F21A700] 0x01 -> hello"], [], id="other texts"),
    ],
)
def test_events(lines: list[str], expected: list[tuple[Any, ...]]) -> None:
    """What happened is told once, of whom it is known."""
    assert rows(*lines) == expected


DELTA = (
    "Mar 09 04:12:07 113204 [7F21A700] 0x01 -> perfmgr_log_errors: ERR 5431: SymbolErrorCounter "
    f': 14 : node "leaf-r3-02" (NodeGUID: {GUID}) : port 17 connected to "gpu-r3-n07 mlx5_4" '
    "(NodeGUID: 0xb83fd2030a0077c4) : port 1"
)


def test_a_delta_is_evidence_and_no_total() -> None:
    """How far a counter rose is an attribute of an event: no sample could hold it."""
    reading = read(DELTA)

    columns = ("time", "host", "device", "kind", "code", "peer")
    attributes = {pair["key"]: pair["value"] for pair in reading.events["attributes"].to_list()[0]}
    assert (reading.events.select(columns).rows(), attributes, reading.samples.height) == (
        [
            (
                datetime(2031, 3, 9, 4, 12, 7, 113204, tzinfo=UTC),
                "leaf-r3-02",
                "17",
                "counter_delta",
                "symbol_errors_total",
                "gpu-r3-n07 mlx5_4/1",
            )
        ],
        {"delta": "14", "counter": "SymbolErrorCounter", "error": "5431"},
        0,
    )


def test_a_delta_names_a_cable() -> None:
    """Both ends are named, so the cable between them is."""
    links = read(DELTA).links.select("node_a", "port_a", "node_b", "port_b", "rail")
    assert links.rows() == [("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17", 4)]


def test_numbers_of_nodes_are_aliases() -> None:
    """GUIDs of named nodes, and the LID of a switch that is told with its GUID."""
    aliases = read(DELTA, REPORTED).aliases.sort("alias")
    columns = ("host", "device", "alias_kind", "alias")
    assert aliases.select(columns).rows() == [
        ("leaf-r3-02", None, "guid", GUID),
        ("gpu-r3-n07", "mlx5_4", "guid", "0xb83fd2030a0077c4"),
        (GUID, None, "lid", "lid 212"),
    ]


def test_waits_are_named_too() -> None:
    """The thirteenth counter has another spelling, and no peer."""
    line = (
        "Mar 09 04:12:07 113204 [7F21A700] 0x01 -> x: ERR 543D: XmitWait : 1400 : node "
        f'"leaf-r3-02" (NodeGUID: {GUID}) : port 17'
    )
    events = read(line).events
    assert events.select("code", "peer").rows() == [("transmit_wait_ticks_total", None)]


def test_a_port_of_a_nic_is_one() -> None:
    """A NIC's own counters are of its device."""
    line = DELTA.replace('"leaf-r3-02"', '"gpu-r3-n08 mlx5_2"').replace("port 17", "port 1")
    events = read(line).events
    assert events.select("host", "device_kind", "device").rows() == [
        ("gpu-r3-n08", "nic", "mlx5_2/1")
    ]


def test_no_line_no_reading() -> None:
    """A log of something else has none of it."""
    assert read("hello").events.select(pl.len()).item() == 0
