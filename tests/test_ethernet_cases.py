"""Counters of Ethernet switches as SNMP and gNMI deliver them: exact, and told apart."""

from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from detectors.counters import CounterParams, counter_intervals
from detectors.port_readings import port_readings

START: Final = 1_931_000_000_000
PORT: Final = 'ifAlias="to gpu-r3-n07 rail4",ifDescr="{0}",ifIndex="1201",ifName="{0}"'


def read(folder: Path, text: str, name: str = "capture") -> Reading:
    """What a file with the text says; every line of it is accounted for."""
    path = folder / name
    path.write_text(text)
    reading = read_file(path, name, ReadOptions())
    lines = sum(1 for line in text.split("\n") if line.strip())
    assert reading.lines_used + reading.rejects["count"].fill_null(1).sum() == lines
    return reading


def walk(*rows: tuple[int, str, str, str]) -> str:
    """A page of snmp_exporter: (seconds, object, interface, value) of leaf-r3-02."""
    return "".join(
        f'{name}{{{PORT.format(port)},instance="leaf-r3-02"}} {value} {START + seconds * 1000}\n'
        for seconds, name, port, value in rows
    )


def intervals(reading: Reading) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Delta and what is said of it, by port and signal; only one interval each is expected."""
    found = (
        counter_intervals(port_readings(reading.samples.lazy()), CounterParams()).lazy().collect()
    )
    said = ("delta", "wrapped", "reset", "regrouped")
    return {
        (row["device"], row["signal"]): tuple(row[name] for name in said)
        for row in found.iter_rows(named=True)
    }


UP: Final = (
    f'sysUpTime{{instance="leaf-r3-02"}} 100 {START}\n'
    f'sysUpTime{{instance="leaf-r3-02"}} 6100 {START + 60_000}\n'
)
FAST: Final = walk((0, "ifHighSpeed", "Ethernet12/1", "400000"))


def test_narrow_wrap(tmp_path: Path) -> None:
    """A 32-bit count that runs over its top is a wrap, not a reset."""
    counts = walk(
        (0, "ifInDiscards", "Ethernet12/1", "4294967000"),
        (30, "ifInDiscards", "Ethernet12/1", "904"),
    )

    found = intervals(read(tmp_path, counts + FAST + UP))

    assert found == {("Ethernet12/1", "receive_discards_total"): (1200.0, True, False, False)}


def test_wide_wrap(tmp_path: Path) -> None:
    """A wide count that the exporter wraps at 2^53 goes on, and so do the port's other counts."""
    counts = walk(
        (0, "ifHCInOctets", "Ethernet12/1", "9007199250000000"),
        (60, "ifHCInOctets", "Ethernet12/1", "2995259008"),
        (0, "ifInErrors", "Ethernet12/1", "7"),
        (60, "ifInErrors", "Ethernet12/1", "7"),
    )

    assert intervals(read(tmp_path, counts + FAST + UP)) == {
        ("Ethernet12/1", "received_bytes_total"): (3e9, True, False, False),
        ("Ethernet12/1", "receive_errors_total"): (0.0, False, False, False),
    }


def test_unwrapped_exporter(tmp_path: Path) -> None:
    """Where one count passes 2^53 the exporter does not wrap, and such a count is exact."""
    counts = walk(
        (0, "ifHCInOctets", "Ethernet12/1", "9007199254740993"),
        (0, "ifHCOutOctets", "Ethernet12/1", "5"),
        (0, "ifOutErrors", "Ethernet12/1", "5"),
    )

    samples = read(tmp_path, counts).samples

    assert samples.select("exact", "wraps_at").rows() == [
        (9007199254740993, 2.0**64),
        (None, 2.0**64),
        (None, 2.0**32),
    ]


def test_bundle_without_a_member(tmp_path: Path) -> None:
    """A bundle's count falls with a member: neither reset nor wrap, and the member goes on."""
    counts = walk(
        (0, "ifHCInOctets", "PortChannel12", "9000000000000"),
        (60, "ifHCInOctets", "PortChannel12", "5001000000000"),
        (0, "ifHCInOctets", "Ethernet0", "5000000000000"),
        (60, "ifHCInOctets", "Ethernet0", "5001000000000"),
    )

    assert intervals(read(tmp_path, counts + UP)) == {
        ("PortChannel12", "received_bytes_total"): (None, False, False, True),
        ("Ethernet0", "received_bytes_total"): (1e9, False, False, False),
    }


