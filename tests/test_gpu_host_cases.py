"""Tricky inputs of GPU and host streams, each read by the readers that a folder goes through."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from collectors.dialects import read_file
from collectors.metrics.prometheus_answers import read_answers
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from detectors.cleaning import CleaningParams, counter_rates
from detectors.pcie_links import PcieParams, find_degraded_pcie

START = datetime(2026, 1, 5, 4, tzinfo=UTC)
START_MS = 1767585600000


def read(folder: Path, text: str, name: str = "page.prom") -> Reading:
    """Return the reading of a text in a file of its own."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_file(path, name, ReadOptions())


def at(seconds: float) -> str:
    """Return a time stamp so many seconds after 04:00."""
    return str(round(START_MS + seconds * 1000))


def rates(reading: Reading, signal: str) -> list[float | None]:
    """Return the rates between neighbouring samples of a counter."""
    counters = reading.samples.lazy().filter(pl.col("signal") == signal)
    rows: list[float | None] = (
        counter_rates(counters, CleaningParams()).select("rate").collect()["rate"].to_list()
    )
    return rows


def sentinels(folder: Path) -> object:
    """An int64 blank, whole and after a trip through float64."""
    page = (
        'DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="GPU-1a2b3c4d-0000-4000-8000-000000000001",'
        'Hostname="hx8-017"} 9223372036854775794\n'
    )
    answer = (
        '{"metric":{"__name__":"DCGM_FI_DEV_MEMORY_TEMP","gpu":"1"},'
        '"values":[[1767585600,"9223372036854776000"]]}\n'
    )
    parts = [read(folder, page), read(folder, answer, "answer.json")]
    return [part.samples.select("value", "exact", "reason").rows() for part in parts]


def repeated_type(folder: Path) -> object:
    """A page with a TYPE given twice and a line without a value."""
    reading = read(
        folder,
        "# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
        'DCGM_FI_DEV_SM_CLOCK{gpu="0"} 1755\n'
        "# TYPE DCGM_FI_DEV_SM_CLOCK gauge\n"
        'DCGM_FI_DEV_SM_CLOCK{gpu="1"} \n'
        'DCGM_FI_DEV_SM_CLOCK{gpu="2"} 1740\n',
    )
    return (
        reading.samples.select("index", "value").rows(),
        reading.rejects["position"].to_list(),
        reading.events["code"].to_list(),
    )


def same_xid_twice(folder: Path) -> object:
    """The last-Xid series twice, with other words of the error."""
    labels = 'gpu="2",UUID="GPU-aa00bb11-0000-4000-8000-000000000002"'
    reading = read(
        folder,
        f'DCGM_FI_DEV_XID_ERRORS{{{labels},err_code="0",err_msg="No Error"}} 0\n'
        f'DCGM_FI_DEV_XID_ERRORS{{{labels},err_code="31",err_msg="MMU Error"}} 31\n',
    )
    return reading.samples.select("signal", "value").rows()


def sticky_xid(folder: Path) -> object:
    """A gauge that appears, stays for half an hour and falls when the exporter restarts."""
    temperature = f'DCGM_FI_DEV_GPU_TEMP{{gpu="5"}} 50 {at(0)}\n'
    xids = [(31, 30), (31, 1830), (0, 3600)]
    lines = [f'DCGM_FI_DEV_XID_ERRORS{{gpu="5"}} {xid} {at(when)}\n' for xid, when in xids]
    events = read(folder, temperature + "".join(lines)).events
    seconds = (pl.col("time").dt.epoch("ms") - START_MS) // 1000
    return events.select("kind", "code", "severity", seconds).rows()


def rate_called_counter(folder: Path) -> object:
    """The NVLink bandwidth: a rate whatever TYPE says."""
    name = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL"
    values = (0, 181204, -7, 180977)
    lines = "".join(f'{name}{{gpu="0"}} {value}\n' for value in values)
    reading = read(folder, f"# TYPE {name} counter\n{lines}")
    return reading.samples.select("signal", "value", "reason").rows()


