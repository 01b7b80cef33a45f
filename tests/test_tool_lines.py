"""The small parts that readers of tools share: lines, stamps, fields, names, rates, ticks."""

from datetime import UTC, datetime

import polars as pl
import pytest

from collectors.ethernet.arista_fields import long_name
from collectors.infiniband.lane_rates import (
    lane_count,
    payload_lane_bytes,
    raw_lane_bytes,
    speed_bytes,
)
from collectors.infiniband.node_names import is_aggregation, looks_like_switch, nodes_of
from collectors.infiniband.port_tokens import absent_reason, whole_number
from collectors.infiniband.wait_ticks import chip_of, lane_tick_bytes, port_tick_bytes
from collectors.sniffing import ReadOptions
from collectors.texts.captures import captured
from collectors.texts.csv_rows import csv_fields, fits
from collectors.texts.error_ratios import floor_reason, ratio_of
from collectors.texts.line_stamps import stamp_of
from collectors.texts.plain_lines import plain_lines


def one(expr: pl.Expr, **columns: object) -> object:
    """Return the value of an expression over one row."""
    return pl.DataFrame({name: [value] for name, value in columns.items()}).select(expr).item()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"a\r\nb", ["a", "b"], id="carriage returns at the end"),
        pytest.param(b"a\n \t\n\nb\n", ["a", "b"], id="blank lines"),
        pytest.param(b"\x1b[31mred\x1b[0m", ["red"], id="colours"),
        pytest.param(b"\x1b[31m\x1b[0m", [""], id="nothing but colours"),
        pytest.param(b"\xef\xbb\xbfa", ["a"], id="a byte order mark"),
        pytest.param(b"\xf1and\xfa", ["ñandú"], id="ISO-8859-1"),
        pytest.param("ñandú".encode(), ["ñandú"], id="UTF-8"),
        pytest.param(b"x" * 100_000, ["x" * 65_536], id="a very long line"),
    ],
)
def test_plain_lines(data: bytes, expected: list[str]) -> None:
    """Lines that are not blank keep their text and lose their decoration."""
    assert plain_lines(data)["text"].to_list() == expected


NOON = datetime(2026, 1, 5, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        pytest.param("2026-01-05T12:00:00Z", NOON, id="ISO"),
        pytest.param("# 2026-01-05 13:00:00", NOON, id="without a zone it is local"),
        pytest.param("=== Mon Jan  5 12:00:00 UTC 2026 ===", NOON, id="date in UTC"),
        pytest.param("Mon Jan  5 13:00:00 2026", NOON, id="date without a zone"),
        pytest.param("Mon Jan  5 01:00:00 PM CET 2026", NOON, id="date with halves of a day"),
        pytest.param("at 2026-01-05T12:00:00Z it broke", None, id="a stamp inside a text"),
        pytest.param("SymbolErrorCounter:....12", None, id="no stamp"),
    ],
)
def test_stamps(text: str, time: datetime | None) -> None:
    """A line that is nothing but a stamp is a time."""
    assert one(stamp_of(pl.col("text"), "Europe/Berlin"), text=text) == time


@pytest.mark.parametrize(
    "stamp",
    [
        pytest.param("Mon 05 Jan 2026 12:00:00 PM UTC", id="a locale that has the day first"),
        pytest.param("Mon, 05 Jan 2026 07:00:00 -0500", id="an offset is believed"),
        pytest.param("Mon, 05 Jan 2026 12:00:00 +0000", id="an offset of nothing is UTC"),
        pytest.param("Mon 05 Jan 2026 13:00:00 CET", id="a zone's name is the reader's to know"),
    ],
)
def test_day_first(stamp: str) -> None:
    """What `date` prints in other locales is a time as well."""
    options = ReadOptions(time_zone="Europe/Berlin")
    lines = captured(f"{stamp}\nNIC statistics:\n".encode(), "capture.txt", options)

    assert set(lines["time"]) == {NOON}


@pytest.mark.parametrize(
    ("short", "long"),
    [
        pytest.param("Et12/1", "Ethernet12/1", id="a port"),
        pytest.param("Ma1", "Management1", id="the port of management"),
        pytest.param("Ethernet12", "Ethernet12", id="a long name"),
        pytest.param("Eth1/1", "Eth1/1", id="another maker's short name"),
    ],
)
def test_long_names(short: str, long: str) -> None:
    """EOS shortens the names of its ports in tables, those of neighbours and of counters."""
    assert one(long_name(pl.col("text")), text=short) == long


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        pytest.param("a,,b", ["a", "", "b"], id="an empty field"),
        pytest.param('"x, y", 2 ,"q""z"', ["x, y", "2", 'q"z'], id="commas and quotes in quotes"),
        pytest.param(",a,", ["", "a", ""], id="commas at both ends"),
        pytest.param('a,"torn,b', ["a", '"torn', "b"], id="a quote that does not end"),
        pytest.param("", [""], id="nothing"),
    ],
)
def test_csv_fields(text: str, fields: list[str]) -> None:
    """A line is cut at its commas, not at those in quotes."""
    frame = pl.DataFrame({"text": [text]}).select(fields=csv_fields(pl.col("text")))

    assert frame["fields"].to_list() == [fields]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a,b", True, id="as many as the header"),
        pytest.param("a,b,", True, id="a comma too many"),
        pytest.param("a", False, id="too few"),
        pytest.param("a,b,c", False, id="too many"),
    ],
)
def test_fitting_rows(text: str, *, expected: bool) -> None:
    """A row fits a header of two columns or does not."""
    assert one(fits(csv_fields(pl.col("text")), 2), text=text) is expected


