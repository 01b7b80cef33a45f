"""JSON documents of nccl-tests: their quirks, their ends, and the environment that is not kept."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from collectors.communication.nccl_test_documents import (
    read_nccl_test_documents,
    wants_nccl_test_documents,
)
from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions, read_head
from collectors.texts.event_labels import label_value

SECRET = "hunter2"  # noqa: S105 -- what must not be found again


def device(number: int, host: str, group: int = 0) -> dict[str, Any]:
    """Return a device of a run."""
    return {
        "rank": number,
        "group": group,
        "pid": 4412,
        "hostname": host,
        "device": number,
        "device_hex": "0000:9b:00",
        "device_info": "NVIDIA H100",
    }


RESULT = {
    "size": 1_048_576,
    "count": 262_144,
    "type": "float",
    "redop": "sum",
    "root": "    -1",
    "out_of_place": {"time": 61.2, "alg_bw": 17.13, "bus_bw": 29.98, "nwrong": "nan"},
    "out_of_place_per_iter": {"min_us": 60.0, "per_process_max_times_us": [[61.0, 62.0]]},
    "in_place": {"cpu_time": 60.0, "alg_bw": 17.2, "bus_bw": 30.1, "nwrong": 3.0},
}
RUN: dict[str, Any] = {
    "version": 2,
    "start_time": "2026-01-05 04:03:02",
    "args": ["./build/all_reduce_perf_mpi", "-b", "8"],
    "env": [f"TOKEN={SECRET}"],
    "nccl_version": 22809,
    "config": {"nthreads": 1, "devices": [device(0, "HX8-017"), device(1, "hx8-018")]},
    "results": [RESULT],
    "out_of_bounds": {"count": 0, "okay": "true"},
    "average_bus_bandwidth": {"bandwidth": 30.0, "okay": "unchecked"},
    "end_time": "2026-01-05 04:04:02",
}


def read(folder: Path, text: str) -> Reading:
    """Read a file."""
    path = folder / "run.json"
    path.write_text(text)
    return read_nccl_test_documents(path, "x", ReadOptions())


def test_results(tmp_path: Path) -> None:
    """Both halves are transfers; `nan` wrong elements were not counted."""
    reading = read(tmp_path, json.dumps(RUN, indent=1))
    names = ("variant", "timing", "bytes", "bus_bytes_per_second", "wrong_count", "operation")

    assert reading.transfers.select(names).rows() == [
        ("out_of_place", "wall", 1_048_576, pytest.approx(29.98e9), None, "all_reduce"),
        ("in_place", "cpu_time", 1_048_576, pytest.approx(30.1e9), 3, "all_reduce"),
    ]
    assert reading.transfers.select("group", "world", "nodes", "host").row(0) == (
        "hx8-017+hx8-018",
        2,
        2,
        None,
    )
    assert reading.placements.select("rank", "host", "gpu").rows() == [
        (0, "hx8-017", "0000:9b:00.0"),
        (1, "hx8-018", "0000:9b:00.0"),
    ]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({}, [("data_check", "0"), ("benchmark_end", None)], id="a good end"),
        pytest.param(
            {"out_of_bounds": {"count": 3, "okay": "false"}, "bitwise_mismatches": {"count": 0}},
            [("data_corruption", "3"), ("data_check", "0"), ("benchmark_end", None)],
            id="wrong values",
        ),
        pytest.param(
            {"average_bus_bandwidth": {"bandwidth": 3.0, "okay": "false"}, "errors": ["", "x"]},
            [("data_check", "0"), ("benchmark_end", None), ("benchmark_failure", None)],
            id="too slow, and an error",
        ),
    ],
)
def test_ends(tmp_path: Path, more: dict[str, Any], expected: list[tuple[str, str | None]]) -> None:
    """Footers are events as those of tables are."""
    events = read(tmp_path, json.dumps({**RUN, **more})).events

    assert events.select("kind", wrong=label_value("wrong")).rows() == expected


@pytest.mark.parametrize(
    ("kept", "code"),
    [(("args", "results"), "1048576"), (("args",), None)],
    ids=["after a size", "before the first"],
)
def test_died(tmp_path: Path, kept: tuple[str, ...], code: str | None) -> None:
    """A run without an end died where its results stop."""
    events = read(tmp_path, json.dumps({name: RUN[name] for name in kept})).events

    assert events.select("kind", "code").rows() == [("benchmark_cut", code)]


@pytest.mark.parametrize("cut", [120, 180, 300, 700, 1000])
def test_environment_is_gone(tmp_path: Path, cut: int) -> None:
    """Whole, cut, or of no use: nothing of the environment is kept."""
    for text in (json.dumps(RUN)[:cut], '{"env": ["' + SECRET, json.dumps({"env": [SECRET]})):
        reading = read(tmp_path, text)
        kept = [reading.frame(name).write_json() for name in ("events", "transfers", "rejects")]
        assert SECRET not in "".join(kept)
        assert reading.lines_used + reading.rejects.height == 1


def test_hosts_in_part(tmp_path: Path) -> None:
    """Where the first rank is missing, or a group of another colour runs, sizes are its own."""
    alone = {**RUN, "config": None, "devices": [device(0, "hx8-017"), device(1, "hx8-018", 1)]}
    late = {**RUN, "config": None, "devices": [device(4, "hx8-017")], "args": []}

    assert read(tmp_path, json.dumps(alone)).transfers.select("world", "host").row(0) == (
        1,
        "hx8-017",
    )
    assert read(tmp_path, json.dumps(late)).transfers.select("world", "operation").row(0) == (
        None,
        None,
    )


def test_odd_results(tmp_path: Path) -> None:
    """A half that is null is no transfer; a number that is none is not known."""
    odd = {**RESULT, "out_of_place": None, "in_place": {"time": "x", "bus_bw": None}}
    rows = read(tmp_path, json.dumps({**RUN, "results": [odd]})).transfers

    assert rows.select("variant", "seconds", "bus_bytes_per_second").rows() == [
        ("in_place", None, None)
    ]


ODD = ["{}", "[]", "[{}]", "null", "true", '"x"', '"²"', "-1", "0.5", "1e30", "9" * 30, "9" * 400]


@pytest.mark.parametrize("odd", ODD)
def test_odd_values_anywhere(tmp_path: Path, odd: str) -> None:
    """Whatever stands in the place of a value, the document is read, or rejected with its line."""
    text = json.dumps(RUN)
    spots = re.finditer(r'(?<=: )(?:[0-9.]+|"[^"]*"|true|false|null)', text)
    readings = [read(tmp_path, text[: one.start()] + odd + text[one.end() :]) for one in spots]
    lines = {one.lines_used + int(one.rejects["count"].fill_null(1).sum()) for one in readings}

    assert lines == {1}


def test_chosen(tmp_path: Path) -> None:
    """Of all dialects this one reads such a document, and none of another kind."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(RUN))
    other = tmp_path / "y.json"
    other.write_text("[1]")

    assert read_file(path, "x", ReadOptions()).transfers.height == 2
    assert wants_nccl_test_documents(read_head(other)) == 0.0
