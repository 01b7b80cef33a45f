"""Tests of kernel logs on inputs that misled people: what the reader must say of each."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.dialects import read_file
from collectors.identity import pci_address
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

Read = Callable[..., Reading]

NO_EVENT = "no event of ours in the kernel log"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a text as a file, with the options of the reader."""

    def read_text(text: str, **options: Any) -> Reading:
        path = tmp_path / "kern.log"
        path.write_text(text, encoding="utf-8")
        return read_file(path, "hx8-017/kern.log", ReadOptions(**options))

    return read_text


def told(reading: Reading, *names: str) -> list[tuple[Any, ...]]:
    """Return columns and attributes of the events by name; null is not said."""
    rows: list[tuple[Any, ...]] = []
    for row in reading.events.iter_rows(named=True):
        said = {one["key"]: one["value"] for one in row["attributes"] or []}
        rows.append(tuple(row[name] if name in row else said.get(name) for name in names))
    return rows


LOST = """\
[ 2071.664210] NVRM: The NVIDIA GPU 0000:c4:00.0
               NVRM: (PCI ID: 10de:2330) installed in this system has
               NVRM: fallen off the bus and is not responding to commands.
[ 2071.790033] NVRM: The NVIDIA probe routine failed for 1 device(s).
"""

LOST_IN_ONE = json.dumps(
    {
        "__REALTIME_TIMESTAMP": "1767585782211323",
        "_HOSTNAME": "hx8-017",
        "MESSAGE": "NVRM: The NVIDIA GPU 0000:c4:00.0\\n(PCI ID: 10de:2330) installed in this "
        "system has\\nfallen off the bus and is not responding to commands.",
    }
).replace("\\\\n", "\\n")


@pytest.mark.parametrize(
    ("text", "monotonic", "rejected"),
    [
        pytest.param(LOST, "2071.664210", 1, id="on three lines, with the probe as context"),
        pytest.param(
            "Jan  5 04:03:02 hx8-017 kernel: NVRM: The NVIDIA GPU 0000:c4:00.0\n"
            "Jan  5 04:03:02 hx8-017 kernel: NVRM: (PCI ID: 10de:2330) installed in this system\n"
            "Jan  5 04:03:02 hx8-017 kernel: NVRM: fallen off the bus and is not responding to\n",
            None,
            0,
            id="on three lines that each have a stamp",
        ),
        pytest.param(LOST_IN_ONE, None, 0, id="in one record with line feeds in it"),
        pytest.param(
            "6,1,2071664210,-;NVRM: The NVIDIA GPU 0000:c4:00.0\\x0a(PCI ID: 10de:2330) installed "
            "in this system has\\x0afallen off the bus and is not responding to commands.\n",
            "2071.664210",
            0,
            id="in one record with escaped line feeds in it",
        ),
    ],
)
def test_lost_without_xid(read: Read, text: str, monotonic: str | None, rejected: int) -> None:
    """A GPU that fell off the bus is one lost GPU, though no Xid says so."""
    reading = read(text)

    columns = ("kind", "code", "severity", "device_kind", "device", "count", "monotonic_seconds")
    assert told(reading, *columns) == [
        ("gpu_lost", None, "critical", "gpu", "0000:c4:00.0", 1, monotonic)
    ]
    assert reading.rejects["reason"].to_list() == [NO_EVENT] * rejected


def test_other_words_of_the_probe_are_no_loss(read: Read) -> None:
    """A GPU that the driver does not support could not be started: it is not lost."""
    reading = read(
        "[ 1.000000] NVRM: The NVIDIA GPU 0000:c4:00.0 (PCI ID: 10de:2330)\n"
        "               NVRM: installed in this system is not supported by this driver.\n"
    )

    assert told(reading, "kind", "device") == [("gpu_init_failed", "0000:c4:00.0")]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.", id="before the Xid"),
        pytest.param("NVRM: GPU at PCI:0000:9b:00: GPU has fallen off the bus.", id="by PCI"),
    ],
)
@pytest.mark.parametrize("swap", [False, True], ids=["line, Xid", "Xid, line"])
def test_loss_and_xid_are_one(read: Read, first: str, swap: bool) -> None:
    """The line and the Xid 79 within seconds are one event: the Xid, at the earlier time."""
    lines = [first, "NVRM: Xid (PCI:0000:9b:00): 79, pid=12, name=a, GPU has fallen off the bus."]
    pair = lines[::-1] if swap else lines
    text = f"[ 10.000000] {pair[0]}\n[ 12.500000] {pair[1]}\n"

    columns = ("kind", "code", "count", "monotonic_seconds", "process")
    assert told(read(text), *columns) == [("xid", "79", 1, "10.000000", "a")]