def violation_unit(folder: Path) -> object:
    """A counter of nanoseconds whose help says microseconds."""
    name = "DCGM_FI_DEV_THERMAL_VIOLATION"
    reading = read(
        folder,
        f"# HELP {name} Throttling duration due to thermal constraints (in us).\n"
        f'{name}{{gpu="3"}} 880000000000 {at(0)}\n'
        f'{name}{{gpu="3"}} 895000000000 {at(30)}\n',
    )
    return rates(reading, "thermal_violation_seconds_total")


def impossible_utilisation(folder: Path) -> object:
    """Values that are no share of anything."""
    values = (97, 4294967295, 1980)
    text = "".join(f'DCGM_FI_DEV_GPU_UTIL{{gpu="6"}} {value}\n' for value in values)
    return read(folder, text).samples.select("value", "reason").rows()


def job_in_exported_pod(folder: Path) -> object:
    """Labels that Prometheus renamed because its own are called the same."""
    exporter = 'pod="dcgm-exporter-x9k2p",namespace="gpu-operator",container="exporter"'
    reading = read(
        folder,
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="4",{exporter},exported_pod="llm-0-4",'
        'exported_namespace="ml",exported_container="trainer",instance="10.4.0.17:9400"} 99\n'
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="5",{exporter},exported_pod="",'
        'instance="10.4.0.17:9400"} 0\n',
    )
    return reading.samples.select("index", "run", "host", "value").rows()


def shared_gpu(folder: Path) -> object:
    """One GPU, several jobs, one of them twice."""
    jobs = ("90011", "90012", "90012")
    lines = [
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="1",UUID="GPU-bb",hpc_job="{job}"}} 350.0' for job in jobs
    ]
    reading = read(folder, "\n".join(lines) + "\n")
    return reading.samples.select("device", "value", "run").rows()


def silent_gpu(folder: Path) -> object:
    """Eight GPUs, one of which has no more series."""
    lines = [
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{gpu}",Hostname="hx8-017"}} 50 {at(30 * scrape)}\n'
        for scrape in range(3)
        for gpu in range(8)
        if not (gpu == 6 and scrape)
    ]
    reading = read(folder, "".join(lines))
    seconds = (pl.col("time").dt.epoch("ms") - START_MS) // 1000
    gpus = reading.coverage.filter(pl.col("signal") == "gpus")
    last = reading.samples.filter(pl.col("device") == "6")
    return (
        reading.events.select("kind", "device", seconds).rows(),
        gpus.select("seen", "expected").rows(),
        last.height,
    )


def text_as_number(folder: Path) -> object:
    """String fields in the place of numbers."""
    reading = read(
        folder,
        'DCGM_FI_DEV_GPU_NAME{gpu="0"} NVIDIA H200\n'
        'DCGM_FI_DEV_CUDA_VISIBLE_DEVICES_STR{gpu="0"} ERROR - FAILED TO CONVERT TO STRING\n'
        'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 57\n',
    )
    return reading.samples["value"].to_list(), reading.rejects["count"].fill_null(1).sum()


def counter_reset(folder: Path) -> object:
    """A replay counter over a reload of the driver."""
    values = (4210, 4210, 0, 3)
    lines = [
        f'DCGM_FI_DEV_PCIE_REPLAY_COUNTER{{gpu="2"}} {value} {at(30 * number)}\n'
        for number, value in enumerate(values)
    ]
    found = rates(read(folder, "".join(lines)), "pcie_replays_total")
    return [None if rate is None else rate * 30 for rate in found]


def generations(folder: Path) -> object:
    """Fields that a V100 has, and those that an H100 has instead."""
    page = "".join(
        f'DCGM_FI_DEV_{name}{{gpu="0",Hostname="{host}",modelName="{model}"}} 0\n'
        for host, model, names in (
            ("a", "Tesla V100", ("RETIRED_SBE", "RETIRED_DBE")),
            ("b", "NVIDIA H100", ("UNCORRECTABLE_REMAPPED_ROWS", "ROW_REMAP_FAILURE")),
        )
        for name in names
    )
    reading = read(folder, page)
    return reading.samples.select("host", "signal", "value").rows(), reading.events.height