@pytest.mark.parametrize(
    ("line", "row"),
    [
        pytest.param(
            'ifHighSpeed{ifName="Ethernet0",instance="leaf-r3-02"} 400000',
            ("switch_port", "Ethernet0", "port_rate_bytes_per_second", 5e10, None),
            id="ifHighSpeed is in megabits",
        ),
        pytest.param(
            'ifSpeed{ifName="Ethernet0",instance="leaf-r3-02"} 4294967295',
            ("switch_port", "Ethernet0", "port_rate_bytes_per_second", None, "capped"),
            id="ifSpeed cannot tell a fast port",
        ),
        pytest.param(
            'ifHighSpeed{ifName="Ethernet0",instance="leaf-r3-02"} 0',
            ("switch_port", "Ethernet0", "port_rate_bytes_per_second", None, "unknown"),
            id="a speed of zero is not known",
        ),
        pytest.param(
            'ifOperStatus{ifName="Ethernet0",instance="leaf-r3-02"} 7',
            ("switch_port", "Ethernet0", "link_up", 0.0, None),
            id="a port whose lower layer is down is down",
        ),
        pytest.param(
            'ifOperStatus{ifName="Ethernet0",instance="leaf-r3-02"} 4',
            ("switch_port", "Ethernet0", "link_up", None, "unknown"),
            id="a state that the switch does not know is null",
        ),
        pytest.param(
            'dot3StatsFCSErrors{ifName="Ethernet0",instance="leaf-r3-02"} 3',
            ("switch_port", "Ethernet0", "crc_errors_total", 3.0, None),
            id="CRC errors are told apart from ifInErrors",
        ),
        pytest.param(
            'ifCounterDiscontinuityTime{ifName="Ethernet0",instance="leaf-r3-02"} 250',
            ("switch_port", "Ethernet0", "counters_began_uptime_seconds", 2.5, None),
            id="ticks are hundredths of a second",
        ),
        pytest.param(
            'cpfcIfRequests{ifName="Ethernet0",instance="leaf-r3-02"} 9',
            ("priority", "Ethernet0/priority3", "pause_sent_frames_total", 9.0, None),
            id="the total pauses of a SONiC port are those of priority 3",
        ),
        pytest.param(
            'cpfcIfPriorityIndications{cpfcIfPriorityValue="4",ifName="Ethernet0",'
            'instance="leaf-r3-02"} 9',
            ("priority", "Ethernet0/priority4", "pause_received_frames_total", 9.0, None),
            id="pauses of a priority are its own",
        ),
        pytest.param(
            'ifInErrors{ifIndex="7",ifName="",ifDescr="",instance="10.1.0.3:161"} 2',
            ("switch_port", "ifIndex7", "receive_errors_total", 2.0, None),
            id="a port whose name was not found goes by its index",
        ),
        pytest.param(
            'ifInErrors{ifName="",ifDescr="",instance="leaf-r3-02"} 2',
            ("switch_port", None, "receive_errors_total", None, "unnamed_port"),
            id="what a port without any name counts is nobody's",
        ),
    ],
)
def test_objects(tmp_path: Path, line: str, row: tuple[Any, ...]) -> None:
    """An object becomes the signal it is, in base units, or null with the reason."""
    samples = read(tmp_path, line + "\n").samples

    assert samples.select("device_kind", "device", "signal", "value", "reason").rows() == [row]


def test_cisco_total_pauses(tmp_path: Path) -> None:
    """On a switch that calls itself Cisco's, the port's total is the port's."""
    page = (
        'cpfcIfRequests{ifName="Ethernet1/1",instance="nx-01"} 9\n'
        'sysDescr{sysDescr="Cisco NX-OS(tm) nxos.9.3.5",instance="nx-01"} 1\n'
    )

    assert read(tmp_path, page).samples.select("device_kind", "device").rows() == [
        ("switch_port", "Ethernet1/1")
    ]


def test_priorities_beside_their_total(tmp_path: Path) -> None:
    """Where the priorities stand beside it, the total is left out."""
    page = (
        'cpfcIfRequests{ifName="Ethernet0",instance="leaf-r3-02"} 9\n'
        'cpfcIfPriorityRequests{priority="3",ifName="Ethernet0",instance="leaf-r3-02"} 9\n'
    )

    assert read(tmp_path, page).samples["device"].to_list() == ["Ethernet0/priority3"]