def test_loss_long_before_the_xid_is_another(read: Read) -> None:
    """Minutes apart they are two events."""
    reading = read(
        "[ 10.000000] NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.\n"
        "[ 310.000000] NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus.\n"
    )

    assert told(reading, "kind", "code") == [("gpu_lost", None), ("xid", "79")]


def test_severity_of_links_is_in_the_line(read: Read) -> None:
    """An NVLink 5 error is as bad as its line says; a bracket that is cut off is no matter."""
    reading = read(
        "NVRM: Xid (PCI:0018:01:00): 145, RLW_SRC  Nonfatal XC0 i0 Link 07 "
        "(0x0410c0a1 0x00000002 0x00000000 0x00000000\n"
        "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link -1 "
        "(0x019001c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)\n"
        "NVRM: Xid (PCI:0018:01:00): 149, NETIR Nonfatal XC0 i 00 Link 03 (0x00100000 0x0)\n"
        "NVRM: Xid (PCI:0018:01:00): 149, NETIR Fatal XC1 i1 Link 03 (0x00100000 0x0)\n"
    )

    columns = ("code", "severity", "class", "link", "subcode", "words_count", "injected")
    assert told(reading, *columns) == [
        ("145", "warning", "link", "7", "1", "4", None),
        ("149", "critical", "hardware", None, "25", "6", None),
        ("149", "warning", "link", "3", "1", "2", None),
        ("149", "info", "link", "3", "1", "2", "true"),
    ]


def test_recovery_action_opens_and_clears(read: Read) -> None:
    """Xid 154 is advice: it opens, and back to none clears it; neither is a fault."""
    reading = read(
        "NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 "
        "(GPU Reset Required)\n"
        "NVRM: Xid (PCI:0000:9b:00): 154, GPU recovery action changed from 0x1 "
        "(GPU Reset Required) to 0x0 (None)\n"
    )

    assert told(reading, "kind", "code", "state", "severity", "xid") == [
        ("gpu_recovery_action", "gpu_reset", "opened", "warning", "154"),
        ("gpu_recovery_action", "none", "cleared", "info", "154"),
    ]


def test_pci_forms_meet(read: Read) -> None:
    """The kernel's short form is the GPU of the exporter's long form, and of no other domain."""
    reading = read("NVRM: Xid (PCI:0019:0a:00): 79, GPU has fallen off the bus.\n")
    forms = pl.Series(["00000019:0A:00.0", "PCI:0019:0a:00", "00000018:0A:00.0"]).to_frame("pci")

    assert reading.events["device"].to_list() == ["0019:0a:00.0"]
    assert forms.select(pci_address(pl.col("pci")))["pci"].to_list() == [
        "0019:0a:00.0",
        "0019:0a:00.0",
        "0018:0a:00.0",
    ]


@pytest.fixture(scope="session")
def storm() -> str:
    """80,000 lines of one fault in 4 minutes, with 29 bodies and many pids."""
    bodies = [
        f"Uncontained: LTC TAG (0x{at % 4:x},0x{at // 4:x}). RST: Yes, D-RST: No"
        for at in range(29)
    ]
    return "".join(
        f"[ {1000 + at * 0.003:.6f}] NVRM: Xid (PCI:0000:9b:00): 95, pid={at % 977}, "
        f"{bodies[at % 29]}\n"
        for at in range(80_000)
    )


