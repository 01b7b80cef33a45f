"""What switches and hosts log of their ports, form by form."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from collectors.logs import read_log_lines
from collectors.port_logs.switch_logs import read_switch_logs
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import read_lines

OPTIONS = ReadOptions(year=2031)


def read(text: str, options: ReadOptions = OPTIONS) -> Reading:
    """Return what the dialect makes of a text."""
    return read_switch_logs(read_lines(text.encode(), options.time_zone), options).reading


def first(text: str, *columns: str) -> tuple[Any, ...]:
    """Return columns of the only event of a text."""
    (row,) = read(text).events.select(columns).rows()
    return row


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "Mar  9 04:11:07 leaf-1 Ebra: %LINK-3-UPDOWN: Interface Ethernet12/1, changed state "
            "to up",
            ("leaf-1", "switch_port", "Ethernet12/1", "link_up", "link"),
            id="Arista's link",
        ),
        pytest.param(
            "*Mar  9 04:11:07.123: %LINK-5-CHANGED: Interface Gi0/1, changed state to "
            "administratively down",
            (None, "switch_port", "Gi0/1", "admin_down", None),
            id="somebody shut the port",
        ),
        pytest.param(
            "leaf-1: 2031 Mar  9 04:11:07 UTC: %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface "
            "Ethernet1/12 is down (Link failure)",
            ("leaf-1", "switch_port", "Ethernet1/12", "link_down", "link_failure"),
            id="NX-OS names the reason",
        ),
        pytest.param(
            "2031 Mar  9 04:11:07 leaf-1 %ETHPORT-5-IF_DOWN_ADMIN_DOWN: Interface Ethernet1/1 is "
            "down (Administratively down)",
            ("leaf-1", "switch_port", "Ethernet1/1", "admin_down", None),
            id="NX-OS shut by command",
        ),
        pytest.param(
            "2031 Mar  9 04:11:07 leaf-1 %ETHPORT-5-IF_UP: Interface Ethernet1/1 is up",
            ("leaf-1", "switch_port", "Ethernet1/1", "link_up", "ethport"),
            id="NX-OS up",
        ),
        pytest.param(
            "Mar  9 04:11:07 leaf-1 mib2d[9]: SNMP_TRAP_LINK_DOWN: ifIndex 512, ifAdminStatus "
            "up(1), ifOperStatus down(2), ifName et-0/0/12",
            ("leaf-1", "switch_port", "et-0/0/12", "link_down", "snmp_trap"),
            id="Junos tells by a trap",
        ),
        pytest.param(
            "Mar  9 04:11:07 leaf-1 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface "
            "Port-Channel3, changed state to down",
            ("leaf-1", "lag", "Port-Channel3", "link_down", "line_protocol"),
            id="a bundle is no port",
        ),
        pytest.param(
            "Mar  9 04:11:07 leaf-1 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Vlan7, "
            "changed state to down",
            ("leaf-1", "interface", "Vlan7", "link_down", "line_protocol"),
            id="a VLAN is no port",
        ),
        pytest.param(
            "mlx5_core 0000:5e:00.0 eth4: Link down",
            (None, "nic", "eth4", "link_down", "driver"),
            id="a driver without an envelope",
        ),
        pytest.param(
            "Mar  9 04:11:07 gpu-r3-n07 systemd-networkd[711]: ib0: Lost carrier",
            ("gpu-r3-n07", "nic", "ib0", "link_down", "carrier"),
            id="networkd lost the carrier",
        ),
        pytest.param(
            "Mar  9 04:11:07 gpu-r3-n07 kernel: [12.345678] IPv6: ADDRCONF(NETDEV_CHANGE): eth4: "
            "link becomes ready",
            ("gpu-r3-n07", "nic", "eth4", "link_up", "carrier"),
            id="the kernel found the link ready",
        ),
        pytest.param(
            "Mar  9 04:11:07 leaf-1 kernel: swp12: link down",
            ("leaf-1", "switch_port", "swp12", "link_down", "driver"),
            id="Cumulus",
        ),
        pytest.param(
            "Mar  9 04:11:07 leaf-1 syncd#SDK: Port 12500 changed state to down",
            ("leaf-1", "switch_port", "12500", "link_down", "logical_port"),
            id="a port by the number of its chip",
        ),
        pytest.param(
            "Mar  9 04:11:07 leaf-1 NOTICE swss#portmgrd: :- doTask: Configure Ethernet8 admin "
            "status to down",
            ("leaf-1", "switch_port", "Ethernet8", "admin_down", None),
            id="SONiC shut by configuration",
        ),
        pytest.param(
            "Mar  9 04:11:07 leaf-1 INFO sudo: admin : COMMAND=/usr/local/bin/config interface "
            "startup Ethernet8",
            ("leaf-1", "switch_port", "Ethernet8", "admin_up", None),
            id="SONiC opened by command",
        ),
        pytest.param(
            "Mar  9 04:11:07 leaf-1 NOTICE swss#orchagent: :- main: --- Starting Orchestration "
            "Agent ---",
            ("leaf-1", "node", None, "boot", "orchagent"),
            id="SONiC starts",
        ),
        pytest.param(
            "2031-03-09T04:11:07.5+01:00 leaf-1 swss#orchagent: Port Ethernet0 oper error event: "
            "mac_local_fault occurred",
            ("leaf-1", "switch_port", "Ethernet0", "port_error", "mac_local_fault"),
            id="a stamp with its zone",
        ),
    ],
)
def test_forms(text: str, expected: tuple[str | None, ...]) -> None:
    """Each form tells who, which port and what."""
    assert first(text, "host", "device_kind", "device", "kind", "code") == expected


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        pytest.param(
            'EVENT_PUBLISHED: {"sonic-events-swss:if-state":{"ifname":"Ethernet12","status":'
            '"down","timestamp":"2031-03-09T04:11:07.48315Z"}}',
            "Europe/Berlin",
            datetime(2031, 3, 9, 3, 11, 7, 48315, tzinfo=UTC),
            id="a fraction without zeros in front, and a clock that is local",
        ),
        pytest.param(
            'EVENT_PUBLISHED: {\\"sonic-events-swss:if-state\\":{\\"status\\":\\"down\\",'
            '\\"ifname\\":\\"Ethernet12\\",\\"timestamp\\":\\"2031-03-09T04:11:07.000007Z\\"}}',
            "UTC",
            datetime(2031, 3, 9, 4, 11, 7, 7, tzinfo=UTC),
            id="quoted once more, in another order",
        ),
        pytest.param(
            "Mar  9 04:11:07 UTC: %LINK-3-UPDOWN: Interface Ethernet12, changed state to down",
            "Europe/Berlin",
            datetime(2031, 3, 9, 4, 11, 7, tzinfo=UTC),
            id="a stamp that says UTC",
        ),
        pytest.param(
            "Mar  9 2031 04:11:07: %LINK-3-UPDOWN: Interface Ethernet12, changed state to down",
            "Europe/Berlin",
            datetime(2031, 3, 9, 3, 11, 7, tzinfo=UTC),
            id="a year behind the day",
        ),
    ],
)
def test_clocks(text: str, zone: str, expected: datetime) -> None:
    """Each clock is read as its source means it."""
    options = ReadOptions(time_zone=zone, year=2031)
    assert read(text, options).events.select("device", "kind", "time").rows() == [
        ("Ethernet12", "link_down", expected)
    ]


def test_a_log_knows_its_own_year() -> None:
    """Published events carry the year that the envelopes lack."""
    text = """Mar  9 04:11:07 leaf-1 x: Port Ethernet0 oper state set from up to down
