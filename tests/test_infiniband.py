"""What exporters of InfiniBand ports count."""

from pathlib import Path

import pytest

from collectors.infiniband.port_fields import port_fields
from collectors.metrics.metric_files import read_exposition
from collectors.readings import Reading
from collectors.signals import SIGNALS
from collectors.sniffing import ReadOptions

LEAF = "0xb83fd2030a001101"
NIC = "0xb83fd2030a0077c4"
SWITCH_INFO = f'infiniband_switch_info{{guid="{LEAF}",lid="212",switch="leaf-r3-02"}} 1'
NIC_INFO = f'infiniband_hca_info{{guid="{NIC}",hca="gpu-r3-n07 mlx5_4"}} 1'
UPLINK = (
    f'infiniband_switch_uplink_info{{guid="{LEAF}",port="17",switch="leaf-r3-02",'
    f'uplink="gpu-r3-n07 mlx5_4",uplink_guid="{NIC}",uplink_port="1",uplink_type="CA"}} 1'
)
UPLINK_BACK = (
    f'infiniband_hca_uplink_info{{guid="{NIC}",port="1",hca="gpu-r3-n07 mlx5_4",'
    f'uplink="leaf-r3-02 ",uplink_guid="{LEAF}",uplink_port="17",uplink_type="SW"}} 1'
)


def reading_of_page(folder: Path, *lines: str, name: str = "page") -> Reading:
    """Return the reading of a page with these lines."""
    path = folder / "page.prom"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_exposition(path, name, ReadOptions())


def rows(reading: Reading, *columns: str) -> list[tuple[object, ...]]:
    """Return columns of the samples."""
    return reading.samples.select(columns).rows()


@pytest.mark.parametrize(
    ("name", "top"),
    [
        pytest.param("port_transmit_wait_total", 4294967295, id="32 bits of waits"),
        pytest.param("link_downed_total", 255, id="8 bits of link downs"),
        pytest.param("port_discards_transmitted_total", 65535, id="16 bits of discards"),
        pytest.param("excessive_buffer_overrun_errors_total", 15, id="4 bits of overruns"),
        pytest.param("symbol_error_total", 65535, id="16 bits of symbol errors"),
    ],
)
def test_saturated(tmp_path: Path, name: str, top: int) -> None:
    """A counter at the top of its width is blind: null, neither healthy nor a fault."""
    line = 'node_infiniband_{}{{device="mlx5_4",port="1",instance="n07:9100"}} {}'
    reading = reading_of_page(
        tmp_path, line.format(name, f"{top - 1} 1000"), line.format(name, f"{top:.9e} 2000")
    )

    assert rows(reading, "value", "reason") == [(top - 1, None), (None, "saturated")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            'node_infiniband_symbol_error_total{device="mlx5_4",port="1",instance="n07:9100"} 41',
            ("n07", "nic", "mlx5_4/1", "symbol_errors_total", 41.0),
            id="node_exporter",
        ),
        pytest.param(
            f'infiniband_switch_port_symbol_error_total{{guid="{LEAF}",port="17"}} 12',
            ("leaf-r3-02", "switch_port", "17", "symbol_errors_total", 12.0),
            id="treydock, a switch",
        ),
        pytest.param(
            f'infiniband_hca_port_transmit_wait_total{{guid="{NIC}",port="1"}} 90412',
            ("gpu-r3-n07", "nic", "mlx5_4/1", "transmit_wait_ticks_total", 90412.0),
            id="treydock, a NIC",
        ),
        pytest.param(
            f'infiniband_hca_rate_bytes_per_second{{guid="{NIC}"}} 5e+10',
            ("gpu-r3-n07", "nic", "mlx5_4/1", "port_rate_bytes_per_second", 5e10),
            id="treydock, a rate without a port",
        ),
        pytest.param(
            'infiniband_switch_port_link_downed_total{guid="0x2c9030a001101",port="3"} 1',
            ("0x0002c9030a001101", "switch_port", "3", "link_downed_total", 1.0),
            id="a GUID that nothing names stands for itself",
        ),
        pytest.param(
            'infiniband_portxmitdata_total{component="switch",local_name="leaf-r3-02",'
            f'local_guid="{LEAF}",local_port="17"}} 1000',
            ("leaf-r3-02", "switch_port", "17", "transmitted_bytes_total", 4000.0),
            id="guilbaults, words",
        ),
        pytest.param(
            'infiniband_symbolerrorcounter_total{component="ca",local_name="gpu-r3-n07 mlx5_4",'
            f'local_guid="{NIC}",local_port="1"}} 7',
            ("gpu-r3-n07", "nic", "mlx5_4/1", "symbol_errors_total", 7.0),
            id="guilbaults, a NIC",
        ),
    ],
)
def test_ports(tmp_path: Path, line: str, expected: tuple[object, ...]) -> None:
    """Each exporter's counters belong to a port of a node, by name where one is known."""
    reading = reading_of_page(tmp_path, SWITCH_INFO, NIC_INFO, line)

    assert rows(reading, "host", "device_kind", "device", "signal", "value") == [expected]