def test_storm(read: Read, storm: str) -> None:
    """A storm is as many rows as it has bodies, each with its count, first and last."""
    events = read(storm, boot=datetime(2026, 1, 5, tzinfo=UTC)).events

    assert events.height == 29
    assert events["count"].sum() == 80_000
    first, last = events["time"].min(), events["last"].max()
    assert (first, last) == (
        datetime(2026, 1, 5, 0, 16, 40, tzinfo=UTC),
        datetime(2026, 1, 5, 0, 20, 39, 997000, tzinfo=UTC),
    )


def test_burst_hours_later_is_another_episode(read: Read) -> None:
    """The same fault after a pause of more than ten minutes is a row of its own."""
    line = "NVRM: Xid (PCI:0000:9b:00): 95, Uncontained: LTC TAG (0x3,0x0). RST: Yes, D-RST: No"
    text = "".join(f"[ {at}.000000] {line}\n" for at in (100, 400, 900, 1501, 9000))

    assert told(read(text), "count", "monotonic_seconds") == [
        (3, "100.000000"),
        (1, "1501.000000"),
        (1, "9000.000000"),
    ]


DRIVERS = """\
NVRM: Xid (0000:05:00): 13, Graphics Exception: ESR 0x404600=0x80000002
NVRM: Xid (PCI:0000:9b:00): 63, pid=2290, Row Remapper: New row (0x0000000000a41b00) marked for \
remapping, reset gpu to activate.
NVRM: Xid (PCI:0000:9b:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on \
(GPC 2, TPC 1, SM 0): Illegal Instruction Parameter
NVRM: Xid (PCI:0000:9b:00): 119, pid=2011, name=nvc:[driver], Timeout after 45s of waiting for RPC \
response from GPU3 GSP! Expected function 103 (GSP_RM_ALLOC) (0x0 0x0).
NVRM: Xid (PCI:0000:9b:00): 46, GPU stopped processing
NVRM: Xid (PCI:0000:9b:00 GPU-I:05 GPU-CI:01): 31, pid=7, name=a, b, Ch 0000001a, intr 00000000. \
MMU Fault
NVRM: Xid (PCI:0000:9b:00): 45, pid=7, name=py, Ch 00000012 caused by previous Xid 31
"""


def test_pid_and_name_by_driver(read: Read) -> None:
    """Each driver's form gives its pid and name, and the message begins where it begins."""
    reading = read(DRIVERS)

    rows = told(reading, "code", "pid", "process", "message", "device")
    assert [(code, pid, name, text.split()[0]) for code, pid, name, text, _ in rows] == [
        ("13", None, None, "Graphics"),
        ("63", "2290", None, "Row"),
        ("13", None, None, "Graphics"),
        ("119", "2011", "nvc:[driver]", "Timeout"),
        ("46", None, None, "GPU"),
        ("31", "7", "a, b", "Ch"),
        ("45", "7", "py", "Ch"),
    ]
    assert {device for *_, device in rows[1:]} == {"0000:9b:00.0"}
    assert told(reading, "gpu_instance", "compute_instance", "caused_by")[-2:] == [
        ("05", "01", None),
        (None, None, "31"),
    ]


