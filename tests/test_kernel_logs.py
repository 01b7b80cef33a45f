"""Tests of reading kernel logs: by blocks as at once, every line accounted for, nothing stolen."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.dialects import DIALECTS, read_file
from collectors.hosts.kernel_logs import (
    NO_EVENT,
    read_kernel_lines,
    read_kernel_log,
    stream_kernel_log,
    wants_kernel_log,
)
from collectors.readings import Reading, join_readings
from collectors.sniffing import Head, ReadOptions, choose
from collectors.texts.envelope import read_lines

XID = "NVRM: Xid (PCI:0000:9b:00): {}, pid=7, name=python, {}"
SNIPPETS = (
    "[ 10.000001] " + XID.format(31, "Ch 0000001a, intr 00000000. MMU Fault"),
    "[ 10.000002] " + XID.format(79, "GPU has fallen off the bus."),
    "[ 12.000000] NVRM: GPU 0000:9b:00.0: GPU has fallen off the bus.",
    "[ 13.000000] NVRM: The NVIDIA GPU 0000:c4:00.0",
    "               NVRM: (PCI ID: 10de:2330) installed in this system has",
    "               NVRM: fallen off the bus and is not responding to commands.",
    "[ 14.000001] nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Fatal, Link 11 Fault Up",
    "[ 14.000002] nvidia-nvswitch2: SXid (PCI:0000:c6:00.0): 20034, Data {0x0000000b, 0x0}",
    "[ 15.000000] nvidia 0000:98:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
    "[ 15.000001] nvidia 0000:98:00.0:    [ 0] RxErr                  (First)",
    "[ 16.000000] mlx5_core 0000:5e:00.0 eth4: Link down",
    "[ 17.000000] Memory cgroup out of memory: Killed process 77 (python3) anon-rss:1kB",
    "[ 18.000000] usb 1-1: new high-speed USB device number 2 using xhci_hcd",
    "[ 900.000000] " + XID.format(95, "Uncontained: LTC TAG (0x3,0x0). RST: Yes, D-RST: No"),
    "Dec 31 23:59:59 hx8-017 kernel: " + XID.format(62, "0a1b2c3d 00000000 11223344"),
    "Jan  1 00:00:01 hx8-018 kernel: [ 20.000000] " + XID.format(13, "Graphics Exception: ESR"),
    "6,4411,2071664210,-;" + XID.format(154, "GPU recovery action changed from 0x0 (None) to 0x1"),
    " SUBSYSTEM=pci",
    '{"__REALTIME_TIMESTAMP":"1767585782211323","MESSAGE":"NVRM: Xid (PCI:0000:9b:00): 92, High"}',
    '{"__REALTIME_TIMESTAMP":"1767585782211323","MESSAGE":[78,86,82,77]}',
    "[Mon Jan  5 04:03:02 2026] nfs: server nas1 not responding, still trying",
    "\x1b[33m[ 21.000000] EDAC MC4: 2 CE memory read error on DIMM#0 (channel:1)\x1b[0m",
    "",
    "   ",
)
OPTIONS = ReadOptions(year=2026, boot=datetime(2026, 1, 1, tzinfo=UTC))

BYTES = st.one_of(
    st.lists(st.sampled_from(SNIPPETS), max_size=30).map(lambda lines: "\n".join(lines).encode()),
    st.lists(st.sampled_from(SNIPPETS), max_size=9).map(lambda lines: "\r\n".join(lines).encode()),
    st.binary(max_size=200),
)


def account(reading: Reading) -> int:
    """Return how many lines a reading accounts for."""
    return reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())


def line_count(data: bytes) -> int:
    """Return how many lines of some bytes are not blank."""
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\0", "")
    return sum(1 for line in text.split("\n") if line.strip())


@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(parts=st.lists(BYTES, max_size=4), cut=st.integers(0, 400))
def test_every_line_is_accounted_for(tmp_path: Path, parts: list[bytes], cut: int) -> None:
    """Whatever the bytes, torn or doubled: each line that is not blank is used or rejected."""
    whole = b"".join(parts)
    data = whole[cut:] + b"\xff\xfe\n" + whole[:cut]
    path = tmp_path / "kern.log"
    path.write_bytes(data)

    assert account(read_kernel_log(path, "kern.log", OPTIONS)) == line_count(data)


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(lines=st.lists(st.sampled_from(SNIPPETS[:14]), max_size=60), size=st.integers(40, 2000))
def test_blocks_change_nothing(tmp_path: Path, lines: list[str], size: int) -> None:
    """A log read in blocks of any size says what it says in one."""
    path = tmp_path / "kern.log"
    path.write_text("\n".join(lines), encoding="utf-8")
    by = ["position", "kind", "code"]

    whole = read_kernel_log(path, "kern.log", OPTIONS)
    parts = join_readings(stream_kernel_log(path, "kern.log", OPTIONS, size))
    assert faults(parts).sort(by).to_dicts() == faults(whole).sort(by).to_dicts()
    assert (parts.lines_used, account(parts)) == (whole.lines_used, account(whole))


def faults(reading: Reading) -> pl.DataFrame:
    """Return the events but those of ports, which another reader folds within a block."""
    return reading.events.filter(~pl.col("kind").str.starts_with("link_"))


def syslog(lines: int, months: tuple[str, ...]) -> str:
    """Return a syslog of noise with an Xid at the start of each month."""
    noise = "{} 02 00:00:00 hx8-017 systemd[1]: Started Session {}.\n"
    xid = "{} 01 00:00:00 hx8-017 kernel: " + XID.format(43, "Ch 00000012, engmask 1") + "\n"
    return "".join(
        xid.format(month) + "".join(noise.format(month, at) for at in range(lines))
        for month in months
    )


def test_years_over_blocks(tmp_path: Path) -> None:
    """The year of a stamp is known before the block that holds the log's end is read."""
    path = tmp_path / "kern.log"
    path.write_text(syslog(400, ("Oct", "Dec", "Jan", "Mar")), encoding="utf-8")

    parts = list(stream_kernel_log(path, "kern.log", ReadOptions(year=2026), 8_000))
    times = join_readings(parts).events["time"].sort().to_list()
    assert [(time.year, time.month) for time in times] == [
        (2025, 10),
        (2025, 12),
        (2026, 1),
        (2026, 3),
    ]
    assert len(parts) > 10


