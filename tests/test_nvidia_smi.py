"""What nvidia-smi prints, in each of its forms."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.dialects import read_file
from collectors.gpus.nvidia_smi import wants_nvidia_smi
from collectors.gpus.smi_fields import dmon_column, query_column
from collectors.gpus.smi_report_keys import REPORT_KEYS
from collectors.readings import Reading
from collectors.signals import SIGNALS
from collectors.sniffing import Head, ReadOptions

UUID_A = "GPU-5f1c2a90-7b3e-4d18-9c60-a1b2c3d4e5f6"
UUID_B = "GPU-0c77b1de-2f0a-4b91-8f33-6d5e4c3b2a19"

QUERY = f"""\
timestamp, index, uuid, pci.bus_id, temperature.gpu, power.draw [W], utilization.gpu [%], \
clocks.current.sm [MHz], clocks_event_reasons.active, pstate, memory.used [MiB]
2026/01/05 04:03:02.118, 3, {UUID_A}, 00000000:9B:00.0, 61, 640.11 W, 100 %, 1755 MHz, \
0x0000000000000004, P0, 71204 MiB
2026/01/05 04:03:02.121, 4, {UUID_B}, 00000000:BB:00.0, [GPU requires reset], \
[Unknown Error], [N/A], [N/A], [N/A], P0, [N/A]
"""

DMON = """\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
    0    588     60     71     99     50      0      0      0      0   2619   1755
    1     96     38     45      -      -      -      -      -      -   2619   1980
"""

PMON = """\
# gpu         pid   type     sm    mem    enc    dec    command
# Idx           #    C/G      %      %      %      %    name
    0       22900     C      97     40      -      -    python3 train.py
    0       22901   M+C       1      0      -      -    nvidia-cuda-mps
    1           -     -       -      -      -      -    -
"""

REPORT = f"""\

==============NVSMI LOG==============

Timestamp                                 : Mon Jan  5 04:03:02 2026
Driver Version                            : 570.124.06

Attached GPUs                             : 1
GPU 00000000:9B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    MIG Devices
        MIG Device
            Index                         : 0
            GPU Instance ID               : 1
            FB Memory Usage
                Total                     : 9856 MiB
                Used                      : 12 MiB
    GPU UUID                              : {UUID_A}
    Minor Number                          : 3
    GPU Recovery Action                   : None
    PCI
        Bus Id                            : 00000000:9B:00.0
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 1
            Link Width
                Max                       : 16x
                Current                   : 8x
    Clocks Throttle Reasons
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 71204 MiB
    Utilization
        Gpu                               : 97 %
    ECC Errors
        Volatile
            DRAM Uncorrectable            : 2
    Power Readings
        Power Draw                        : 88.10 W
"""


def read(folder: Path, text: str, name: str = "smi.csv", zone: str = "UTC") -> Reading:
    """Return the reading of a text in a file of its own."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_file(path, name, ReadOptions(host="hx8-017", time_zone=zone))


def values(reading: Reading, device: str) -> dict[str, float | str | None]:
    """Return value or reason of each signal of a device."""
    rows = reading.samples.filter(pl.col("device") == device)
    return {
        signal: value if reason is None else reason
        for signal, value, reason in rows.select("signal", "value", "reason").rows()
    }


def test_query(tmp_path: Path) -> None:
    """Cells become base units, words of no value their reasons, error words events of their GPU."""
    reading = read(tmp_path, QUERY)

    assert values(reading, UUID_A) == {
        "clock_event_reasons": 4.0,
        "framebuffer_used_bytes": 71204 * 2.0**20,
        "gpu_busy_ratio": 1.0,
        "gpu_temperature_celsius": 61.0,
        "performance_state": 0.0,
        "power_watts": 640.11,
        "sm_clock_hertz": 1.755e9,
    }
    assert values(reading, UUID_B) == {
        "clock_event_reasons": "n/a",
        "framebuffer_used_bytes": "n/a",
        "gpu_busy_ratio": "n/a",
        "gpu_temperature_celsius": "gpu_requires_reset",
        "performance_state": 0.0,
        "power_watts": "error",
        "sm_clock_hertz": "n/a",
    }
    assert reading.events.select("device", "kind", "code").rows() == [
        (UUID_B, "gpu_error", "gpu_requires_reset"),
        (UUID_B, "gpu_error", "error"),
    ]
    assert reading.samples["time"].unique().sort().to_list() == [
        datetime(2026, 1, 5, 4, 3, 2, 118000, tzinfo=UTC),
        datetime(2026, 1, 5, 4, 3, 2, 121000, tzinfo=UTC),
    ]
    assert (reading.lines_used, reading.rejects.height) == (3, 0)