LINE = "NVRM: Xid (PCI:0000:9b:00): 92, High single-bit ECC error rate"
BERLIN = {"time_zone": "Europe/Berlin", "year": 2026}
BOOT = datetime(2026, 1, 5, 3, 28, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        pytest.param(
            f"2026-01-05T04:03:02,211323+01:00 hx8-017 kernel: {LINE}",
            {},
            (datetime(2026, 1, 5, 3, 3, 2, 211323, tzinfo=UTC), None),
            id="the journal's comma is a decimal mark",
        ),
        pytest.param(
            f"Jan  5 04:03:02 hx8-017 kernel: [ 2071.664210] {LINE}",
            BERLIN,
            (datetime(2026, 1, 5, 3, 3, 2, tzinfo=UTC), "2071.664210"),
            id="syslog is local and has the year that is given",
        ),
        pytest.param(
            f"Jan  5 04:03:02 hx8-017 kernel: {LINE}",
            {"time_zone": "Europe/Berlin"},
            (None, None),
            id="syslog without a year has no time",
        ),
        pytest.param(
            f"4,2211,2071664210,-;{LINE}",
            {"boot": BOOT},
            (datetime(2026, 1, 5, 4, 3, 1, 664210, tzinfo=UTC), "2071.664210"),
            id="kmsg counts from the given boot",
        ),
        pytest.param(
            f"4,2211,2071664210,-;{LINE}", {}, (None, "2071.664210"), id="kmsg without a boot"
        ),
        pytest.param(
            f"[Mon Jan  5 04:03:02 2026] {LINE}",
            BERLIN,
            (datetime(2026, 1, 5, 3, 3, 2, tzinfo=UTC), None),
            id="dmesg -T is local",
        ),
        pytest.param(
            f"kern  :warn  : [ 2071.664210] {LINE}", {}, (None, "2071.664210"), id="dmesg -x"
        ),
        pytest.param(
            json.dumps(
                {
                    "__REALTIME_TIMESTAMP": "1767585782211323",
                    "_HOSTNAME": "hx8-017",
                    "MESSAGE": list(LINE.encode()),
                }
            ),
            {},
            (datetime(2026, 1, 5, 4, 3, 2, 211323, tzinfo=UTC), None),
            id="the journal's JSON with a message in bytes",
        ),
        pytest.param(
            f"\x1b[32m[ 2071.664210] \x1b[0m\x1b[33m{LINE}\x1b[0m",
            {},
            (None, "2071.664210"),
            id="dmesg in colours",
        ),
        pytest.param(f"{LINE[6:]}", {}, (None, None), id="the tracepoint has no NVRM"),
    ],
)
def test_envelopes(
    read: Read, text: str, options: dict[str, Any], expected: tuple[datetime | None, str | None]
) -> None:
    """Whatever carried it, the line is read with the clocks that it shows."""
    columns = ("kind", "code", "host", "device", "time", "monotonic_seconds")

    assert told(read(text + "\n", **options), *columns) == [
        ("xid", "92", "hx8-017", "0000:9b:00.0", *expected)
    ]


def test_boot_from_a_line_with_both_clocks(read: Read) -> None:
    """A line that shows both clocks dates those of its host that show only the one since boot."""
    reading = read(
        f"[ 2071.000000] {LINE} one\n"
        "Jan  5 04:03:02 hx8-017 kernel: [ 2072.000000] usb 1-1: new device\n"
        f"hx8-017 kernel: [ 2073.000000] {LINE} two\n"
        f"Jan  5 04:03:02 hx8-017 kernel: [ 2072.000000] {LINE} three\n",
        year=2026,
    )

    assert [one.second for one in reading.events["time"].to_list()] == [1, 3, 2]


def test_replay_counts_once(read: Read) -> None:
    """A reader that starts again shows the whole buffer again: its records count once."""
    text = "".join(f"4,{at},{at}000000,-;{LINE}\n" for at in range(5))
    stamped = "".join(
        f"Jan  5 04:0{minute}:00 hx8-017 kernel: [ {at}.000000] {LINE}\n"
        for minute in (1, 9)
        for at in range(3)
    )
    reading = read(text + text)

    assert told(reading, "count") == [(5,)]
    assert reading.lines_used == 10
    assert told(read(stamped, year=2026), "count") == [(3,)]


def test_bursts_of_exceptions(read: Read) -> None:
    """The lines of one shader exception are one event; the next second's is another."""
    body = "NVRM: Xid (PCI:0000:9b:00): 13, pid=7, name=py, Graphics"
    burst = "".join(
        f"[ {{0}}.{at}00000] {body} {text}\n"
        for at, text in enumerate(
            (
                "SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address",
                "SM Global Exception on (GPC 2, TPC 1, SM 0): Multiple Warp Errors",
                "Exception: ESR 0x515730=0x10018 0x515734=0x24",
            )
        )
    )
    reading = read(burst.format(10) + burst.format(20))

    assert told(reading, "code", "count", "unit") == [("13", 2, "GPC 2, TPC 1, SM 0")]


def test_one_channel_error_each(read: Read) -> None:
    """Xid 45 comes once per channel: one row, as many as there were."""
    text = "".join(
        f"[ 10.00000{at}] NVRM: Xid (PCI:0000:9b:00): 45, pid=7, name=py, Ch 0000001{at}\n"
        for at in range(9)
    )

    assert told(read(text), "code", "count", "severity") == [("45", 9, "error")]