def test_new_year_at_the_end(tmp_path: Path) -> None:
    """A short log is read at once: its last line may be the only one of its year."""
    path = tmp_path / "kern.log"
    path.write_text("\n".join(SNIPPETS[14:16]) + "\n", encoding="utf-8")

    times = read_file(path, "kern.log", ReadOptions(year=2026)).events["time"]
    assert times.dt.year().to_list() == [2025, 2026]


def test_noise_is_folded_over_the_whole_log(tmp_path: Path) -> None:
    """However many blocks: twenty lines are shown, and one row counts the rest."""
    path = tmp_path / "kern.log"
    path.write_text(syslog(400, ("Jan", "Mar")), encoding="utf-8")

    rejects = join_readings(stream_kernel_log(path, "k", ReadOptions(), 8_000)).rejects
    assert rejects.height == 21
    assert rejects["count"].sum() == 800
    assert set(rejects["reason"]) == {NO_EVENT}


def test_gzip(tmp_path: Path) -> None:
    """A packed log is read like a plain one, a torn one as far as it goes."""
    data = gzip.compress("\n".join(SNIPPETS).encode())
    whole, torn = tmp_path / "kern.log.1.gz", tmp_path / "kern.log.2.gz"
    whole.write_bytes(data)
    torn.write_bytes(data[:-30])

    assert read_file(whole, "kern.log.1.gz", OPTIONS).events.height > 10
    assert account(read_file(torn, "kern.log.2.gz", OPTIONS)) > 0