def test_aliases(tmp_path: Path) -> None:
    """Names that stand in one row are one card's."""
    aliases = read(tmp_path, QUERY).aliases

    assert aliases.select("host", "device", "alias_kind", "alias").rows() == [
        ("hx8-017", UUID_B, "index", "4"),
        ("hx8-017", UUID_B, "pci", "0000:bb:00.0"),
        ("hx8-017", UUID_A, "index", "3"),
        ("hx8-017", UUID_A, "pci", "0000:9b:00.0"),
    ]


@pytest.mark.parametrize(
    ("column", "cell", "signal", "expected"),
    [
        pytest.param("clocks.gr [MHz]", "1755", "sm_clock_hertz", 1.755e9, id="an old name"),
        pytest.param("temperature.gpu.tlimit", "-3", "gpu_temperature_margin_celsius", -3.0),
        pytest.param(
            "clocks_event_reasons_counters.hw_thermal_slowdown [us]",
            "15000000 us",
            "hw_thermal_slowdown_seconds_total",
            15.0,
            id="microseconds here where DCGM has nanoseconds",
        ),
        pytest.param(
            "clocks_throttle_reasons_counters.sync_boost [us]",
            "2000000",
            "sync_boost_seconds_total",
            2.0,
            id="the unit stands in the header alone",
        ),
        pytest.param("remapped_rows.pending", "Yes", "row_remap_pending", 1.0, id="a flag"),
        pytest.param("remapped_rows.failure", "No", "row_remap_failed", 0.0, id="no flag"),
        pytest.param("gpu_recovery_action", "None", "recovery_action", 0.0, id="None is a value"),
        pytest.param("gpu_recovery_action", "Reboot", "recovery_action", 2.0, id="an action"),
        pytest.param("fabric.state", "Completed", "fabric_ready", 1.0, id="a fabric state"),
        pytest.param("fabric.state", "In Progress", "fabric_ready", 0.0, id="a fabric not ready"),
        pytest.param("memory.used [GiB]", "2 GiB", "framebuffer_used_bytes", 2.0**31, id="GiB"),
        pytest.param("memory.used [MiB]", "", "framebuffer_used_bytes", "blank", id="empty"),
        pytest.param("fan.speed [%]", "ERR!", "fan_speed_ratio", "error", id="an error"),
        pytest.param("power.draw [W]", "[GPU is lost]", "power_watts", "gpu_lost", id="a lost GPU"),
        pytest.param(
            "power.draw [W]", "[Insufficient Permissions]", "power_watts", "no_permission"
        ),
        pytest.param("utilization.gpu [%]", "1980 %", "gpu_busy_ratio", "out_of_range", id="much"),
        pytest.param("utilization.gpu [%]", "busy", "gpu_busy_ratio", "no_number", id="a word"),
        pytest.param("pstate", "P15", "performance_state", 15.0, id="a state"),
    ],
)
def test_cells(tmp_path: Path, column: str, cell: str, signal: str, expected: float | str) -> None:
    """A column is known by any of its names, a cell by its unit, its header's or the field's."""
    reading = read(tmp_path, f"index, {column}\n0, {cell}\n")

    assert values(reading, "0") == {signal: expected}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "index, name, power.draw [W]\n0, NVIDIA H200, 141GB, 500 W\n",
            [("NVIDIA H200, 141GB", 500.0)],
            id="in the middle",
        ),
        pytest.param(
            "index, power.draw [W], gpu_name\n0, 500 W, NVIDIA H200, 141GB\n",
            [("NVIDIA H200, 141GB", 500.0)],
            id="at the end",
        ),
        pytest.param(
            "index, name, power.draw [W]\n0, NVIDIA H200, 500 W\n",
            [("NVIDIA H200", 500.0)],
            id="without a comma",
        ),
    ],
)
def test_commas_in_names(tmp_path: Path, text: str, expected: list[tuple[str, float]]) -> None:
    """A comma in a product's name does not shift the cells after it."""
    assert read(tmp_path, text).samples.select("model", "value").rows() == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "index, power.draw [W], pstate\n0, 500 W\n1, 500 W, P0\n",
            "2 cells where 3 are due",
            id="a torn row",
        ),
        pytest.param(
            "power.draw [W], utilization.gpu [%]\n500 W, 97 %\n",
            "no column names the GPU: ask for index, uuid or pci.bus_id as well",
            id="rows that could be any GPU's",
        ),
        pytest.param(
            "0, 500 W, 600 W\n1, 500 W, 600 W\n",
            "no header names the columns: leave out noheader",
            id="columns of one unit without a header",
        ),
        pytest.param(
            "| NVIDIA-SMI 570.124.06   Driver Version: 570.124.06 |\n",
            "this form of nvidia-smi is for people: use --query-gpu with --format=csv",
            id="the summary",
        ),
    ],
)
def test_rejects(tmp_path: Path, text: str, reason: str) -> None:
    """A row that cannot be read for certain is a reject that says the way out."""
    assert read(tmp_path, text).rejects["reason"].unique().to_list() == [reason]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        pytest.param(
            "Unable to determine the device handle for GPU0000:9B:00.0: GPU is lost.  Reboot",
            ("gpu", "0000:9b:00.0", "gpu_lost", "gpu_lost"),
            id="lost, the address glued to the word",
        ),
        pytest.param(
            "Unable to determine the device handle for GPU1: 0000:9B:00.0: Unknown Error",
            ("gpu", "0000:9b:00.0", "gpu_error", "error"),
            id="an error, with index and address",
        ),
        pytest.param(
            "No devices were found", ("node", None, "gpu_error", "no_devices"), id="no GPU at all"
        ),
        pytest.param(
            "Failed to initialize NVML: Driver/library version mismatch",
            ("node", None, "gpu_error", "nvml_failed"),
            id="no library",
        ),
    ],
)
def test_sentences(tmp_path: Path, sentence: str, expected: tuple[str | None, ...]) -> None:
    """A sentence instead of a row is a health event, at the last time before it."""
    healthy = "".join(QUERY.splitlines(keepends=True)[:2])
    events = read(tmp_path, f"{healthy}{sentence}\n").events

    assert events.select("device_kind", "device", "kind", "code").rows() == [expected]
    assert events["time"].to_list() == [datetime(2026, 1, 5, 4, 3, 2, 118000, tzinfo=UTC)]