def test_speed_beside_a_capped_one(tmp_path: Path) -> None:
    """Where both speeds are told, the one without a cap is read."""
    page = (
        'ifSpeed{ifName="Ethernet0",instance="leaf-r3-02"} 4294967295\n'
        'ifHighSpeed{ifName="Ethernet0",instance="leaf-r3-02"} 400000\n'
    )

    assert read(tmp_path, page).samples["value"].to_list() == [5e10]


def test_two_ports_of_one_name(tmp_path: Path) -> None:
    """Two ports that answer to one name at a time are a conflict and no one port's counts."""
    page = (
        f'ifInErrors{{ifIndex="1",ifName="etp1",instance="leaf-r3-02"}} 2 {START}\n'
        f'ifInErrors{{ifIndex="2",ifName="etp1",instance="leaf-r3-02"}} 5 {START}\n'
    )

    reading = read(tmp_path, page)

    assert reading.samples.select("value", "reason").rows() == [(None, "ambiguous_port")]
    assert reading.events.select("code", "device").rows() == [("identity_conflict", "etp1")]


def test_index_that_moved(tmp_path: Path) -> None:
    """A port keeps its name when a reboot gives it another index."""
    page = (
        f'ifInErrors{{ifIndex="1",ifName="Ethernet0",instance="leaf-r3-02"}} 2 {START}\n'
        f'ifInErrors{{ifIndex="9",ifName="Ethernet0",instance="leaf-r3-02"}} 5 {START + 9000}\n'
    )

    reading = read(tmp_path, page)

    assert reading.samples.select("device", "index", "value").rows() == [
        ("Ethernet0", 1, 2.0),
        ("Ethernet0", 9, 5.0),
    ]
    assert reading.events.is_empty()


def test_names_of_a_switch(tmp_path: Path) -> None:
    """A switch that is scraped by address is called what it calls itself."""
    page = (
        'sysName{sysName="Leaf-R3-02",instance="10.1.0.3"} 1\n'
        'ifInErrors{ifName="Ethernet0",ifDescr="etp1",ifIndex="5",instance="10.1.0.3"} 2\n'
    )

    reading = read(tmp_path, page)

    assert reading.samples["host"].to_list() == ["leaf-r3-02"]
    assert reading.aliases.select("host", "device", "alias").rows() == [
        ("leaf-r3-02", "Ethernet0", "etp1"),
        ("leaf-r3-02", "Ethernet0", "ifIndex5"),
    ]


EVENT: Final = (
    '[{"name":"ifcnt","timestamp":1931000000000000001,"tags":{"interface_name":"Ethernet12/1",'
    '"source":"leaf-r3-02:6030"},"values":{"/interfaces/interface/state/counters/in-octets":'
    '"18446744073709551610"}}]\n'
)
OWN: Final = (
    '{\n "source": "leaf-r3-02:6030",\n "timestamp": 1931000000000000001,\n'
    ' "updates": [{"Path": "openconfig-interfaces:interfaces/interface[name=Ethernet12/1]/state/'
    'counters",\n  "values": {"interfaces/interface/state/counters": '
    '{"in-octets": 18446744073709551610}}}]\n}\n'
)
NEXUS: Final = (
    '{"source":"leaf-r3-02:50051","timestamp":"1931000000000000001","updates":[{"Path":"","values":'
    '{"":{"openconfig-interfaces:interfaces":{"interface":[{"name":"Ethernet12/1","state":'
    '{"counters":{"in-octets":"18446744073709551610"}}}]}}}}]}\n'
)
TELEGRAF: Final = (
    "ifcnt,name=Ethernet12/1,source=leaf-r3-02,path=/interfaces/interface/state/counters,host=mon1 "
    "in_octets=18446744073709551610u 1931000000000000001\n"
)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(EVENT, id="an event with the count in quotes and a port in its source"),
        pytest.param(
            EVENT.replace('"18446744073709551610"', "18446744073709551610"),
            id="an event with the count as a number",
        ),
        pytest.param(
            EVENT.replace('6030"', '6030","target":"leaf-r3-02"'), id="an event with a target"
        ),
        pytest.param(OWN, id="gnmic's own form with the keys in the path"),
        pytest.param(NEXUS, id="a whole subtree with the name among the fields"),
        pytest.param(TELEGRAF, id="a line of Telegraf"),
    ],
)
def test_exact_counts(tmp_path: Path, text: str) -> None:
    """Counts of 64 bits come out to the last digit, with node, port and time."""
    reading = read(tmp_path, text)

    row = reading.samples.with_columns(pl.col("time").dt.timestamp("us")).select(
        "host", "device_kind", "device", "signal", "exact", "time"
    )
    assert row.rows() == [
        (
            "leaf-r3-02",
            "switch_port",
            "Ethernet12/1",
            "received_bytes_total",
            18446744073709551610,
            1_931_000_000_000_000,
        )
    ]


