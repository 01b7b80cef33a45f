"""Answers of the Prometheus HTTP API and VictoriaMetrics export lines."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.metrics.metric_files import read_prometheus_answer, wants_prometheus_answer
from collectors.metrics.prometheus_answers import Answer, read_answers
from collectors.metrics.series import label_of
from collectors.sniffing import ReadOptions, read_head

START = datetime(2026, 1, 5, 4, tzinfo=UTC)


def answer_of(folder: Path, text: str) -> Answer:
    """Return what a file with this text answers."""
    path = folder / "answer.json"
    path.write_text(text, encoding="utf-8")
    return read_answers(path)


def success(kind: str, result: object, **more: object) -> str:
    """Return a successful answer as the API writes it."""
    data = {"resultType": kind, "result": result}
    return json.dumps({"status": "success", "data": data, **more})


def test_strings_gaps_and_label_union(tmp_path: Path) -> None:
    """Strings become floats, NaN and +Inf null with a reason, a missing step stays a gap."""
    text = success(
        "matrix",
        [
            {
                "metric": {"gpu": "0"},
                "values": [[1767585600, "40"], [1767585630, "NaN"], [1767585690.25, "42"]],
            },
            {"metric": {"gpu": "1", "pod": "p"}, "values": [[1767585600, "+Inf"]]},
        ],
    )
    series = answer_of(tmp_path, text).series()
    points = series.points.select("series", "time", "value", "reason").rows()

    assert points == [
        (0, START, 40.0, None),
        (0, START + timedelta(seconds=30), None, "non_finite"),
        (0, START + timedelta(seconds=90, milliseconds=250), 42.0, None),
        (1, START, None, "non_finite"),
    ]
    pods = series.identities.select(gpu=label_of("gpu"), pod=label_of("pod")).rows()
    assert pods == [("0", None), ("1", "p")]


def test_vector_and_warnings(tmp_path: Path) -> None:
    """An instant answer has one pair a series; what the server warns of is kept."""
    text = success(
        "vector", [{"metric": {"__name__": "a"}, "value": [1767585600, "1"]}], warnings=["partial"]
    )
    answer = answer_of(tmp_path, text)

    assert answer.series().points["value"].to_list() == [1.0]
    assert answer.series().identities["name"].to_list() == ["a"]
    assert answer.warnings == [(1, "partial")]


def test_export_lines(tmp_path: Path) -> None:
    """Export lines have milliseconds, and null where a value is missing."""
    line = {
        "metric": {"__name__": "a"},
        "values": [61, None, 62.5],
        "timestamps": [1000, 2000, 3000],
    }
    answer = answer_of(tmp_path, json.dumps(line) + "\n{torn")

    assert answer.series().points.select("value", "reason").rows() == [
        (61.0, None),
        (None, "missing"),
        (62.5, None),
    ]
    assert answer.rejects == [(2, "{torn", "no JSON", 1)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            '{"status":"error","errorType":"bad_data","error":"no"}',
            "the server answered bad_data: no",
            id="an error of the server",
        ),
        pytest.param(
            success("scalar", [1, "2"]), "a result that names no series", id="a scalar has no name"
        ),
        pytest.param(
            success("matrix", {}), "a result that is no list", id="a result of another kind"
        ),
        pytest.param(
            success("matrix", [{"metric": {}, "values": [[1, 2]]}]),
            "no series with a metric and pairs of time and value",
            id="a value that is no text",
        ),
        pytest.param(
            success("matrix", [{"metric": {}, "histograms": [[1, {}]]}]),
            "no series with a metric and pairs of time and value",
            id="a native histogram",
        ),
        pytest.param("[1]", "neither an API answer nor an export line", id="other JSON"),
        pytest.param(
            '{"metric":{"a":"b"},"values":[1],"timestamps":[]}',
            "no metric with values and as many time stamps",
            id="fewer stamps than values",
        ),
    ],
)
def test_rejects(tmp_path: Path, text: str, reason: str) -> None:
    """What is no series is a reject that says why."""
    assert [why for _, _, why, _ in answer_of(tmp_path, text).rejects] == [reason]


def test_reading_carries_rejects_and_warnings(tmp_path: Path) -> None:
    """A file's reading holds samples, rejects, and a warning event for partial data."""
    result = [{"metric": {"__name__": "DCGM_FI_DEV_GPU_TEMP", "gpu": "0"}, "value": [1, "50"]}, {}]
    path = tmp_path / "answer.json"
    path.write_text(success("vector", result, infos=["slow"]), encoding="utf-8")
    reading = read_prometheus_answer(path, "answer", ReadOptions())

    assert wants_prometheus_answer(read_head(path)) > 0.9
    assert reading.samples["value"].to_list() == [50.0]
    assert reading.events["message"].to_list() == ["slow"]
    assert reading.rejects.height == 1


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "status",
                    "data",
                    "resultType",
                    "result",
                    "metric",
                    "values",
                    "value",
                    "timestamps",
                ]
            )
            | st.text(max_size=3),
            inner | st.sampled_from(["success", "matrix", "vector"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=JSONS, junk=st.binary(max_size=20))
def test_any_document(tmp_path: Path, document: Any, junk: bytes) -> None:
    """No document raises, and one that gives no series is a reject unless it is an empty answer."""
    path = tmp_path / "answer.json"
    path.write_bytes(json.dumps(document).encode() + b"\n" + junk)
    answer = read_answers(path)

    assert answer.series().points.height == len(answer.points()["seconds"])
    assert answer.labels or answer.rejects or answer.warnings or b"success" in path.read_bytes()
