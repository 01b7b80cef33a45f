"""Tests of `paceline slo backtest`: files and servers in; text, JSON and a timeline out."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from collectors.frames import TIME
from paceline.main import app
from paceline.step_histories import StepFault, StepHistoryParams, simulate_steps

RUN = CliRunner()
START = datetime(2026, 1, 5, tzinfo=UTC)
ONSET, END = START + timedelta(hours=4), START + timedelta(hours=6)
FAULT = StepFault(start_seconds=4 * 3600, end_seconds=6 * 3600, ratio=1.18)


def asked(*arguments: str) -> tuple[int, str]:
    """The exit and everything that was printed."""
    result = RUN.invoke(app, ["slo", "backtest", *arguments])
    return result.exit_code, result.output


def told(*arguments: str) -> Any:
    """The JSON of a backtest that ran."""
    code, output = asked(*arguments, "--format", "json")
    assert code == 0, output
    return json.loads(output)


def slow_series() -> pl.DataFrame:
    """Step counters of a day: 3 steps a minute, all slow for two hours."""
    minutes = range(24 * 60)
    slow = [3.0 * min(max(0, n - 240), 120) for n in minutes]
    times = pl.Series([START + timedelta(minutes=n) for n in minutes], dtype=TIME)
    frames = [
        pl.DataFrame(
            {"metric": name, "cluster": "c", "run": "train", "time": times, "value": values}
        )
        for name, values in (
            ("paceline_training_slow_steps_total", slow),
            ("paceline_training_steps_total", [3.0 * n for n in minutes]),
        )
    ]
    return pl.concat(frames)


@pytest.fixture
def series(tmp_path: Path) -> str:
    """A parquet of series."""
    path = tmp_path / "series.parquet"
    slow_series().write_parquet(path)
    return str(path)


@pytest.fixture
def incidents(tmp_path: Path) -> str:
    """A CSV with the incident, one that is too small, and one without data."""
    path = tmp_path / "incidents.csv"
    path.write_text(
        "start,end,label,run\n"
        "2026-01-05T04:00:00Z,2026-01-05T06:00:00Z,INC-2291,train\n"
        "2026-01-05T10:00:00Z,2026-01-05T11:00:00Z,nothing,train\n"
        "2026-02-05T10:00:00Z,2026-02-05T11:00:00Z,later,train\n",
        encoding="utf-8",
    )
    return str(path)


def test_text(
    series: str, incidents: str, tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    """People see the grid, each policy's scores and pages, and what would change."""
    code, output = asked(
        *("--from", series, "--incidents", incidents),
        *("--alternative", "by-share", "--alternative", "page long=30m short=5m factor=99"),
    )

    assert code == 0
    golden("slo_backtest.txt", output.replace(f"{tmp_path}/", ""))


def test_json(series: str, incidents: str) -> None:
    """Machines get the same: grid, incidents with their cost, scores, firings, changes."""
    found = told("--from", series, "--incidents", incidents, "--alternative", "by-period")
    current, other = found["policies"]

    assert found["grid"] == {
        "start": "2026-01-05T00:00:00Z",
        "end": "2026-01-05T23:59:00Z",
        "step_seconds": 60,
    }
    assert [one["label"] for one in found["incidents"]] == ["INC-2291", "nothing", "later"]
    assert [(one["recall"], one["ttd_seconds"]) for one in current["scores"][:1]] == [(1.0, 660.0)]
    assert (current["changes"], [one["change"] for one in other["changes"]]) == (
        None,
        ["kept"],
    )


def test_file_as_alternative(series: str, tmp_path: Path) -> None:
    """An objective's file is an alternative under its name."""
    library = Path(__file__).parent.parent / "slo" / "library" / "training-steps.yml"
    stricter = library.read_text(encoding="utf-8").replace("targetPercent: 99", "targetPercent: 50")
    (tmp_path / "lax.yml").write_text(stricter, encoding="utf-8")
    found = told("--from", series, "--alternative", str(tmp_path / "lax.yml"))

    assert [one["policy"] for one in found["policies"]] == ["current", "lax.yml"]
    assert {one["change"] for one in found["policies"][1]["changes"]} == {"removed"}


