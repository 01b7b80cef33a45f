"""What dcgm-exporter measured, over its versions and with its mistakes."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from collectors.gpus.dcgm_fields import FIELDS, field_names
from collectors.metrics.metric_files import read_exposition
from collectors.readings import Reading
from collectors.signals import SIGNALS
from collectors.sniffing import ReadOptions

START_MS = 1767585600000


def reading_of_page(folder: Path, *lines: str) -> Reading:
    """Return the reading of a page with these lines."""
    path = folder / "page.prom"
    path.write_text("\n".join(lines), encoding="utf-8")
    return read_exposition(path, "page", ReadOptions())


def at(seconds: int) -> str:
    """Return a time stamp so many seconds after 04:00."""
    return str(START_MS + seconds * 1000)


def rows(reading: Reading, *columns: str) -> list[tuple[object, ...]]:
    """Return columns of the samples."""
    return reading.samples.select(columns).rows()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param("9223372036854775792", "blank", id="int64 blank"),
        pytest.param("9223372036854775793", "not_found", id="int64 not found"),
        pytest.param("9223372036854775794", "not_supported", id="int64 not supported"),
        pytest.param("9223372036854775795", "no_permission", id="int64 no permission"),
        pytest.param("9223372036854776000", "blank", id="int64 after JSON in float64"),
        pytest.param("9223372036854775807", "blank", id="int64 cut at its top"),
        pytest.param("9.223372036854776e+18", "blank", id="int64 as Go prints a float"),
        pytest.param("140737488355328.000000", "blank", id="float64 blank"),
        pytest.param("140737488355330.000000", "not_supported", id="float64 not supported"),
        pytest.param("2147483634", "not_supported", id="int32 not supported"),
        pytest.param("<<<NOT_PERM>>>", "no_permission", id="string sentinel"),
        pytest.param("4294967295", "out_of_range", id="all ones of 32 bits"),
        pytest.param("-274", "out_of_range", id="colder than can be"),
        pytest.param("NaN", "non_finite", id="not a number"),
    ],
)
def test_sentinels(tmp_path: Path, value: str, reason: str) -> None:
    """A sentinel in any form is a null with its reason, never a temperature."""
    reading = reading_of_page(tmp_path, f'DCGM_FI_DEV_MEMORY_TEMP{{gpu="0",UUID="GPU-a"}} {value}')

    assert rows(reading, "value", "reason") == [(None, reason)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("DEV_THERMAL_VIOLATION", 140737488355329.0, id="nanoseconds of 39 hours"),
        pytest.param("PROF_PCIE_TX_BYTES_TOTAL", 140737488355328.0, id="bytes"),
        pytest.param("DEV_PCIE_REPLAY_COUNTER", 2147483632.0, id="a count"),
    ],
)
def test_counters_may_pass_small_sentinels(tmp_path: Path, name: str, value: float) -> None:
    """A counter that can legally reach the sentinels of smaller types is a number there."""
    reading = reading_of_page(tmp_path, f'DCGM_FI_{name}{{gpu="0"}} {value:.0f}')

    assert reading.samples["reason"].to_list() == [None]
    assert reading.samples["value"].null_count() == 0


@pytest.mark.parametrize(
    ("line", "signal", "value"),
    [
        pytest.param('DCGM_FI_DEV_SM_CLOCK{gpu="0"} 1755', "sm_clock_hertz", 1.755e9, id="MHz"),
        pytest.param('dcgm_sm_clock{gpu="0"} 1755', "sm_clock_hertz", 1.755e9, id="a name of 1.x"),
        pytest.param('DCGM_FI_DEV_GPU_UTIL{gpu="0"} 97', "gpu_busy_ratio", 0.97, id="percent"),
        pytest.param(
            'DCGM_FI_DEV_GPU_UTIL_RATIO{gpu="0"} 97', "gpu_busy_ratio", 0.97, id="percent, renamed"
        ),
        pytest.param(
            'DCGM_FI_DEV_FB_USED_PERCENT{gpu="0"} 0.5', "framebuffer_used_ratio", 0.5, id="a ratio"
        ),
        pytest.param(
            'DCGM_FI_DEV_BOARD_POWER_WATTS{gpu="0"} 700.5', "power_watts", 700.5, id="renamed watts"
        ),
        pytest.param(
            'DCGM_FI_DEV_FB_USED{gpu="0"} 2', "framebuffer_used_bytes", 2097152.0, id="mebibytes"
        ),
        pytest.param(
            'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0"} 5000',
            "energy_joules_total",
            5.0,
            id="millijoules",
        ),
        pytest.param(
            'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="0"} 72',
            "clock_event_reasons",
            72.0,
            id="a mask stays a mask",
        ),
        pytest.param(
            'DCGM_FI_DEV_GPU_TEMP_LIMIT{gpu="0"} -3',
            "gpu_temperature_margin_celsius",
            -3.0,
            id="a margin may be negative",
        ),
    ],
)
def test_fields(tmp_path: Path, line: str, signal: str, value: float) -> None:
    """Fields of all versions become our signals in base units."""
    assert rows(reading_of_page(tmp_path, line), "signal", "value") == [(signal, value)]


def test_impossible_utilisation(tmp_path: Path) -> None:
    """A utilisation outside 0 to 100 is null, not a straggler."""
    lines = [f'DCGM_FI_DEV_GPU_UTIL{{gpu="6"}} {value}' for value in (97, 4294967295, 1980)]

    assert rows(reading_of_page(tmp_path, *lines), "value", "reason") == [
        (0.97, None),
        (None, "out_of_range"),
        (None, "out_of_range"),
    ]


def test_rate_called_counter(tmp_path: Path) -> None:
    """The NVLink bandwidth is a rate whatever TYPE says; its first zero and negatives are none."""
    lines = [
        f'DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{{gpu="0"}} {value}'
        for value in (0, 181204, -7, 180977)
    ]
    reading = reading_of_page(tmp_path, "# TYPE DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL counter", *lines)

    assert rows(reading, "value", "reason") == [
        (None, "warmup"),
        (181204e6, None),
        (None, "counter_reset"),
        (180977e6, None),
    ]
    assert SIGNALS["nvlink_throughput_bytes_per_second"].kind == "gauge"


def test_violations_are_nanoseconds(tmp_path: Path) -> None:
    """15 of 30 seconds of throttling are half, whatever the help text says of microseconds."""
    name = "DCGM_FI_DEV_THERMAL_VIOLATION"
    reading = reading_of_page(
        tmp_path,
        f"# HELP {name} Throttling duration due to thermal constraints (in us).",
        f'{name}{{gpu="3"}} 880000000000 {at(0)}',
        f'{name}{{gpu="3"}} 895000000000 {at(30)}',
    )
    first, second = reading.samples["value"].to_list()

    assert (second - first) / 30 == 0.5


def test_reset_is_kept_as_it_is(tmp_path: Path) -> None:
    """A counter that falls is read as it is: deltas are not the reader's business."""
    lines = [
        f'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{gpu="2"}} {value} {at(30 * number)}'
        for number, value in enumerate((4210, 4210, 0, 3))
    ]

    assert reading_of_page(tmp_path, *lines).samples["value"].to_list() == [4210, 4210, 0, 3]


