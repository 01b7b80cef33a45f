"""Operation traces and mini-batch tables: columns by name, odd rows set aside."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.training.minibatch_tables import read_minibatch_tables, wants_minibatch_tables
from collectors.training.parquet_tables import read_parquet_tables, wants_parquet_tables

OPTIONS = ReadOptions()


def trace(folder: Path, **columns: list[object]) -> Reading:
    """Return the reading of a trace of one operation, columns changed where told."""
    whole = {
        "dp_rank": [0],
        "stage": [1],
        "rank": [4],
        "step": [16],
        "optype": ["forward-compute"],
        "start_ts": [1.5],
        "duration": [0.25],
        "seq_id": [3],
        "mc": [-1],
        "mb_id": [2],
        **columns,
    }
    path = folder / "trace.parquet"
    pl.DataFrame(whole).write_parquet(path)
    return read_parquet_tables(path, "trace", OPTIONS)


def test_an_operation(tmp_path: Path) -> None:
    """An operation has its place, its span from the step's start, and null for -1."""
    assert trace(tmp_path).ops.rows() == [
        (None, None, 16, 4, 0, 1, "forward-compute", "compute", 1.5, 1.75, 3, None, 2, "trace")
    ]


@pytest.mark.parametrize(
    ("name", "family"),
    [
        pytest.param("backward-recv", "comm", id="what waits for others"),
        pytest.param("optimizer", "optimizer", id="the optimizer"),
        pytest.param("gc", "host", id="the process itself"),
        pytest.param("something-new", None, id="an unknown operation"),
    ],
)
def test_families(tmp_path: Path, name: str, family: str | None) -> None:
    """Each operation keeps one thing busy."""
    assert trace(tmp_path, optype=[name]).ops["family"].to_list() == [family]


def test_a_parquet_of_something_else(tmp_path: Path) -> None:
    """A parquet file of no known table is one reject that names its columns."""
    path = tmp_path / "x.parquet"
    pl.DataFrame({"rank": [1], "colour": ["red"]}).write_parquet(path)
    rejects = read_parquet_tables(path, "x", OPTIONS).rejects
    assert rejects["reason"].to_list() == [
        "parquet of no known table, with columns ['colour', 'rank']"
    ]


@given(st.binary(max_size=60))
@settings(max_examples=40, deadline=None)
def test_broken_parquet(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """A file that only begins like parquet is one reject."""
    path = tmp_path_factory.mktemp("p") / "x.parquet"
    path.write_bytes(b"PAR1" + data)
    assert read_parquet_tables(path, "x", OPTIONS).rejects.height == 1


def table(folder: Path, text: str) -> Reading:
    """Return the reading of a table of that text."""
    path = folder / "t.csv"
    path.write_text(text, encoding="utf-8")
    return read_minibatch_tables(path, "t", OPTIONS)


def test_a_table(tmp_path: Path) -> None:
    """A worker is a rank, its time a step; rows that are none are rejects."""
    text = (
        "\ufeff,worker,gpu,time,batch_time_norm\r\n0,0,25,1,476\n1,1,25,1,NA\n\n2,1,25\n3,1,9,2,5\n"
    )
    reading = table(tmp_path, text)
    assert (
        reading.steps.select("rank", "step", "step_seconds", "time_kind").rows(),
        reading.rejects.select("position", "text", "reason").rows(),
    ) == (
        [(0, 1, 476.0, "single_step"), (1, 2, 5.0, "single_step")],
        [(3, "1,1,25,1,NA", "not a row of the table"), (5, "2,1,25", "not a row of the table")],
    )


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_rows_are_accounted_for(tmp_path_factory: pytest.TempPathFactory, rows: str) -> None:
    """Each row that is not empty is a step or a reject."""
    body = rows.replace("\r", "")
    reading = table(tmp_path_factory.mktemp("t"), "worker,time,batch_time_norm\n" + body)
    due = sum(1 for line in body.split("\n") if line.strip())
    assert reading.steps.height + reading.rejects.height == due


def test_who_wants_them() -> None:
    """A trace is known by its first bytes, a table by its header."""
    heads = (b"PAR1", b"x", b"worker,time,batch_time_norm\n", b"a,b\n", b"")
    wants = [
        (wants_parquet_tables(head), wants_minibatch_tables(head))
        for head in (Head(name="x", data=data) for data in heads)
    ]
    assert wants == [(0.5, 0.0), (0.0, 0.0), (0.0, 0.9), (0.0, 0.0), (0.0, 0.0)]


TABLE = {
    "ts": [datetime(2031, 2, 3, 4, 0, at, tzinfo=UTC) for at in (1, 1, 2)],
    "job": ["j1"] * 3,
    "attempt": [0] * 3,
    "step": [1, 1, 2],
    "rank": [3] * 3,
    "host": ["N1"] * 3,
    "phase": ["forward", "comm/wait", "forward"],
    "dur_ms": [100.0, 20.0, 110.0],
}


def parquet(folder: Path, columns: dict[str, list[object]]) -> Reading:
    """Return the reading of a parquet table."""
    pl.DataFrame(columns).write_parquet(folder / "t.parquet")
    return read_parquet_tables(folder / "t.parquet", "t", OPTIONS)


@pytest.mark.parametrize(
    "ts",
    [
        pytest.param(TABLE["ts"], id="times"),
        pytest.param([one.timestamp() for one in TABLE["ts"]], id="unix seconds"),
        pytest.param([one.isoformat() for one in TABLE["ts"]], id="text"),
    ],
)
def test_a_table_of_phases(tmp_path: Path, ts: list[object]) -> None:
    """Phases of one step of a rank are one row, in whatever type its time is."""
    reading = parquet(tmp_path, TABLE | {"ts": ts})
    names = ("run", "attempt", "rank", "host", "step", "compute_seconds", "comm_seconds")

    assert reading.steps.select(names).rows() == [
        ("j1", 0, 3, "n1", 1, 0.1, 0.02),
        ("j1", 0, 3, "n1", 2, 0.11, None),
    ]
    assert reading.steps["end_time"].to_list() == [TABLE["ts"][0], TABLE["ts"][2]]
    assert reading.lines_used == 3


def test_a_history_in_parquet(tmp_path: Path) -> None:
    """A history of W&B is told by its columns."""
    columns = {
        "_step": [1, 2],
        "_timestamp": [1_927_857_600.0, 1_927_857_602.0],
        "loss": [2.0, 1.5],
    }

    assert parquet(tmp_path, columns).steps.select("step", "loss", "step_seconds").rows() == [
        (1, 2.0, None),
        (2, 1.5, 2.0),
    ]
