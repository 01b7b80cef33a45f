"""Exporters that pass the kernel's names on, and what exporters say of hardware and failures."""

from collections.abc import Callable

import polars as pl
import pytest

from collectors.readings import Reading

Read = Callable[[dict[str, str]], Reading]

LEAF = "0xb83fd2030a001101"
NIC = "0xb83fd2030a0077c4"


def told(reading: Reading) -> list[tuple[object, ...]]:
    """Return what the samples say."""
    return reading.samples.select("host", "device", "signal", "value", "reason").rows()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            'infiniband_port_xmit_data{device="mlx5_4",port="1",host="n07"} 10',
            ("mlx5_4/1", "transmitted_bytes_total", 40.0, None),
            id="Telegraf: words",
        ),
        pytest.param(
            'accelerator_nvidia_infiniband_link_downed{device_port="mlx5_4_1"} 255',
            ("mlx5_4/1", "link_downed_total", None, "saturated"),
            id="gpud: device and port in one label",
        ),
        pytest.param(
            'rdma_port_rcv_data{hostname="n07",interface="rdma3"} 10',
            ("rdma3", "received_bytes_total", 10.0, None),
            id="OCI: bytes",
        ),
    ],
)
def test_exporters(read_texts: Read, line: str, expected: tuple[object, ...]) -> None:
    """Names are the kernel's; unit and labels are the exporter's own."""
    rows = [row[1:] for row in told(read_texts({"page.prom": line}))]

    assert rows == [expected]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [
                (
                    f'infiniband_switch_port_transmit_data_bytes_total{{guid="{LEAF}",port="17",'
                    'switch="leaf-r3-02"} 40'
                )
            ],
            [("leaf-r3-02", "17", "transmitted_bytes_total", 40.0, None)],
            id="its counters name their switch and are in bytes",
        ),
        pytest.param(
            [
                (
                    f'infiniband_hca_port_symbol_error_total{{guid="{NIC}",port="1",'
                    'hca="gpu-r3-n07 mlx5_4",switch="leaf-r3-02"} 4'
                )
            ],
            [("gpu-r3-n07", "mlx5_4/1", "symbol_errors_total", 4.0, None)],
            id="and their NIC",
        ),
        pytest.param(
            [
                f'infiniband_switch_port_state{{guid="{LEAF}",port="17",switch="leaf-r3-02"}} 0',
                (
                    f'infiniband_switch_port_rate_bytes_per_second{{guid="{LEAF}",port="17",'
                    'switch="leaf-r3-02"} 1e9'
                ),
            ],
            [
                ("leaf-r3-02", "17", "link_up", 0.0, None),
                ("leaf-r3-02", "17", "port_rate_bytes_per_second", None, "port_down"),
            ],
            id="the rate of a port that is down is a leftover",
        ),
    ],
)
def test_fork(read_texts: Read, lines: list[str], expected: list[tuple[object, ...]]) -> None:
    """A fork of treydock's exporter is told by its labels."""
    assert told(read_texts({"page.prom": "\n".join(lines)})) == expected


def test_rate_from_lanes(read_texts: Read) -> None:
    """Lanes and the rate of one give the rate of the port."""
    labels = (
        f'{{component="switch",local_guid="{LEAF}",local_name="leaf-r3-02",local_port="17",'
        f'remote_guid="{NIC}",remote_name="gpu-r3-n07 mlx5_4",remote_port="1"}}'
    )
    page = f"infiniband_speed{labels} 106.25\ninfiniband_width{labels} 4\n"
    values = dict(read_texts({"page.prom": page}).samples.select("signal", "value").rows())

    assert values["port_rate_bytes_per_second"] == 5e10


