"""The simulated cluster keeps its promises, read back from the bytes that it wrote."""

import ast
import hashlib
import re
import sys
from pathlib import Path

import orjson
import polars as pl
import pytest

import paceline.simulation
from paceline.simulation.orion import SCENARIOS, OrionParams, Truth, simulate

SMALL = OrionParams(nodes=8, minutes=32.0, onset_minutes=12.0, fault_minutes=12.0)


def digests(folder: Path) -> dict[str, str]:
    """Return each file's hash by its path below the folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def steps_below(folder: Path) -> pl.DataFrame:
    """Return all step records with their stage, checkpoints left out."""
    lines = [
        orjson.loads(line)
        for path in sorted((folder / "sources" / "progress").glob("*.jsonl"))
        for line in path.read_bytes().splitlines()
    ]
    stages = {line["rank"]: line["pp"] for line in lines if line.get("event") == "start"}
    frame = pl.DataFrame([line for line in lines if "event" not in line], infer_schema_length=None)
    return frame.with_columns(pp=pl.col("rank").replace_strict(stages))


def slowdown(steps: pl.DataFrame, truth: Truth) -> float:
    """Return the median step time in the fault over that before it, first steps left out."""
    assert truth.onset_step is not None
    calm = steps.filter(pl.col("checkpoint_s").is_null(), pl.col("step") > 5)
    onset, cleared = truth.onset_step, truth.cleared_step or truth.steps + 1
    before = calm.filter(pl.col("step") < onset)["step_s"].median()
    within = calm.filter(pl.col("step").is_between(onset, cleared - 1))["step_s"].median()
    assert isinstance(before, float)
    assert isinstance(within, float)
    return within / before


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_same_seed_same_bytes(scenario: str, tmp_path: Path) -> None:
    """A scenario's files depend on the seed alone: the same twice, others with another."""
    params = OrionParams(nodes=4, minutes=12.0, onset_minutes=5.0, timeout_seconds=60.0)
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        simulate(scenario, tmp_path / name, seed=seed, params=params)

    first = digests(tmp_path / "first")
    assert first == digests(tmp_path / "again")
    other = digests(tmp_path / "other")
    assert {path for path in first if first[path] == other.get(path)} == set()


def test_shares_no_code() -> None:
    """The package imports numpy, polars, orjson and the standard library, and no other floor."""
    folder = Path(paceline.simulation.__file__).parent
    imported: set[str] = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module or ".")

    own = {name for name in imported if name.startswith("paceline.simulation")}
    outside = {name.split(".")[0] for name in imported - own}
    assert outside - set(sys.stdlib_module_names) == {"numpy", "polars", "orjson"}


def test_progress_is_told(tmp_path: Path) -> None:
    """Each part of the writing is told to the caller, in its words, and printed nowhere."""
    told: list[str] = []
    params = OrionParams(nodes=8, minutes=6.0)
    simulate("healthy", tmp_path, seed=1, params=params, say=told.append)

    assert [re.sub(r"^\d+ steps", "N steps", line) for line in told] == [
        "N steps of 64 ranks",
        "GPU telemetry of 8 of 8 nodes",
        "network counters of 8 hosts",
        "NCCL logs of 8 nodes",
    ]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_throttled_gpu(seed: int, tmp_path: Path) -> None:
    """One GPU slows its job by 18 %: its node computes longest, all alike, and waits least."""
    truth = simulate("throttled-gpu", tmp_path, seed=seed, params=SMALL)
    steps = steps_below(tmp_path)

    assert truth.culprit is not None
    assert truth.culprit.rank is not None
    assert truth.job_slowdown == pytest.approx(1.18, abs=0.01)
    assert slowdown(steps, truth) == pytest.approx(1.18, abs=0.02)
    struck = steps.filter(
        pl.col("step").is_between(truth.onset_step, (truth.cleared_step or 0) - 1),
        pl.col("checkpoint_s").is_null(),
    )
    by_rank = struck.group_by("rank").agg(pl.col("compute_s", "comm_s").median()).sort("rank")
    node = truth.culprit.rank // 8
    own = list(range(8 * node, 8 * node + 8))
    assert sorted(by_rank.sort("comm_s")["rank"].head(8)) == own
    assert sorted(by_rank.sort("compute_s")["rank"].tail(8)) == own
    assert by_rank["compute_s"].gather(own).to_list() == pytest.approx([9.4 * 4 / 3] * 8, rel=0.02)


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        pytest.param("dirty-link", 1.08, id="a dirty link"),
        pytest.param("bad-qos-profile", 1.14, id="a bad profile"),
    ],
)
def test_communication_slows_all_ranks_alike(
    scenario: str, expected: float, tmp_path: Path
) -> None:
    """A network fault lengthens everyone's communication and nobody's compute."""
    truth = simulate(scenario, tmp_path, seed=5, params=SMALL)
    steps = steps_below(tmp_path).filter(pl.col("checkpoint_s").is_null(), pl.col("step") > 5)

    assert slowdown(steps, truth) == pytest.approx(expected, abs=0.01)
    faulty = pl.col("step").is_between(truth.onset_step, (truth.cleared_step or 0) - 1)
    change = (
        steps.filter(faulty | (pl.col("step") < truth.onset_step))
        .group_by("rank", faulty=faulty)
        .agg(pl.col("compute_s", "comm_s").median())
        .sort("rank", "faulty")
        .group_by("rank")
        .agg(pl.col("compute_s", "comm_s").last() / pl.col("compute_s", "comm_s").first())
    )
    assert change["compute_s"].is_between(0.98, 1.02).all()
    assert (change["comm_s"] > 1.1).all()


