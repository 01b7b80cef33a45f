"""Tests of `paceline slo report`: files, logs and servers in; text, JSON and a page out."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from collectors.frames import TIME
from detectors.verdicts import Subject, Verdict
from paceline.budget_output import budget_text, review_json
from paceline.main import app
from paceline.slow_step_causes import slow_step_causes
from paceline.step_histories import StepFault, StepHistoryParams, simulate_steps
from slo.budget_reviews import ReviewParams, review_objective
from slo.exclusions import Exclusion
from slo.guards import Guard
from slo.histories import frame_history
from slo.specs import load_ready
from slo.training import STEP_EVENTS

RUN = CliRunner()
START = datetime(2026, 1, 5, tzinfo=UTC)


def asked(*arguments: str) -> tuple[int, str]:
    """The exit and everything that was printed."""
    result = RUN.invoke(app, ["slo", "report", *arguments])
    return result.exit_code, result.output


def step_counters(slow_from: int, *, run: str, minutes: int = 720) -> pl.DataFrame:
    """Half a day of 3 steps a minute, slow from a minute on."""
    times = pl.Series([START + timedelta(minutes=n) for n in range(minutes)], dtype=TIME)
    counts = {
        "paceline_training_slow_steps_total": [3.0 * max(0, n - slow_from) for n in range(minutes)],
        "paceline_training_steps_total": [3.0 * n for n in range(minutes)],
    }
    return pl.concat(
        pl.DataFrame({"metric": metric, "cluster": "c", "run": run, "time": times, "value": values})
        for metric, values in counts.items()
    )


@pytest.fixture
def series(tmp_path: Path) -> str:
    """Series of three runs: one slow since an hour, one healthy, one that ended."""
    path = tmp_path / "series.parquet"
    frames = [
        step_counters(660, run="slow"),
        step_counters(720, run="well"),
        step_counters(720, run="over", minutes=300),
    ]
    pl.concat(frames).write_parquet(path)
    return str(path)


def test_text(series: str, tmp_path: Path, golden: Callable[[str, str], None]) -> None:
    """People see each group's budgets, outlook, burns and days, and whose the bad events are."""
    code, output = asked("--from", series, "--zone", "Europe/Berlin")

    assert code == 0
    golden("slo_report.txt", output.replace(f"{tmp_path}/", ""))


def test_json(series: str) -> None:
    """Machines get the same, with the bound of a single failure."""
    code, output = asked("--from", series, "--format", "json")
    (found,) = json.loads(output)["objectives"]

    assert code == 0
    assert (found["objective"], found["as_of"]) == ("training-steps", "2026-01-05T11:59:00Z")
    assert [(one["run"], one["state"]) for one in found["outlooks"]] == [
        ("over", "warming_up"),
        ("slow", "firing"),
        ("well", "warming_up"),
    ]
    assert round(found["lone_failures"]["page 1h/5m"], 1) == 6.9


def test_top(series: str) -> None:
    """Groups beyond the first ones are counted, the worst come first."""
    _, output = asked("--from", series, "--top", "1")

    assert ("run slow: FIRING" in output, "and 2 more groups" in output) == (True, True)
    assert "run well" not in output


def test_page(series: str, tmp_path: Path) -> None:
    """The folder gets a page with a drawing that needs no network, and the JSON."""
    folder = tmp_path / "out"
    half_a_day = written(tmp_path / "short.yml", "duration: 30d", "duration: 12h")
    code, _ = asked(half_a_day, "--from", series, "--out", str(folder))
    page = (folder / "budgets.html").read_text(encoding="utf-8")

    assert code == 0
    assert json.loads((folder / "budgets.json").read_bytes())["objectives"]
    assert ("<svg" in page, "http" in page.split("<svg", maxsplit=1)[1]) == (True, False)
    assert "spent: every further bad event breaks the promise by more" in page


def test_little_history_is_not_judged(series: str, tmp_path: Path) -> None:
    """Half a day of a month draws no budget, and calls none left or spent."""
    folder = tmp_path / "out"
    asked("--from", series, "--out", str(folder))
    page = (folder / "budgets.html").read_text(encoding="utf-8")

    assert ("<svg" in page, "of the budget left" in page) == (False, False)
    assert "177 bad of 2157 so far, 14 % of what a whole period allows at this traffic" in page


def written(path: Path, old: str, new: str) -> str:
    """The ready objective with a text in it replaced, as a file."""
    library = Path(__file__).parent.parent / "slo" / "library" / "training-steps.yml"
    text = library.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return str(path)


def test_several_objectives(series: str, tmp_path: Path) -> None:
    """Each objective of each file has its part; what cannot page by one failure says so."""
    low = written(tmp_path / "low.yml", "targetPercent: 99", "targetPercent: 80")
    one_budget = written(tmp_path / "one.yml", "    paceline/group-labels: cluster, run\n", "")
    code, output = asked(low, one_budget, "--from", series)

    assert code == 0
    assert output.count("As of 2026-01-05 11:59 UTC") == 2
    assert "everything: FIRING" in output


