"""JSON and printed hashes of tools for ports."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.ethernet.port_documents import read_port_documents
from collectors.ethernet.sonic_fields import SENSOR_FIELDS, STATE_FIELDS, sai_fields
from collectors.readings import Reading
from collectors.signals import SIGNALS
from collectors.sniffing import ReadOptions

OID = "oid:0x1000000000012"

DATABASE = {
    "COUNTERS_PORT_NAME_MAP": {"type": "hash", "value": {"Ethernet12": OID}},
    "COUNTERS_PG_NAME_MAP": {"value": {"Ethernet12:3": "oid:0x1a"}},
    "COUNTERS_QUEUE_NAME_MAP": {"value": {"Ethernet12:3": "oid:0x15"}},
    f"COUNTERS:{OID}": {
        "value": {
            "SAI_PORT_STAT_IF_IN_OCTETS": "18446744073709551610",
            "SAI_PORT_STAT_PFC_3_RX_PKTS": "52000",
            "SAI_PORT_STAT_PFC_4_RX_PKTS": "1",
            "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S2": "7",
            "SAI_PORT_STAT_SOMETHING": "1",
        }
    },
    "COUNTERS:oid:0x15": {"value": {"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "9"}},
    "USER_WATERMARKS:oid:0x1a": {
        "value": {"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "5"}
    },
    "PERSISTENT_WATERMARKS:oid:0x1a": {
        "value": {"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "6"}
    },
    f"RATES:{OID}": {"value": {"RX_BPS": "2.5e9", "FEC_PRE_BER": "1e-9"}},
}

OPTICS = {
    "STATE_DB": {
        "TRANSCEIVER_DOM_SENSOR|Ethernet0": {
            "rx1power": "-2.1",
            "rx2power": "0.0",
            "rx3power": "0.0",
            "rx4power": "0.0",
            "tx1bias": "6.75",
            "temperature": "30.5",
        },
        "TRANSCEIVER_DOM_SENSOR|Ethernet4": {"rx1power": "N/A", "rx2power": "-inf"},
    },
    "APPL_DB": {
        "BUFFER_PG_TABLE:Ethernet20:3-4": {"profile": "pg_lossless"},
        "BUFFER_PROFILE_TABLE:pg_lossless": {"xoff": "0", "size": "0"},
        "PORT_TABLE:Ethernet20": {
            "alias": "etp20",
            "speed": "400000",
            "mtu": "9100",
            "oper_status": "up",
        },
    },
}

RDMA = [
    {"ifindex": 4, "ifname": "mlx5_4", "port": 1, "out_of_sequence": 3, "np_cnp_sent": "40"},
    {"ifname": "mlx5_4", "port": 1, "cntn": 1, "lqpn": [23], "out_of_sequence": 3},
]

MLXLINK = {
    "result": {
        "output": {
            "Physical Counters and BER Info": {
                "Time Since Last Clear [Min]": "2.5",
                "Symbol BER": "15E-255",
                "Raw Physical Errors Per Lane": {"values": ["12", "3"]},
                "Raw Physical BER": "N/A",
            },
            "Histogram of FEC Errors": {"Bin 0": {"values": ["0", "90110022"]}},
            "Module Info": {
                "Cable Technology": "Copper cable unequalized",
                "Rx Power Current [dBm]": "0,0",
            },
        }
    },
    "status": {"code": 0},
}


def reading_of(folder: Path, text: str, name: str) -> Reading:
    """Return the reading of a file, by whichever dialect wants it."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return read_file(path, name, ReadOptions())


def rows(reading: Reading) -> list[tuple[object, ...]]:
    """Return device, signal and value (or the reason of its lack), by name."""
    samples = reading.samples.select("device", "signal", "value", "reason").rows()
    return sorted(
        (device, signal, value if value is not None else reason)
        for device, signal, value, reason in samples
    )


