"""How many GPUs Slurm gave to a job, as each of its tools tells it, and what that pays for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.dialects import read_file
from collectors.readings import Reading
from collectors.sniffing import ReadOptions
from paceline.fleet_review import FleetParams, review_fleet

Read = Callable[[str], Reading]

SACCT = (
    "JobID|State|Start|End|AllocTRES|NodeList\n7|NODE_FAIL|2026-01-05T00:00:00|2026-01-05T10:00:00|"
)
SCONTROL = "JobId=7 JobName=llm\n   JobState={} Reason=None StartTime=2026-01-05T00:00:00\n   {}\n"


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A reader of one text, through the choice of its dialect."""

    def reader(text: str) -> Reading:
        path = tmp_path / "slurm.txt"
        path.write_text(text, encoding="utf-8")
        return read_file(path, path.name, ReadOptions())

    return reader


def document(**more: Any) -> str:
    """A document of `sacct --json` or `scontrol --json` with a job."""
    head = {"plugin": {"data_parser": "data_parser/v0.0.41"}}
    job = {"job_id": 7, "state": {"current": ["RUNNING"]}, "nodes": "n1"}
    return json.dumps({"meta": head, "jobs": [job | more]})


GIVEN = [
    {"type": "cpu", "name": "", "id": 1, "count": 64},
    {"type": "gres", "name": "gpu", "id": 1001, "count": 8},
    {"type": "gres", "name": "gpu:h100", "id": 1002, "count": 8},
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"{SACCT}billing=8,cpu=64,gres/gpu=16,node=2|n[1-2]\n", 16, id="sacct"),
        pytest.param(
            f"{SACCT}cpu=64,gres/gpu:h100=16,gres/gpu=16|n[1-2]\n",
            16,
            id="a type beside the sum is the same GPUs",
        ),
        pytest.param(
            f"{SACCT}cpu=64,gres/gpu:a100=4,gres/gpu:h100=8|n[1-2]\n", 12, id="types alone add up"
        ),
        pytest.param(
            f"{SACCT}cpu=64,node=2|n[1-2]\n", None, id="a cluster that does not account for GPUs"
        ),
        pytest.param(f"{SACCT}|n[1-2]\n", None, id="nothing given"),
        pytest.param(
            SCONTROL.format("RUNNING", "ReqTRES=gres/gpu=3\n   AllocTRES=cpu=8,gres/gpu=4"),
            4,
            id="scontrol tells what was given beside what was asked for",
        ),
        pytest.param(
            SCONTROL.format("RUNNING", "TRES=cpu=8,gres/gpu=4"), 4, id="scontrol up to 22.05"
        ),
        pytest.param(
            SCONTROL.format("PENDING", "TRES=cpu=8,gres/gpu=4"),
            None,
            id="which tells what is asked for while a job waits",
        ),
        pytest.param(document(tres={"allocated": GIVEN, "requested": []}), 8, id="sacct --json"),
        pytest.param(document(tres_alloc_str="cpu=3,gres/gpu=5"), 5, id="scontrol --json"),
        pytest.param(document(tres={"allocated": []}), None, id="a document without any"),
    ],
)
def test_gpus(read: Read, text: str, expected: int | None) -> None:
    """Each tool tells what was given; what it does not tell is null, and never 0."""
    assert read(text).jobs["gpus"].to_list() == [expected]


@pytest.mark.parametrize(
    ("told", "per_node", "hours"),
    [
        pytest.param("gres/gpu=16", None, 8.0, id="what the scheduler gave"),
        pytest.param("gres/gpu=16", 4, 8.0, id="which is believed before an option"),
        pytest.param("cpu=64", 4, 4.0, id="an option where nothing tells"),
        pytest.param("cpu=64", None, None, id="nothing"),
    ],
)
def test_gpu_hours(read: Read, told: str, per_node: int | None, hours: float | None) -> None:
    """Accounts with resources price a failure without placements, logs or options."""
    reading = read(f"{SACCT}{told}|n[1-2]\n")
    review = review_fleet(reading, FleetParams(gpus_per_node=per_node))

    assert review.costs["gpu_hours_lost"].to_list() == [hours]
