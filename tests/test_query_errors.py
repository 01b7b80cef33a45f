"""What ibqueryerrors prints: counters above a threshold and the links they are on."""

from collections.abc import Callable

import polars as pl
import pytest

from collectors.readings import Reading

Read = Callable[[dict[str, str]], Reading]

HEAD = 'Errors for 0xb83fd2030a001101 "leaf-r3-02"\n'


def port(number: int, *tokens: str) -> str:
    """Return the line of a port; the GUID has no leading zeros."""
    return f"   GUID 0xb83fd2030a001101 port {number}: {' '.join(tokens)}\n"


def values(reading: Reading) -> dict[str, tuple[float | None, str | None]]:
    """Return value and reason by signal."""
    rows = reading.samples.select("signal", "value", "reason").rows()
    return {signal: (value, reason) for signal, value, reason in rows}


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        pytest.param(
            ["[SymbolErrorCounter == 65535 (63.999K)]"],
            {"symbol_errors_total": (65535.0, None)},
            id="a count with its human form came from 64 bits",
        ),
        pytest.param(
            ["[SymbolErrorCounter == 65535]"],
            {"symbol_errors_total": (None, "saturated")},
            id="a bare count is narrow",
        ),
        pytest.param(
            ["[PortXmitData == 20417680040 (76.062GB)]"],
            {"transmitted_bytes_total": (81670720160.0, None)},
            id="data is in words, whatever the human form says",
        ),
        pytest.param(
            [
                "[PortXmitDiscards == 40]",
                "[PortLocalPhysicalErrors == 1]",
                "[PortMalformedPktErrors == 2]",
                "[PortBufferOverrunErrors == 3]",
                "[PortDLIDMappingErrors == 4]",
            ],
            {
                "transmit_discards_total": (40.0, None),
                "inactive_discards_total": (1.0, None),
                "neighbor_mtu_discards_total": (2.0, None),
                "lifetime_discards_total": (3.0, None),
                "head_of_queue_discards_total": (4.0, None),
            },
            id="details of discards under the names of errors",
        ),
        pytest.param(
            [
                "[PortRcvErrors == 40]",
                "[PortInactiveDiscards == 1]",
                "[PortNeighborMTUDiscards == 2]",
                "[PortSwLifetimeLimitDiscards == 3]",
                "[PortSwHOQLifetimeLimitDiscards == 4]",
            ],
            {
                "receive_errors_total": (40.0, None),
                "local_physical_errors_total": (1.0, None),
                "malformed_packet_errors_total": (2.0, None),
                "port_buffer_overrun_errors_total": (3.0, None),
                "dlid_mapping_errors_total": (4.0, None),
            },
            id="details of errors under the names of discards",
        ),
        pytest.param(
            [
                "[PortXmitDiscards == 40]",
                "[PortInactiveDiscards == 1]",
                "[PortRcvErrors == 2]",
                "[PortLocalPhysicalErrors == 3]",
            ],
            {
                "transmit_discards_total": (40.0, None),
                "inactive_discards_total": (1.0, None),
                "receive_errors_total": (2.0, None),
                "local_physical_errors_total": (3.0, None),
            },
            id="a mended build prints the right names, which stay",
        ),
    ],
)
def test_tokens(
    read_texts: Read, tokens: list[str], expected: dict[str, tuple[float | None, str | None]]
) -> None:
    """Width, unit and name of a counter follow from how and where it is printed."""
    assert values(read_texts({"ibqueryerrors.txt": HEAD + port(17, *tokens)})) == expected


def test_absent_counter(read_texts: Read) -> None:
    """A counter below the threshold has no row: it is neither 0 nor missing."""
    reading = read_texts({"ibqueryerrors.txt": HEAD + port(17, "[PortXmitWait == 5 (5.000)]")})

    assert reading.samples["signal"].to_list() == ["transmit_wait_ticks_total"]


LINK = (
    "       Link info:    212  {port}[  ] ==( {status})==>  0xb83fd2030a0077c4    631    1[  ] "
    '"gpu-r3-n07 mlx5_4" ( {message} )\n'
)