def test_unknown_xid_is_kept(read: Read) -> None:
    """A number that nobody knows yet is an event of unknown severity."""
    text = "NVRM: Xid (PCI:0000:9b:00): 997, something new\n"

    assert told(read(text), "code", "severity", "class") == [("997", "unknown", "unknown")]


def test_uuid_bridge(read: Read) -> None:
    """The driver's line with both names of a GPU is an alias."""
    uuid = "GPU-5f1c2a90-7b3e-4d18-9c60-a1b2c3d4e5f6"
    reading = read(f"[ 1.000000] NVRM: GPU at PCI:0000:9b:00: {uuid}\n")

    assert reading.aliases.select(
        "host", "device_kind", "device", "alias_kind", "alias"
    ).rows() == [("hx8-017", "gpu", uuid, "pci", "0000:9b:00.0")]
    assert reading.lines_used == 1


SWITCH = """\
[ 9.000001] nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 11 LTSSM Fault Up
[ 9.000002] nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Severity 1 Engine instance 11 \
Sub-engine instance 00
[ 9.000003] nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Data {0x0000000b, 0x00000000}
[ 9.000004] nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 24003, Non-fatal, Link 05 Some (First)
[ 9.000005] nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 23005, Some text
[ 9.000006] nvidia-nvswitch0: SXid (PCI:0000:c4:00.0): 99999, Some text
[ 9.000007] nvidia-nvswitch1: SXid (PCI:0000:c5:00.0): 12028, Severity 0 Engine instance 3
"""


def test_switch_faults(read: Read) -> None:
    """A fault of a switch is one event with its data; word and lists tell how bad it is."""
    columns = ("kind", "code", "severity", "device_kind", "device", "link", "scope", "data")

    assert told(read(SWITCH), *columns) == [
        (
            "sxid",
            "20034",
            "critical",
            "nvswitch",
            "0000:c6:00.0",
            "11",
            None,
            "0x0000000b, 0x00000000",
        ),
        ("sxid", "24003", "warning", "nvswitch", "0000:c4:00.0", "5", None, None),
        ("sxid", "23005", "critical", "nvswitch", "0000:c4:00.0", None, "fabric", None),
        ("sxid", "99999", "unknown", "nvswitch", "0000:c4:00.0", None, None, None),
        ("sxid", "12028", "warning", "nvswitch", "0000:c5:00.0", None, None, None),
    ]


def test_driver_epoch(read: Read) -> None:
    """The driver's version is an event, and stands beside link errors after it."""
    reading = read(
        "[ 1.000000] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release\n"
        "[ 2.000000] NVRM: Xid (PCI:0018:01:00): 145, RLW Nonfatal XC0 i0 Link 07 (0x0410c0a1)\n"
        "[ 3.000000] NVRM: GPU 0000:9b:00.0: RmInitAdapter failed! (0x22:0x56:762)\n"
    )

    assert told(reading, "kind", "code", "driver", "device") == [
        ("driver_loaded", "570.124.06", None, None),
        ("xid", "145", "570.124.06", "0018:01:00.0"),
        ("gpu_init_failed", "0x22:0x56:762", None, "0000:9b:00.0"),
    ]


HOST = """\
[ 1.000000] pcieport 0000:97:01.0: AER: Corrected error received: 0000:98:00.0
[ 1.000001] nvidia 0000:98:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, \
(Receiver ID)
[ 1.000002] nvidia 0000:98:00.0:   device [10de:2330] error status/mask=00000001/00002000
[ 1.000003] nvidia 0000:98:00.0:    [ 0] RxErr                  (First)
[ 2.000000] nvme 0000:41:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), \
type=Transaction Layer, (Requester ID)
[ 3.000000] mce: [Hardware Error]: Machine check events logged
[ 3.000001] mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 7: ac00004000010091
[ 4.000000] mce: CPU3: Core temperature above threshold, cpu clock throttled (total events = 9)
[ 5.000000] EDAC MC4: 2 CE memory read error on CPU_SrcID#1_MC#0_Chan#1_DIMM#0 (channel:1 slot:0)
[ 6.000000] EDAC MC0: Giving out device to module skx_edac
[ 7.000000] nfs: server nas1 not responding, still trying
[ 8.000000] nfs: server nas1 OK
[ 9.000000] INFO: task pt_data_worker:4711 blocked for more than 120 seconds.
[ 10.00000] this line has no stamp of a kernel
[ 11.000000] python3 invoked oom-killer: gfp_mask=0x100cca, order=0, oom_score_adj=0
[ 11.000001] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python3,pid=77,uid=0
[ 11.000002] Memory cgroup out of memory: Killed process 77 (python3) anon-rss:1024kB, file-rss:0kB
[ 12.000000] watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python3:88]
"""


