"""Scores of ranks by nvidia-resiliency-ext: read in every form, and passed on with care."""

import math
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.frames import EVENTS, LABEL, TIME
from collectors.sniffing import Head, ReadOptions
from collectors.texts.envelope import read_lines
from collectors.training.resiliency_documents import (
    read_resiliency_documents,
    wants_resiliency_documents,
)
from collectors.training.score_reports import read_score_reports
from collectors.training.score_texts import number_of, scores_in, scores_of
from detectors.scores import ScoreParams, find_scored_ranks
from detectors.verdicts import Verdict, verdicts_of
from paceline.findings import DetectorParams, find_all
from paceline.sources import find_files, read_sources

OPTIONS = ReadOptions()
REPORT = """\
2031-02-03 04:05:06,789 - nvrx - INFO - GPU relative performance:
 Worst performing 2/16 ranks:
  Rank=3 Node=N07 Score=0.61
  Rank=9 Node=n08 Score=nan
 Best performing 2/16 ranks:
  Rank=1 Node=n01 Score=1.00

GPU individual performance:
  Rank=3 Node=n07 Score=0.95
 Straggler report processing time: 0.042 sec.
"""
SET = "{StragglerId(rank=3, node='n07'), StragglerId(rank=5, node='n08')}"


def told(text: str) -> list[tuple[object, ...]]:
    """Rank, host, what, score and flag of the events in a log."""
    events = read_score_reports(read_lines(text.encode()), OPTIONS).reading.events
    return [
        (rank, host, code, words.get("score"), words.get("flagged"), words.get("section"))
        for rank, host, code, attributes in events.select(
            "rank", "host", "code", "attributes"
        ).iter_rows()
        for words in [{one["key"]: one["value"] for one in attributes}]
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            REPORT,
            [
                (3, "n07", "gpu relative", "0.61", None, None),
                (9, "n08", "gpu relative", "nan", None, None),
                (1, "n01", "gpu relative", "1.0", None, None),
                (3, "n07", "gpu individual", "0.95", None, None),
            ],
            id="a report lists ranks under its heads",
        ),
        pytest.param(
            "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. "
            f"Affected ranks: {SET}",
            [
                (3, "n07", "gpu relative", None, "true", None),
                (5, "n08", "gpu relative", None, "true", None),
            ],
            id="a warning names ranks and nodes",
        ),
        pytest.param(
            "STRAGGLER DETECTION WARNING: Some GPUs performance dropped. Affected ranks: [162, 79]",
            [
                (162, None, "gpu individual", None, "true", None),
                (79, None, "gpu individual", None, "true", None),
            ],
            id="a warning with a plain list",
        ),
        pytest.param(
            "gpu_relative_perf scores: {'gpu_relative_perf/min': nan, "
            "'gpu_relative_perf/median': 0.9}",
            [
                (None, None, "gpu relative", "nan", None, None),
                (None, None, "gpu relative", "0.9", None, None),
            ],
            id="Bridge prints statistics of no rank",
        ),
        pytest.param(
            "section_individual_perf_scores={'fwd': {0: 0.98, 1: 5e-1}, 'bwd': {0: None}}",
            [
                (0, None, "section individual", "0.98", None, "fwd"),
                (1, None, "section individual", "0.5", None, "fwd"),
                (0, None, "section individual", "nan", None, "bwd"),
            ],
            id="scores of sections",
        ),
        pytest.param(
            f"gpu_relative_perf_scores: {{3: 0.5, {'9' * 30}: 0.4, {'9' * 5000}: 0.3}}",
            [(3, None, "gpu relative", "0.5", None, None)],
            id="a number that cannot be a rank is none",
        ),
        pytest.param("gpu_relative_perf_scores are off", [], id="words alone are no scores"),
        pytest.param("nothing of the kind", [], id="another line"),
    ],
)
def test_log_forms(text: str, expected: list[tuple[object, ...]]) -> None:
    """Every form in which the tool's callers print scores is read."""
    assert told(text) == expected


def test_a_prefix_before_a_report_is_claimed() -> None:
    """A logger's prefix stands alone where its message begins with a line break."""
    text = "2031-02-03 04:05:06,789 - nvrx - INFO - \nGPU relative performance:\n"
    result = read_score_reports(read_lines(text.encode()), OPTIONS)

    assert result.claimed.to_list() == [0, 1]


def test_each_line_of_a_report_is_claimed() -> None:
    """Heads and the closing line are known too, and the rows carry time and line."""
    result = read_score_reports(read_lines(REPORT.encode()), OPTIONS)

    assert result.claimed.to_list() == [0, 1, 2, 3, 4, 5, 6, 7, 8]
    assert result.reading.events["position"].to_list() == [3, 4, 6, 9]
    assert result.reading.events["time"].unique().to_list() == [
        datetime(2031, 2, 3, 4, 5, 6, 789000, UTC)
    ]


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    """Torn and odd texts hold scores or none, and raise nothing."""
    assert all(one.rank >= 0 for one in scores_in(f"gpu_relative_perf_scores: {{{text}"))