Mar  9 04:12:00 leaf-1 x: EVENT_PUBLISHED: {"sonic-events-swss:if-state":{"ifname":"Ethernet0",\
"status":"up","timestamp":"2031-03-09T04:12:00.1Z"}}"""
    assert read(text, ReadOptions()).events["time"].dt.year().to_list() == [2031, 2031]


def test_a_storm_is_published_too() -> None:
    """The published copy of a storm is counted with the line of the watchdog."""
    text = """2031 Mar  9 04:11:07.000100 leaf-1 x: PFC Watchdog detected PFC storm on port \
Ethernet4, queue index 3, queue id 0x15
2031 Mar  9 04:11:07.000200 leaf-1 x: EVENT_PUBLISHED: {"sonic-events-swss:pfc-storm":{"ifname":\
"Ethernet4","queue_index":"3","queue_id":"21","timestamp":"2031-03-09T04:11:07.150Z"}}"""
    assert first(text, "kind", "device", "count") == ("pfc_storm", "Ethernet4", 2)


SAMPLE = b"""2031 Mar  9 04:11:07.048421 leaf-r3-02 NOTICE swss#orchagent: :- updatePortOperStatus\
: Port Ethernet12 oper state set from up to down
\x1b[31mMar  9 04:11:07 leaf-1 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet12/1 \
(to gpu-r3-n07), changed state to down\x1b[0m
Mar 09 04:11:07 113204 [7F21A700] 0x01 -> log_trap_info: Received Generic Notice type:1 num:128 \
(Link state change) Producer:2 (Switch) from LID:212 TID:0x000000000000002a
Mar 09 04:12:07 113204 [7F21A700] 0x01 -> x: ERR 5431: SymbolErrorCounter : 14 : node "leaf-1" \
(NodeGUID: 0xb83fd2030a001101) : port 17 connected to "gpu-1 mlx5_4" (NodeGUID: 0xb8) : port 1
2031-03-09 04:11:07.113 [48211] [329] WARNING [Link] Switch [default / Switch: LEAF-1 / 17] \
[dev_id: b83fd2030a001101]: Link went down: (Switch:LEAF-1:1/9/1)0xb8:17 - (Switch:S:1/4/2)0xb9:8
Timestamp: Sun Mar  9 04:11:07 2031 123456 usec
12: eth4: <NO-CARRIER,UP> mtu 9000 qdisc mq state DOWN group default
    link/ether b8:3f:d2:0a:00:77 brd ff:ff:ff:ff:ff:ff
2031 Mar  9 04:11:07 leaf-1 x: PFC Watchdog detected PFC storm on port Ethernet4, queue index 3
"""


@settings(max_examples=12)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(SAMPLE.split(b"\n")),
            st.binary(max_size=40).map(lambda data: data.replace(b"\r", b"")),
        ),
        max_size=8,
    ),
    st.sampled_from([b"\n", b"\r\n"]),
    st.integers(0, 400),
)
@example([b"Port " * 250_000], b"\n", 0)
def test_every_line_is_accounted_for(lines: list[bytes], end: bytes, torn: int) -> None:
    """Torn, doubled, coloured or foreign: each line that is not blank is used or rejected."""
    data = end.join([SAMPLE[torn:], *lines])

    reading = read_log_lines(data, "switch.log", "switch.log", OPTIONS)

    rejected = reading.rejects["count"].fill_null(1).sum()
    assert reading.lines_used + rejected == read_lines(data)["position"].n_unique()