DATA = f'infiniband_switch_port_receive_data_bytes_total{{guid="{LEAF}",port="17"}}'
PACKETS = f'infiniband_switch_port_receive_packets_total{{guid="{LEAF}",port="17"}}'


@pytest.mark.parametrize(
    ("lines", "value", "reason"),
    [
        pytest.param(
            ['infiniband_exporter_build_info{version="0.9.2"} 1', f"{DATA} 1000"],
            4000.0,
            None,
            id="words before 0.10",
        ),
        pytest.param(
            ['infiniband_exporter_build_info{version="v0.10.0"} 1', f"{DATA} 1000"],
            1000.0,
            None,
            id="bytes from 0.10 on",
        ),
        pytest.param(
            [f'infiniband_switch_rate_bytes_per_second{{guid="{LEAF}"}} 5e10', f"{DATA} 1000"],
            4000.0,
            None,
            id="words where rates have no port",
        ),
        pytest.param(
            [f"{DATA} 400000", f"{PACKETS} 100"], 400000.0, None, id="4000 a packet: bytes"
        ),
        pytest.param([f"{DATA} 1600", f"{PACKETS} 100"], 6400.0, None, id="16 a packet: words"),
        pytest.param(
            [f"{DATA} 50000", f"{PACKETS} 100"], None, "unit_unknown", id="500: undecided"
        ),
        pytest.param([f"{DATA} 50000"], None, "unit_unknown", id="nothing to tell by"),
    ],
)
def test_words_or_bytes(
    tmp_path: Path, lines: list[str], value: float | None, reason: str | None
) -> None:
    """The unit of data counters is told by version, rate series or packet size; else unknown."""
    samples = reading_of_page(tmp_path, *lines).samples
    data = samples.filter(samples["signal"] == "received_bytes_total")

    assert data.select("value", "reason").rows() == [(value, reason)]


@pytest.mark.parametrize(
    ("delta", "reason"),
    [
        pytest.param(1.2e12, None, id="80 % of the port's rate"),
        pytest.param(6e12, "unit_suspect", id="four times the port's rate"),
    ],
)
def test_factor_four(tmp_path: Path, delta: float, reason: str | None) -> None:
    """Data that no port of this rate can carry is flagged, not scaled."""
    labels = 'device="mlx5_0",port="1",instance="n07:9100"'
    reading = reading_of_page(
        tmp_path,
        f"node_infiniband_rate_bytes_per_second{{{labels}}} 5e10 0",
        f"node_infiniband_port_data_transmitted_bytes_total{{{labels}}} 1e13 0",
        f"node_infiniband_port_data_transmitted_bytes_total{{{labels}}} {1e13 + delta:.0f} 30000",
    )

    assert rows(reading, "value", "reason")[1:] == [(1e13, None), (1e13 + delta, reason)]