def test_nothing_fires(series: str) -> None:
    """A quiet span says so, and no page is no table of zeros."""
    code, output = asked("--from", series, "--end", "2026-01-05T03:00Z", "--step", "30s")

    assert (code, "Nothing would have fired." in output, "every 30 s" in output) == (0, True, True)


def test_many_firings(tmp_path: Path) -> None:
    """Long lists are cut in the text, which says how many there are."""
    frames = [slow_series().with_columns(run=pl.lit(f"run-{number:02}")) for number in range(22)]
    path = tmp_path / "many.csv"
    pl.concat(frames).with_columns(pl.col("time").dt.strftime("%FT%TZ")).write_csv(path)
    code, output = asked("--from", str(path), "--alternative", "page long=3h short=1h factor=99")

    assert code == 0
    assert output.count("more; --format json lists all") == 2


def test_writes_files(series: str, incidents: str, tmp_path: Path) -> None:
    """The folder gets the JSON and a timeline that stands by itself."""
    folder = tmp_path / "out"
    code, _ = asked("--from", series, "--incidents", incidents, "--out", str(folder))
    svg = (folder / "backtest.svg").read_text(encoding="utf-8")

    assert code == 0
    assert json.loads((folder / "backtest.json").read_bytes())["objective"] == "training-steps"
    assert svg.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "page routed, current" in svg


def write_steps(folder: Path) -> None:
    """Ten hours of steps as records, slow for two."""
    steps = simulate_steps("train", START, 1, StepHistoryParams(days=10 / 24, fault=FAULT))
    rows = steps.select(
        "run", "step", "step_seconds", "checkpoint_seconds", time=pl.col("end_time").dt.to_string()
    )
    (folder / "steps.jsonl").write_text(rows.write_ndjson(), encoding="utf-8")


def test_logs_and_a_store(tmp_path: Path) -> None:
    """Logs, and the store that they fill, give the same pages; findings may be the incidents."""
    logs = tmp_path / "logs"
    logs.mkdir()
    write_steps(logs)
    RUN.invoke(app, ["collect", str(logs), "--store", str(tmp_path / "store")])
    both = [
        told("--from", str(place), "--incidents", "verdicts")["policies"][0]
        for place in (logs, tmp_path / "store")
    ]
    fired = [one["fired_at"] for one in both[0]["firings"] if one["alert"] == "1h/5m"]

    assert both[0]["firings"] == both[1]["firings"]
    assert len(fired) == 1
    assert "2026-01-05T04:00" < fired[0] < "2026-01-05T04:15"
    assert both[0]["scores"][0]["recall"] == 1.0


def test_another_ratio_of_slow_steps(tmp_path: Path) -> None:
    """An alternative that calls other steps slow is replayed over its own counters."""
    write_steps(tmp_path)
    library = Path(__file__).parent.parent / "slo" / "library" / "training-steps.yml"
    text = library.read_text(encoding="utf-8")
    assert '"1.10"' in text
    folder = tmp_path / "objectives"
    folder.mkdir()
    (folder / "lax.yml").write_text(text.replace('"1.10"', '"1.50"'), encoding="utf-8")
    current, lax = told(
        "--from", str(tmp_path / "steps.jsonl"), "--alternative", str(folder / "lax.yml")
    )["policies"]

    assert (len(current["firings"]) > 0, lax["firings"]) == (True, [])