@pytest.mark.parametrize(
    ("status", "message", "code", "limits"),
    [
        pytest.param(
            "1X        106.25 Gbps Active/  LinkUp",
            "Could be 4X",
            ["width"],
            {"link_width_lanes": 1.0, "max_link_width_lanes": 4.0},
            id="fewer lanes than both ends have",
        ),
        pytest.param(
            "4X  10.0 Gbps (FDR10) Active/  LinkUp",
            "Could be 106.25 Gbps",
            ["speed"],
            {
                "lane_rate_bytes_per_second": 10.3125 * 1.25e8,
                "max_lane_rate_bytes_per_second": 106.25 * 1.25e8,
            },
            id="slower than both ends can",
        ),
        pytest.param(
            "4X        106.25 Gbps Active/  LinkUp",
            "",
            [],
            {"port_rate_bytes_per_second": 5e10},
            id="as fast as it can",
        ),
    ],
)
def test_links(
    read_texts: Read, status: str, message: str, code: list[str], limits: dict[str, float]
) -> None:
    """A link that the tool calls degraded is an event, and its limits are samples."""
    text = HEAD + port(17, "[PortXmitWait == 5]")
    text += LINK.format(port=17, status=status, message=message)
    reading = read_texts({"ibqueryerrors.txt": text})
    told = values(reading)

    assert reading.events["code"].to_list() == code
    assert {signal: told[signal][0] for signal in limits} == limits
    assert reading.links.select("node_a", "port_a", "node_b", "port_b").rows() == [
        ("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17")
    ]


def test_port_that_is_down(read_texts: Read) -> None:
    """A port that is down has a state; its width and speed are leftovers, and it has no cable."""
    down = "       Link info:    212  19[  ] ==(                Down/ Polling)==>             "
    text = HEAD + port(19, "[LinkDownedCounter == 5]") + down + '[  ] "" ( )\n'
    reading = read_texts({"ibqueryerrors.txt": text})

    assert values(reading) == {
        "link_downed_total": (5.0, None),
        "port_state": (1.0, None),
        "port_physical_state": (2.0, None),
    }
    assert reading.links.height == 0


def test_nodes(read_texts: Read) -> None:
    """A node is called by its description, by its GUID without one, and sums are no ports."""
    text = (
        'Errors for "gpu-r3-n07 mlx5_4"\n   GUID 0x2c9030a001101 port 1: [VL15Dropped == 1]\n'
        'Data Counters for 0x2c9030a001102 ""\n   GUID 0x2c9030a001102 port 2: [VL15Dropped == 1]\n'
        "   GUID 0x2c9030a001102 port ALL: [VL15Dropped == 9]\n"
    )
    reading = read_texts({"ibqueryerrors.txt": text})

    assert reading.samples.select("host", "device_kind", "device").rows() == [
        ("gpu-r3-n07", "nic", "mlx5_4/1"),
        ("0x0002c9030a001102", "switch_port", "2"),
    ]
    assert reading.rejects["reason"].to_list() == ["sum over all ports"]


def test_aggregation_port(read_texts: Read) -> None:
    """The port to a switch's aggregation node is left out, its counters too."""
    text = (
        HEAD
        + port(41, "[PortXmitWait == 5]")
        + LINK.format(port=41, status="4X 53.125 Gbps Active/  LinkUp", message="").replace(
            "gpu-r3-n07 mlx5_4", "Mellanox Technologies Aggregation Node"
        )
    )
    reading = read_texts({"ibqueryerrors.txt": text})

    assert (reading.samples.height, reading.links.height, reading.aliases.height) == (0, 0, 0)


def test_node_without_an_answer(read_texts: Read) -> None:
    """What the tool says of a node that did not answer is an event, not a zero."""
    text = (
        HEAD
        + port(17, "[VL15Dropped == 1]")
        + (
            "src/query_smp.c:228; umad (DR path slid 0; dlid 0; 0,1,5 Attr 0x11:0) bad status 110; "
            "Connection timed out\n"
        )
    )
    reading = read_texts({"ibqueryerrors.txt": text})

    assert reading.events.select("kind", "code").rows() == [("collector_failed", "ibqueryerrors")]
    assert reading.rejects.filter(pl.col("reason") == "unrecognised line").height == 0