def test_maintenance_is_told_both_ways() -> None:
    """Declared maintenance is listed with its author, and the budget stands with and without it."""
    hour = Exclusion(
        start=START + timedelta(hours=11),
        end=START + timedelta(hours=12),
        author="ada",
        reason="firmware of the switches",
    )
    history = frame_history(step_counters(660, run="slow").lazy())
    objective = replace(load_ready(), period_seconds=12 * 3600, exclusions=(hour,))
    review = review_objective(history, objective, ReviewParams(), as_of=None)
    text = budget_text("x", [review], 5)

    assert "declared by ada: firmware of the switches" in text
    assert "-721 % of the budget left, rolling" in text
    assert "without maintenance (59 min): 100 % left, 0 bad of 1980" in text
    assert review_json(review)["exclusions"] == [
        {
            "start": "2026-01-05T11:00:00Z",
            "end": "2026-01-05T12:00:00Z",
            "author": "ada",
            "reason": "firmware of the switches",
        }
    ]


def test_faults_and_single_failures_are_told() -> None:
    """Counters that contradict each other are not to be trusted; a guard rules single pages out."""
    series = step_counters(0, run="r").with_columns(
        value=pl.when(pl.col("metric").str.contains("slow"))
        .then(pl.col("value") * 2)
        .otherwise("value")
    )
    objective = replace(load_ready(), guard=Guard(min_bad_count=3))
    review = review_objective(frame_history(series.lazy()), objective, ReviewParams(), as_of=None)
    text = budget_text("x", [review], 5)

    assert "A single failure never pages." in text
    assert "data fault: bad exceeds total; do not trust these numbers" in text


def test_nothing_happened(tmp_path: Path) -> None:
    """Series without an event are not healthy: nothing is known."""
    path = tmp_path / "still.csv"
    still = step_counters(720, run="r", minutes=5).with_columns(value=7.0)
    still.with_columns(pl.col("time").dt.strftime("%FT%TZ")).write_csv(path)
    code, output = asked("--from", str(path), "--out", str(tmp_path / "out"))

    assert (code, "nothing is known, which is not the same as healthy" in output) == (0, True)
    assert "Too little data" in (tmp_path / "out" / "budgets.html").read_text(encoding="utf-8")


def told(path: Path) -> list[tuple[str, float, float]]:
    """Run, bad and total of each budget that a report on a file tells."""
    code, output = asked("--from", str(path), "--format", "json")
    assert code == 0, output
    budgets = json.loads(output)["objectives"][0]["budgets"]
    return [(each["run"], each["bad"], each["total"]) for each in budgets]


def test_csv_is_read_as_written(tmp_path: Path) -> None:
    """Labels that look like numbers stay as written; late fractions and rows in disorder count."""
    frame = step_counters(660, run="007").with_columns(
        run=pl.when(pl.col("time") < START + timedelta(minutes=700)).then("run"),
        time=pl.col("time").dt.epoch("ms") + 500,
    )
    late = step_counters(660, run="5xx").with_columns(
        value=pl.col("value") / 2, time=pl.col("time").dt.epoch("ms")
    )
    whole = pl.concat([frame.drop_nulls("run"), late, late.head(5)])
    whole.write_csv(tmp_path / "ordered.csv")
    whole.sample(fraction=1.0, shuffle=True, seed=1).write_csv(tmp_path / "torn.csv")
    ordered = told(tmp_path / "ordered.csv")

    assert [run for run, _, _ in ordered] == ["007", "5xx"]
    assert [total for _, _, total in ordered] == pytest.approx([3.0 * 699.5, 1.5 * 719], rel=1e-3)
    assert told(tmp_path / "torn.csv") == ordered


@pytest.mark.parametrize(
    ("column", "words"),
    [
        pytest.param("time", "wanted times as dates, numbers or RFC 3339 text", id="no time"),
        pytest.param("value", "could not parse `soon`", id="no number"),
    ],
)
def test_csv_that_cannot_be_read(tmp_path: Path, column: str, words: str) -> None:
    """A word for a time or a value is refused in one line, and is no gap."""
    path = tmp_path / "torn.csv"
    frame = step_counters(660, run="r").with_columns(pl.col("time").dt.strftime("%FT%TZ"))
    frame.with_columns(**{column: pl.lit("soon")}).write_csv(path)
    code, output = asked("--from", str(path))

    assert (code, words in output, output.count("\n")) == (1, True, 1), output


