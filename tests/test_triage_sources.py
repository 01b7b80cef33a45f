"""What files say of failures: large logs block by block, small ones together, others by events."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from collectors.signatures.library import read_signatures
from collectors.sniffing import ReadOptions
from paceline.sources import find_files
from paceline.triage import FailureSources, TriageReader, failure_lines, read_failures

LOG = """\
2026-01-05T04:11:00Z hx8-001 trainer: step 3 loss 2.1
hx8-001:81:133 [0] NCCL WARN NET/IB : Got completion from peer 10.1.0.9 with status=12 len=0
[rank3]: Traceback (most recent call last):
[rank3]:   File "loop.py", line 412, in step
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.86 GiB.
2026-01-05T04:11:08Z hx8-002 zorblax: FATAL quorum of shards lost, epoch 33 rolled back
2026-01-05T04:11:09Z hx8-002 zorblax: FATAL quorum of shards lost, epoch 34 rolled back
"""
KERNEL = """\
Jan  5 04:12:00 hx8-003 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=7, GPU has fallen off the bus.
Jan  5 04:12:01 hx8-003 kernel: usb 1-1: new high-speed USB device number 4 using xhci_hcd
"""


def unheard(_name: str, _done: int, _whole: int) -> None:
    """Take what is said after each file, and do nothing."""


def read(*paths: Path) -> FailureSources:
    """What files say."""
    reader = TriageReader.of(read_signatures(), ReadOptions())
    return read_failures(find_files(list(paths)), reader, unheard)


def told(sources: FailureSources, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of what tells of a failure."""
    lines = failure_lines(sources, sources.events.events.clear())
    return lines.sort("text", "position").select(columns).rows()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with an error of the network, one of a GPU, and one that nobody knows."""
    path = tmp_path / "logs" / "train.log"
    path.parent.mkdir()
    path.write_text(LOG, encoding="utf-8")
    return path


def test_alone_and_together(log: Path) -> None:
    """A log says the same whether it is read block by block or with others at once."""
    columns = ("text", "kind", "host", "rank", "count", "position", "time")
    alone = told(read(log), *columns)
    (log.parent / "calm.log").write_text("step 1 loss 2.0\n" * 3, encoding="utf-8")
    (log.parent / "other.log").write_text("step 1 loss 2.0\n", encoding="utf-8")

    assert told(read(log.parent), *columns) == alone
    assert [row[1] is not None for row in alone] == [True, False, True]
    assert [row[4] for row in alone] == [1, 2, 1]


def test_events_without_a_line(log: Path) -> None:
    """Kernel logs speak by their events, dated by the year that other files show."""
    (log.parent / "kern.log").write_text(KERNEL, encoding="utf-8")
    (lost,) = [
        row for row in told(read(log.parent), "kind", "code", "host", "time") if row[0] == "xid"
    ]

    assert (*lost[:3], f"{lost[3]:%Y-%m-%d %H:%M}") == ("xid", "79", "hx8-003", "2026-01-05 04:12")


def test_nothing_but_kernel_logs(tmp_path: Path) -> None:
    """Files that are read together and of which none is a log have no lines, but events."""
    for host in ("hx8-003", "hx8-004"):
        (tmp_path / f"{host}.log").write_text(KERNEL.replace("hx8-003", host), encoding="utf-8")
    sources = read(tmp_path)

    assert sources.rows.is_empty()
    assert [row[0] for row in told(sources, "host")] == ["hx8-003", "hx8-004"]


def test_stored_events(log: Path) -> None:
    """Of a store the severe events count, and no others."""
    sources = read(log)
    stored = pl.concat([sources.events.events.clear()] * 2)
    rows = pl.DataFrame({"message": ["a", "b"], "severity": ["critical", "info"]})
    events = pl.concat([stored, rows], how="diagonal_relaxed").select(stored.columns)

    assert failure_lines(sources, events).filter(pl.col("text") == "a").height == 1
    assert failure_lines(sources, events).filter(pl.col("text") == "b").is_empty()


def test_what_was_read(tmp_path: Path) -> None:
    """An empty file is nothing that was read; a text that nobody knows is."""
    (tmp_path / "empty.log").touch()
    before = read(tmp_path).is_read
    (tmp_path / "odd.txt").write_text("who knows\n", encoding="utf-8")

    assert (before, read(tmp_path).is_read) == (False, True)


def test_a_file_that_cannot_be_read(log: Path) -> None:
    """A file that is gone when it is read spoils nothing."""
    files = find_files([log.parent])
    gone = log.parent / "gone.log"
    gone.write_text("x\n", encoding="utf-8")
    found = find_files([log.parent])
    gone.unlink()
    reader = TriageReader.of(read_signatures(), ReadOptions())

    assert len(files) == 1
    assert read_failures(found, reader, unheard).rows.height == 3