def test_sentences_in_logs(tmp_path: Path) -> None:
    """A sentence in a job's log is the same event, at the time and on the host of its line."""
    text = (
        "2026-01-05T04:03:02Z hx8-018 step 1\n2026-01-05T04:03:03Z Unable to determine the device "
        "handle for GPU 0000:BB:00.0: GPU is lost.  Reboot the system to recover this GPU\n"
        "step 1 took long\n"
    )
    events = read(tmp_path, text, "job.log").events

    assert events.select("kind", "device", "time").rows() == [
        ("gpu_lost", "0000:bb:00.0", datetime(2026, 1, 5, 4, 3, 3, tzinfo=UTC))
    ]


def test_reasons_in_columns_of_their_own(tmp_path: Path) -> None:
    """Reasons asked for one by one are parts of the GPU, and a mask if no fault is missing."""
    names = ["hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"]
    head = ", ".join(f"clocks_throttle_reasons.{name}" for name in names)
    whole = read(tmp_path, f"index, {head}\n0, Active, Active, Not Active, Not Active\n")
    part = read(tmp_path, f"index, clocks_throttle_reasons.{names[0]}\n0, Active\n")

    assert values(whole, "0") == {"clock_event_reasons": float(0x48)}
    assert values(part, "0") == {}
    assert values(part, "0/clock_event:hw_slowdown") == {"clock_event_active": 1.0}
    assert whole.events.select("kind", "code").rows() == [("clock_throttle", "hw_thermal")]