def test_prometheus(
    prometheus: Callable[..., AbstractContextManager[Any]],
    openmetrics: Callable[[pl.DataFrame], str],
    series: str,
) -> None:
    """A server with the same series gives the same firings as the file."""
    with prometheus(openmetrics(slow_series())) as server:
        served = told(
            *("--from", server.url, "--start", "2026-01-05T00:00Z", "--end", "2026-01-05T23:59Z")
        )

    plain = told("--from", series)
    assert served["policies"][0]["firings"] == plain["policies"][0]["firings"] != []


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param([], 2, "wanted --from PLACE", id="no place"),
        pytest.param(["--from", "no/such"], 1, "no such file or folder", id="a missing place"),
        pytest.param(["--from", "."], 1, "no training step there", id="a folder without steps"),
        pytest.param(["--from", "{series}", "--step", "soon"], 2, "no duration", id="no step"),
        pytest.param(
            ["--from", "{series}", "--step", "0.5s"], 2, "no whole number", id="half a second"
        ),
        pytest.param(["--from", "{series}", "--start", "noon"], 2, "is no time", id="no time"),
        pytest.param(
            ["--from", "{series}", "--start", "2026-01-06", "--end", "2026-01-05"],
            2,
            "is not before --end",
            id="an end before the start",
        ),
        pytest.param(
            ["--from", "{series}", "--start", "2027-01-05", "--end", "2027-01-06"],
            1,
            "none in the span asked for",
            id="another year",
        ),
        pytest.param(["no.yml", "--from", "."], 2, "found no file no.yml", id="no objective"),
        pytest.param(
            ["--from", "{series}", "--alternative", "faster"], 2, "a scheme", id="no scheme"
        ),
        pytest.param(
            ["--from", "{series}", "--alternative", "current"], 2, "a scheme", id="no other name"
        ),
        pytest.param(
            ["--from", "{series}", *(["--alternative", "by-share"] * 2)],
            2,
            "was given twice",
            id="the same twice",
        ),
        pytest.param(
            ["--from", "{series}", "--incidents", "none.csv"], 2, "--incidents none.csv", id="none"
        ),
        pytest.param(
            ["--from", "{series}", "--incidents", "verdicts"], 2, "needs logs", id="no verdicts"
        ),
        pytest.param(
            ["--from", "http://127.0.0.1:1", "--end", "2026-01-06"],
            1,
            "no answer from http://127.0.0.1:1",
            id="no server",
        ),
        pytest.param(
            ["{objective}", "--from", "{series}"], 1, "counts other_total, found", id="no metric"
        ),
        pytest.param(
            ["{objective}", "--from", "{logs}"], 1, "logs and stores tell", id="logs tell others"
        ),
        pytest.param(
            ["{two}", "--from", "{series}"], 2, "a file for each", id="two objectives at once"
        ),
        pytest.param(["--from", "{few}"], 1, "none could be judged", id="only warm-up"),
        pytest.param(
            ["--from", "{series}", "--out", "{series}"], 2, "cannot write", id="no folder"
        ),
    ],
)
def test_refusals(tmp_path: Path, series: str, arguments: list[str], code: int, words: str) -> None:
    """Each mistake gets one line that says the way out."""
    empty = tmp_path / "empty"
    empty.mkdir()
    library = Path(__file__).parent.parent / "slo" / "library" / "training-steps.yml"
    text = library.read_text(encoding="utf-8")
    other = text.replace("paceline_training_steps_total", "other_total")
    (tmp_path / "other.yml").write_text(other, encoding="utf-8")
    second = text.replace("name: training-steps\n", "name: second\n", 1)
    (tmp_path / "two.yml").write_text(f"{text}\n---\n{second}", encoding="utf-8")
    rows = simulate_steps("r", START, 1, StepHistoryParams(days=0.012)).select(
        "run", "step", "step_seconds", time=pl.col("end_time").dt.to_string()
    )
    (tmp_path / "few.jsonl").write_text(rows.write_ndjson(), encoding="utf-8")
    places = {
        "{series}": series,
        "{objective}": str(tmp_path / "other.yml"),
        "{logs}": str(tmp_path / "few.jsonl"),
        "{few}": str(tmp_path / "few.jsonl"),
        "{two}": str(tmp_path / "two.yml"),
        ".": str(empty),
    }
    exit_code, output = asked(*(places.get(one, one) for one in arguments))

    assert (exit_code, words in output, output.count("\n")) == (code, True, 1), output