def test_down_port_has_no_rate(tmp_path: Path) -> None:
    """The rate of a port that is down is a leftover, not a slow link."""
    reading = reading_of_page(
        tmp_path,
        'node_infiniband_state_id{device="mlx5_4",port="1",instance="n:1"} 1',
        'node_infiniband_rate_bytes_per_second{device="mlx5_4",port="1",instance="n:1"} 1.25e9',
        'node_infiniband_state_id{device="mlx5_5",port="1",instance="n:1"} 4',
        'node_infiniband_rate_bytes_per_second{device="mlx5_5",port="1",instance="n:1"} 5e10',
    )

    assert rows(reading, "device", "value", "reason") == [
        ("mlx5_4/1", 1.0, None),
        ("mlx5_4/1", None, "port_down"),
        ("mlx5_5/1", 4.0, None),
        ("mlx5_5/1", 5e10, None),
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [UPLINK, UPLINK_BACK],
            [("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17", 4)],
            id="both ends",
        ),
        pytest.param([UPLINK], [("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17", 4)], id="one end"),
        pytest.param(
            [UPLINK.replace("gpu-r3-n07 mlx5_4", "Mellanox Technologies Aggregation Node")],
            [],
            id="the aggregation node is no cable",
        ),
        pytest.param(
            [
                UPLINK.replace("infiniband_switch_uplink_info", "infiniband_portxmitwait_total")
                .replace("switch=", 'component="switch",local_name=')
                .replace("port=", "local_port=", 1)
                .replace("uplink=", "remote_name=")
                .replace("uplink_port=", "remote_port=")
            ],
            [("gpu-r3-n07", "mlx5_4/1", "leaf-r3-02", "17", 4)],
            id="guilbaults names the peer at each counter",
        ),
        pytest.param(
            [UPLINK.replace("gpu-r3-n07 mlx5_4", "spine-01").replace('"CA"', '"SW"')],
            [("leaf-r3-02", "17", "spine-01", "1", None)],
            id="between switches there is no rail",
        ),
    ],
)
def test_links(tmp_path: Path, lines: list[str], expected: list[tuple[object, ...]]) -> None:
    """A cable is one link, its ends in alphabetical order."""
    links = reading_of_page(tmp_path, *lines).links

    assert links.drop("time", "source").rows() == expected


@pytest.mark.parametrize(
    ("lines", "name", "host"),
    [
        pytest.param(
            ['node_uname_info{nodename="Gpu-R3-n07"} 1'], "page", "gpu-r3-n07", id="uname names it"
        ),
        pytest.param([], "fabric/hx8-017.prom", "hx8-017", id="the page is named after it"),
        pytest.param([], "fabric/node_metrics2.prom", None, id="a name that is no host"),
    ],
)
def test_unnamed_host(tmp_path: Path, lines: list[str], name: str, host: str | None) -> None:
    """A page without host labels belongs to the node it names, else to that of its file."""
    line = 'node_infiniband_symbol_error_total{device="mlx5_4",port="1"} 1'

    assert rows(reading_of_page(tmp_path, *lines, line, name=name), "host") == [(host,)]


def test_address_becomes_node(tmp_path: Path) -> None:
    """With an address for a target, that target's uname names the host."""
    reading = reading_of_page(
        tmp_path,
        'node_uname_info{nodename="a",instance="10.0.0.1:9100"} 1',
        'node_uname_info{nodename="b",instance="10.0.0.2:9100"} 1',
        'node_infiniband_link_downed_total{device="m",port="1",instance="10.0.0.2:9100"} 1',
    )

    assert rows(reading, "host") == [("b",)]


def test_fields_are_signals() -> None:
    """Each field maps to a signal we know, and no metric name stands for two fields."""
    assert set(port_fields()["signal"]) <= set(SIGNALS)
    assert port_fields()["name"].is_unique().all()
