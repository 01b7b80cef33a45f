"""The JSON of NCCL's RAS client: reports, whole and cut, and events one after the other."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.communication.ras_documents import read_ras_documents, wants_ras_documents
from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import Head, ReadOptions
from collectors.texts.cut_documents import mended, read_cut_documents
from collectors.texts.event_labels import label_value


def rank(number: int, count: int, **status: Any) -> dict[str, Any]:
    """Return a rank of a communicator."""
    return {
        "rank": number,
        "host": "10.77.3.5",
        "pid": 70 + number,
        "cuda_dev": number,
        "nvml_dev": number,
        "status": {"init_state": 0, "async_error": 0, "abort_flag": False, **status},
        "collective_counts": {"Broadcast": 0, "AllReduce": count},
    }


def missing(number: int, host: str, **status: bool) -> dict[str, Any]:
    """Return a rank that is missing."""
    return {"rank": number, "host": host, "pid": -1, "nvml_dev": 3, "status": status}


def communicator(size: int, ranks: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a communicator."""
    return {
        "hash": "0x5F0C2A9BE1774D03",
        "secondary_hash": "0x1:0x2",
        "size": size,
        "ranks_count": len(ranks),
        "missing_ranks_count": len(more.get("missing_ranks", [])),
        "ranks": ranks,
        "missing_ranks": [],
        **more,
    }


def report(*communicators: dict[str, Any]) -> dict[str, Any]:
    """Return a report."""
    return {
        "nccl_version": "2.28.9",
        "cuda_runtime_version": 12090,
        "cuda_driver_version": 12090,
        "timestamp": "2026-01-05 04:03:02",
        "communicators_count": len(communicators),
        "communicators": list(communicators),
        "ras": {"collection_time_sec": 0.02, "timeouts_count": 0},
    }


def event(name: str, peer: dict[str, Any]) -> dict[str, Any]:
    """Return an event of the monitor."""
    return {
        "timestamp": "2026-01-05 04:03:02",
        "group": "LIFECYCLE",
        "event": name,
        "peer": peer,
        "details": "",
    }


def read(folder: Path, text: str) -> Reading:
    """Read a file."""
    path = folder / "ras.json"
    path.write_text(text)
    return read_ras_documents(path, "x", ReadOptions(time_zone="Europe/Berlin"))


PLAIN = report(communicator(4, [rank(0, 9120), rank(1, 9119)]))


def test_counts(tmp_path: Path) -> None:
    """Each rank stands by each kind of collective; none launched is -1; the stamp is local."""
    rows = read(tmp_path, json.dumps(PLAIN, indent=1)).collectives
    names = ("rank", "group_rank", "operation", "enqueued", "host", "group")

    assert rows.select(names).rows() == [
        (0, 0, "Broadcast", -1, "10.77.3.5", "5f0c2a9be1774d03"),
        (0, 0, "AllReduce", 9120, "10.77.3.5", "5f0c2a9be1774d03"),
        (1, 1, "Broadcast", -1, "10.77.3.5", "5f0c2a9be1774d03"),
        (1, 1, "AllReduce", 9119, "10.77.3.5", "5f0c2a9be1774d03"),
    ]
    assert rows["time"][0].isoformat() == "2026-01-05T03:03:02+00:00"
    assert set(rows["state"]) == {"launched"}


def test_two_large_communicators(tmp_path: Path) -> None:
    """Where two communicators are as large, neither is known to be the whole job."""
    text = json.dumps(report(communicator(4, [rank(0, 1)]), communicator(4, [rank(0, 2)])))

    assert read(tmp_path, text).collectives["rank"].null_count() == 4


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ({"abort_flag": True}, "ABORT"),
        ({"finalize_called": "true"}, "FINALIZE"),
        ({"destroy_flag": 1}, "FINALIZE"),
        ({"init_state": 7}, "INIT"),
        ({}, "RUNNING"),
    ],
)
def test_states(tmp_path: Path, status: dict[str, Any], code: str) -> None:
    """A communicator is in the state of its most advanced rank; in progress is no error."""
    text = json.dumps(report(communicator(1, [rank(0, 1, **status)])))

    assert read(tmp_path, text).events.select("kind", "code").rows() == [("ras_group", code)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param(
            {"missing_ranks": [missing(3, "unknown", unresponsive=True)]},
            [("rank_missing", "unresponsive", None, 3)],
            id="a silent rank on no known host",
        ),
        pytest.param(
            {"missing_ranks": [missing(3, "10.77.3.6", considered_dead=True)]},
            [("rank_missing", "considered_dead", "10.77.3.6", 3)],
            id="a rank taken for dead",
        ),
        pytest.param(
            {"missing_ranks": [missing(3, "10.77.3.6")]},
            [("rank_missing", None, "10.77.3.6", 3)],
            id="a missing rank and no reason",
        ),
        pytest.param(
            {"missing_ranks": [missing(1057455228, "10.77.3.6", unresponsive=True)]},
            [("rank_missing", "invalid", "10.77.3.6", None)],
            id="a number that cannot be",
        ),
        pytest.param(
            {"ranks": [rank(0, 1, async_error=6), rank(9, 1, init_state=99)]},
            [
                ("ras_error", "remote process error", "10.77.3.5", 0),
                ("ras_error", "99", "10.77.3.5", None),
            ],
            id="errors by name, unknown ones by number",
        ),
        pytest.param({"ranks": None, "hash": None}, [], id="nothing known of the ranks"),
    ],
)
def test_events(tmp_path: Path, more: dict[str, Any], expected: list[tuple[object, ...]]) -> None:
    """Missing ranks and errors are events."""
    one = communicator(4, [])
    reading = read(tmp_path, json.dumps(report({**one, **more})))

    assert reading.events.select("kind", "code", "host", "rank").rows()[1:] == expected


