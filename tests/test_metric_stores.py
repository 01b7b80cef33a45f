"""Histories and exports of W&B, metric files of MLflow: what a store forgets is said."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.readings import Reading, reading_of
from collectors.sniffing import Head, ReadOptions
from collectors.training.mlflow_metrics import read_mlflow_metrics, wants_mlflow_metrics
from collectors.training.wandb_exports import read_wandb_exports, wants_wandb_exports
from collectors.training.wandb_history import (
    read_history_frame,
    read_wandb_history,
    wants_wandb_history,
)
from paceline.metric_parts import join_metric_parts
from paceline.sources import find_files, read_sources

START = 1_927_857_600
OPTIONS = ReadOptions()


def row(step: int, late: float = 0.0, still: float = 0.0, **more: object) -> dict[str, object]:
    """A row of a history of 2 s steps: the clock is late, the runtime stood still so long."""
    at = 2.0 * step + late
    told = {"_step": step, "_timestamp": START + at, "_runtime": at - still, "train/loss": 3.0}
    return told | more


def history(folder: Path, *rows: dict[str, object], tail: str = "") -> Reading:
    """The reading of a history as JSON lines."""
    path = folder / "history.jsonl"
    text = "\n".join(json.dumps(one) for one in rows)
    path.write_text(text + "\n" + tail, encoding="utf-8")
    return read_wandb_history(path, "h", OPTIONS)


def told(reading: Reading) -> list[tuple[object, ...]]:
    """Code, severity and line of the events."""
    return reading.events.select("code", "severity", "position").rows()


def test_a_rollback_is_a_stop_of_the_step(tmp_path: Path) -> None:
    """The clock runs on while no new step comes: a warning, and no slow step."""
    rows = [row(step, 600.0 if step > 10 else 0.0) for step in range(1, 21)]
    reading = history(tmp_path, *rows)

    assert told(reading) == [("step_stop", "warning", 11)]
    assert reading.steps["step_seconds"].to_list() == [None, *[2.0] * 9, None, *[2.0] * 9]
    assert reading.steps["attempt"].unique().to_list() == [0]
    assert reading.events["message"].to_list() == [
        "no row for 602.0 s before step 11: a stall, or a rollback whose rows the store has dropped"
    ]


def test_planned_pauses_are_no_rollbacks(tmp_path: Path) -> None:
    """Stops at equal distances are evaluations: no warning, and no slow steps either."""
    rows = [row(step, step // 50 * 300.0) for step in range(1, 200)]
    reading = history(tmp_path, *rows)

    assert told(reading) == []
    assert reading.steps["step_seconds"].drop_nulls().unique().to_list() == [2.0]


@pytest.mark.parametrize(
    "still",
    [
        pytest.param(600.0, id="the runtime stood still"),
        pytest.param(619.0, id="the runtime began anew"),
    ],
)
def test_a_resume_is_an_attempt(tmp_path: Path, still: float) -> None:
    """While no process ran the runtime did not: what follows is the next attempt."""
    rows = [row(step, *((600.0, still) if step > 10 else ())) for step in range(1, 21)]
    reading = history(tmp_path, *rows)

    assert told(reading) == [("resumed", "info", 11)]
    assert reading.steps["attempt"].to_list() == [0] * 10 + [1] * 10
    assert reading.steps["step_seconds"].to_list() == [None, *[2.0] * 9, None, *[2.0] * 9]


def test_a_job_that_slows_down_does_not_stop(tmp_path: Path) -> None:
    """Steps that are slow on both sides are slow steps, however slow."""
    rows = [row(step, max(0, step - 10) * 98.0) for step in range(1, 21)]
    reading = history(tmp_path, *rows)

    assert told(reading) == []
    assert reading.steps["step_seconds"].to_list() == [None, *[2.0] * 9, *[100.0] * 10]


def test_a_sample_is_said(tmp_path: Path) -> None:
    """As many rows as a sample has, with holes of uneven size, are one."""
    steps = [at * 7 // 3 for at in range(500)]
    reading = history(tmp_path, *(row(step) for step in steps))

    assert told(reading) == [("sampled", "warning", 1)]
    assert reading.steps["interval_steps"].unique().sort().to_list() == [1, 2, 3]


def test_torn_json_and_odd_rows(tmp_path: Path) -> None:
    """A torn tail and a row without a step are rejects, and NaN is a loss."""
    rows = [row(1), row(2, **{"train/loss": float("nan")}), {"_runtime": 9.0, "x": 1}]
    reading = history(tmp_path, *rows, tail='{"_step": 3, "_ti')

    assert str(reading.steps["loss"].to_list()) == "[3.0, nan]"
    assert reading.rejects.select("position", "reason").rows() == [
        (3, "not a row of the history"),
        (4, "no JSON object"),
    ]
    assert reading.lines_used == 2


def test_a_history_as_csv(tmp_path: Path) -> None:
    """The same as a table: sparse cells, the header again, a torn row."""
    text = (
        ",_step,train/loss,_timestamp,_runtime,train/grad_norm\n"
        f"0,1,2.5,{START},1.0,\n1,2,,{START + 3},4.0,1.5\n"
        f",_step,train/loss,_timestamp,_runtime,train/grad_norm\n2,3,1.5,{START + 5},6.0,1.0\n3,4"
    )
    (tmp_path / "h.csv").write_text(text, encoding="utf-8")
    reading = read_wandb_history(tmp_path / "h.csv", "h", OPTIONS)

    assert reading.steps.select("step", "loss", "grad_norm", "step_seconds").rows() == [
        (1, 2.5, None, None),
        (2, None, 1.5, 3.0),
        (3, 1.5, 1.0, 2.0),
    ]
    assert (reading.lines_used, reading.rejects["reason"].to_list()) == (
        5,
        ["not as many columns"],
    )


def test_a_history_as_a_typed_table() -> None:
    """Rows of parquet say the same as lines, whatever the columns' types."""
    frame = pl.DataFrame([row(1), row(2)]).with_columns(name=pl.lit("text"))
    reading = read_history_frame(frame, "h")

    assert reading.steps.select("step", "loss", "step_seconds", "source").rows() == [
        (1, 3.0, None, "h"),
        (2, 3.0, 2.0, "h"),
    ]
    assert reading.lines_used == 2


