"""Tests of what is read again once a year is known."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from collectors.readings import Reading, reading_of
from paceline.undated import undated_sources

STAMPED = "[rank0]:[E0203 04:21:46.000000000 ProcessGroupNCCL.cpp:632] caught\n"
SYSLOG = "Feb  3 04:05:06 hx8-001 kernel: NVRM: Xid (PCI:0000:9b:00): 79\n"
BARE = "hx8-001:1:1 [0] NCCL INFO AllReduce: opCount 5\n"
DATED = "2031-02-03T04:05:06Z INFO step\n"


def events(*rows: tuple[int | None, bool]) -> Reading:
    """Return a reading of events: line, whether it has a time."""
    now = datetime(2031, 2, 3, tzinfo=UTC)
    return reading_of(
        events=pl.DataFrame(
            [("one", line, now if has_time else None) for line, has_time in rows],
            schema={"source": pl.String, "position": pl.Int64, "time": pl.Datetime("us", "UTC")},
            orient="row",
        )
    )


def is_undated(path: Path, reading: Reading) -> bool:
    """Return whether a year would date rows of the one file."""
    return "one" in undated_sources({"one": path}, reading)


@pytest.mark.parametrize(
    ("text", "reading", "expected"),
    [
        pytest.param(BARE + STAMPED, events((2, False)), True, id="glog's stamp has no year"),
        pytest.param(SYSLOG, events((1, False)), True, id="nor has that of syslog"),
        pytest.param(BARE + STAMPED, events((1, False)), False, id="a line without any stamp"),
        pytest.param(DATED, events((1, False)), False, id="a stamp that says its year"),
        pytest.param(STAMPED, events((1, True)), False, id="all rows have their time"),
        pytest.param(BARE + STAMPED, events((None, False)), True, id="a row may be of any line"),
        pytest.param(BARE, events((7, False)), False, id="a line that is not there any more"),
        pytest.param("", Reading(), False, id="a file of nothing"),
    ],
)
def test_rows_that_a_year_would_date(
    tmp_path: Path, text: str, reading: Reading, expected: bool
) -> None:
    """A file is read again where a row without a time shows a stamp without a year."""
    path = tmp_path / "one.log"
    path.write_text(text, encoding="utf-8")
    assert is_undated(path, reading) is expected


def test_packed_files(tmp_path: Path) -> None:
    """A packed file is unpacked first."""
    path = tmp_path / "one.log.gz"
    path.write_bytes(gzip.compress((BARE + STAMPED).encode()))
    assert [is_undated(path, events((line, False))) for line in (1, 2)] == [False, True]
