"""Wide tables of device telemetry: what is a sample, whose, and of when."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions

AT = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
HEADER = "host,disk,time,throughput,latency"


def read(path: Path, content: str | pl.DataFrame, zone: str = "UTC") -> Reading:
    """The reading of a table."""
    if isinstance(content, str):
        path = path / "drives.csv"
        path.write_text(content, encoding="utf-8")
    else:
        path = path / "drives.parquet"
        content.write_parquet(path)
    return read_file(path, path.name, ReadOptions(time_zone=zone))


def told(reading: Reading) -> list[tuple[object, ...]]:
    """What the samples say, but for their source."""
    return reading.samples.select("time", "host", "device_kind", "device", "signal", "value").rows()


def test_drives_in_parquet(tmp_path: Path) -> None:
    """Each signal of a row is a sample; what is not known is null; nothing has a unit it lacks."""
    table = pl.DataFrame(
        {
            "host": ["h1", "h1"],
            "disk": ["disk1", "disk2"],
            "time": [AT.replace(tzinfo=None)] * 2,
            "throughput": [2.5e7, None],
            "latency": [102.5, float("nan")],
        }
    )
    reading = read(tmp_path, table)

    assert told(reading) == [
        (AT, "h1", "disk", "disk1", "throughput", 2.5e7),
        (AT, "h1", "disk", "disk2", "throughput", None),
        (AT, "h1", "disk", "disk1", "latency", 102.5),
        (AT, "h1", "disk", "disk2", "latency", None),
    ]
    assert (reading.lines_used, reading.rejects.height) == (2, 0)


def test_drives_in_csv(tmp_path: Path) -> None:
    """A line that lacks its place or time is a reject, a repeated header too."""
    lines = [
        HEADER,
        "h1,disk1,2031-02-03 04:05:06,NA,70.5",
        "h1,,2031-02-03 04:05:06,1,2",
        HEADER,
        "torn",
        "",
    ]
    reading = read(tmp_path, "\n".join(lines))

    assert [row for row in told(reading) if row[5] is not None] == [
        (AT, "h1", "disk", "disk1", "latency", 70.5)
    ]
    assert reading.rejects["position"].to_list() == [3, 4, 5]
    assert reading.lines_used == 2


@pytest.mark.parametrize(
    ("column", "value", "signal", "expected"),
    [
        pytest.param("latency_ms", "70", "latency_seconds", 0.07, id="milliseconds are seconds"),
        pytest.param("latency_us", "70", "latency_seconds", 7e-5, id="microseconds too"),
        pytest.param("sm_clock_hertz", "1.98e9", "sm_clock_hertz", 1.98e9, id="our own name"),
    ],
)
def test_units(tmp_path: Path, column: str, value: str, signal: str, expected: float) -> None:
    """A column says its signal and its unit by its name."""
    reading = read(tmp_path, f"Node,GPU,ts,{column}\nh1,3,1927857906,{value}\n")

    assert told(reading) == [(AT, "h1", "gpu", "3", signal, pytest.approx(expected))]
    assert reading.samples["index"].to_list() == [3]


@pytest.mark.parametrize(
    "time",
    [
        pytest.param(pl.Series([AT]), id="with a zone"),
        pytest.param(pl.Series([AT.replace(hour=5, tzinfo=None)]), id="a local time"),
        pytest.param(pl.Series([AT.timestamp() * 1e3]), id="unix milliseconds"),
        pytest.param(pl.Series(["2031-02-03T04:05:06Z"]), id="a text"),
    ],
)
def test_times(tmp_path: Path, time: pl.Series) -> None:
    """A time is told by its type, a local one in the zone that was given."""
    table = pl.DataFrame({"host": ["h1"], "disk": ["d"], "time": time, "latency": [1.0]})

    assert read(tmp_path, table, "Europe/Berlin").samples["time"].to_list() == [AT]


def test_other_tables_are_not_taken(tmp_path: Path) -> None:
    """A table without a signal that we know is rejected, with its columns."""
    reading = read(tmp_path, pl.DataFrame({"host": ["h"], "disk": ["d"], "time": [1], "x": [1]}))

    assert "columns ['disk', 'host', 'time', 'x']" in reading.rejects["reason"][0]