def event(path: str, value: str, **tags: str) -> str:
    """One event of leaf-r3-02 with a value and further tags."""
    named = "".join(f',"{key}":"{tag}"' for key, tag in tags.items())
    return (
        f'[{{"name":"s","timestamp":1931000000000000001,"tags":{{"source":"leaf-r3-02:6030"{named}}}'
        f',"values":{{"{path}":{value}}}}}]\n'
    )


STATE: Final = "/interfaces/interface/state"
QUEUE: Final = "/qos/interfaces/interface/output/queues/queue/state"
OPTICS: Final = "/components/component/transceiver/physical-channels/channel/state"


@pytest.mark.parametrize(
    ("path", "value", "tags", "row"),
    [
        pytest.param(
            f"{STATE}/oper-status",
            '"LOWER_LAYER_DOWN"',
            {"interface_name": "Ethernet0"},
            ("Ethernet0", "link_up", 0.0),
            id="a state in words",
        ),
        pytest.param(
            "/openconfig-interfaces:interfaces/interface/ethernet/state/port-speed",
            '"openconfig-if-ethernet:SPEED_400GB"',
            {"interface_name": "Ethernet0"},
            ("Ethernet0", "port_rate_bytes_per_second", 5e10),
            id="a speed in words",
        ),
        pytest.param(
            f"{STATE}/counters/last-clear",
            '"1764100000000000000"',
            {"interface_name": "Ethernet0"},
            ("Ethernet0", "counters_cleared_seconds", 1764100000.0),
            id="the time of the last clear in nanoseconds",
        ),
        pytest.param(
            f"{QUEUE}/dropped-pkts",
            '"12"',
            {"interface_interface-id": "Ethernet0", "queue_name": "UC3"},
            ("Ethernet0/queue3", "queue_drops_total", 12.0),
            id="a queue by its number",
        ),
        pytest.param(
            f"{OPTICS}/input-power/instant",
            "-2.25",
            {"component_name": "Ethernet0-transceiver", "channel_index": "0"},
            ("Ethernet0/lane1", "rx_power_dbm", -2.25),
            id="a lane that is counted from 0",
        ),
        pytest.param(
            "/interfaces/interface/ethernet/state/counters/in-mac-pause-frames",
            "7",
            {"interface_name": "Ethernet0"},
            ("Ethernet0", "global_pause_received_frames_total", 7.0),
            id="a pause that is not of a priority",
        ),
    ],
)
def test_leaves(
    tmp_path: Path, path: str, value: str, tags: dict[str, str], row: tuple[str, str, float]
) -> None:
    """A leaf is the signal it measures, of the port or of its part."""
    samples = read(tmp_path, event(path, value, **tags)).samples

    assert samples.select("device", "signal", "value").rows() == [row]


def test_one_count_by_two_names(tmp_path: Path) -> None:
    """CRC errors that stand under two names are counted once."""
    tags = {"interface_name": "Ethernet0"}
    text = event(f"{STATE}/counters/in-fcs-errors", "5", **tags) + event(
        "/interfaces/interface/ethernet/state/counters/in-crc-errors", "6", **tags
    )

    samples = read(tmp_path, text).samples

    assert samples.select("signal", "value").rows() == [("crc_errors_total", 5.0)]


def test_torn_stream(tmp_path: Path) -> None:
    """Of a stream that was cut, the documents before the cut are read and the rest is a reject."""
    sync = '{"sync-response":true}\n'
    text = OWN + sync + NEXUS + NEXUS[:40] + "\n" + event("/system/state/hostname", '"x"')

    reading = read(tmp_path, text)

    assert reading.samples.height == 2
    assert reading.rejects.select("position", "reason", "count").rows() == [
        (9, "no document of gnmic", 1),
        (10, "no leaf that is read", 1),
    ]