def test_host_faults(read: Read) -> None:
    """The host's own faults are events too; what its drivers say at their start is none."""
    reading = read(HOST)

    assert told(reading, "kind", "code", "severity", "device_kind", "device", "peer") == [
        ("pcie_error", "corrected", "warning", "gpu", "0000:98:00.0", None),
        ("pcie_error", "fatal", "critical", "disk", "0000:41:00.0", None),
        ("machine_check", "uncorrected", "critical", "cpu", "cpu12", None),
        ("cpu_throttled", "thermal", "warning", "cpu", "cpu3", None),
        ("memory_error", "corrected", "warning", "memory", "mc4", None),
        ("storage_stall", "still trying", "error", "storage", None, "nas1"),
        ("storage_recovered", None, "info", "storage", None, "nas1"),
        ("task_blocked", None, "error", "node", None, None),
        ("oom_kill", None, "critical", "node", None, None),
        ("cpu_stuck", None, "error", "cpu", "cpu12", None),
    ]
    assert told(reading, "pid", "process", "scope", "reported_by", "error")[-2:] == [
        ("77", "python3", "cgroup", None, None),
        ("88", "python3", None, None, None),
    ]
    assert told(reading, "reported_by", "error", "type")[0] == (
        "0000:97:01.0",
        "RxErr",
        "Physical Layer",
    )
    assert reading.rejects["position"].to_list() == [10, 14]


MANAGER = """\
[Jan 05 2026 04:03:00] [INFO] [tid 2214] Fabric Manager version 570.124.06 is running with the
following configuration options
    Logging level = 4
[Jan 05 2026 04:03:01] [WARNING] [tid 2214] request answered NV_WARN_NOTHING_TO_DO
[Jan 05 2026 04:03:02] [ERROR] [tid 2214] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch \
pci bus id 00000000:C6:00.0 physical id 2 port 11
[Jan 05 2026 04:03:03] [ERROR] [tid 2214] number of NVSwitch devices found does not match topology
"""


def test_fabric_manager(read: Read) -> None:
    """Records keep the lines that they run on for, and to have nothing to do is no error."""
    reading = read(MANAGER, time_zone="Europe/Berlin")

    columns = ("kind", "code", "severity", "device_kind", "device", "port", "physical_id")
    assert told(reading, *columns) == [
        ("fabric_manager", None, "info", "node", None, None, None),
        ("fabric_manager", None, "info", "node", None, None, None),
        ("fabric_manager", "20034", "critical", "nvswitch", "0000:c6:00.0", "11", "2"),
        ("fabric_manager", "topology_mismatch", "critical", "nvswitch", None, None, None),
    ]
    first = reading.events.row(0, named=True)
    assert (first["host"], first["time"]) == ("hx8-017", datetime(2026, 1, 5, 3, 3, tzinfo=UTC))
    assert first["message"].endswith("following configuration options Logging level = 4")
    assert (reading.lines_used, reading.rejects.height) == (6, 0)


def test_few_kernel_lines_in_a_training_log(read: Read) -> None:
    """A training log that quotes the kernel stays one, and the kernel's lines are read."""
    steps = "".join(
        f" iteration {at:8d}/     900 | consumed samples: 1 | elapsed time per iteration (ms): "
        f"{1000 + at}.0 | lm loss: 2.0E+00 |\n"
        for at in range(1, 40)
    )
    reading = read(steps + "[ 2071.664210] " + LINE + "\n")

    assert reading.steps.height == 39
    assert told(reading, "kind", "code", "device") == [("xid", "92", "0000:9b:00.0")]