@pytest.mark.parametrize(
    ("text", "number", "reason"),
    [
        pytest.param("18446744073709551610", 18446744073709551610, None, id="64 bits"),
        pytest.param("0x00fF", 255, None, id="hexadecimal"),
        pytest.param("12i", 12, None, id="an integer of line protocol"),
        pytest.param("12.0", 12, None, id="a whole number with a point"),
        pytest.param("18446744073709551616", None, None, id="too large"),
        pytest.param("-1", None, "not_supported", id="minus one"),
        pytest.param("N/A (no PMA)", None, "not_supported", id="a word with its reason"),
        pytest.param("", None, "not_supported", id="nothing"),
        pytest.param("soon", None, None, id="a text"),
    ],
)
def test_whole_numbers(text: str, number: int | None, reason: str | None) -> None:
    """A count is exact; what is none says whether the counter exists."""
    assert one(whole_number(pl.col("text")), text=text) == number
    assert one(absent_reason(pl.col("text")), text=text) == reason


@pytest.mark.parametrize(
    ("text", "lanes", "raw"),
    [
        pytest.param("4X        106.25 Gbps", 4.0, 106.25, id="iblinkinfo"),
        pytest.param("4X 10.0 Gbps (FDR10)", 4.0, 10.3125, id="a name beside the number"),
        pytest.param("4x NDR", 4.0, 106.25, id="a generation"),
        pytest.param("2X HDR", 2.0, 53.125, id="two lanes"),
        pytest.param("100", None, 106.25, id="a payload rate"),
        pytest.param("4x ???", 4.0, None, id="no speed"),
    ],
)
def test_lane_rates(text: str, lanes: float | None, raw: float | None) -> None:
    """Width and speed are read in all their spellings."""
    assert one(lane_count(pl.col("text")), text=text) == lanes
    assert one(raw_lane_bytes(pl.col("text")) / 1.25e8, text=text) == raw


def test_speed_codes() -> None:
    """The fastest bit of a speed mask counts; payloads follow from raw rates."""
    assert one(speed_bytes(pl.col("mask")), mask=3841) == 106.25 * 1.25e8
    assert one(speed_bytes(pl.col("mask")), mask=0) is None
    assert one(payload_lane_bytes(pl.col("raw")), raw=106.25 * 1.25e8) == 100 * 1.25e8


@pytest.mark.parametrize(
    ("chip", "port", "lane"),
    [
        pytest.param("Quantum-2", 8.0, None, id="Quantum-2"),
        pytest.param("MF0;leaf-r3-02:MQM9700/U1", 8.0, None, id="a product in a description"),
        pytest.param("MT4129", 8.0, None, id="ConnectX-7"),
        pytest.param("Switch-IB 2", None, 32.0, id="Switch-IB 2"),
        pytest.param("MSB7800-ES2F", None, 32.0, id="a Switch-IB product"),
        pytest.param("MT4115", None, None, id="an older NIC is not known"),
        pytest.param(None, None, None, id="no chip"),
    ],
)
def test_wait_ticks(chip: str | None, port: float | None, lane: float | None) -> None:
    """A tick is so many bytes of the port, or of each lane, or not known."""
    frame = pl.DataFrame({"chip": [chip]}, schema={"chip": pl.String})
    ticks = frame.select(port_tick_bytes(pl.col("chip")), lane=lane_tick_bytes(pl.col("chip")))

    assert ticks.row(0) == (port, lane)


def test_chips() -> None:
    """Device numbers name chips."""
    numbers = pl.DataFrame({"number": [54002, 52000, 4129, 1]})

    assert numbers.select(chip_of(pl.col("number")))["number"].to_list() == [
        "Quantum-2",
        "Switch-IB",
        "ConnectX-7",
        None,
    ]


@pytest.mark.parametrize(
    ("name", "port", "node", "nic"),
    [
        pytest.param(" leaf-r3-02 ", "33", "leaf-r3-02", None, id="a switch in one word"),
        pytest.param("gpu-r3-n07 mlx5_4", "1", "gpu-r3-n07", "mlx5_4", id="a NIC"),
        pytest.param("MF0;leaf:MQM9700/U1", "1", "leaf", None, id="a managed switch"),
        pytest.param("MF0;leaf:Q3400_RA/U2", "1", "leaf/u2", None, id="its second chip"),
        pytest.param(
            "Quantum Mellanox Technologies", "5", "quantum mellanox technologies", None, id="raw"
        ),
        pytest.param("gpu-r3-n07 mlx5_4", "40", "gpu-r3-n07 mlx5_4", None, id="too many ports"),
    ],
)
def test_node_names(name: str, port: str, node: str, nic: str | None) -> None:
    """A description is a switch's or a NIC's, by its words and its ports."""
    switch = looks_like_switch(pl.col("name"), pl.col("port"))
    host, device = nodes_of(pl.col("name"), is_switch=switch)
    row = pl.DataFrame({"name": [name], "port": [port]}).select(host, nic=device).row(0)

    assert row == (node, nic)
    assert one(is_aggregation(pl.col("name")), name=name) is False


def test_ratios() -> None:
    """A ratio at the floor of the firmware, or of 0, says that no error was seen."""
    ratio = ratio_of(pl.col("coefficient"), pl.col("exponent"))
    rows = [(15.0, 255.0), (3.0, -13.0), (0.0, 0.0), (None, 2.0)]
    frame = pl.DataFrame(rows, schema=["coefficient", "exponent"], orient="row")

    assert frame.select(ratio)["coefficient"].to_list()[1] == pytest.approx(3e-13)
    assert frame.select(floor_reason(ratio)).to_series().to_list() == [
        "no_errors_seen",
        None,
        "no_errors_seen",
        None,
    ]