def test_parts_of_ecc(tmp_path: Path) -> None:
    """Errors of a memory are that memory's, beside the total of the GPU."""
    names = ["ecc.errors.uncorrected.volatile.total", "ecc.errors.uncorrected.volatile.sram"]
    reading = read(tmp_path, f"index, {', '.join(names)}\n0, 3, 1\n")

    assert reading.samples.select("device_kind", "device", "value").rows() == [
        ("gpu", "0", 3.0),
        ("memory", "0/sram", 1.0),
    ]


def test_growth_of_memory_errors(tmp_path: Path) -> None:
    """Errors that are there at first sight are history; each growth is one event."""
    head = "timestamp, index, ecc.errors.uncorrected.volatile.total, "
    head += "ecc.errors.uncorrected.aggregate.total\n"
    rows = [f"2026/01/05 04:03:0{at}.000, 0, {at}, {at + 3}\n" for at in (0, 0, 2)]

    assert read(tmp_path, head + "".join(rows)).events.select("kind", "count").rows() == [
        ("ecc", 2)
    ]


def test_the_hour_that_comes_twice(tmp_path: Path) -> None:
    """Stamps that step back at the end of summer time are the hour's second occurrence."""
    head = "timestamp, index, power.draw [W]\n"
    clocks = ("01:59", "02:30", "02:59", "02:00", "02:30", "03:00")
    rows = [f"2026/10/25 {clock}:00.000, 0, 500 W\n" for clock in clocks]
    reading = read(tmp_path, head + "".join(rows), zone="Europe/Berlin")

    assert reading.samples["time"].dt.strftime("%H:%M").to_list() == [
        "23:59",
        "00:30",
        "00:59",
        "01:00",
        "01:30",
        "02:00",
    ]


def test_reports_in_the_hour_that_comes_twice(tmp_path: Path) -> None:
    """A report that is printed after a later clock is of the hour's second occurrence."""
    clocks = ("02:50", "02:05", "02:20")
    reports = [REPORT.replace("Mon Jan  5 04:03", f"Sun Oct 25 {clock}") for clock in clocks]
    reading = read(tmp_path, "".join(reports), zone="Europe/Berlin")
    watts = reading.samples.filter(pl.col("signal") == "power_watts")

    assert watts["time"].dt.strftime("%H:%M").to_list() == ["00:50", "01:05", "01:20"]


def test_untimed_polls(tmp_path: Path) -> None:
    """One poll is of the time when it was taken; of several only the order is known."""
    name = "smi-20260105T040302Z.csv"
    one = read(tmp_path, "index, power.draw [W]\n0, 5 W\n1, 6 W\n", name)
    two = read(tmp_path, "index, power.draw [W]\n0, 5 W\n1, 6 W\n0, 7 W\n1, 6 W\n", name)

    assert one.samples["time"].to_list() == [datetime(2026, 1, 5, 4, 3, 2, tzinfo=UTC)] * 2
    assert two.samples["time"].null_count() == 4


def test_unread_column(tmp_path: Path) -> None:
    """A column that is not read is told once, not left out in silence."""
    reading = read(tmp_path, "index, power.draw [W], encoder.stats.sessionCount\n0, 5 W, 0\n")

    assert reading.events.select("code", "message").rows() == [
        ("unknown_column", "column encoder.stats.sessioncount is not read")
    ]