def test_imbalanced_stage(tmp_path: Path) -> None:
    """The last stage computes 35 % longer in every replica, from the first step on."""
    truth = simulate("imbalanced-stage", tmp_path, seed=1, params=OrionParams(nodes=8, minutes=12))
    steps = steps_below(tmp_path).filter(pl.col("step") > 5)
    by_stage = dict(steps.group_by("pp").agg(pl.col("compute_s").median()).rows())

    assert truth.culprit is not None
    assert (truth.culprit.pp, truth.onset) == (3, None)
    assert by_stage[3] / by_stage[1] == pytest.approx(1.35, abs=0.05)


def test_healthy_records(tmp_path: Path) -> None:
    """Files begin and end with their events; pauses are where they were promised."""
    truth = simulate("healthy", tmp_path, seed=1, params=OrionParams(nodes=8, minutes=40.0))
    folder = tmp_path / "sources" / "progress"
    lines = [orjson.loads(line) for line in (folder / "rank-000.jsonl").read_bytes().splitlines()]
    steps = steps_below(tmp_path)

    assert (truth.onset, truth.culprit, truth.job_slowdown) == (None, None, None)
    assert (lines[0]["event"], lines[0]["world"], lines[-1]["event"]) == ("start", 64, "end")
    assert [line["step"] for line in lines if line.get("event") == "evaluation"] == [100]
    saved = steps.filter(pl.col("checkpoint_s") > 0)
    assert sorted(saved["step"].unique()) == [50, 100]
    assert saved["checkpoint_s"].is_between(35.0, 46.0).all()
    parts = pl.sum_horizontal(
        "data_s", "compute_s", "comm_s", "optim_s", pl.col("checkpoint_s").fill_null(0.0)
    )
    assert steps.filter((parts - pl.col("step_s")).abs() > 0.001).is_empty()
    assert steps.filter(pl.col("step") > 5)["step_s"].median() == pytest.approx(17.4, abs=0.2)
    assert orjson.loads((tmp_path / "truth.json").read_bytes())["steps"] == truth.steps


def test_hang_stops_everyone(tmp_path: Path) -> None:
    """Nobody reports a step after the one before the hang, and nobody reports an end."""
    params = OrionParams(nodes=8, minutes=20.0, onset_minutes=8.0, timeout_seconds=120.0)
    truth = simulate("nccl-hang", tmp_path, seed=4, params=params)
    last = steps_below(tmp_path).group_by("rank").agg(pl.col("step").max())
    ends = [
        path.name
        for path in (tmp_path / "sources" / "progress").glob("*.jsonl")
        if '"event":"end"' in path.read_text(encoding="utf-8")
    ]

    assert last["step"].unique().to_list() == [truth.steps]
    assert truth.onset_step == truth.steps + 1
    assert ends == []
