"""Real jobs with known answers; the data is not part of the repository."""

import os
from pathlib import Path

import polars as pl
import pytest

from collectors.dialects import read_file
from collectors.readings import join_readings
from collectors.sniffing import ReadOptions
from detectors.cleaning import CleaningParams, clean_steps
from detectors.imbalance import ImbalanceParams, find_imbalance
from detectors.jobs import JobParams, find_slow_jobs
from detectors.paces import rank_paces, traced_paces
from detectors.pauses import job_paces
from detectors.placing import rank_roles
from detectors.stragglers import StragglerParams, find_stragglers

Told = tuple[str, str, int | None, int | None, int | None]


@pytest.fixture(scope="module")
def data() -> Path:
    """The folder of evaluation data."""
    folder = os.environ.get("PACELINE_DATA")
    if folder is None:
        pytest.skip("PACELINE_DATA is not set: not run on real jobs")
    return Path(folder)


def told(paths: list[Path]) -> list[Told]:
    """Kind, level, rank (or stage), onset and end of each finding."""
    reading = join_readings(read_file(path, str(path), ReadOptions()) for path in paths)
    named = {"run": pl.lit("job"), "attempt": pl.col("attempt").fill_null(0)}
    steps = clean_steps(reading.steps.lazy().with_columns(**named), CleaningParams())
    roles = rank_roles(reading.placements.lazy().with_columns(**named), reading.samples.lazy())
    ops = reading.ops.lazy().with_columns(run=pl.lit("job"))
    paces = traced_paces(ops) if reading.ops.height else rank_paces(steps, roles)
    found = pl.concat(
        [
            find_stragglers(paces, StragglerParams()),
            find_imbalance(paces, ImbalanceParams()),
            find_slow_jobs(job_paces(steps), JobParams()),
        ]
    )
    return [
        (
            row["kind"],
            row["level"],
            row["subject"]["pp"] if row["level"] == "group" else row["subject"]["rank"],
            row["onset_step"],
            row["cleared_step"],
        )
        for row in found.to_dicts()
    ]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("real-runs/healthy-8/rank*.jsonl", [], id="healthy"),
        pytest.param(
            "real-runs/slow-8-r5/rank*.jsonl",
            [("slow", "rank", 5, 151, None), ("group_slow", "job", None, 151, None)],
            id="rank 5 slows",
        ),
        pytest.param(
            "real-runs/slow-8-mild/rank*.jsonl",
            [("slow", "rank", 2, 201, None)],
            id="rank 2 slows mildly",
        ),
        pytest.param(
            "real-runs/burst-8/rank*.jsonl",
            [
                ("flapping", "rank", 6, 121, 384),
                ("group_slow", "job", None, 120, 142),
                ("group_slow", "job", None, 204, 225),
                ("group_slow", "job", None, 363, 386),
            ],
            id="rank 6 comes and goes",
        ),
        pytest.param(
            "real-runs/all-8/rank*.jsonl",
            [("group_slow", "job", None, 151, None)],
            id="all slow alike",
        ),
        pytest.param(
            "minibatch-times/job_1_norm.csv",
            [("slow", "rank", 4, 81, 321), ("slow", "rank", 6, 1811, 1951)],
            id="workers 4 and 6 for a while",
        ),
        pytest.param("minibatch-times/job_2_norm.csv", [], id="workers that always differ"),
        pytest.param(
            "straggler-traces/trace-AR.parquet",
            [("slow", "rank", 0, None, None)],
            id="one worker of a trace",
        ),
        pytest.param(
            "straggler-traces/trace-ST.parquet",
            [("imbalance", "group", 3, None, None)],
            id="one stage of a trace",
        ),
    ],
)
def test_real_jobs(data: Path, pattern: str, expected: list[Told]) -> None:
    """Each job's findings are those that are known to be true."""
    assert told(sorted(data.glob(pattern))) == expected
