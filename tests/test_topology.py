"""Listings of neighbours and of names of ports, as text and as JSON, and Arista's counters."""

from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.communication.nccl_places import bus_address
from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

HERE: Final = ReadOptions(host="gpu-r3-n07")

BLOCK: Final = """\
-------------------------------------------------------------------------------
LLDP neighbors:
-------------------------------------------------------------------------------
Interface:    eth4, via: LLDP, RID: 1, Time: 0 day, 00:01:22
  Chassis:
    ChassisID:    mac 00:1c:73:aa:bb:cc
    SysName:      leaf-r3-02
    SysDescr:     Arista Networks EOS version 4.31
                  running on an Arista
    MgmtIP:       10.1.0.3
    MgmtIP:       fe80::1
    Capability:   Bridge, on
  Port:
    PortID:       ifname Ethernet12/1
    PortDescr:    to gpu-r3-n07 rail4
    TTL:          120
-------------------------------------------------------------------------------
"""
PAIRS: Final = """\
lldp.eth4.via=LLDP
lldp.eth4.chassis.mac=00:1c:73:aa:bb:cc
lldp.eth4.chassis.name=leaf-r3-02
lldp.eth4.chassis.mgmt-ip=10.1.0.3
lldp.eth4.port.ifname=Ethernet12/1
lldp.eth4.port.descr=to gpu-r3-n07 rail4
"""
JSON: Final = """\
{"lldp": {"interface": [
  {"eth4": {"via": "LLDP", "chassis": {"leaf-r3-02": {"id": {"type": "mac", "value": "00:1c"},
     "mgmt-ip": ["10.1.0.3", "fe80::1"]}},
   "port": {"id": {"type": "ifname", "value": "Ethernet12/1"}, "descr": "to gpu"}}}
]}}
"""
JSON0: Final = (
    '{"lldp":[{"interface":[{"name":"eth4","chassis":[{"name":[{"value":"leaf-r3-02"}],'
    '"mgmt-ip":[{"value":"10.1.0.3"}]}],"port":[{"id":[{"type":"ifname",'
    '"value":"Ethernet12/1"}]}]}]}]}\n'
)
SONIC: Final = """\
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr
-----------  --------------  -----------------  ------------  -----------------
eth4         leaf-r3-02      Ethernet12/1       BR            down to the host
eth5         LEAF-r3-03      0c:42:a1:aa:bb:cc  BR            Ethernet8
eth6         leaf-r3-04      0c:42:a1:aa:bb:cd  BR            a cable
--------------------------------------------------
Total entries displayed:  3
"""
ARISTA: Final = """\
Last table change time   : 0:12:12 ago
Number of table inserts  : 33
Port          Neighbor Device ID       Neighbor Port ID    TTL
---------- ------------------------ ---------------------- ---
Et12/1        leaf-r3-02               Ethernet12/1        120
"""
EAPI: Final = (
    '{"jsonrpc":"2.0","result":[{"tablesDrops":0,"lldpNeighbors":[{"port":"Ethernet12/1",'
    '"neighborDevice":"leaf-r3-02","neighborPort":"Ethernet12/1","ttl":120}]}]}\n'
)


def read(folder: Path, text: str | bytes, options: ReadOptions = HERE) -> Reading:
    """What a file says; every line of it is accounted for."""
    path = folder / "capture"
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(data)
    return read_file(path, "capture", options)


def lost(reading: Reading) -> list[tuple[Any, ...]]:
    """The rejects of a reading: position, reason."""
    return reading.rejects.select("position", "reason").rows()


@pytest.mark.parametrize(
    ("text", "port"),
    [
        pytest.param(BLOCK, "eth4", id="lldpd's blocks"),
        pytest.param(PAIRS, "eth4", id="lldpd's keys and values"),
        pytest.param(JSON, "eth4", id="lldpd's JSON with names as keys"),
        pytest.param(JSON0, "eth4", id="lldpd's JSON with everything in lists"),
        pytest.param(SONIC, "eth4", id="SONiC's table"),
        pytest.param(ARISTA, "Ethernet12/1", id="Arista's table with short names"),
        pytest.param(EAPI, "Ethernet12/1", id="Arista's JSON in an answer of eAPI"),
    ],
)
def test_neighbours(tmp_path: Path, text: str, port: str) -> None:
    """A neighbour is a link from the port that hears it to the port it names."""
    reading = read(tmp_path, text)

    ends = reading.links.select("node_a", "port_a", "node_b", "port_b").rows()
    assert ends[0] == ("gpu-r3-n07", port, "leaf-r3-02", "Ethernet12/1")
    assert lost(reading) == []