@pytest.mark.parametrize(
    ("document", "name", "expected"),
    [
        pytest.param(
            DATABASE,
            "leaf-r3-02/counters.json",
            [
                ("Ethernet12", "pause_received_frames_total", 52001.0),
                ("Ethernet12", "pre_fec_error_ratio", 1e-9),
                ("Ethernet12", "receive_bytes_per_second", 2.5e9),
                ("Ethernet12", "received_bytes_total", 1.8446744073709552e19),
                ("Ethernet12/fec_bin2", "fec_bin_codewords_total", 7.0),
                ("Ethernet12/priority3", "pause_received_frames_total", 52000.0),
                ("Ethernet12/priority4", "pause_received_frames_total", 1.0),
                ("Ethernet12/priority_group3", "headroom_watermark_bytes", 6.0),
                ("Ethernet12/queue3", "queue_ecn_marked_packets_total", 9.0),
            ],
            id="objects of the counters database are named by its maps",
        ),
        pytest.param(
            OPTICS,
            "leaf-r3-02/dump.json",
            [
                ("Ethernet0", "module_temperature_celsius", 30.5),
                ("Ethernet0/lane1", "bias_amperes", 0.00675),
                ("Ethernet0/lane1", "rx_power_dbm", -2.1),
                ("Ethernet0/lane2", "rx_power_dbm", "filler_lane"),
                ("Ethernet0/lane3", "rx_power_dbm", "filler_lane"),
                ("Ethernet0/lane4", "rx_power_dbm", "filler_lane"),
                ("Ethernet20", "link_up", 1.0),
                ("Ethernet20", "mtu_bytes", 9100.0),
                ("Ethernet20", "port_rate_bytes_per_second", 5e10),
                ("Ethernet20/priority_group3", "headroom_bytes", 0.0),
                ("Ethernet20/priority_group4", "headroom_bytes", 0.0),
                ("Ethernet4/lane1", "rx_power_dbm", "n/a"),
                ("Ethernet4/lane2", "rx_power_dbm", "dark"),
            ],
            id="optics, settings and the headroom of buffer profiles",
        ),
        pytest.param(
            RDMA,
            "gpu-r3-n07/rdma.json",
            [
                ("mlx5_4/1", "cnp_sent_total", 40.0),
                ("mlx5_4/1", "out_of_sequence_packets_total", 3.0),
            ],
            id="rdma statistic, without its queue pairs",
        ),
        pytest.param(
            MLXLINK,
            "gpu-r3-n07/mlxlink-mlx5_4.json",
            [
                ("mlx5_4", "pre_fec_error_ratio", "n/a"),
                ("mlx5_4", "seconds_since_clear", 150.0),
                ("mlx5_4", "symbol_error_ratio", "no_errors_seen"),
                ("mlx5_4/fec_bin0", "fec_bin_codewords_total", 90110022.0),
                ("mlx5_4/lane0", "raw_errors_total", 12.0),
                ("mlx5_4/lane0", "rx_power_dbm", "copper"),
                ("mlx5_4/lane1", "raw_errors_total", 3.0),
                ("mlx5_4/lane1", "rx_power_dbm", "copper"),
            ],
            id="mlxlink, whose port is in the file's name",
        ),
    ],
)
def test_documents(
    tmp_path: Path, document: object, name: str, expected: list[tuple[object, ...]]
) -> None:
    """A document's counters become signals of ports; its host is in its name."""
    reading = reading_of(tmp_path, json.dumps(document, indent=1), name)
    host = {name.split("/", maxsplit=1)[0]}
    lines = json.dumps(document, indent=1).count("\n") + 1

    assert [(one, two, pytest.approx(three)) for one, two, three in expected] == rows(reading)
    assert (set(reading.samples["host"]), reading.lines_used) == (host, lines)


def test_aliases(tmp_path: Path) -> None:
    """The application database tells the front panel's names."""
    reading = reading_of(tmp_path, json.dumps(OPTICS), "leaf-r3-02/x.json")

    assert reading.aliases.select("host", "device", "alias_kind", "alias").rows() == [
        ("leaf-r3-02", "Ethernet20", "label", "etp20")
    ]


def test_big_counts_are_exact(tmp_path: Path) -> None:
    """A count that float64 cannot hold is kept beside it."""
    samples = reading_of(tmp_path, json.dumps(DATABASE), "leaf-r3-02/x.json").samples
    exact = samples.filter(signal="received_bytes_total")["exact"].to_list()

    assert exact == [18446744073709551610]


HASHES = f"""admin@leaf-r3-02:~$ sonic-db-cli COUNTERS_DB hgetall COUNTERS_PORT_NAME_MAP
{{'Ethernet12': '{OID}'}}
admin@leaf-r3-02:~$ sonic-db-cli COUNTERS_DB hgetall COUNTERS:{OID}
{{'SAI_PORT_STAT_IF_IN_ERRORS': '4', 'SAI_PORT_STAT_OTHER': '1'}}
admin@leaf-r3-02:~$ redis-cli -n 6 hgetall "TRANSCEIVER_DOM_SENSOR|Ethernet12"
 1) "temperature"
 2) "30.5"
admin@leaf-r3-02:~$ redis-cli -n 6 hgetall "TRANSCEIVER_DOM_SENSOR|Ethernet16"
temperature
31.5
admin@leaf-r3-02:~$ redis-cli -n 6 hgetall "TRANSCEIVER_DOM_SENSOR|Ethernet20"
temperature
"""


def test_hashes(tmp_path: Path) -> None:
    """What sonic-db-cli and redis-cli print of a key is read under the key of the command."""
    reading = reading_of(tmp_path, HASHES, "dump.txt")

    assert rows(reading) == [
        ("Ethernet12", "module_temperature_celsius", 30.5),
        ("Ethernet12", "receive_errors_total", 4.0),
        ("Ethernet16", "module_temperature_celsius", 31.5),
    ]
    assert reading.rejects["text"].to_list() == ["temperature"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(json.dumps(DATABASE)[:-9], "torn JSON", id="a torn document"),
        pytest.param(
            '{"COUNTERS_PORT_NAME_MAP": []}', "no counters of ports in it", id="an empty one"
        ),
        pytest.param('{"PORT_TABLE:Ethernet0": {"a": 1}}', "no counters of ports in it", id="odd"),
    ],
)
def test_rejects(tmp_path: Path, text: str, reason: str) -> None:
    """A document without counters is one reject with its reason."""
    assert reading_of(tmp_path, text, "x.json").rejects["reason"].to_list() == [reason]


@settings(max_examples=40)
@given(cut=st.integers(0, 2000), noise=st.binary(max_size=3))
def test_never_raises(tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes) -> None:
    """Whatever is torn: each line is used or rejected."""
    text = json.dumps(DATABASE, indent=1).encode()
    path = tmp_path_factory.getbasetemp() / "torn.json"
    path.write_bytes(text[:cut] + noise + text[cut + 1 :])
    reading = read_port_documents(path, "torn.json", ReadOptions())
    data = path.read_bytes().replace(b"\0", b"")
    lines = sum(1 for line in data.split(b"\n") if line.strip())

    assert reading.lines_used + reading.rejects["count"].sum() == lines


def test_fields_are_signals() -> None:
    """Each field maps to a signal we know."""
    own = {signal for _, signal, _ in (*SENSOR_FIELDS, *STATE_FIELDS)}

    assert own | set(sai_fields()["signal"]) <= set(SIGNALS)
