"""A reader is one module and one line: shown on a toy one."""

from pathlib import Path

import polars as pl

from collectors.dialects import DIALECTS, read_file, stream_file
from collectors.readings import Reading, count_lines, join_readings, reading_of
from collectors.sniffing import Dialect, Head, ReadOptions

# The ten lines of a reader: who wants the file, what it says, how many lines that took.


def wants_toy(head: Head) -> float:
    """Return 1 for a toy's file."""
    return float(head.text.startswith("toy;"))


def read_toy(path: Path, source: str, _options: ReadOptions) -> Reading:
    """Return the temperatures of toys."""
    rows = pl.read_csv(path, separator=";", has_header=False, new_columns=["_", "host", "value"])
    signal = {"signal": pl.lit("gpu_temperature_celsius"), "source": pl.lit(source)}
    return count_lines(reading_of(samples=rows.with_columns(**signal)), rows.height)


TOY = Dialect(name="toy", wants=wants_toy, read=read_toy)


def test_a_toy_reader(tmp_path: Path) -> None:
    """One line in the list of dialects is enough for a file to be read."""
    path = tmp_path / "toy.txt"
    path.write_text("toy;n1;55\ntoy;n2;56\n", encoding="utf-8")
    reading = read_file(path, "toy.txt", ReadOptions(), (TOY, *DIALECTS))

    assert reading.samples.select("host", "value").rows() == [("n1", 55.0), ("n2", 56.0)]
    assert reading.lines_used == 2


def test_nobody_else_wants_the_toy(tmp_path: Path) -> None:
    """Without its line the file is a reject that says so, also as a stream."""
    path = tmp_path / "toy.txt"
    path.write_text("toy;n1;55\n", encoding="utf-8")
    whole = read_file(path, "toy.txt", ReadOptions())
    parts = join_readings(stream_file(path, "toy.txt", ReadOptions()))

    assert whole.rejects["reason"].to_list() == ["no known format"]
    assert parts.rejects.equals(whole.rejects)


def test_names_are_told_apart() -> None:
    """No two dialects go by one name."""
    names = [dialect.name for dialect in DIALECTS]

    assert sorted(set(names)) == sorted(names)
