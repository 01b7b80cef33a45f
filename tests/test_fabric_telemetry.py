"""UFM telemetry, as CSV and as a stream of changes."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from collectors.infiniband.fabric_telemetry import read_fabric_telemetry
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

Read = Callable[[dict[str, str]], Reading]

LEAF = "0xb83fd2030a001101"
NIC = "0xb83fd2030a0077c4"
NOW = 1_764_100_000_000_000


def table(columns: str, *rows: str) -> dict[str, str]:
    """Return a file of telemetry of a leaf's ports; each row starts with the port."""
    head = f"timestamp,source_id,Node_GUID,node_description,Port_Number,{columns}"
    lines = [f"{NOW},{LEAF},{LEAF},leaf-r3-02,{row}" for row in rows]
    return {"telemetry.csv": "\n".join([head, *lines])}


def told(reading: Reading) -> list[tuple[object, ...]]:
    """Return what the samples say."""
    return reading.samples.select("device", "signal", "value", "reason").rows()


@pytest.mark.parametrize(
    ("column", "cell", "expected"),
    [
        pytest.param("Link_Down", "3", ("17", "link_downed_total", 3.0, None), id="link downs"),
        pytest.param(
            "LinkErrorRecoveryCounter",
            "255",
            ("17", "link_error_recoveries_total", None, "saturated"),
            id="a column in a plain name may be narrow",
        ),
        pytest.param(
            "LinkErrorRecoveryCounterExtended",
            "255",
            ("17", "link_error_recoveries_total", 255.0, None),
            id="one in a wide name is not",
        ),
        pytest.param(
            "PortXmitDataExtended",
            "4503599627370497",
            ("17", "transmitted_bytes_total", 4.0 * 4503599627370497, None),
            id="data is in words",
        ),
        pytest.param(
            "Raw_Errors_Lane_2",
            "7",
            ("17/lane2", "raw_errors_total", 7.0, None),
            id="a lane is a device of its own",
        ),
        pytest.param(
            "hist3", "7", ("17/bin3", "fec_bin_codewords_total", 7.0, None), id="so is a bin"
        ),
        pytest.param(
            "Total_Raw_BER", "3e-9", ("17", "pre_fec_error_ratio", 3e-9, None), id="raw errors"
        ),
        pytest.param(
            "Effective_BER",
            "15E-255",
            ("17", "post_fec_error_ratio", None, "no_errors_seen"),
            id="the floor of a ratio",
        ),
        pytest.param(
            "Module_Temperature",
            "58C",
            ("17", "module_temperature_celsius", 58.0, None),
            id="degrees with their unit",
        ),
        pytest.param("Module_Temperature", "0C", None, id="no module"),
        pytest.param("Module_Temperature", "N/A", None, id="no temperature"),
        pytest.param("Symbol_Errors", "", None, id="an empty cell is no zero"),
        pytest.param(
            "Symbol_Errors",
            "NA",
            ("17", "symbol_errors_total", None, "not_supported"),
            id="a word for nothing",
        ),
        pytest.param(
            "Time_since_last_clear__Min_",
            "2.5",
            ("17", "seconds_since_clear", 150.0, None),
            id="minutes since the counters were cleared",
        ),
        pytest.param(
            "Device_ID",
            "54002",
            ("17", "transmit_wait_tick_bytes", 8.0, None),
            id="a chip tells the tick of waits",
        ),
    ],
)
def test_columns(
    read_texts: Read, column: str, cell: str, expected: tuple[object, ...] | None
) -> None:
    """A column is a signal in base units, or nothing with its reason."""
    reading = read_texts(table(f"{column},Link_Down_IB", f"17,{cell},0"))
    rest = [row for row in told(reading) if row != ("17", "link_downed_total", 0.0, None)]

    assert rest == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("columns", "row", "reason"),
    [
        pytest.param(
            "Link_Down", "65,3", "aggregation node", id="the port of the aggregation node"
        ),
        pytest.param("plane,Link_Down", "17,2,3", "a plane, counted in its port", id="a plane"),
        pytest.param("Link_Down", ",3", "no node or port", id="no port"),
        pytest.param("Link_Down", "17", "unrecognised line", id="a torn row"),
    ],
)
def test_left_out(read_texts: Read, columns: str, row: str, reason: str) -> None:
    """Rows that are no port's own are left out, with their reason."""
    reading = read_texts(table(columns, row))

    assert (reading.samples.height, reading.rejects["reason"].to_list()) == (0, [reason])


def test_port_65_of_a_larger_switch(read_texts: Read) -> None:
    """On a switch with ports beyond it port 65 is a port."""
    assert {row[0] for row in told(read_texts(table("Link_Down", "65,3", "66,1")))} == {"65", "66"}


@pytest.mark.parametrize(
    "stamp",
    [
        pytest.param("1764100000000000", id="microseconds"),
        pytest.param("1764100000000", id="milliseconds"),
        pytest.param("2025-11-25T19:46:40Z", id="text"),
    ],
)
def test_stamps(read_texts: Read, stamp: str) -> None:
    """The unit of a stamp follows from its size."""
    text = f"timestamp,Node_GUID,Port_Number,Link_Down\n{stamp},{LEAF},17,3\n"
    reading = read_texts({"telemetry.csv": text})

    assert reading.samples["time"].to_list() == [datetime(2025, 11, 25, 19, 46, 40, tzinfo=UTC)]