def text_values(folder: Path) -> object:
    """An answer with values as text, labels that differ, and a step that is late."""
    text = """{"status":"success","data":{"resultType":"matrix","result":[
 {"metric":{"gpu":"0"},"values":[[1767585600,"40"],[1767585630,"NaN"],[1767585690.25,"42"]]},
 {"metric":{"gpu":"1","pod":"p"},"values":[[1767585600,"+Inf"]]}]}}"""
    path = folder / "answer.json"
    path.write_text(text, encoding="utf-8")
    points = read_answers(path).series().points
    named = read(
        folder, text.replace('"gpu":', '"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":'), "n.json"
    )
    seconds = (pl.col("time").dt.epoch("ms") - START_MS) / 1000
    return (
        points.select("series", seconds, "value", "reason").rows(),
        named.samples.filter(pl.col("index") == 0)["value"].mean(),
        named.samples.select("index", "run").unique().sort("index").rows(),
    )


def blank_columns(folder: Path) -> object:
    """Columns of `dcgmi dmon` that are blank, and a header that comes again."""
    reading = read(
        folder,
        "#Entity         TMPTR        XIDER        TENSO        \n"
        "ID              C                                      \n"
        "GPU 0           55           N/A          0.401        \n"
        "GPU-I 2                                   0.377        \n"
        "#Entity         TMPTR        XIDER        TENSO        \n"
        "ID              C                                      \n"
        "GPU 0           55           31           0.402        \n",
        "dmon.txt",
    )
    return reading.samples.select("device_kind", "device", "signal", "value", "reason").rows()


def no_value_words(folder: Path) -> object:
    """Every word that nvidia-smi has for no value."""
    reading = read(
        folder,
        "index, temperature.memory, fan.speed [%], clocks.applications.graphics [MHz], "
        "power.draw [W]\n"
        "0, [Not Supported], [N/A], [Requested functionality has been deprecated], 81.36 W\n"
        "1, N/A, 41 %, 1410 MHz, [Unknown Error]\n",
        "smi.csv",
    )
    return (
        reading.samples.select("index", "signal", "value", "reason").rows(),
        reading.events.select("kind", "device", "code").rows(),
    )


def renamed_header(folder: Path) -> object:
    """A header under another name than was asked for."""
    found: list[object] = []
    for name in ("clocks_event_reasons.active", "clocks_throttle_reasons.active"):
        text = f"uuid, {name}\nGPU-ee01aa00-0000-4000-8000-000000000001, 0x0000000000000048\n"
        reading = read(folder, text, "smi.csv")
        reasons = reading.events["attributes"].list.first().struct.field("value")
        found.append((reading.samples["value"].to_list(), reasons.to_list()))
    return found


def lost_gpu(folder: Path) -> object:
    """A loop's output with a blank line, and a sentence in the place of a row."""
    reading = read(
        folder,
        "0, 97 %, 612.10 W\n\n"
        "Unable to determine the device handle for GPU 0000:BB:00.0: GPU is lost.  "
        "Reboot the system to recover this GPU\n"
        "0, 98 %, 613.00 W\n",
        "smi.csv",
    )
    health = reading.events.filter(pl.col("severity") == "high")
    return (
        reading.samples.select("index", "signal", "value").rows(),
        health.select("kind", "device").rows(),
        reading.rejects.height,
    )


def ecc_history(folder: Path) -> object:
    """Errors of the board's life beside those since the driver came."""
    reading = read(
        folder,
        "uuid, ecc.errors.uncorrected.volatile.total, ecc.errors.uncorrected.aggregate.total\n"
        "GPU-f0aa0011-0000-4000-8000-000000000001, 0, 3\n",
        "smi.csv",
    )
    return reading.samples.select("signal", "value").rows(), reading.events.height