EXPORT = (
    '"Step","run-a - train/loss","run-a - train/loss__MIN","run-a - train/loss__MAX",'
    '"run-b - train/loss"\n'
    '"10","2.5","2.5","2.5","7.5"\n"20","2.25","2.25","2.25",""\n'
)


def export(folder: Path, text: str) -> Reading:
    """The reading of an export."""
    (folder / "e.csv").write_text(text, encoding="utf-8")
    return read_wandb_exports(folder / "e.csv", "e", OPTIONS)


def test_an_export_of_the_page(tmp_path: Path) -> None:
    """Each column is a run's; without a clock there is no step time."""
    reading = export(tmp_path, EXPORT)
    names = ("run", "step", "interval_steps", "loss", "step_seconds")

    assert reading.steps.select(names).rows() == [
        ("run-a", 10, 10, 2.5, None),
        ("run-a", 20, 10, 2.25, None),
        ("run-b", 10, 1, 7.5, None),
    ]
    assert (told(reading), reading.lines_used) == ([], 3)


def test_means_in_an_export_are_said(tmp_path: Path) -> None:
    """Where least and most differ, a point stands for several steps."""
    text = EXPORT.replace('"2.25","2.25","2.25"', '"2.25","2.0","2.5"')

    assert told(export(tmp_path, text)) == [("sampled", "warning", 2)]


def test_a_long_export_is_a_sample(tmp_path: Path) -> None:
    """As many rows as the page draws are a sample of more."""
    rows = "".join(f'"{at}","1.0","1.0","1.0",""\n' for at in range(500))

    assert told(export(tmp_path, EXPORT.split("\n", maxsplit=1)[0] + "\n" + rows)) == [
        ("sampled", "warning", 2)
    ]


def test_torn_export(tmp_path: Path) -> None:
    """A torn row and one without a step are rejects."""
    reading = export(tmp_path, EXPORT + '"x","1","1","1","1"\n"30","2.')

    assert reading.rejects["position"].to_list() == [4, 5]
    assert reading.steps.height == 3


def metric(folder: Path, key: str, *lines: str) -> Reading:
    """The reading of a metric file in MLflow's folders."""
    path = folder / "mlruns" / "1" / "0a1b" / "metrics" / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return read_mlflow_metrics(path, key, OPTIONS)


def test_mlflow_metric(tmp_path: Path) -> None:
    """Run and metric are in the path, time in milliseconds, and nan is a value."""
    lines = (f"{START}500 2.5 1", f"{START + 2}500 nan 2", "torn")
    reading = metric(tmp_path, "train/loss", *lines)
    rows = reading.steps.select("run", "step", pl.col("loss").cast(pl.String), "step_seconds")

    assert rows.rows() == [("0a1b", 1, "2.5", None), ("0a1b", 2, "NaN", 2.0)]
    assert reading.rejects.select("position", "reason").rows() == [(3, "not a point of the metric")]


def test_mlflow_without_steps(tmp_path: Path) -> None:
    """Steps that are all 0 were never given: points are counted, and that is said."""
    reading = metric(tmp_path, "loss", *(f"{START + at}000 2.5 0" for at in (1, 2, 3)))

    assert reading.steps.select("step", "attempt").rows() == [(1, 0), (2, 0), (3, 0)]
    assert told(reading) == [("steps_not_logged", "warning", 1)]