def test_several_fetches(read_texts: Read) -> None:
    """Fetches below each other have headers of their own; copies say nothing new."""
    first = table("Link_Down", "17,3")["telemetry.csv"]
    second = table("Symbol_Errors,Link_Down", "17,12,3")["telemetry.csv"]
    reading = read_texts({"telemetry.csv": f"{first}\n{second}\n{second}\n"})

    assert told(reading) == [
        ("17", "link_downed_total", 3.0, None),
        ("17", "symbol_errors_total", 12.0, None),
    ]
    assert reading.rejects.select("position", "reason").rows() == [(6, "a stale copy, or no value")]


def test_latin_text(tmp_path: Path, read_texts: Read) -> None:
    """A file in ISO-8859-1 is read as that."""
    text = table("Link_Down,Status_Message", "17,3,ok")["telemetry.csv"].replace("leaf", "ñandú")
    reading = read_texts({"telemetry.csv": text})
    (tmp_path / "telemetry.csv").write_bytes(text.encode("iso-8859-1"))
    latin = read_fabric_telemetry(tmp_path / "telemetry.csv", "telemetry.csv", ReadOptions())

    assert latin.samples.equals(reading.samples)


def test_reasons_of_link_downs(read_texts: Read) -> None:
    """Opcodes and blame are an event each time that they change."""
    head = (
        "timestamp,Node_GUID,node_description,Port_Number,local_reason_opcode,"
        "remote_reason_opcode,down_blame,link_partner_node_guid,link_partner_port"
    )
    rows = [
        f"{NOW},{LEAF},leaf-r3-02,17,2,0,Local_phy,{NIC},1",
        f"{NOW + 1},{LEAF},leaf-r3-02,17,2,0,Local_phy,,",
        f"{NOW + 2},{LEAF},leaf-r3-02,17,25,20,Remote_phy,{NIC},1",
        f"{NOW},{LEAF},leaf-r3-02,18,0,0,,0x0,0",
    ]
    reading = read_texts({"telemetry.csv": "\n".join([head, *rows])})

    assert reading.events.select("device", "kind", "code", "message").rows() == [
        (
            "17",
            "link_down_cause",
            "2",
            "local_reason_opcode 2, remote_reason_opcode 0, down_blame Local_phy",
        ),
        (
            "17",
            "link_down_cause",
            "25",
            "local_reason_opcode 25, remote_reason_opcode 20, down_blame Remote_phy",
        ),
    ]
    assert reading.links.select("node_a", "port_a", "node_b", "port_b").rows() == [
        (NIC, "1", "leaf-r3-02", "17")
    ]


def test_streamed_names(read_texts: Read) -> None:
    """The stream's names carry units; records may hold their fields apart."""
    fields = (
        '"Infiniband_SymbolErrors_u_Errors": 3, "Infiniband_XmitWait_u_Ticks": 9007199254740993,'
        '"Infiniband_MBOut_u_Gb": 2, "hist0_u_count": 5, "Infiniband_CBW_u_Gbps": 1,'
        '"Symbol_BER": null'
    )
    record = (
        f'{{"node_guid": "{LEAF}", "port_num": "17", "timestamp": "{NOW}", "fields": {{{fields}}}}}'
    )
    reading = read_texts({"stream.json": f'[{{"type": "full",\n"values": [{record}]}}\n]'})
    exact = dict(reading.samples.select("signal", "exact").rows())

    assert dict(reading.samples.select("signal", "value").rows()) == {
        "symbol_errors_total": 3.0,
        "transmit_wait_ticks_total": 9007199254740992.0,
        "transmitted_bytes_total": 2.5e8,
        "fec_bin_codewords_total": 5.0,
    }
    assert exact["transmit_wait_ticks_total"] == 9007199254740993
    assert reading.rejects.height == 0


def test_stream_fills_between_reports_only(read_texts: Read) -> None:
    """A value is carried to the times of other ports, but not beyond its port's last record."""

    def line(at: int, port: int, count: int) -> str:
        stamp = NOW + at * 1_000_000
        return (
            f'{{"timestamp":"{stamp}","node_guid":"{LEAF}","port_num":"{port}",'
            f'"Infiniband_SymbolErrors_u_Errors":{count}}}'
        )

    lines = [line(0, 17, 1), line(60, 18, 5), line(120, 17, 2), line(180, 18, 6)]
    samples = read_texts({"stream.json": "\n".join(lines)}).samples
    seconds = (pl.col("time").dt.timestamp("us") - NOW) // 1_000_000

    assert samples.select("device", seconds, "value", "reason").sort("device", "time").rows() == [
        ("17", 0, 1.0, None),
        ("17", 60, 1.0, "unchanged"),
        ("17", 120, 2.0, None),
        ("18", 60, 5.0, None),
        ("18", 120, 5.0, "unchanged"),
        ("18", 180, 6.0, None),
    ]