def factor_four(folder: Path) -> object:
    """Bytes of one exporter, words of four bytes of another."""
    port = 'device="mlx5_0",port="1",instance="hx8-017:9100"'
    name = "node_infiniband_port_data_transmitted_bytes_total"
    reading = read(
        folder,
        "".join(
            f"node_infiniband_rate_bytes_per_second{{{port}}} 5e10 {at(when)}\n"
            f"{name}{{{port}}} {value} {at(when)}\n"
            for when, value in ((0, 0), (30, 1.2e12))
        ),
    )
    return rates(reading, "transmitted_bytes_total")


def suspect_unit(folder: Path) -> object:
    """A rate that no port of this speed can have."""
    port = 'device="mlx5_0",port="1",instance="hx8-017:9100"'
    name = "node_infiniband_port_data_transmitted_bytes_total"
    text = "".join(
        f"node_infiniband_rate_bytes_per_second{{{port}}} 5e10 {at(when)}\n"
        f"{name}{{{port}}} {value} {at(when)}\n"
        for when, value in ((0, 0), (30, 4.8e12), (60, 9.6e12))
    )
    samples = read(folder, text).samples
    return "unit_suspect" in samples["reason"].to_list()


def unknown_speed(folder: Path) -> object:
    """A network speed of -1, and a PCIe link that saves power while its GPU idles."""
    net = read(folder, 'node_network_speed_bytes{device="eth3"} -125000\n')
    head = "timestamp, index, pcie.link.gen.current, pcie.link.gen.max, utilization.gpu [%]\n"
    rows = {"idle": "1, 5, 0 %", "loaded": "5, 5, 99 %", "slow": "1, 5, 99 %"}
    causes = {
        name: find_degraded_pcie(
            read(folder, f"{head}2026/01/05 04:00:00.000, 0, {row}\n", "smi.csv").samples.lazy(),
            PcieParams(),
        )["cause"].to_list()
        for name, row in rows.items()
    }
    return net.samples.select("value", "reason").rows(), causes


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param(
            sentinels,
            [[(None, None, "not_supported")], [(None, None, "blank")]],
            id="an int64 blank is null, and keeps its kind unless float64 lost it",
        ),
        pytest.param(
            repeated_type,
            ([(0, 1.755e9), (2, 1.74e9)], [4], ["repeated_declaration"]),
            id="a repeated TYPE warns, and an empty value costs its line, not the page",
        ),
        pytest.param(
            same_xid_twice,
            [("xid_last", 31.0)],
            id="two rows that differ in the words of an error are one GPU with one last Xid",
        ),
        pytest.param(
            sticky_xid,
            [("xid", "31", "low", 30)],
            id="a sticky Xid is one event of low confidence, and its fall is no recovery",
        ),
        pytest.param(
            rate_called_counter,
            [
                ("nvlink_throughput_bytes_per_second", None, "warmup"),
                ("nvlink_throughput_bytes_per_second", 181204e6, None),
                ("nvlink_throughput_bytes_per_second", None, "counter_reset"),
                ("nvlink_throughput_bytes_per_second", 180977e6, None),
            ],
            id="a rate that is typed counter stays a rate: warm-up and reset are null",
        ),
        pytest.param(
            violation_unit, [0.5], id="violations are nanoseconds whatever their help says"
        ),
        pytest.param(
            impossible_utilisation,
            [(0.97, None), (None, "out_of_range"), (None, "out_of_range")],
            id="a utilisation outside 0 to 100 is null",
        ),
        pytest.param(
            job_in_exported_pod,
            [(4, "ml/llm-0-4", None, 0.99), (5, None, None, 0.0)],
            id="the exporter's own pod is no job, and its address no host",
        ),
        pytest.param(
            shared_gpu,
            [("GPU-bb", 350.0, "90011,90012")],
            id="a GPU that jobs share is measured once, its jobs are a set",
        ),
        pytest.param(
            silent_gpu,
            ([("gpu_series_lost", "6", 30)], [(8, 8), (7, 8)], 1),
            id="a GPU that goes silent is lost from the first scrape without it, not carried on",
        ),
        pytest.param(
            text_as_number, ([57.0], 2), id="text in the place of a number costs its line"
        ),
        pytest.param(
            counter_reset, [0.0, None, 3.0], id="a reset is no delta, least of all a positive one"
        ),
        pytest.param(
            generations,
            (
                [
                    ("a", "retired_pages_corrected_total", 0.0),
                    ("a", "retired_pages_uncorrected_total", 0.0),
                    ("b", "remapped_rows_uncorrected_total", 0.0),
                    ("b", "row_remap_failed", 0.0),
                ],
                0,
            ),
            id="a field that a generation does not have is no fault and no null",
        ),
        pytest.param(
            text_values,
            (
                [
                    (0, 0.0, 40.0, None),
                    (0, 30.0, None, "non_finite"),
                    (0, 90.25, 42.0, None),
                    (1, 0.0, None, "non_finite"),
                ],
                41.0,
                [(0, None), (1, "p")],
            ),
            id="values are text, steps may be late, and labels may differ between series",
        ),
        pytest.param(
            blank_columns,
            [
                ("gpu", "0", "gpu_temperature_celsius", 55.0, None),
                ("gpu", "0", "tensor_active_ratio", 0.401, None),
                ("gpu", "0", "xid_last", None, "n/a"),
                ("mig", "gi2", "tensor_active_ratio", 0.377, None),
                ("gpu", "0", "gpu_temperature_celsius", 55.0, None),
                ("gpu", "0", "tensor_active_ratio", 0.402, None),
                ("gpu", "0", "xid_last", 31.0, None),
            ],
            id="a blank column shifts nothing, and a repeated header is no row",
        ),
        pytest.param(
            no_value_words,
            (
                [
                    (0, "application_sm_clock_hertz", None, "deprecated"),
                    (0, "fan_speed_ratio", None, "n/a"),
                    (0, "memory_temperature_celsius", None, "not_supported"),
                    (0, "power_watts", 81.36, None),
                    (1, "application_sm_clock_hertz", 1.41e9, None),
                    (1, "fan_speed_ratio", pytest.approx(0.41), None),
                    (1, "memory_temperature_celsius", None, "n/a"),
                    (1, "power_watts", None, "error"),
                ],
                [("gpu_error", "1", "error")],
            ),
            id="each word for no value has its reason, and an error is a health event",
        ),
        pytest.param(
            renamed_header,
            [([72.0], ["hw_slowdown,hw_thermal"])] * 2,
            id="a renamed header is the same field, and a throttle with its umbrella one event",
        ),
        pytest.param(
            lost_gpu,
            (
                [
                    (0, "gpu_busy_ratio", 0.97),
                    (0, "power_watts", 612.1),
                    (0, "gpu_busy_ratio", 0.98),
                    (0, "power_watts", 613.0),
                ],
                [("gpu_lost", "0000:bb:00.0")],
                0,
            ),
            id="a sentence about a lost GPU is its event, and a blank line nothing",
        ),
        pytest.param(
            ecc_history,
            (
                [
                    ("ecc_uncorrected_aggregate_total", 3.0),
                    ("ecc_uncorrected_volatile_total", 0.0),
                ],
                0,
            ),
            id="errors of the board's life are history at first sight",
        ),
        pytest.param(factor_four, [4e10], id="bytes are bytes: 80 % of the port's rate"),
        pytest.param(suspect_unit, True, id="a rate above the port's is a suspect unit"),
        pytest.param(
            unknown_speed,
            (
                [(None, "unknown")],
                {"idle": [], "loaded": [], "slow": ["pcie_speed"]},
            ),
            id="a speed of -1 is not known, and a slow PCIe link counts under load only",
        ),
    ],
)
def test_cases(tmp_path: Path, case: Callable[[Path], object], expected: object) -> None:
    """The input of a case gives exactly what its page says."""
    assert case(tmp_path) == expected