def test_logs_name_causes(tmp_path: Path) -> None:
    """From logs, slow steps are told by what the detectors found behind them."""
    fault = StepFault(start_seconds=4 * 3600, end_seconds=6 * 3600, ratio=1.18)
    steps = simulate_steps("train", START, 1, StepHistoryParams(days=8 / 24, fault=fault))
    rows = steps.select(
        "run", "step", "step_seconds", "checkpoint_seconds", time=pl.col("end_time").dt.to_string()
    )
    (tmp_path / "steps.jsonl").write_text(rows.write_ndjson(), encoding="utf-8")
    code, output = asked("--from", str(tmp_path), "--as-of", "2026-01-05T05:00Z")

    assert code == 0
    assert "run train: FIRING" in output
    assert "Bad events by cause:" in output


def test_prometheus(
    prometheus: Callable[..., AbstractContextManager[Any]],
    openmetrics: Callable[[pl.DataFrame], str],
    series: str,
) -> None:
    """A server with the same series gives the same numbers as the file."""
    frame = pl.read_parquet(series)
    with prometheus(openmetrics(frame)) as server:
        _, served = asked(
            "--from", server.url, "--as-of", "2026-01-05T11:59:00Z", "--format", "json"
        )
    _, plain = asked("--from", series, "--format", "json")
    both = [json.loads(one)["objectives"][0] for one in (served, plain)]

    assert both[0]["budgets"] == both[1]["budgets"]
    assert both[0]["burns"] == both[1]["burns"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param([], 2, "wanted --from PLACE", id="no place"),
        pytest.param(["--from", "no/such"], 1, "no such file or folder", id="a missing place"),
        pytest.param(
            ["--from", "{empty}"], 1, "cannot be read as csv", id="an empty file of series"
        ),
        pytest.param(["--from", "{torn}"], 1, "as parquet: ", id="a torn file of series"),
        pytest.param(["no.yml", "--from", "x"], 2, "found no file no.yml", id="no objective"),
        pytest.param(["--from", "{series}", "--zone", "Mars"], 2, "no time zone", id="no zone"),
        pytest.param(["--from", "{series}", "--as-of", "now"], 2, "is no time", id="no time"),
        pytest.param(
            ["--from", "{series}", "--as-of", "2025-01-01"], 1, "change --as-of", id="too early"
        ),
        pytest.param(
            ["--from", "{series}", "--out", "{series}"], 2, "cannot write", id="no folder"
        ),
    ],
)
def test_refusals(series: str, tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    """Each mistake gets one line that says the way out."""
    (tmp_path / "empty.csv").touch()
    (tmp_path / "torn.parquet").write_bytes(Path(series).read_bytes()[:200])
    places = {"series": series, "empty": tmp_path / "empty.csv", "torn": tmp_path / "torn.parquet"}
    exit_code, output = asked(*(one.format(**places) for one in arguments))

    assert (exit_code, words in output, output.count("\n")) == (code, True, 1), output


def slow_events(*minutes: int, run: str = "r") -> pl.DataFrame:
    """Slow steps of a run."""
    times = [START + timedelta(minutes=n) for n in minutes]
    rows = pl.DataFrame({"run": run, "end_time": times, "interval_steps": 1, "slow": True})
    missing = [pl.lit(None).alias(name) for name in STEP_EVENTS if name not in rows.columns]
    whole = rows.with_columns(missing)
    return whole.select(pl.col(name).cast(kind) for name, kind in STEP_EVENTS.items())


def verdict(start: int, end: int | None, run: str | None = "r", **fields: Any) -> Verdict:
    """A finding that holds between two minutes."""
    return Verdict(
        kind=fields.pop("kind", "slow"),
        level="host",
        subject=Subject(run=run, host=fields.pop("host", None)),
        onset=START + timedelta(minutes=start),
        cleared=None if end is None else START + timedelta(minutes=end),
        confidence="high",
        **fields,
    )


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param(
            [], [("cause", "not explained", 1.0), ("host", "not explained", 1.0)], id="no finding"
        ),
        pytest.param(
            [verdict(5, 25, host="n1", cause="thermal")],
            [
                ("cause", "not explained", 0.5),
                ("cause", "thermal", 0.5),
                ("host", "n1", 0.5),
                ("host", "not explained", 0.5),
            ],
            id="a finding that covers half",
        ),
        pytest.param(
            [verdict(5, None, run=None, kind="group_slow")],
            [
                ("cause", "group slow", 0.75),
                ("cause", "not explained", 0.25),
                ("host", "not explained", 1.0),
            ],
            id="of any run, still going on, without a cause",
        ),
        pytest.param(
            [verdict(0, None, run="other", host="n1"), verdict(0, None, kind="crash")],
            [("cause", "not explained", 1.0), ("host", "not explained", 1.0)],
            id="another run, and a finding that slows nothing",
        ),
    ],
)
def test_causes(verdicts: list[Verdict], expected: list[tuple[str, str, float]]) -> None:
    """A slow step belongs to the finding of its run that holds at its end."""
    found = slow_step_causes(slow_events(0, 10, 20, 30), verdicts)

    assert found.select("label", "name", "share_ratio").rows() == expected