def test_json_reports() -> None:
    """A report as JSON is read alike; a key that is no rank is left out."""
    report = {
        "gpu_relative_perf_scores": {"0": 0.5, "node": 1.0},
        "section_relative_perf_scores": {"fwd": {"1": float("nan")}},
        "threshold": 0.7,
    }

    found = [(one.what, one.rank, one.section, one.threshold) for one in scores_of(report)]
    assert found == [("gpu relative", 0, None, 0.7), ("section relative", 1, "fwd", 0.7)]


@pytest.mark.parametrize("value", [None, "none", "x"], ids=["null", "a word", "a letter"])
def test_no_number(value: object) -> None:
    """What is no number is a score that nobody has."""
    assert math.isnan(number_of(value))


CYCLE = (
    '{"job_id": "77", "attempt_index": 1, "cycle_number": 3,\n'
    ' "cycle_start_time": "2031-02-03T04:00:00Z", "cycle_end_time": "2031-02-03T04:10:00Z",\n'
    ' "active_nodes": "n[001-003]", "standby_nodes": "n004", "active_ranks": 24,\n'
    ' "exit_code": 93}\n'
)


def document(folder: Path, text: str) -> pl.DataFrame:
    """The jobs of a document."""
    path = folder / "cycle_info.77.1.3"
    path.write_text(text, encoding="utf-8")
    return read_resiliency_documents(path, "c", OPTIONS).jobs


def test_cycle(tmp_path: Path) -> None:
    """A cycle is a job's row: attempt, hosts, ranks, and what its exit code means."""
    names = ("run", "attempt", "name", "state", "hosts", "world", "exit", "reason")
    start, end = (datetime(2031, 2, 3, 4, minute, tzinfo=UTC) for minute in (0, 10))

    assert document(tmp_path, CYCLE).select(*names, "start", "end").rows() == [
        (
            *("77", 1, "cycle 3", "ended", ["n001", "n002", "n003"], 24, "93", "no progress"),
            *(start, end),
        )
    ]


def test_cycle_events(tmp_path: Path) -> None:
    """Start and end of a cycle are events that carry what else its file tells."""
    (tmp_path / "c").write_text(CYCLE, encoding="utf-8")
    events = read_resiliency_documents(tmp_path / "c", "c", OPTIONS).events
    told = [{"key": "standby_nodes", "value": "n004"}]

    assert events.select("kind", "code", "message", "attributes").rows() == [
        ("run_start", "cycle 3", "cycle 3 starts on 3 hosts", told),
        ("run_end", "cycle 3", "cycle 3 ends on 3 hosts", told),
    ]


@pytest.mark.parametrize(
    ("text", "hosts", "world"),
    [
        pytest.param(
            '"active_nodes": ["N1", "n2"], "active_ranks": [0, 1]', ["n1", "n2"], 2, id="lists"
        ),
        pytest.param('"active_nodes": "n[1-", "active_ranks": "x"', None, None, id="broken values"),
        pytest.param('"active_nodes": null', None, None, id="nothing told"),
    ],
)
def test_cycle_values(
    tmp_path: Path, text: str, hosts: list[str] | None, world: int | None
) -> None:
    """Hosts and ranks are told as a text or a list; what cannot be told is null."""
    cycle = f'{{"attempt_index": 0, "cycle_number": 0, "cycle_start_time": null, {text}}}'

    assert document(tmp_path, cycle).select("hosts", "world", "state").rows() == [
        (hosts, world, None)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(CYCLE, 0.96, id="a cycle"),
        pytest.param('{"gpu_relative_perf_scores": {"0": 1.0}}', 0.96, id="a report"),
        pytest.param('{"cycle_number": 3}', 0.0, id="a cycle of something else"),
        pytest.param("gpu_relative_perf_scores {0: 1.0}", 0.0, id="a line of a log"),
    ],
)
def test_wants(text: str, expected: float) -> None:
    """A document is told by its keys."""
    assert wants_resiliency_documents(Head(name="x", data=text.encode())) == expected


def score(rank: int | None, value: float | None, **more: object) -> dict[str, object]:
    """An event of a score."""
    labels = {"score": value, **more, "tool": "nvidia-resiliency-ext"}
    pairs = [{"key": key, "value": str(one)} for key, one in labels.items() if one is not None]
    return {"kind": "perf_score", "rank": rank, "code": "gpu relative", "attributes": pairs}


def found(*rows: dict[str, object], params: ScoreParams | None = None) -> list[Verdict]:
    """The verdicts on some events of a run."""
    schema = {"kind": pl.String, "rank": pl.Int32, "code": pl.String, "attributes": pl.List(LABEL)}
    schema |= {"time": TIME}
    given_rows = pl.DataFrame(rows, schema=schema)
    events = pl.concat([EVENTS.to_frame(), given_rows], how="diagonal")
    named = events.with_columns(run=pl.lit("r"), source=pl.lit("log"))
    return verdicts_of(find_scored_ranks(named.lazy(), params or ScoreParams()))


