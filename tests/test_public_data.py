"""Every record of the public data is read; not run where the data is not at hand."""

import os
from pathlib import Path

import polars as pl
import pytest

from collectors.communication.flight_groups import name_groups
from collectors.dialects import read_file
from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions

FOLDER = os.environ.get("PACELINE_DATA")

pytestmark = pytest.mark.skipif(FOLDER is None, reason="PACELINE_DATA is not set: not run")


def files(pattern: str) -> list[Path]:
    """Return the files of the public data that fit a pattern, by name."""
    return sorted(Path(FOLDER or ".").glob(pattern))


def read(path: Path) -> Reading:
    """Return the reading of a file."""
    return read_file(path, path.name, ReadOptions())


def test_real_runs_are_read_whole() -> None:
    """No line of a rank's own records is left over, and each step has its parts."""
    whole = join_readings(read(path) for path in files("real-runs/*/rank*.jsonl"))
    parts = whole.steps.select("step_seconds", "compute_seconds", "comm_seconds", "end_time")
    assert (whole.rejects.height, parts.null_count().row(0), whole.steps.height > 0) == (
        0,
        (0, 0, 0, 0),
        True,
    )


def test_the_hang_tells_who_waited() -> None:
    """Every rank's error is read: those that timed out, and those whose peer went away."""
    whole = join_readings(read(path) for path in files("real-runs/hang-8/*.out"))
    ranks = whole.events.filter(pl.col("kind") == "comm_error")["rank"].sort().to_list()
    assert (ranks, whole.rejects.height) == (list(range(8)), 0)


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        pytest.param("slurm-train-logs/meg_ds*ds-off.out", 62, id="a log of 62 iterations"),
        pytest.param("slurm-train-logs/meg_ds*ds-on.out", 49, id="one of 49"),
        pytest.param("slurm-train-logs/meg_gpt2_base_n8*.out", 20, id="one of 20"),
        pytest.param("slurm-train-logs/meg_gpt2_base_n16*.out", 9, id="one of 9"),
        pytest.param("mlperf-405b/ngpu512_0.txt", 312, id="one of MLPerf"),
        pytest.param("mlperf-405b/ngpu256_0.txt", 618, id="a longer one of MLPerf"),
        pytest.param("mlperf-405b/ngpu1536_2.txt", 240, id="one of MLPerf on 1536 GPUs"),
        pytest.param("mlperf-405b/ngpu512_h200_1.txt", 240, id="one of MLPerf among other lines"),
        pytest.param("megatron-series/mixtral_8x7b_release.json", 4538, id="a long series"),
        pytest.param(
            "megatron-series/gpt3_resume_whole_attempt_slow.json", 100, id="a series of 100 steps"
        ),
    ],
)
def test_iterations_are_counted(pattern: str, steps: int) -> None:
    """Every iteration of a raw job log is a step."""
    assert [read(path).steps.height for path in files(pattern)] == [steps]


@pytest.mark.parametrize(("nodes", "count"), [(4, 4), (8, 8), (16, 16)])
def test_last_words_of_trainers(nodes: int, count: int) -> None:
    """Every process' last dict is read from between the carriage returns."""
    (path,) = files(f"slurm-train-logs/hf_ds_gpt2_base_n{nodes}-*.out")
    assert (read(path).events["kind"] == "run_summary").sum() == count


@pytest.mark.parametrize(("name", "rows"), [("AR", 117_216), ("ST", 6_784)])
def test_traces_are_read_whole(name: str, rows: int) -> None:
    """Every operation of a trace has a family."""
    ops = read(files(f"straggler-traces/trace-{name}.parquet")[0]).ops
    assert (ops.height, ops["family"].null_count()) == (rows, 0)


@pytest.mark.parametrize(("name", "rows"), [("job_1", 3_000), ("job_2", 2_402)])
def test_tables_are_read_whole(name: str, rows: int) -> None:
    """Every row of a table is a step."""
    reading = read(files(f"minibatch-times/{name}_norm.csv")[0])
    assert (reading.steps.height, reading.rejects.height) == (rows, 0)


@pytest.mark.parametrize(
    ("folder", "behind"),
    [
        pytest.param("lock_gil_1st", [9, 14], id="two ranks that stopped"),
        pytest.param("gpu_error_1st", [12, 14], id="two ranks whose GPU failed"),
    ],
)
def test_standings_show_who_is_behind(folder: str, behind: list[int]) -> None:
    """In the experts' groups the faulty ranks have completed least, by names that peers lent."""
    whole = join_readings(read(path) for path in files(f"flight-recorder/{folder}/_dump_*"))
    experts = name_groups(whole.collectives).filter(
        pl.col("state") == "reported", pl.col("group_name") == "EXPERT_MODEL_PARALLEL_GROUP"
    )
    lowest = set[int]()
    for group in experts.partition_by("group"):
        for counter in ("completed", "enqueued"):
            behind_here = group.filter(pl.col(counter) == pl.col(counter).min())
            if behind_here.height < group.height:
                lowest |= set(behind_here["rank"])
                break
    assert (whole.rejects.height, sorted(lowest)) == (0, behind)
