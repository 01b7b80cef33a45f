"""What node_exporter knows of a host, and of its own failures."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.hosts.node_fields import CPU_MODES, node_fields
from collectors.metrics.metric_files import read_exposition
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
            'node_cpu_core_throttles_total{cpu="cpu9",instance="n:1"} 4',
            ("cpu", "cpu9", "cpu_core_throttles_total", 4.0, None),
            id="a hyperthread, before 0.16",
        ),
        pytest.param(
            'node_cpu_seconds_total{cpu="3",mode="iowait",instance="n:1"} 2.5',
            ("cpu", "cpu3", "cpu_iowait_seconds_total", 2.5, None),
            id="a mode of a processor's time",
        ),
        pytest.param(
            'node_cpu{cpu="cpu3",mode="idle",instance="n:1"} 2.5',
            ("cpu", "cpu3", "cpu_idle_seconds_total", 2.5, None),
            id="the same, before 0.16",
        ),
        pytest.param(
            'node_cpu_scaling_frequency_max_hertz{cpu="7",instance="n:1"} 3e9',
            ("cpu", "cpu7", "cpu_max_clock_hertz", 3e9, None),
            id="what a processor could do",
        ),
        pytest.param(
            'node_schedstat_waiting_seconds_total{cpu="7",instance="n:1"} 9',
            ("cpu", "cpu7", "run_queue_waiting_seconds_total", 9.0, None),
            id="the wait for a processor",
        ),
        pytest.param(
            'node_rapl_dram_joules_total{index="1",path="/sys",instance="n:1"} 9',
            ("cpu", "dram1", "cpu_energy_joules_total", 9.0, None),
            id="energy of a power domain",
        ),
        pytest.param(
            'node_hwmon_temp_celsius{chip="platform_coretemp_0",sensor="temp1",instance="n:1"} 61',
            ("node", "platform_coretemp_0/temp1", "sensor_celsius", 61.0, None),
            id="a sensor",
        ),
        pytest.param(
            'node_thermal_zone_temp{zone="0",type="acpitz",instance="n:1"} -274',
            ("node", "zone0", "thermal_zone_celsius", None, "bad_sensor"),
            id="a temperature that cannot be",
        ),
        pytest.param(
            'node_hwmon_temp_celsius{chip="a",sensor="temp1",instance="n:1"} 0',
            ("node", "a/temp1", "sensor_celsius", None, "bad_sensor"),
            id="a sensor that says 0",
        ),
        pytest.param(
            'node_cooling_device_cur_state{name="3",type="Processor",instance="n:1"} 2',
            ("node", "Processor/3", "cooling_level", 2.0, None),
            id="a processor that is throttled",
        ),
        pytest.param(
            'node_timex_offset_seconds{instance="n:1"} -0.002',
            ("node", None, "clock_offset_seconds", -0.002, None),
            id="the clock's offset",
        ),
        pytest.param(
            'node_time_seconds{instance="n:1"} 1.7675856e9',
            ("node", None, "clock_seconds", 1.7675856e9, None),
            id="the clock",
        ),
        pytest.param(
            'node_pressure_irq_stalled_seconds_total{instance="n:1"} 1',
            ("node", None, "irq_stalled_seconds_total", 1.0, None),
            id="pressure of interrupts",
        ),
        pytest.param(
            'node_pcidevice_current_link_width{segment="0019",bus="0a",device="00",'
            'function="0",instance="n:1"} 8',
            ("pci", "0019:0a:00.0", "pcie_link_lanes", 8.0, None),
            id="lanes of a PCIe device",
        ),
        pytest.param(
            'node_pcidevice_max_link_transfers_per_second{segment="0000",bus="9b",device="00",'
            'function="0",instance="n:1"} -1',
            ("pci", "0000:9b:00.0", "pcie_max_link_transfers_per_second", None, "unknown"),
            id="a PCIe speed that the kernel does not know",
        ),
        pytest.param(
            'node_edac_uncorrectable_errors_total{controller="0",instance="n:1"} 1',
            ("node", "controller0", "memory_uncorrected_errors_total", 1.0, None),
            id="memory errors of a controller",
        ),
        pytest.param(
            'node_edac_csrow_correctable_errors_total{controller="0",csrow="unknown",'
            'instance="n:1"} 1',
            ("node", "controller0/csrowunknown", "memory_corrected_errors_total", 1.0, None),
            id="of a row, where no controller counts them",
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


def test_memory_errors_count_once(tmp_path: Path) -> None:
    """Rows and channels repeat what their controller counts, and are told to do so."""
    lines = [
        'node_edac_correctable_errors_total{controller="0",instance="n:1"} 5',
        'node_edac_csrow_correctable_errors_total{controller="0",csrow="0",instance="n:1"} 3',
        'node_edac_csrow_correctable_errors_total{controller="0",csrow="unknown",instance="n:1"} 2',
        'node_edac_csrow_correctable_errors_total{controller="0",csrow="0",instance="m:1"} 7',
    ]
    reading = reading_of_page(tmp_path, *lines)

    assert reading.samples.select("host", "device", "value").rows() == [
        ("n", "controller0", 5.0),
        ("m", "controller0/csrow0", 7.0),
    ]
    assert reading.rejects.select("text", "reason", "count").rows() == [
        (
            "node_edac_csrow_correctable_errors_total",
            "repeats the errors that a higher level counts",
            2,
        )
    ]


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
    signals = set(node_fields()["signal"]) - {"cpu_seconds_total"}
    modes = {f"cpu_{mode}_seconds_total" for mode in CPU_MODES}

    assert signals | modes | {"cpu_energy_joules_total"} <= set(SIGNALS)