def test_mlflow_restart(tmp_path: Path) -> None:
    """A step that falls as time runs on is the next attempt."""
    lines = [f"{START + at}000 2.{at} {step}" for at, step in enumerate((1, 2, 3, 2, 3, 4))]

    assert metric(tmp_path, "loss", *lines).steps["attempt"].to_list() == [0, 0, 0, 1, 1, 1]


def test_mlflow_metric_of_something_else(tmp_path: Path) -> None:
    """The points of a metric that no step has are one reject, however many."""
    reading = metric(tmp_path, "lr", *(f"{START + at}000 0.1 {at}" for at in range(50)))

    assert reading.rejects["count"].sum() == 50
    assert reading.steps.is_empty()


def test_mlflow_file_alone(tmp_path: Path) -> None:
    """Outside of its folders a file is called after its metric, and its run is not known."""
    path = tmp_path / "loss"
    path.write_text(f"{START}000 2.5 1\n", encoding="utf-8")

    assert read_mlflow_metrics(path, "m", OPTIONS).steps.select("run", "loss").rows() == [
        (None, 2.5)
    ]


def test_files_of_a_metric_each_are_one_run(tmp_path: Path) -> None:
    """Loss, gradient norm and told time of a step are one row, the told time before the clock's."""
    for key, values in (("loss", (3.0, 2.5)), ("grad_norm", (1.0, 1.5)), ("step_time", (2.0, 2.5))):
        lines = [f"{START + 3 * at}000 {one} {at}" for at, one in enumerate(values, 1)]
        metric(tmp_path, key, *lines)
    reading = read_sources(find_files([tmp_path]), OPTIONS, lambda *_: None)
    names = ("run", "step", "loss", "grad_norm", "step_seconds", "time_kind")

    assert reading.steps.select(names).rows() == [
        ("0a1b", 1, 3.0, 1.0, 2.0, "single_step"),
        ("0a1b", 2, 2.5, 1.5, 2.5, "single_step"),
    ]


@pytest.mark.parametrize(
    "second",
    [
        pytest.param({"loss": 2.0}, id="both tell the same metric"),
        pytest.param({"grad_norm": 2.0, "tokens": 5.0}, id="one tells several"),
        pytest.param({"grad_norm": 2.0, "rank": 3}, id="one speaks for a rank"),
    ],
)
def test_other_files_are_left_alone(second: dict[str, object]) -> None:
    """Files that are no parts of each other keep their rows."""
    rows = [{"source": "a", "loss": 1.0}, {"source": "b", **second}]
    reading = reading_of(steps=pl.DataFrame(rows).with_columns(run=pl.lit("r"), step=1, attempt=0))

    assert join_metric_parts(reading).steps["source"].sort().to_list() == ["a", "b"]


@pytest.mark.parametrize(
    ("wants", "text", "expected"),
    [
        pytest.param(wants_wandb_history, json.dumps(row(1)), 0.97, id="history, JSON"),
        pytest.param(wants_wandb_history, "_step,loss,_runtime", 0.97, id="history, CSV"),
        pytest.param(wants_wandb_history, '{"_step": 1}', 0.0, id="a step alone"),
        pytest.param(wants_wandb_history, "", 0.0, id="nothing"),
        pytest.param(wants_wandb_exports, EXPORT, 0.97, id="export"),
        pytest.param(wants_wandb_exports, '"Step","a - loss"\n', 0.93, id="export, no spans"),
        pytest.param(wants_wandb_exports, "step,loss\n1,2\n", 0.0, id="another table"),
        pytest.param(
            wants_mlflow_metrics, f"{START}000 2.5 1\n{START}000 nan 2\n", 0.96, id="mlflow"
        ),
        pytest.param(wants_mlflow_metrics, "1 2.5 1\n", 0.0, id="three numbers"),
    ],
)
def test_wants(wants: Callable[[Head], float], text: str, expected: float) -> None:
    """Each store is told by its own signs."""
    assert wants(Head(name="x", data=text.encode())) == expected


@given(data=st.binary(max_size=120))
def test_odd_metric_files(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Any bytes behind a point are accounted for."""
    path = tmp_path_factory.mktemp("m") / "loss"
    path.write_bytes(f"{START}000 2.5 1\n".encode() + data)
    reading = read_mlflow_metrics(path, "m", OPTIONS)
    lines = path.read_bytes().decode("iso-8859-1").replace("\0", "").split("\n")

    counted = reading.lines_used + int(reading.rejects["count"].fill_null(1).sum())
    assert abs(counted - sum(1 for line in lines if line.strip())) <= 1