def short(verdicts: list[Verdict]) -> list[tuple[object, ...]]:
    """Kind, level, rank and confidence."""
    return [(one.kind, one.level, one.subject.rank, one.confidence) for one in verdicts]


NAN = float("nan")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(
            [score(0, 0.98), score(1, NAN), score(2, 0.74), score(3, 0.75)],
            [("slow", "rank", 2, "low"), ("unknown", "rank", 1, "low")],
            id="the threshold is strict and NaN is unknown, not healthy",
        ),
        pytest.param(
            [score(2, 0.74), score(2, 0.73)],
            [("slow", "rank", 2, "medium")],
            id="a second report makes it more than one bad window",
        ),
        pytest.param(
            [score(4, None, flagged="true")],
            [("slow", "rank", 4, "medium")],
            id="the tool's own warning counts without a score",
        ),
        pytest.param(
            [score(2, 0.74, threshold=0.7)], [], id="a threshold that the report tells wins"
        ),
        pytest.param([score(0, 0.9), score(1, 0.8)], [], id="good scores are no finding"),
        pytest.param(
            [score(rank, NAN) for rank in range(9)],
            [("unknown", "job", None, "low")],
            id="many ranks without a score are one finding",
        ),
        pytest.param(
            [score(None, NAN, statistic="min"), score(None, 0.9, statistic="median")],
            [("unknown", "job", None, "low")],
            id="a minimum that is NaN hides who has none",
        ),
        pytest.param([score(None, 0.2, statistic="min")], [], id="a minimum names nobody"),
        pytest.param([score(0, 0.0)], [("slow", "rank", 0, "low")], id="a score of nothing"),
        pytest.param([], [], id="no scores, no finding"),
    ],
)
def test_findings(rows: list[dict[str, object]], expected: list[tuple[object, ...]]) -> None:
    """A low score is passed on as an opinion, a missing one as unknown."""
    assert short(found(*rows)) == expected


def test_a_line_of_scores_is_judged_as_a_whole(tmp_path: Path) -> None:
    """From the printed line to the findings: who is low, who is not, who is not known."""
    text = "gpu_relative_perf_scores {0: 0.98, 1: NaN, 2: 0.74, 3: 0.75}, threshold 0.75\n"
    (tmp_path / "nvrx.log").write_text(text, encoding="utf-8")
    reading = read_sources(find_files([tmp_path]), OPTIONS, lambda *_: None)
    verdicts = find_all(reading, DetectorParams(), lambda *_: None)

    assert short(verdicts) == [("slow", "rank", 2, "low"), ("unknown", "rank", 1, "low")]
    assert "1 rank(s) have none, and no minimum counts them" in verdicts[0].evidence[0].what


def test_words() -> None:
    """The evidence names the tool, the score, the threshold, and who was left out."""
    (low, blind) = found(score(0, 0.9), score(1, NAN), score(2, 0.5, section="fwd"))

    assert low.slowdown == 2.0
    assert low.evidence[0].what == (
        "nvidia-resiliency-ext gives rank 2 a score of 0.5 (gpu relative of section fwd), below "
        "0.75, in 1 report(s); the median score is 0.7; 1 rank(s) have none, and no minimum "
        "counts them"
    )
    assert blind.cause == "not_scored"
    assert blind.evidence[0].what == (
        "nvidia-resiliency-ext has no gpu relative score of rank 1: it is NaN, which lies below "
        "no threshold and is left out of the minimum"
    )


def test_a_score_that_recovers_is_cleared() -> None:
    """A finding ends with the first later report that holds the rank for good again."""
    hours = [datetime(2031, 2, 3, hour, tzinfo=UTC) for hour in range(4)]
    values = (0.9, 0.5, 0.8, 0.9)
    rows = [score(2, value) | {"time": at} for at, value in zip(hours, values, strict=True)]
    (one,) = found(*rows)

    assert (one.onset, one.cleared) == (hours[1], hours[2])


@pytest.mark.parametrize("value", [0.0, 1.1], ids=["nobody is below", "everybody is below"])
def test_params(value: float) -> None:
    """A threshold that says nothing is refused."""
    with pytest.raises(ValueError, match="min_score must be above 0"):
        ScoreParams(min_score=value)


@given(st.permutations([score(0, 0.98), score(1, NAN), score(2, 0.74), score(3, 0.5)]))
def test_row_order_does_not_matter(rows: list[dict[str, object]]) -> None:
    """The same scores in another order give the same findings."""
    assert short(found(*rows)) == [
        ("slow", "rank", 2, "low"),
        ("slow", "rank", 3, "low"),
        ("unknown", "rank", 1, "low"),
    ]