def test_port_by_its_description(tmp_path: Path) -> None:
    """A port that calls itself by a MAC address is what it describes itself as, else not known."""
    links = read(tmp_path, SONIC).links

    assert links.select("node_b", "port_b").rows()[1:] == [
        ("leaf-r3-03", "Ethernet8"),
        ("leaf-r3-04", None),
    ]


@pytest.mark.parametrize("text", [BLOCK, PAIRS, JSON, JSON0])
def test_address_of_a_neighbour(tmp_path: Path, text: str) -> None:
    """The address that a neighbour is managed by is a name of it."""
    rows = read(tmp_path, text).aliases.select("host", "device_kind", "alias_kind", "alias").rows()

    assert rows == [("leaf-r3-02", "node", "ip", "10.1.0.3")]


def test_neighbours_of_nobody(tmp_path: Path) -> None:
    """Where nothing tells whose neighbours they are, each line is a reject."""
    reading = read(tmp_path, PAIRS, ReadOptions())

    assert reading.links.is_empty()
    assert {reason for _, reason in lost(reading)} == {"no host told"}


NAMES: Final = """\
mlx5_4 port 1 ==> eth4 (Up)
mlx5_5 port 1 ==> eth5.100 (Up)
0000:5e:00.0 mlx5_4 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 fw 28.39 port 1 (ACTIVE) ==> eth4 (Up)
link mlx5_6/1 state ACTIVE physical_state LINK_UP netdev eth6
l 1 root root 0 mlx5_6 -> ../../devices/pci0000:5d/0000:60:00.0/infiniband/mlx5_6
lrwxrwxrwx 1 root root 0 Jan 5 04:03 eth6 -> ../../devices/pci0000:5d/0000:60:00.0/net/eth6
DEV     PORT    INDEX   GID                                     IPv4            VER     DEV
---     ----    -----   ---                                     ------------    ---     ---
mlx5_7  1       0       fe80:0000:0000:0000:0e42:a1ff:feaa:bbcc                 v1      eth7
"""


def test_names_of_nics(tmp_path: Path) -> None:
    """Interfaces and PCI devices are names of RDMA ports; a virtual LAN's interface is none."""
    reading = read(tmp_path, NAMES)

    assert reading.aliases.select("device", "alias_kind", "alias").rows() == [
        ("eth6", "pci", "0000:60:00.0"),
        ("mlx5_4/1", "pci", "0000:5e:00.0"),
        ("mlx5_4/1", "netdev", "eth4"),
        ("mlx5_6", "pci", "0000:60:00.0"),
        ("mlx5_6/1", "netdev", "eth6"),
        ("mlx5_7/1", "netdev", "eth7"),
    ]
    assert lost(reading) == []


def test_names_in_json(tmp_path: Path) -> None:
    """`rdma link` tells the same as JSON."""
    text = '[{"ifindex":4,"ifname":"mlx5_4","port":1,"state":"ACTIVE","netdev":"eth4"}]\n'

    assert read(tmp_path, text).aliases.select("device", "alias").rows() == [("mlx5_4/1", "eth4")]


