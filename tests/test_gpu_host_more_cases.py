"""More tricky inputs of GPU and host streams: what a folder of them says in the end."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from paceline.main import app
from paceline.sources import find_files, read_sources

HOST = 'Hostname="hx8-017"'
GPU = "NVRM: Xid (PCI:0000:9b:00): "
LINK = "NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"
SWITCH = "nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 11 LTSSM Fault Up"

Folder = Callable[[dict[str, str]], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Write files below a folder, and return it."""

    def write(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / "case" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path / "case"

    return write


def read(folder: Path, **options: Any) -> Reading:
    """Return all that a folder holds."""
    return read_sources(find_files([folder]), ReadOptions(**options), _say_nothing)


def _say_nothing(_name: str, _done: int, _all: int) -> None:
    """Tell nobody."""


def told(reading: Reading, *names: str) -> list[tuple[Any, ...]]:
    """Return columns and attributes of the events by name; null is not said."""
    rows: list[tuple[Any, ...]] = []
    for row in reading.events.iter_rows(named=True):
        pairs: list[dict[str, str]] = row["attributes"] or []
        said = {one["key"]: one["value"] for one in pairs}
        rows.append(tuple(row[name] if name in row else said.get(name) for name in names))
    return rows


def verdicts(folder: Path) -> list[tuple[Any, ...]]:
    """Return kind, level, cause, host and device of what the command line finds."""
    result = CliRunner().invoke(app, ["analyze", str(folder), "--format", "json"])
    assert result.exit_code == 0, result.output
    return [
        (
            one["kind"],
            one["level"],
            one["cause"],
            one["subject"].get("host"),
            one["subject"].get("device"),
        )
        for one in json.loads(result.stdout)["verdicts"]
    ]


def syslog(*lines: str) -> str:
    """Return lines of a kernel with stamps a second apart."""
    stamped = [
        f"2026-01-05T04:03:{at:02}.000000+00:00 hx8-017 kernel: {line}\n"
        for at, line in enumerate(lines)
    ]
    return "".join(stamped)


def powers(fraction: float) -> str:
    """Return a page of two GPUs that stand still from the fifth of 30 scrapes on."""
    return "".join(
        f'DCGM_FI_DEV_POWER_USAGE{{gpu="{gpu}",{HOST}}} {96 + gpu + max(0, 4 - at) + fraction} '
        f"{1767585600000 + 30000 * at}\n"
        for at in range(30)
        for gpu in range(2)
    )


JOBS = """JobID|JobName|State|Submit|Start|End|Elapsed|NodeList|FailedNode
1|a|NODE_FAIL|2026-01-05T00:00:00|2026-01-05T00:01:00|2026-01-05T01:00:00|00:59:00|hx8-[1-4]|hx8-3
2|a|BOOT_FAIL|2026-01-05T00:00:00|2026-01-05T00:01:00|2026-01-05T01:00:00|00:59:00|hx8-9|
3|a|NODE_FAIL|2026-01-05T00:00:00|2026-01-05T00:01:00|2026-01-05T01:00:00|00:59:00|hx8-[1-4]|
4|a|CANCELLED by 7|2026-01-05T00:00:00|2026-01-05T00:01:00|2026-01-05T01:00:00|00:59:00|hx8-1|
5|a|TIMEOUT|2026-01-05T00:00:00|2026-01-05T00:01:00|2026-01-05T01:00:00|00:59:00|hx8-[1-4]|
6|a|PREEMPTED|2026-01-05T00:00:00|2026-01-05T00:01:00|2026-01-05T01:00:00|00:59:00|hx8-1|
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param(
            "hx8-017/kern.log",
            syslog(
                f"NVRM: Xid (PCI:0000:19:00): 74, {LINK}",
                f"NVRM: Xid (PCI:0000:3b:00): 74, {LINK}",
                SWITCH,
                f"NVRM: Xid (PCI:0000:4c:00): 74, {LINK}",
            ),
            [("crash", "host", "sxid_20034", "hx8-017", "0000:c6:00.0")],
            id="errors of links around a switch's fatal error are the switch's",
        ),
        pytest.param(
            "hx8-017/kern.log",
            f"[ 10.000000] NVRM: Xid (PCI:0000:9b:00): 74, {LINK}\n[ 12.000000] {SWITCH}\n",
            [("crash", "host", "sxid_20034", "hx8-017", "0000:c6:00.0")],
            id="without a clock the same log is near enough",
        ),
        pytest.param(
            "hx8-017/kern.log",
            syslog(f"NVRM: Xid (PCI:0000:19:00): 74, {LINK}"),
            [("crash", "gpu", "xid_74", "hx8-017", "0000:19:00.0")],
            id="a link's error alone is its GPU's",
        ),
        pytest.param(
            "hx8-017/kern.log",
            syslog(SWITCH.replace("20034, Fatal", "24003, Non-fatal")),
            [],
            id="an error of a switch that is not fatal ends nothing",
        ),
        pytest.param(
            "hx8-017/fabricmanager.log",
            "[Jan 05 2026 04:03:02] [ERROR] [tid 2214] detected NVSwitch fatal error 20034 on fid "
            "0 on NVSwitch pci bus id 00000000:C6:00.0 physical id 2 port 11\n",
            [("crash", "host", "sxid_20034", "hx8-017", "0000:c6:00.0")],
            id="the fabric manager's word on a switch counts as the kernel's",
        ),
        pytest.param(
            "sacct.txt",
            JOBS,
            [
                ("crash", "host", "node_failure", "hx8-3", None),
                ("crash", "host", "node_failure", "hx8-9", None),
                ("crash", "job", "node_failure", None, None),
            ],
            id="a lost node ends a job, of several that might be it none is accused",
        ),
        pytest.param(
            "page.prom",
            'up{job="dcgm",instance="hx8-017:9400"} 0 1767585600000\n'
            'up{job="dcgm",instance="hx8-018:9400"} 1 1767585600000\n',
            [("telemetry_lost", "host", "collector_failed", "hx8-017", None)],
            id="a target that did not answer is lost telemetry, no lost GPU",
        ),
        pytest.param(
            "page.prom",
            powers(0.431),
            [("telemetry_lost", "host", "stale", "hx8-017", None)],
            id="power that repeats bit by bit on all GPUs is an exporter that is stuck",
        ),
        pytest.param(
            "page.prom", powers(0.0), [], id="whole watts of idle GPUs may well stand still"
        ),
        pytest.param(
            "hx8-017.prom",
            "HTTP/1.1 500 Internal Server Error\n\nAn error has occurred while serving metrics:\n",
            [("telemetry_lost", "host", "collector_failed", "hx8-017", None)],
            id="a page that the exporter could not make is lost telemetry",
        ),
    ],
)
def test_findings(folder: Folder, name: str, text: str, expected: list[tuple[Any, ...]]) -> None:
    """The command line accuses what is at fault, and nothing else."""
    assert sorted(verdicts(folder({name: text})), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("text", "code", "count"),
    [
        pytest.param(
            'sacct: error: Invalid field requested: "Reserved"\n',
            "slurm",
            1,
            id="a column that sacct does not have",
        ),
        pytest.param(
            "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
            "slurm",
            1,
            id="a controller that is away",
        ),
        pytest.param(
            "sacct: error: Sending PersistInit msg: Connection refused\n"
            "sacct: error: Problem talking to the database: Connection refused\n",
            "slurm",
            2,
            id="a database that is away",
        ),
        pytest.param(
            "Error setting watches. Result: The requested operation is not permitted\n",
            "dcgm",
            1,
            id="a dmon that may not watch",
        ),
        pytest.param(
            'time="2026-01-05T04:00:00Z" level=fatal msg="Failed to watch metrics: Error watching '
            'fields: The number of fields in the group exceeds the maximum of 127"\n',
            "dcgm",
            1,
            id="a group of more than 127 fields",
        ),
    ],
)
def test_errors_in_place_of_answers(folder: Folder, text: str, code: str, count: int) -> None:
    """What a tool printed instead of an answer is a collector that failed, no empty answer."""
    reading = read(folder({"answer.txt": text}))

    assert told(reading, "kind", "code", "count") == [("collector_failed", code, count)]
    assert (reading.jobs.height, reading.rejects.height, reading.lines_used) == (0, 0, count)


def test_states_of_gpus(folder: Folder) -> None:
    """A flag is told when it is set, at first sight too, and an action also when it clears."""
    name = "DCGM_FI_DEV_"
    rows = [
        ("ROW_REMAP_PENDING", (1, 1, 0)),
        ("ROW_REMAP_FAILURE", (0, 1, 1)),
        ("GET_GPU_RECOVERY_ACTION", (0, 2, 0)),
        ("THRESHOLD_SRM", (0, 0, 0)),
    ]
    page = "".join(
        f'{name}{field}{{gpu="0",{HOST}}} {value} {1767585600000 + 30000 * at}\n'
        for field, values in rows
        for at, value in enumerate(values)
    )

    found = told(read(folder({"page.prom": page})), "kind", "code", "severity", "state")
    assert sorted(found, key=str) == [
        ("gpu_recovery_action", "node_reboot", "medium", "opened"),
        ("gpu_recovery_action", "none", "info", "cleared"),
        ("gpu_row_remap", "failed", "high", None),
        ("gpu_row_remap", "pending", "medium", None),
    ]


def test_average_power_of_a_report(folder: Folder) -> None:
    """The average has another key since driver 535, and a module's blank is not the GPU's."""
    report = """==============NVSMI LOG==============

Timestamp                                 : Mon Jan  5 04:03:02 2026
GPU 00000000:9B:00.0
    GPU Power Readings
        Average Power Draw                : 612.11 W
        Instantaneous Power Draw          : 640.11 W
    Module Power Readings
        Average Power Draw                : N/A
"""
    samples = read(folder({"hx8-017/q.txt": report})).samples

    assert dict(samples.select("signal", "value").rows()) == {
        "power_watts": 612.11,
        "power_instant_watts": 640.11,
    }


GSP = "Timeout after 45s of waiting for RPC response from GPU3 GSP! Expected function"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [f"{GPU}119, pid=1, name=a, {GSP} {76 + at} (X) (0x{at:x} 0x0)." for at in range(3)],
            [("119", 3, None, None)],
            id="calls to a dead GSP are one fault, whatever was called",
        ),
        pytest.param(
            [f"{GPU}13, pid={pid}, name=a, Illegal Instruction" for pid in (7, 9)],
            [("13", 1, None, None), ("13", 1, None, None)],
            id="exceptions of two processes are two faults",
        ),
        pytest.param(
            [f"{GPU}74, pid=1, name=a, NVLink: failed to train link 3 to remote PCI:0000:bb:00"],
            [("74", 1, "3", "0000:bb:00.0")],
            id="of two GPUs in a line the first has the fault, the second is its peer",
        ),
        pytest.param([f"{GPU}74, {LINK}"], [("74", 1, "6", None)], id="an old link is numbered"),
    ],
)
def test_xids(folder: Folder, lines: list[str], expected: list[tuple[Any, ...]]) -> None:
    """Lines of one fault are one event, of several faults several."""
    reading = read(folder({"hx8-017/kern.log": syslog(*lines)}))

    assert told(reading, "code", "count", "link", "peer") == expected


def test_ring_buffer_saved_twice(folder: Folder) -> None:
    """A fault that two saved buffers of a host hold is one; another host's is another."""
    lost = f"[ 2071.664210] {GPU}79, GPU has fallen off the bus.\n"
    later = f"[ 2090.000000] {GPU}45, Ch 00000012\n"
    files = {"hx8-017/a.log": lost, "hx8-017/b.log": lost + later, "hx8-018/a.log": lost}

    assert told(read(folder(files)), "host", "code") == [
        ("hx8-017", "79"),
        ("hx8-017", "45"),
        ("hx8-018", "79"),
    ]


@pytest.mark.parametrize("number", ["1", "nvswitch1"], ids=["a number", "a name"])
def test_switches_of_an_exporter(folder: Folder, number: str) -> None:
    """A switch is one device, whether its label is a number or a name."""
    page = f'DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{{nvswitch="{number}",hostname="hx8-017"}} 20034\n'
    samples = read(folder({"page.prom": page})).samples

    assert samples.select("device_kind", "device").rows() == [("nvswitch", "nvswitch1")]


def test_blanks_of_every_type(folder: Folder) -> None:
    """Blanks of float64, int32 and int64 are null with their kind, and no number anywhere."""
    values = [
        ("POWER_USAGE", "140737488355328.000000", "blank"),
        ("ENFORCED_POWER_LIMIT", "140737488355330.000000", "not_supported"),
        ("GPU_TEMP", "2147483632", "blank"),
        ("FB_USED", "2147483633", "not_found"),
        ("PCIE_REPLAY_COUNTER", "9223372036854775795", "no_permission"),
    ]
    page = "".join(f'DCGM_FI_DEV_{name}{{gpu="0",{HOST}}} {value}\n' for name, value, _ in values)
    samples = read(folder({"page.prom": page})).samples

    assert samples["value"].null_count() == samples.height
    assert samples["reason"].to_list() == [reason for _, _, reason in values]


def test_repeats_of_a_board(folder: Folder) -> None:
    """MIG instances repeat what the board measures; it was measured once."""
    rows = [("DEV_GPU_TEMP", 61), ("DEV_FB_USED", 100), ("PROF_GR_ENGINE_ACTIVE", 0.14)]
    page = "".join(
        f'DCGM_FI_{name}{{gpu="0",GPU_I_PROFILE="1g.10gb",GPU_I_ID="{part}",{HOST}}} {value}\n'
        for name, value in rows
        for part in (7, 8)
    )
    samples = read(folder({"page.prom": page})).samples

    counts = samples.group_by("device_kind", "signal").len().sort("device_kind", "signal")
    assert counts.rows() == [
        ("gpu", "gpu_temperature_celsius", 1),
        ("mig", "framebuffer_used_bytes", 2),
        ("mig", "graphics_engine_active_ratio", 2),
    ]


def test_old_and_new_names(folder: Folder) -> None:
    """A field that is asked for by its old and its new name is one."""
    page = (
        f'DCGM_FI_DEV_GPU_UTIL{{gpu="0",{HOST}}} 97\n'
        'DCGM_FI_DEV_GPU_UTIL_RATIO{gpu="0",hostname="hx8-017"} 97\n'
        f'DCGM_FI_DEV_FB_USED_PERCENT{{gpu="0",{HOST}}} 0.87\n'
    )
    samples = read(folder({"page.prom": page})).samples

    assert samples.select("host", "signal", "value").rows() == [
        ("hx8-017", "gpu_busy_ratio", 0.97),
        ("hx8-017", "framebuffer_used_ratio", 0.87),
    ]


def test_nothing_is_accused(folder: Folder) -> None:
    """Injected errors, cleared advice and a planned node accuse nobody."""
    injected = "149, NETIR Fatal XC0 i1 Link 07 (0x019001c6 0x00000000)"
    cleared = "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    files = {
        "hx8-017/kern.log": syslog(f"{GPU}{injected}", f"{GPU}{cleared}", f"{GPU}180, New"),
        "sinfo.txt": "NODELIST|STATE|REASON|TIMESTAMP\nhx8-001|mixed-|none|Unknown\n",
    }
    reading = read(folder(files))

    assert verdicts(folder({})) == []
    assert reading.events.filter(pl.col("code") == "180")["severity"].to_list() == ["unknown"]