@pytest.mark.parametrize(
    ("labels", "run", "host"),
    [
        pytest.param(
            'pod="dcgm-exporter-x9k2p",namespace="gpu-operator",container="exporter",'
            'exported_pod="llm-0-4",exported_namespace="ml",instance="10.4.0.17:9400"',
            "ml/llm-0-4",
            None,
            id="the job is in exported_pod, an address is no host",
        ),
        pytest.param(
            'pod="dcgm-exporter-x9k2p",exported_pod="",instance="10.4.0.17:9400"',
            None,
            None,
            id="an empty exported_pod is no job",
        ),
        pytest.param(
            'pod="dcgm-exporter-x9k2p",namespace="gpu-operator",Hostname="HX8-017"',
            None,
            "hx8-017",
            id="the exporter itself is no job",
        ),
        pytest.param(
            'pod="llm-0",namespace="ml",hostname="hx8-017.cl"',
            "ml/llm-0",
            "hx8-017.cl",
            id="a pod without a clash",
        ),
        pytest.param(
            'pod_name="p",pod_namespace="n",instance="hx8-017:9400"',
            "n/p",
            "hx8-017",
            id="labels of 1.x, the host from the target",
        ),
        pytest.param(
            'hpc_job="88213",pod="llm-0",Hostname="dcgm-exporter-x9",node="hx8-018"',
            "88213",
            "hx8-018",
            id="a job number first, a pod's name is no host",
        ),
        pytest.param('Hostname="localhost"', None, None, id="localhost is no host"),
    ],
)
def test_workload_and_host(tmp_path: Path, labels: str, run: str | None, host: str | None) -> None:
    """Job and host come from the labels that mean them, not from the exporter's own."""
    reading = reading_of_page(tmp_path, f'DCGM_FI_DEV_GPU_UTIL{{gpu="4",{labels}}} 99')

    assert rows(reading, "run", "host") == [(run, host)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param('gpu="3",UUID="GPU-a",pci_bus_id="00000000:9B:00.0"', "GPU-a", id="UUID"),
        pytest.param('gpu="3",uuid="GPU-a"', "GPU-a", id="UUID in lower case"),
        pytest.param('gpu="3",pci_bus_id="00000019:0A:00.0"', "0019:0a:00.0", id="PCI address"),
        pytest.param('gpu="3"', "3", id="index"),
    ],
)
def test_identity(tmp_path: Path, labels: str, expected: str) -> None:
    """A GPU is its UUID, else its PCI address, else its index."""
    reading = reading_of_page(tmp_path, f"DCGM_FI_DEV_GPU_TEMP{{{labels}}} 50")

    assert rows(reading, "device_kind", "device", "index") == [("gpu", expected, 3)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            'DCGM_FI_PROF_SM_ACTIVE{gpu="3",UUID="GPU-x",GPU_I_ID="2"} 0.5',
            ("mig", "GPU-x/gi2"),
            id="a MIG instance has activity of its own",
        ),
        pytest.param(
            'DCGM_FI_DEV_GPU_TEMP{gpu="3",UUID="GPU-x",GPU_I_ID="2"} 50',
            ("gpu", "GPU-x"),
            id="a MIG instance repeats the board's temperature",
        ),
        pytest.param(
            'DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{nvlink="5",gpu="3",gpu_uuid="GPU-x"} 9',
            ("nvlink", "GPU-x/nvlink5"),
            id="a link of a GPU",
        ),
        pytest.param(
            'DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{nvlink="7",nvswitch="1"} 9',
            ("nvswitch", "nvswitch1/nvlink7"),
            id="a link of a switch",
        ),
        pytest.param(
            'DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch="1"} 0',
            ("nvswitch", "nvswitch1"),
            id="switch",
        ),
        pytest.param(
            'DCGM_FI_DEV_GPU_UTIL{gpu="3",UUID="GPU-x",vgpu="4"} 9',
            ("vgpu", "GPU-x/vgpu4"),
            id="vGPU",
        ),
        pytest.param('DCGM_FI_DEV_GPU_TEMP{cpu="0"} 50', ("cpu", "cpu0"), id="a CPU"),
        pytest.param(
            'DCGM_FI_DEV_GPU_TEMP{cpucore="12",cpu="0"} 50', ("cpu", "cpu0/core12"), id="a core"
        ),
    ],
)
def test_entities(tmp_path: Path, line: str, expected: tuple[str, str]) -> None:
    """Parts of a GPU or a host are devices of their own kind."""
    assert rows(reading_of_page(tmp_path, line), "device_kind", "device") == [expected]