def test_dmon(tmp_path: Path) -> None:
    """A `#` of its own is no column, a dash is blank, and `sm` is the GPU's utilisation."""
    reading = read(tmp_path, DMON)

    assert values(reading, "0") == {
        "decoder_busy_ratio": 0.0,
        "encoder_busy_ratio": 0.0,
        "gpu_busy_ratio": 0.99,
        "gpu_temperature_celsius": 60.0,
        "jpeg_busy_ratio": 0.0,
        "memory_clock_hertz": 2.619e9,
        "memory_copy_busy_ratio": 0.5,
        "memory_temperature_celsius": 71.0,
        "optical_flow_busy_ratio": 0.0,
        "power_watts": 588.0,
        "sm_clock_hertz": 1.755e9,
    }
    assert values(reading, "1")["gpu_busy_ratio"] == "blank"
    assert reading.lines_used == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "#Date       Time        gpu    pwr\n#YYYYMMDD   HH:MM:SS    Idx      W\n"
            " 20260105   04:03:02      0    588\n\n"
            "#Date       Time        gpu    pwr\n#YYYYMMDD   HH:MM:SS    Idx      W\n"
            " 20260105   04:03:03      0    589\n",
            [("power_watts", 588.0, 2), ("power_watts", 589.0, 3)],
            id="a glued # with dates, the header repeated",
        ),
        pytest.param(
            "#gpu, pwr, temp\n#Idx, W, C\n0, 588, -\n",
            [("gpu_temperature_celsius", None, None), ("power_watts", 588.0, None)],
            id="commas, and the temperature of old drivers",
        ),
        pytest.param(
            "# gpu  fb  sbecc  dbecc  pci  rxpci  txpci  pviol  tviol\n"
            "# Idx  MB  errs   errs   errs  MB/s  MB/s   %      bool\n"
            "  0    2   1      0      4     3     5      7      1\n",
            [
                ("ecc_corrected_aggregate_total", 1.0, None),
                ("ecc_uncorrected_aggregate_total", 0.0, None),
                ("framebuffer_used_bytes", 2.0**21, None),
                ("pcie_receive_bytes_per_second", 3e6, None),
                ("pcie_replays_total", 4.0, None),
                ("pcie_transmit_bytes_per_second", 5e6, None),
                ("power_violation_ratio", 0.07, None),
                ("thermal_violation_active", 1.0, None),
            ],
            id="memory, errors, traffic, violations",
        ),
        pytest.param(
            "# gpu    pwr\n    0    588\n", [("power_watts", 588.0, None)], id="no line of units"
        ),
        pytest.param(
            "# gpu  pid  sm  fb\n  0  22900  50  2\n",
            [("process_busy_ratio", 0.5, None), ("process_framebuffer_bytes", 2.0**21, None)],
            id="processes without their commands",
        ),
    ],
)
def test_dmon_forms(
    tmp_path: Path, text: str, expected: list[tuple[str, float | None, int | None]]
) -> None:
    """Columns are found by the header, whatever options and driver made it."""
    samples = read(tmp_path, text, "dmon.txt").samples

    assert samples.select("signal", "value", pl.col("time").dt.second()).rows() == expected


def test_processes(tmp_path: Path) -> None:
    """Each process is a device of its GPU; an idle GPU's row is used and has none."""
    reading = read(tmp_path, PMON, "pmon.txt")

    assert reading.samples.select("device_kind", "device", "signal", "value").rows() == [
        ("process", "0/pid22900", "process_busy_ratio", 0.97),
        ("process", "0/pid22900", "process_memory_copy_busy_ratio", 0.4),
        ("process", "0/pid22901", "process_busy_ratio", 0.01),
        ("process", "0/pid22901", "process_memory_copy_busy_ratio", 0.0),
    ]
    assert reading.aliases.select("device", "alias_kind", "alias").rows() == [
        ("0/pid22900", "name", "python3 train.py"),
        ("0/pid22901", "name", "nvidia-cuda-mps"),
    ]
    assert (reading.lines_used, reading.rejects.height) == (5, 0)