def test_text_file_mode(read_texts: Read) -> None:
    """Values of a file that is served again and again are of the run that wrote it."""
    lines = [
        line
        for scrape in (1_764_100_060_000, 1_764_100_120_000)
        for line in (
            f'infiniband_switch_port_symbol_error_total{{guid="{LEAF}",port="17"}} 4 {scrape}',
            f'infiniband_hca_port_symbol_error_total{{guid="{NIC}",port="1"}} 4 {scrape}',
            f'infiniband_exporter_last_execution{{collector="switch-runonce"}} 1764100000 {scrape}',
        )
    ]
    samples = read_texts({"page.prom": "\n".join(lines)}).samples
    seconds = (pl.col("time").dt.timestamp("ms") - 1_764_100_000_000) // 1000

    assert samples.select("device_kind", seconds).unique().sort(pl.all()).rows() == [
        ("nic", 60),
        ("nic", 120),
        ("switch_port", 0),
    ]


def test_hardware(read_texts: Read) -> None:
    """Uptime is when all counters began; chips tell the tick of waits; bad supplies are events."""
    guid = f'guid="{LEAF}"'
    at = 1_764_100_000_000
    page = f"""
infiniband_switch_info{{{guid},lid="212",switch="leaf-r3-02"}} 1 {at}
infiniband_switch_uptime_seconds{{{guid}}} 1000 {at}
infiniband_switch_temperature_celsius{{{guid}}} 53 {at}
infiniband_switch_fan_rpm{{{guid},fan="1"}} 6000 {at}
infiniband_switch_power_supply_watts{{{guid},psu="0"}} 154 {at}
infiniband_switch_hardware_info{{{guid},part_number="MSB7800-ES2F",switch="leaf-r3-02"}} 1 {at}
infiniband_switch_power_supply_status_info{{{guid},psu="1",status="CRITICAL"}} 1 {at}
infiniband_switch_power_supply_status_info{{{guid},psu="0",status="OK"}} 1 {at}
node_infiniband_info{{device="mlx5_4",hca_type="MT4129",instance="n07:9100"}} 1 {at}
"""
    reading = read_texts({"page.prom": page})

    assert told(reading) == [
        ("leaf-r3-02", None, "boot_seconds", 1764099000.0, None),
        ("leaf-r3-02", None, "thermal_zone_celsius", 53.0, None),
        ("leaf-r3-02", "1", "fan_speed_hertz", 100.0, None),
        ("leaf-r3-02", "0", "power_watts", 154.0, None),
        ("n07", "mlx5_4/1", "transmit_wait_tick_bytes", 8.0, None),
        ("leaf-r3-02", None, "transmit_wait_tick_lane_bytes", 32.0, None),
    ]
    assert reading.events.select("host", "code", "message").rows() == [
        ("leaf-r3-02", "hardware_status", "power supply status 1 is CRITICAL")
    ]


def test_uptime_without_a_time(read_texts: Read) -> None:
    """An uptime on a page that does not say when it is tells no time of a boot."""
    page = f'infiniband_switch_uptime_seconds{{guid="{LEAF}",switch="leaf-r3-02"}} 1000\n'

    assert told(read_texts({"page.prom": page})) == [
        ("leaf-r3-02", None, "boot_seconds", None, "no_time")
    ]


def test_complaints(read_texts: Read) -> None:
    """What the exporter's tool complains of is a failed collector, once for all scrapes."""
    labels = '{counter_name="PortXmitDiscardDetails",local_name="leaf-r3-02",lid="212",port="17"}'
    page = "\n".join(
        f"infiniband_query_failed_error{labels} 1 {1_764_100_000_000 + at}" for at in (0, 60_000)
    )
    events = read_texts({"page.prom": page}).events

    assert events.select("host", "device", "kind", "count", "message").rows() == [
        (
            "leaf-r3-02",
            "17",
            "collector_failed",
            2,
            (
                "query failed error, counter_name PortXmitDiscardDetails, local_name leaf-r3-02, "
                "lid 212, port 17"
            ),
        )
    ]


def test_names_that_may_be_exchanged(read_texts: Read) -> None:
    """Detail counters that the exporter's tool may have exchanged are left out with that reason."""
    page = 'infiniband_portinactivediscards_total{local_name="leaf-r3-02",local_port="17"} 1\n'
    reading = read_texts({"page.prom": page})

    assert reading.samples.height == 0
    assert reading.rejects["reason"].to_list() == ["its tool may exchange these names"]