def test_jobs_that_share_a_gpu(tmp_path: Path) -> None:
    """A GPU that several jobs share was measured once; the jobs are a set."""
    lines = [
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="1",UUID="GPU-bb",hpc_job="{job}"}} 350.0'
        for job in (90011, 90012, 90012)
    ]

    assert rows(reading_of_page(tmp_path, *lines), "value", "run") == [(350.0, "90011,90012")]


def test_last_xid_twice(tmp_path: Path) -> None:
    """Two series that differ only in the error's words are one GPU with one last Xid."""
    lines = [
        f'DCGM_FI_DEV_XID_ERRORS{{UUID="GPU-aa",err_code="{code}",err_msg="a, {{b}}"}} {code}'
        for code in (0, 31)
    ]

    assert rows(reading_of_page(tmp_path, *lines), "device", "value") == [("GPU-aa", 31.0)]


def test_conflicting_duplicates(tmp_path: Path) -> None:
    """The last of two values at a time stays, and a warning says that there were two."""
    reading = reading_of_page(
        tmp_path,
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="2",UUID="GPU-aa",pod="a"}} 50 {at(0)}',
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="2",UUID="GPU-aa",pod="b"}} 51 {at(0)}',
    )

    assert rows(reading, "value") == [(51.0,)]
    assert reading.events.select("kind", "code", "count").rows() == [
        ("warning", "conflicting_duplicates", 1)
    ]