ERRORS: Final = (
    '{"interfaceErrorCounters":{"Ethernet12/1":{"inErrors":3,"frameTooLongs":1,"fcsErrors":2,'
    '"alignmentErrors":0,"symbolErrors":0,"frameTooShorts":0,"outErrors":18446744073709551610}}}\n'
)
INTERFACES: Final = (
    '{"interfaces":{"Ethernet12/1":{"mtu":9214,"bandwidth":400000000000,"lineProtocolStatus":"up",'
    '"interfaceCounters":{"inOctets":7,"inputErrorsDetail":{"fcsErrors":2},"lastClear":17.5}},'
    '"Vlan7":{"mtu":1500}}}\n'
)
TABLE: Final = """\
leaf-r3-02#show interfaces counters errors
Port              FCS    Align   Symbol       Rx    Runts   Giants       Tx
Et12/1              3        0        0        3        0        1        0
"""
PHY: Final = """\
Current System Time: Sun Mar  9 04:11:07 2031
Ethernet12/1
                              Current State    Changes            Last Change
                              -------------    -------            -----------
  PHY state                   linkUp                12            5:01:02 ago
  Forward Error Correction    Reed-Solomon
  FEC corrected codewords     123456                 0            never
  FEC uncorrected codewords   2                      4            0:35:57 ago
  MAC Rx local fault          false                  2            0:35:57 ago
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            ERRORS,
            {
                "receive_errors_total": 3.0,
                "transmit_errors_total": 18446744073709551610.0,
                "oversize_packets_total": 1.0,
                "undersize_packets_total": 0.0,
                "crc_errors_total": 2.0,
                "alignment_errors_total": 0.0,
                "coding_errors_total": 0.0,
            },
            id="eAPI's error counters",
        ),
        pytest.param(
            INTERFACES,
            {
                "received_bytes_total": 7.0,
                "crc_errors_total": 2.0,
                "mtu_bytes": 9214.0,
                "port_rate_bytes_per_second": 5e10,
                "counters_cleared_seconds": 17.5,
                "link_up": 1.0,
            },
            id="eAPI's interfaces",
        ),
        pytest.param(
            TABLE,
            {
                "crc_errors_total": 3.0,
                "alignment_errors_total": 0.0,
                "coding_errors_total": 0.0,
                "receive_errors_total": 3.0,
                "undersize_packets_total": 0.0,
                "oversize_packets_total": 1.0,
                "transmit_errors_total": 0.0,
            },
            id="the table of errors",
        ),
        pytest.param(
            PHY,
            {
                "fec_corrected_codewords_total": 123456.0,
                "fec_uncorrected_codewords_total": 2.0,
                "mac_local_faults_total": 1.0,
            },
            id="the details of the physical layer, a fault being two changes",
        ),
    ],
)
def test_arista(tmp_path: Path, text: str, expected: dict[str, float]) -> None:
    """What EOS counts is of the port by its long name."""
    reading = read(tmp_path, text, ReadOptions(host="leaf-r3-02"))

    found = dict(reading.samples.select("signal", "value").iter_rows())
    assert (found, set(reading.samples["device"])) == (expected, {"Ethernet12/1"})
    assert set(reading.samples["host"]) == {"leaf-r3-02"}


def test_exact_count_of_arista(tmp_path: Path) -> None:
    """A number that float64 cannot hold is kept to its last digit."""
    samples = read(tmp_path, ERRORS).samples

    assert samples["exact"].drop_nulls().to_list() == [18446744073709551610]


def test_clock_of_the_switch(tmp_path: Path) -> None:
    """The clock that a switch prints above its ports is the time of what it printed."""
    times = read(tmp_path, PHY).samples["time"].dt.strftime("%F %T").unique().to_list()

    assert times == ["2031-03-09 04:11:07"]


def test_clock_until_the_next_stamp(tmp_path: Path) -> None:
    """A switch's clock is not the time of what a later round of the capture shows."""
    text = f"2031-03-09 04:11:00\nleaf-r3-02#show interfaces phy detail\n{PHY}"
    later = f"2031-03-09 05:11:00\nleaf-r3-02#show interfaces counters errors\n{TABLE}"
    samples = read(tmp_path, text + later).samples

    assert {
        signal: time.strftime("%H:%M:%S")
        for signal, time in samples.select("signal", "time").rows()
    }.items() >= {
        ("mac_local_faults_total", "04:11:07"),
        ("crc_errors_total", "05:11:00"),
    }


@pytest.mark.parametrize(
    ("digits", "address"),
    [
        pytest.param("9b000", "0000:9b:00.0", id="a bus alone"),
        pytest.param("1801000", "0018:01:00.0", id="a domain before the bus"),
        pytest.param("1b0f3", "0000:1b:0f.3", id="a device and a function"),
    ],
)
def test_bus_address(digits: str, address: str) -> None:
    """A bus id in hex is a PCI address."""
    assert pl.select(bus_address(pl.lit(digits))).item() == address


TEXTS: Final = (BLOCK, PAIRS, JSON, JSON0, SONIC, ARISTA, EAPI, NAMES, ERRORS, TABLE, PHY)


@st.composite
def torn(draw: st.DrawFn) -> bytes:
    """A listing with a piece of it spoiled: cut, doubled, coloured, or not UTF-8."""
    text = draw(st.sampled_from(TEXTS)).encode()
    at, end = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    spoil = draw(
        st.sampled_from([b"", b"\xff\xfe", b"\r\n", b"\x1b[31m", text[at:end] * 2, b"{[", b"\0"])
    )
    whole = text[:at] + spoil + text[end if draw(st.booleans()) else at :]
    return whole.replace(b"\n", b"\r\n") if draw(st.booleans()) else whole


@settings(max_examples=25)
@given(data=torn())
def test_spoiled_listings(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever becomes of a listing, nothing is raised and each line is accounted for."""
    reading = read(tmp_path_factory.mktemp("torn"), data)

    lines = [line for line in data.replace(b"\0", b"").split(b"\n") if line.strip()]
    counted = reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())
    assert counted == len(lines)