def test_metrics_of_gnmic(tmp_path: Path) -> None:
    """A metric's name is the leaf's path, whatever stands before it; labels are the keys."""
    page = (
        'gnmic_ifcnt_interfaces_interface_state_counters_in_octets{interface_name="Ethernet0",'
        'source="leaf-r3-02:6030",subscription_name="ifcnt"} 12\n'
        'interfaces_interface_state_oper_status{interface_name="Ethernet0",source="leaf-r3-02"} 1\n'
        "qos_interfaces_interface_output_queues_queue_state_dropped_pkts"
        '{interface_interface_id="Ethernet0",queue_name="3",source="leaf-r3-02"} 5\n'
        'interfaces_interface_state_counters_in_fcs_errors{interface_name="Ethernet0",'
        'source="leaf-r3-02"} 1\n'
        "interfaces_interface_ethernet_state_counters_in_crc_errors"
        '{interface_name="Ethernet0",source="leaf-r3-02"} 2\n'
    )

    samples = read(tmp_path, page).samples

    assert samples.select("host", "device_kind", "device", "signal", "value").rows() == [
        ("leaf-r3-02", "switch_port", "Ethernet0", "received_bytes_total", 12.0),
        ("leaf-r3-02", "switch_port", "Ethernet0", "link_up", 1.0),
        ("leaf-r3-02", "queue", "Ethernet0/queue3", "queue_drops_total", 5.0),
        ("leaf-r3-02", "switch_port", "Ethernet0", "crc_errors_total", 1.0),
    ]


@settings(max_examples=60)
@given(
    text=st.sampled_from([EVENT, OWN, NEXUS, TELEGRAF, OWN + NEXUS + EVENT]),
    cut=st.tuples(st.integers(0, 400), st.integers(0, 400)),
    spoil=st.sampled_from([b"", b"\xff", b"\r\n", b"{[", b'"', b"\x1b[31m", b"[" * 2000]),
)
def test_spoiled_documents(
    text: str, cut: tuple[int, int], spoil: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever becomes of a document, nothing is raised and each line is accounted for."""
    data = text.encode()
    start, end = sorted(cut)
    path = tmp_path_factory.mktemp("torn") / "capture"
    path.write_bytes(data[:start] + spoil + data[end:])

    reading = read_file(path, "capture", ReadOptions())

    lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
    counted = reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())
    assert counted == len(lines)


OPTIC: Final = "components_component_physical_channels_channel_state_input_power"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(
            'interfaces_interface_state_oper_status{interface_name="Ethernet0",'
            'source="leaf-r3-02",oper_status="DOWN"} 1\n',
            [("Ethernet0", "link_up", 0.0)],
            id="a word in a label is what the leaf says, whatever the number",
        ),
        pytest.param(
            'interfaces_interface_state_oper_status{interface_name="Ethernet0",'
            'source="leaf-r3-02"} 1\n',
            [("Ethernet0", "link_up", 1.0)],
            id="a number without a word is itself",
        ),
        pytest.param(
            'interfaces_interface_ethernet_state_port_speed{interface_name="Ethernet0",'
            'source="leaf-r3-02",port_speed="SPEED_400GB"} 1\n',
            [("Ethernet0", "port_rate_bytes_per_second", 5e10)],
            id="a speed in words is bytes per second",
        ),
        pytest.param(
            "".join(
                f'{OPTIC}_{kind}{{component_name="Ethernet0",channel_index="{lane}",'
                f'source="leaf-r3-02"}} {power}\n'
                for kind, lane, power in (("instant", 0, -2.5), ("avg", 0, -3.5), ("avg", 1, -3.0))
            ),
            [("Ethernet0/lane1", "rx_power_dbm", -2.5), ("Ethernet0/lane2", "rx_power_dbm", -3.0)],
            id="the value of now beats the mean, and channels count from 1",
        ),
        pytest.param(
            f'{OPTIC}{{component_name="Ethernet0",physical_channel_index="4",'
            'source="leaf-r3-02"} -2.5\n',
            [("Ethernet0/lane4", "rx_power_dbm", -2.5)],
            id="the key of a list in full names the lane too",
        ),
    ],
)
def test_leaves_in_metrics(
    tmp_path: Path, page: str, expected: list[tuple[str, str, float]]
) -> None:
    """A metric of gnmic says of a port what its document would say."""
    reading = read(tmp_path, page)

    assert reading.events.is_empty()
    assert reading.samples.select("device", "signal", "value").rows() == expected