def xid(value: int, seconds: int, gpu: int = 5) -> str:
    """Return a line of the last-Xid gauge."""
    return (
        f'DCGM_FI_DEV_XID_ERRORS{{gpu="{gpu}",UUID="GPU-{gpu}",Hostname="h"}} {value} {at(seconds)}'
    )


def temperature(gpu: int, seconds: int) -> str:
    """Return a line of a GPU's temperature."""
    return f'DCGM_FI_DEV_GPU_TEMP{{gpu="{gpu}",UUID="GPU-{gpu}",Hostname="h"}} 50 {at(seconds)}'


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [temperature(5, 0), xid(31, 30), xid(31, 1830), xid(0, 3600)],
            [(30, "31", "low")],
            id="the series begins with an Xid: one event, and no recovery",
        ),
        pytest.param(
            [xid(0, 0), xid(31, 30), xid(79, 60), xid(79, 90)],
            [(30, "31", "low"), (60, "79", "low")],
            id="each change is an event",
        ),
        pytest.param(
            [temperature(5, 0), xid(31, 0), xid(31, 30)], [], id="a level of last week is none"
        ),
        pytest.param(
            [xid(31, 0), xid(31, 30)], [(0, "31", "info")], id="nothing but Xids is known"
        ),
        pytest.param(
            [xid(31, 60), temperature(5, 0), xid(0, 30)], [(60, "31", "low")], id="unsorted"
        ),
    ],
)
def test_xid_events(tmp_path: Path, lines: list[str], expected: list[tuple[int, str, str]]) -> None:
    """A change of the last Xid is one event; its level is none."""
    events = reading_of_page(tmp_path, *lines).events.filter(pl.col("kind") == "xid")
    seconds = (pl.col("time").dt.epoch("ms") - START_MS) // 1000

    assert events.select(seconds, "code", "severity").rows() == expected


def presence(missing: set[tuple[int, int]], scrapes: int = 3) -> list[str]:
    """Return scrapes of 8 GPUs every 30 s without the given (gpu, scrape) pairs."""
    return [
        temperature(gpu, 30 * scrape)
        for scrape in range(scrapes)
        for gpu in range(8)
        if (gpu, scrape) not in missing
    ]


