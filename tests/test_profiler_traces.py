"""Traces of NCCL's example profiler plugin, whole and cut by a kill."""

from pathlib import Path

import pytest

from collectors.communication.profiler_traces import read_profiler_traces, wants_profiler_traces
from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.event_labels import label_value

CUT = """\
[
{"name":"AllReduce","cat":"COLL","ph":"b","id":12,"pid":4412,"tid":1,"ts":101.5,"args":{"SeqNum":9,\
"CommHash":13927450921133400117,"Rank":3,"Count":4096,"Datatype":"ncclFloat32"}},
{"name":"Recv","cat":"PROXY","ph":"b","id":14,"pid":4412,"tid":1,"ts":102.0,\
"args":{"Channel":0,"Peer":2}},
"""
WHOLE = """\
[
{"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 11, "pid": 4412, "tid": 1, "ts": 51.5, \
"args": {"SeqNum": 8, "CommHash": 18446744073709551615, "Rank": 3, "Count": 4096, \
"Datatype": "ncclBfloat16", "Algorithm": "RING", "Protocol": "SIMPLE", "nChannels": 4}},
{"name": "SendGpuWait", "cat": "NET", "ph": "b", "id": 1, "pid": 4412, "tid": 1, "ts": 52.0, \
"args": {"Step": 3}},
{"name": "SendGpuWait", "cat": "NET", "ph": "e", "id": 1, "pid": 4412, "tid": 1, "ts": 53.0},
{"name": "SendPeerWait", "cat": "NET", "ph": "b", "id": 1, "pid": 4412, "tid": 1, "ts": 53.0, \
"args": {"Step": 3}},
{"name": "AllReduce", "cat": "COLL", "ph": "e", "id": 11, "pid": 4412, "tid": 1, "ts": 91.5},
{"name": "Send", "cat": "P2P", "ph": "b", "id": 2, "pid": 4412, "tid": 1, "ts": 92.0, \
"args": {"CommHash": 5, "Rank": 3, "Peer": 1, "Count": 8, "Datatype": "strange"}},
{"name": "Send", "cat": "P2P", "ph": "e", "id": 2, "pid": 4412, "tid": 1, "ts": 93.0},
{}]
"""


def read(folder: Path, text: str, name: str = "ncclprof-hx8-017-4412.txt") -> Reading:
    """Read a trace."""
    path = folder / name
    path.write_text(text)
    return read_profiler_traces(path, "x", ReadOptions())


def test_cut(tmp_path: Path) -> None:
    """Of a killed process both events are open, the hash is exact, the last one waits for 2."""
    reading = read(tmp_path, CUT)

    assert reading.collectives.select("group", "group_rank", "sequence", "state").rows() == [
        ("13927450921133400117", 3, 9, "open")
    ]
    told = reading.events.select(
        "code", "peer", waits=label_value("waits_for"), last=label_value("last")
    )
    assert told.rows() == [("AllReduce", None, None, None), ("Recv", "2", "peer", "true")]
    assert (reading.lines_used, reading.rejects.height) == (3, 0)


def test_whole(tmp_path: Path) -> None:
    """What ended is a transfer with exact times; an open step says whom it waits for."""
    reading = read(tmp_path, WHOLE)

    names = ("host", "operation", "group", "rank", "peer_rank", "bytes", "seconds", "variant")
    assert reading.transfers.select(names).rows() == [
        (
            "hx8-017",
            "AllReduce",
            "18446744073709551615",
            3,
            None,
            8192,
            pytest.approx(40e-6),
            "ring simple",
        ),
        ("hx8-017", "Send", "5", 3, 1, None, pytest.approx(1e-6), None),
    ]
    assert reading.events.select("code", waits=label_value("waits_for")).rows() == [
        ("SendPeerWait", "peer")
    ]
    assert reading.lines_used == 9


def test_torn_last_line(tmp_path: Path) -> None:
    """A line that is cut is a reject, the others stay; another name tells no host."""
    reading = read(tmp_path, CUT + '{"name":"Recv","cat":"PRO', "trace.txt")

    assert reading.rejects["position"].to_list() == [4]
    assert reading.events["host"].to_list() == [None, None]


@pytest.mark.parametrize("cut", range(0, len(WHOLE), 37))
def test_cut_anywhere(tmp_path: Path, cut: int) -> None:
    """Cut anywhere, each line is accounted for."""
    reading = read(tmp_path, WHOLE[:cut])
    filled = sum(1 for line in WHOLE[:cut].split("\n") if line.strip())

    assert reading.lines_used + int(reading.rejects["count"].fill_null(1).sum()) == filled


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (CUT, True),
        ('[{"name": "step", "cat": "cpu_op", "ph": "X"}]', False),
        ('{"traceEvents": []}', False),
    ],
    ids=["the plugin's", "another list of events", "an object"],
)
def test_wants(text: str, wanted: bool) -> None:
    """A trace is known by NCCL's categories."""
    assert (wants_profiler_traces(Head(name="x", data=text.encode())) > 0.9) == wanted


def test_chosen(tmp_path: Path) -> None:
    """Of all dialects this one reads the plugin's trace."""
    path = tmp_path / "x.json"
    path.write_text(CUT)

    assert read_file(path, "x", ReadOptions()).collectives.height == 1
