"""Files of NCCL's Inspector: forms, headers that hold on, cut lines."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.communication.inspector import read_inspector, wants_inspector
from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions, read_head

METADATA = {
    "inspector_output_format_version": "v4.0",
    "git_rev": "",
    "rec_mechanism": "nccl_profiler_interface",
    "dump_timestamp_us": 1_762_222_258_114_200,
    "hostname": "hx8-017",
    "pid": 4412,
}
HEADER = {"id": "0x9c41e0aa57d21b33", "rank": 5, "n_ranks": 32, "nnodes": 4}


def collective(sequence: int, **more: Any) -> dict[str, Any]:
    """Return a timed collective."""
    return {
        "coll": "AllReduce",
        "coll_sn": sequence,
        "coll_msg_size_bytes": 1_048_576,
        "coll_exec_time_us": 90,
        "coll_timing_source": "kernel_gpu",
        "coll_algobw_gbs": 11.6,
        "coll_busbw_gbs": 17.4,
        **more,
    }


def record(**parts: Any) -> dict[str, Any]:
    """Return a record with its header."""
    return {"header": HEADER, "metadata": METADATA, **parts}


PAIR = {
    "p2p": "Send",
    "p2p_sn": 3,
    "p2p_peer": 7,
    "p2p_msg_size_bytes": 1024,
    "p2p_exec_time_us": 9,
    "p2p_timing_source": "kernel_gpu",
}
TRACE = {
    "event_trace_ts": {
        "coll_start_ts": 1_762_222_258_000_000,
        "coll_stop_ts": 1_762_222_258_002_210,
        "kernel_events": [{"channel_id": 0, "kernel_start_ts": 1, "kernel_stop_ts": 2}],
    }
}


def read(folder: Path, text: str) -> Reading:
    """Read a file of the Inspector."""
    path = folder / "hx8-017-pid1.log"
    path.write_text(text)
    return read_inspector(path, "x", ReadOptions())


def lines(*records: dict[str, Any]) -> str:
    """Return records as lines."""
    return "".join(json.dumps(one) + "\n" for one in records)


def test_record(tmp_path: Path) -> None:
    """A record is a transfer as one rank saw it, in base units."""
    row = read(tmp_path, lines(record(coll_perf=collective(9119)))).transfers.row(0, named=True)

    assert row == {
        "run": None,
        "host": "hx8-017",
        "rank": 5,
        "group": "0x9c41e0aa57d21b33",
        "world": 32,
        "nodes": 4,
        "operation": "AllReduce",
        "sequence": 9119,
        "peer_rank": None,
        "bytes": 1_048_576,
        "seconds": pytest.approx(90e-6),
        "algorithm_bytes_per_second": pytest.approx(11.6e9),
        "bus_bytes_per_second": pytest.approx(17.4e9),
        "wrong_count": None,
        "timing": "kernel_gpu",
        "variant": None,
        "time": row["time"],
        "source": "x",
        "position": 1,
    }
    assert row["time"].timestamp() == pytest.approx(1_762_222_258.1142)


@pytest.mark.parametrize("indent", [None, 2], ids=["lines", "pretty-printed"])
def test_header_once(tmp_path: Path, indent: int | None) -> None:
    """A header holds for what follows, until the next one."""
    other = {"header": {**HEADER, "rank": 6}, "coll_perf": collective(2, coll_algo="RING")}
    parts = [
        {"header": HEADER, "metadata": METADATA},
        {"coll_perf": collective(1, coll_algo="TREE", coll_proto="LL", **TRACE)},
        {"p2p_perf": PAIR},
        other,
    ]
    text = "\n".join(json.dumps(one, indent=indent) for one in parts)
    reading = read(tmp_path, text)

    names = ("rank", "operation", "sequence", "peer_rank", "variant")
    assert reading.transfers.select(names).rows() == [
        (5, "AllReduce", 1, None, "tree ll"),
        (5, "Send", 3, 7, None),
        (6, "AllReduce", 2, None, "ring"),
    ]
    assert reading.transfers["time"].dt.microsecond().to_list() == [2210, 114_200, 114_200]
    assert reading.lines_used == len(text.split("\n"))


def test_operations_in_a_list(tmp_path: Path) -> None:
    """Operations of one header may be a list."""
    text = json.dumps(record(coll_perf=[collective(1), collective(2)], p2p_perf=[]), indent=1)

    assert read(tmp_path, text).transfers["sequence"].to_list() == [1, 2]


def test_dropped_records(tmp_path: Path) -> None:
    """What the ring dropped is told, and no finding."""
    stats = {"coll_dropped_since_last_dump": 5, "p2p_dropped_since_last_dump": 1}
    none = {"coll_dropped_since_last_dump": 0}
    reading = read(tmp_path, lines(record(dump_stats=stats), record(dump_stats=none)))

    assert reading.events.select("kind", "code", "severity").rows() == [
        ("records_dropped", "6", "info")
    ]
    assert reading.lines_used == 2


@pytest.mark.parametrize(
    ("text", "read_rows", "lost"),
    [
        pytest.param(
            lines(record(coll_perf=collective(7))) + '{"header":{"id":"0xaa","nno',
            1,
            [(2, 1)],
            id="the last line is cut",
        ),
        pytest.param(
            lines(record(coll_perf=collective(7)))
            + '{"header":{"id":\n'
            + "noise\n"
            + lines(record(coll_perf=collective(8))),
            2,
            [(2, 1), (3, 1)],
            id="lines in the middle are broken",
        ),
        pytest.param(
            lines(record(coll_perf=collective(7)), {"other": 1}),
            1,
            [],
            id="an object of no known kind among good lines is used up",
        ),
        pytest.param(
            '{"header":{"id":"0xaa"}}\n\n{"coll_perf":{"coll":"AllReduce","coll_sn":true}}\n',
            1,
            [],
            id="a number that is none is not known",
        ),
    ],
)
def test_broken_lines(
    tmp_path: Path, text: str, read_rows: int, lost: list[tuple[int, int]]
) -> None:
    """A record that cannot be read is a reject with its line; the others stay."""
    reading = read(tmp_path, text)

    assert reading.transfers.height == read_rows
    assert reading.rejects.select("position", "count").rows() == lost
    filled = sum(1 for line in text.split("\n") if line.strip())
    assert reading.lines_used + sum(count for _, count in lost) == filled


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 1600), noise=st.binary(max_size=12))
def test_torn_bytes(tmp_path: Path, cut: int, noise: bytes) -> None:
    """Cut anywhere and with any bytes after it, every line is accounted for."""
    whole = lines(record(coll_perf=collective(1)), record(p2p_perf=PAIR)) + json.dumps(
        record(coll_perf=collective(2)), indent=1
    )
    path = tmp_path / "x.log"
    path.write_bytes(whole.encode()[:cut] + noise)
    reading = read_inspector(path, "x", ReadOptions())
    text = path.read_bytes().decode("utf-8", errors="replace").replace("\0", "")
    filled = sum(1 for line in text.split("\n") if line.strip())

    assert reading.lines_used + int(reading.rejects["count"].fill_null(1).sum()) == filled


@pytest.mark.parametrize("name", ["hx8-017-pid1.log", "x.jsonl", "x.log.gz"])
def test_sniffed(tmp_path: Path, name: str) -> None:
    """A file is known by its content, packed or not."""
    text = lines(record(coll_perf=collective(1))).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)

    assert wants_inspector(read_head(path)) > 0.9
    assert read_file(path, name, ReadOptions()).transfers.height == 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            'nccl_bus_bandwidth_gbs{node="hx8-017",comm_name="dp",n_nodes="4",nranks="32",'
            'collective="AllReduce",message_size="4-5MB",algo_proto="RING_SIMPLE"} 182.4',
            ("hx8-017", "dp", 32, "AllReduce", 4 * 2**20, 182.4e9, None, "ring_simple"),
            id="bandwidth of collectives",
        ),
        pytest.param(
            'nccl_p2p_exec_time_microseconds{node="hx8-017",comm_name="unknown",nranks="8",'
            'p2p_operation="Send",message_size="0B"} 812',
            ("hx8-017", None, 8, "Send", 0, None, 812e-6, None),
            id="time of pairs, in a communicator without a name",
        ),
    ],
)
def test_metrics(tmp_path: Path, line: str, expected: tuple[object, ...]) -> None:
    """Means of a bucket are transfers whose timing is a kind of its own."""
    page = tmp_path / "nccl_inspector_metrics_GPU-5f1c.prom"
    page.write_text(line + "\n")
    rows = read_file(page, "x", ReadOptions()).transfers

    names = ("host", "group", "world", "operation", "bytes", "bus_bytes_per_second", "seconds")
    assert rows.select(*names, "variant").row(0) == expected
    assert rows["timing"].to_list() == ["bucket_mean"]