@pytest.mark.parametrize(
    ("missing", "scrapes", "expected"),
    [
        pytest.param(
            {(6, 1), (6, 2)}, 3, [("gpu_series_lost", "GPU-6", 30)], id="a GPU goes silent"
        ),
        pytest.param({(6, 2)}, 3, [], id="the last page may be cut short"),
        pytest.param({(6, 1)}, 3, [], id="one scrape without it is a hiccup"),
        pytest.param(
            {(6, 1), (6, 2)},
            5,
            [("gpu_series_lost", "GPU-6", 30), ("gpu_series_back", "GPU-6", 90)],
            id="it comes back",
        ),
        pytest.param(
            {(gpu, scrape) for gpu in range(8) for scrape in (1, 2)},
            5,
            [],
            id="the whole host was not scraped",
        ),
        pytest.param(set[tuple[int, int]](), 3, [], id="all there"),
    ],
)
def test_lost_gpus(
    tmp_path: Path,
    missing: set[tuple[int, int]],
    scrapes: int,
    expected: list[tuple[str, str, int]],
) -> None:
    """A GPU whose series end while its siblings talk is lost, from the first scrape without it."""
    events = reading_of_page(tmp_path, *presence(missing, scrapes)).events
    seconds = (pl.col("time").dt.epoch("ms") - START_MS) // 1000

    assert events.select("kind", "device", seconds).rows() == expected


def test_coverage(tmp_path: Path) -> None:
    """A silent GPU was in one of three scrapes, its host in all of them."""
    coverage = reading_of_page(tmp_path, *presence({(6, 1), (6, 2)})).coverage
    chosen = coverage.filter(
        pl.col("signal") == "scrape", pl.col("entity").is_in(["h", "h/GPU-6", "h/GPU-7"])
    )

    assert chosen.select("entity", "seen", "expected").rows() == [
        ("h", 3, 3),
        ("h/GPU-6", 1, 3),
        ("h/GPU-7", 3, 3),
    ]
    assert chosen["start"].to_list() == [datetime(2026, 1, 5, 4, tzinfo=UTC)] * 3


def test_lost_profiler(tmp_path: Path) -> None:
    """Profiling zeros on all GPUs of a busy host are not believed; on one of them they are."""
    lines = [
        f'DCGM_FI_{name}{{gpu="{gpu}",UUID="GPU-{gpu}",Hostname="{host}"}} {value} {at(0)}'
        for host, active in (("lost", (0, 0)), ("fine", (0, 0.5)))
        for gpu in range(2)
        for name, value in (("DEV_GPU_UTIL", 100), ("PROF_SM_ACTIVE", active[gpu]))
    ]
    samples = reading_of_page(tmp_path, *lines).samples.filter(
        pl.col("signal") == "sm_active_ratio"
    )

    assert samples.select("host", "value", "reason").rows() == [
        ("lost", None, "prof_unreliable"),
        ("lost", None, "prof_unreliable"),
        ("fine", 0.0, None),
        ("fine", 0.5, None),
    ]


def test_source_in_error(tmp_path: Path) -> None:
    """Words of an error are a null and a health event, once for each GPU and error."""
    reading = reading_of_page(
        tmp_path,
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="1",UUID="GPU-1"}} [GPU requires reset] {at(0)}',
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="1",UUID="GPU-1"}} [GPU requires reset] {at(0)}',
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="2",UUID="GPU-2"}} [GPU is lost] {at(0)}',
    )

    assert reading.events.select("kind", "device", "code", "count").rows() == [
        ("gpu_error", "GPU-1", "gpu_requires_reset", 2),
        ("gpu_lost", "GPU-2", "gpu_lost", 1),
    ]


def test_generations_differ(tmp_path: Path) -> None:
    """Fields that only one generation has are there for it and no nulls for the other."""
    reading = reading_of_page(
        tmp_path,
        'DCGM_FI_DEV_RETIRED_SBE{gpu="0",modelName="Tesla V100",Hostname="a"} 0',
        'DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS{gpu="0",model_name="NVIDIA H100",Hostname="b"} 0',
    )

    assert rows(reading, "host", "model", "signal", "value") == [
        ("a", "Tesla V100", "retired_pages_corrected_total", 0.0),
        ("b", "NVIDIA H100", "remapped_rows_uncorrected_total", 0.0),
    ]


def test_fields_are_signals() -> None:
    """Each field maps to a signal we know, and no metric name stands for two fields."""
    assert {field.signal for field in FIELDS} <= set(SIGNALS)
    assert field_names()["name"].is_unique().all()
