"""What node_exporter knows of a host, and of its own failures."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.metric_files import read_exposition
from collectors.node_exporter import FIELDS
from collectors.readings import Reading
from collectors.signals import SIGNALS
from collectors.sniffing import ReadOptions


def reading_of_page(folder: Path, *lines: str) -> Reading:
    """Return the reading of a page with these lines."""
    path = folder / "page.prom"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_exposition(path, "page", ReadOptions())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            'node_network_speed_bytes{device="eth3",instance="n:1"} -125000',
            ("nic", "eth3", "network_speed_bytes_per_second", None, "unknown"),
            id="a link of unknown speed has none",
        ),
        pytest.param(
            'node_network_speed_bytes{device="eth3",instance="n:1"} 5e10',
            ("nic", "eth3", "network_speed_bytes_per_second", 5e10, None),
            id="a speed",
        ),
        pytest.param(
            'node_cpu_scaling_frequency_hertz{cpu="7",instance="n:1"} 2.1e9',
            ("cpu", "cpu7", "cpu_clock_hertz", 2.1e9, None),
            id="a processor's clock",
        ),
        pytest.param(
            'node_cpu_core_throttles_total{core="3",package="1",instance="n:1"} 4',
            ("cpu", "package1/core3", "cpu_core_throttles_total", 4.0, None),
            id="a core of a package",
        ),
        pytest.param(
            'node_pressure_io_stalled_seconds_total{instance="n:1"} 1.5',
            ("node", None, "io_stalled_seconds_total", 1.5, None),
            id="a host as a whole",
        ),
    ],
)
def test_hosts(tmp_path: Path, line: str, expected: tuple[object, ...]) -> None:
    """A host's metrics become samples of its parts, or of itself."""
    samples = reading_of_page(tmp_path, line).samples

    assert samples.select("device_kind", "device", "signal", "value", "reason").rows() == [expected]


def test_failed_collector(tmp_path: Path) -> None:
    """A failed collector is no data from that host: no zeros, no links that are down."""
    line = (
        'node_scrape_collector_success{{collector="infiniband",instance="gpu-r3-n07:9100"}} {} {}'
    )
    reading = reading_of_page(tmp_path, line.format(1, 1000), line.format(0, 31000))

    assert reading.samples.height == 0
    assert reading.events.select("host", "kind", "code", "time", "count").rows() == [
        (
            "gpu-r3-n07",
            "collector_failed",
            "infiniband",
            datetime(1970, 1, 1, 0, 0, 31, tzinfo=UTC),
            1,
        )
    ]
    assert reading.coverage.select("entity", "signal", "seen", "expected").rows() == [
        ("gpu-r3-n07", "collector infiniband", 1, 2)
    ]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        pytest.param(
            'infiniband_switch_collect_error{guid="0x1",collector="c"} 1 9',
            "collector_failed",
            id="error",
        ),
        pytest.param(
            'infiniband_hca_collect_timeout{guid="0x1",collector="c"} 1 9',
            "collector_failed",
            id="timeout",
        ),
        pytest.param(
            'infiniband_switch_collect_error{guid="0x1",collector="c"} 0 9', None, id="none"
        ),
        pytest.param(
            'infiniband_exporter_last_execution{collector="switch-runonce"} 1000 2000000',
            "stale_source",
            id="values of long ago",
        ),
        pytest.param(
            'infiniband_exporter_last_execution{collector="switch-runonce"} 1000 1800000',
            None,
            id="values of a while ago",
        ),
    ],
)
def test_subnet_failures(tmp_path: Path, line: str, kind: str | None) -> None:
    """A subnet exporter's failures and the age of its values are events."""
    info = 'infiniband_switch_info{guid="0x1",switch="leaf"} 1 9'
    kinds = reading_of_page(tmp_path, info, line).events["kind"].to_list()

    assert kinds == ([] if kind is None else [kind])


def test_fields_are_signals() -> None:
    """Each field maps to a signal we know."""
    assert {signal for _, signal, _, _ in FIELDS} <= set(SIGNALS)