def test_monitor(tmp_path: Path) -> None:
    """Events are objects one after the other, each over many lines."""
    peers: list[dict[str, Any]] = [
        {"host": "10.77.3.5", "pid": 71, "cuda_devs": [3, 4], "nvml_devs": [3, 4]},
        {"addr": "10.77.3.6<28028>"},
    ]
    text = "\n".join(
        json.dumps(event(name, peer), indent=2)
        for name, peer in zip(["PEER_DEAD", "PEER_CONNECTING"], peers, strict=True)
    )
    reading = read(tmp_path, text)

    told = reading.events.select(
        "kind", "code", "host", gpus=label_value("gpus"), address=label_value("address")
    )
    assert told.rows() == [
        ("process_dead", "PEER_DEAD", "10.77.3.5", "3,4", None),
        ("ras_event", "PEER_CONNECTING", None, None, "10.77.3.6<28028>"),
    ]
    assert reading.lines_used == len(text.split("\n"))


def test_strangers(tmp_path: Path) -> None:
    """A document that is neither report nor event is a reject."""
    reading = read(tmp_path, json.dumps(PLAIN) + '\n{"other": 1}\nnoise\n')

    assert reading.rejects.select("position", "reason").rows() == [
        (2, "no RAS report or event"),
        (3, "no RAS report or event"),
    ]


ODD = ["{}", "[]", "[{}]", "null", "true", '"x"', '"²"', "-1", "0.5", "1e30", "9" * 30, "9" * 400]


@pytest.mark.parametrize("odd", ODD)
def test_odd_values_anywhere(tmp_path: Path, odd: str) -> None:
    """Whatever stands in the place of a value, the document is read, or rejected with its line."""
    gone = missing(1, "n1", considered_dead=True)
    text = json.dumps(report(communicator(4, [rank(0, 9)], missing_ranks=[gone])))
    spots = re.finditer(r'(?<=: )(?:[0-9.]+|"[^"]*"|true|false|null)', text)
    readings = [read(tmp_path, text[: one.start()] + odd + text[one.end() :]) for one in spots]
    lines = {one.lines_used + int(one.rejects["count"].fill_null(1).sum()) for one in readings}

    assert lines == {1}


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(1, 1200), indent=st.sampled_from([None, 1]))
def test_cut_anywhere(tmp_path: Path, cut: int, indent: int | None) -> None:
    """Of a report that is cut anywhere, what stands before the cut is as before."""
    whole = json.dumps(PLAIN, indent=indent)
    text = whole[:cut]
    reading = read(tmp_path, text)
    full = read(tmp_path, whole)

    height = reading.collectives.height
    assert reading.collectives.drop("rank").equals(full.collectives.head(height).drop("rank"))
    filled = sum(1 for line in text.split("\n") if line.strip())
    assert reading.lines_used + int(reading.rejects["count"].fill_null(1).sum()) == filled


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": [1, 2, {"b": "x', '{"a":[1,2,{}]}'),
        ('{"a": 12, "b": 3', '{"a":12}'),
        ('{"a": "}{", "b": [', '{"a":"}{","b":[]}'),
        ('{"a": 1]', "null"),
        ('{"a": tru, ', "null"),
        ("", "null"),
    ],
    ids=[
        "values that are cut go",
        "a number at the cut may be longer",
        "brackets in texts are none",
        "a bracket that closes another",
        "a word that is none",
        "nothing",
    ],
)
def test_mended(text: str, expected: str) -> None:
    """What is whole is kept, and closed."""
    assert mended(text) == json.loads(expected)


def test_nothing_to_mend() -> None:
    """A text that begins like an object and is none stays lines that are none."""
    assert [one.value for one in read_cut_documents(b'{"a": 1]\nx\n')] == [None, None]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (json.dumps(PLAIN), True),
        (json.dumps(event("PEER_NEW", {})), True),
        ('{"event": "x"}', False),
        ("[]", False),
    ],
)
def test_wants(text: str, wanted: bool) -> None:
    """Reports and events are known by their keys."""
    assert (wants_ras_documents(Head(name="x", data=text.encode())) > 0.9) == wanted


def test_chosen(tmp_path: Path) -> None:
    """Of all dialects this one reads a report."""
    path = tmp_path / "x.txt"
    path.write_text(json.dumps(PLAIN))

    assert read_file(path, "x", ReadOptions()).collectives.height == 4