def test_report(tmp_path: Path) -> None:
    """The report's values are known by the whole way to them, under any driver's names."""
    reading = read(tmp_path, REPORT, "smi-q.txt")

    assert values(reading, UUID_A) == {
        "clock_event_reasons": float(0x4C),
        "framebuffer_bytes": 81559 * 2.0**20,
        "framebuffer_used_bytes": 71204 * 2.0**20,
        "gpu_busy_ratio": 0.97,
        "pcie_link_generation": 1.0,
        "pcie_link_lanes": 8.0,
        "pcie_max_link_generation": 5.0,
        "pcie_max_link_lanes": 16.0,
        "power_watts": 88.1,
        "recovery_action": 0.0,
    }
    assert values(reading, f"{UUID_A}/gi1") == {
        "framebuffer_bytes": 9856 * 2.0**20,
        "framebuffer_used_bytes": 12 * 2.0**20,
    }
    assert values(reading, f"{UUID_A}/dram") == {"ecc_uncorrected_volatile_total": 2.0}
    assert reading.samples["time"].unique().to_list() == [datetime(2026, 1, 5, 4, 3, 2, tzinfo=UTC)]
    assert reading.samples["model"].unique().sort().to_list() == [None, "NVIDIA H100 80GB HBM3"]
    assert reading.rejects["text"].str.strip_chars().str.split(" ").list.first().to_list() == [
        "Driver",
        "Index",
    ]


def test_fields_are_signals() -> None:
    """Each key of the report is a column we know, and each column's signal is one of ours."""
    columns = [query_column(name) for name in REPORT_KEYS.values()]
    columns += [dmon_column(name, None) for name in ("jpg", "pviol", "tviol", "rxpci", "gpu")]

    assert all(column.is_known for column in columns)
    assert {column.signal for column in columns} - {None} <= set(SIGNALS)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(QUERY, True, id="a query"),
        pytest.param(DMON, True, id="dmon"),
        pytest.param(PMON, True, id="pmon"),
        pytest.param(REPORT, True, id="a report"),
        pytest.param("0, 97 %, 612.10 W\n0, 98 %, 613.00 W\n", True, id="rows without a header"),
        pytest.param("No devices were found\n", True, id="a sentence alone"),
        pytest.param("<?xml?>\n<nvidia_smi_log>\n", True, id="XML"),
        pytest.param(
            "index, name\n1, 2\n3, 4\n" + "a b\n" * 9, False, id="a log that holds a table"
        ),
        pytest.param("step, loss\n1, 2.0\n", False, id="another table"),
        pytest.param("step 1 took 5 s\nNo devices were found\n", False, id="a sentence in a log"),
        pytest.param("# gpu page\n", False, id="a word"),
        pytest.param("", False, id="nothing"),
        pytest.param("\0\1\2", False, id="binary"),
    ],
)
def test_wants(text: str, *, wanted: bool) -> None:
    """The dialect wants its own forms, and no log that only holds some lines of them."""
    head = Head(name="x", data=text.encode())

    assert (wants_nvidia_smi(head) > 0.05) is wanted


FORMS = st.sampled_from([QUERY, DMON, PMON, REPORT])


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    form=FORMS,
    cut=st.floats(0, 1),
    noise=st.binary(max_size=30),
    ending=st.sampled_from(["\n", "\r\n"]),
)
def test_every_line_is_accounted_for(
    tmp_path: Path, form: str, cut: float, noise: bytes, ending: str
) -> None:
    """Whatever tears the text, no line is lost and nothing raises."""
    at = int(cut * len(form))
    text = (form[:at].encode() + noise + form[at:].encode() + form.encode()).replace(
        b"\n", ending.encode()
    )
    path = tmp_path / "smi.txt"
    path.write_bytes(b"\x1b[1m" + text)
    reading = read_file(path, "smi.txt", ReadOptions())
    lines = [line for line in path.read_bytes().split(b"\n") if line.replace(b"\0", b"").strip()]
    told = reading.rejects["count"].sum()

    assert reading.lines_used + told == len(lines)