def test_very_long_line(tmp_path: Path) -> None:
    """A line of a megabyte is one line, and what follows it is read."""
    path = tmp_path / "kern.log"
    path.write_text(f"[ 1.000000] {'x' * 2**20}\n{SNIPPETS[0]}\n", encoding="utf-8")

    reading = read_kernel_log(path, "kern.log", OPTIONS)
    assert (reading.events.height, account(reading)) == (1, 2)


def test_record_that_never_ends(tmp_path: Path) -> None:
    """Megabytes of lines that go on with a record are let go of, in bounded memory."""
    path = tmp_path / "kern.log"
    path.write_text(SNIPPETS[0] + "\n" + "  more\n" * 400_000 + SNIPPETS[13], encoding="utf-8")

    reading = join_readings(stream_kernel_log(path, "kern.log", OPTIONS, 200_000))
    assert (reading.events.height, account(reading)) == (2, 400_002)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("\n".join(SNIPPETS[:4]), "kernel log", id="dmesg"),
        pytest.param(SNIPPETS[18], "kernel log", id="the journal's JSON"),
        pytest.param(SNIPPETS[16] + "\n" + SNIPPETS[17], "kernel log", id="kmsg"),
        pytest.param(SNIPPETS[20], "kernel log", id="dmesg with dates"),
        pytest.param(
            "[default0]: iteration 1/9 | loss 2.0\n" * 3 + SNIPPETS[0],
            "log",
            id="a training log with one line of the kernel",
        ),
        pytest.param(
            "Jan  5 04:03:02 hx8-017 systemd[1]: Started Session 1.\n" * 9 + SNIPPETS[14],
            "log",
            id="a syslog in which the kernel says little",
        ),
        pytest.param("", None, id="nothing"),
        pytest.param(
            "[Jan 05 2026 04:03:00] [INFO] [tid 2214] running\nmore\nmore",
            "fabric manager log",
            id="the fabric manager's log",
        ),
    ],
)
def test_who_reads(text: str, wanted: str | None) -> None:
    """Only what a kernel mainly printed is a kernel log."""
    dialect = choose(Head(name="x.log", data=text.encode()), DIALECTS) if text else None

    assert (dialect.name if dialect else None) == wanted
    if not text:
        assert wants_kernel_log(Head(name="x.log", data=b"")) == 0.0


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(bytes(range(256)) * 8, id="binary"),
        pytest.param(b"\x1f\x8bnot gzip at all", id="torn gzip"),
        pytest.param(gzip.compress(bytes(range(256)) * 8), id="binary in gzip"),
    ],
)
def test_binary_is_no_kernel_log(data: bytes) -> None:
    """Bytes that are no text are not wanted."""
    assert wants_kernel_log(Head(name="x", data=data)) == 0.0


def test_lines_of_a_mixed_log() -> None:
    """Inside other logs only the lines with an event are claimed."""
    lines = read_lines("\n".join(("step 1", SNIPPETS[0], "step 2", SNIPPETS[12])).encode())

    found = read_kernel_lines(lines, OPTIONS)
    assert found.claimed.to_list() == [1]
    assert found.reading.events.select("kind", "code").rows() == [("xid", "31")]


def test_ports_of_a_kernel_log(tmp_path: Path) -> None:
    """What the drivers of NICs say of their ports is read too, with the clock since boot."""
    path = tmp_path / "kern.log"
    path.write_text("\n".join(SNIPPETS[:14]), encoding="utf-8")

    events = read_file(path, "hx8-017/kern.log", OPTIONS).events
    link = events.filter(pl.col("kind") == "link_down")
    assert link.select("host", "device", "time").rows() == [
        ("hx8-017", "eth4", datetime(2026, 1, 1, 0, 0, 16, tzinfo=UTC))
    ]
