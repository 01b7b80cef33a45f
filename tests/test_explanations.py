"""Tests of `paceline explain`: who found it, on what lines, and what would change that."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paceline.main import app

SLOW = 3
HEAD = "[rank{rank}]:[E205 04:1{rank}:06.123456789 ProcessGroupNCCL.cpp:629] "
TIMEOUT = (
    f"{HEAD}[PG ID 0 PG GUID 0(default_pg) Rank {{rank}}] Watchdog caught collective operation "
    "timeout: WorkNCCL(SeqNum=120, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, "
    "Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n"
)
SIGNAL = (
    f"{HEAD}[PG ID 0 PG GUID 0(default_pg) Rank {{rank}}] Received a dump signal due to a "
    "collective timeout from  rank 1 and we will try our best to dump the debug info. Last "
    "enqueued NCCL work: 119, last completed NCCL work: 119.\n"
)


def step(rank: int, at: int) -> str:
    """One step of a rank, as a line of JSON; the slow rank is half as slow again from 60 on."""
    busy = 1.5 if rank == SLOW and at >= 60 else 1.0 + 0.001 * ((rank + at) % 5)
    told = {
        "event": "step",
        "run": "r",
        "attempt": 0,
        "rank": rank,
        "step": at,
        "t": 1_767_571_200.0 + 2.0 * at,
        "step_seconds": 2.0,
        "compute_seconds": busy,
        "host": f"n{rank // 4}",
    }
    return json.dumps(told) + "\n"


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of eight ranks, of which one is slow."""
    folder = tmp_path_factory.mktemp("logs")
    for rank in range(8):
        lines = "".join(step(rank, at) for at in range(1, 161))
        (folder / f"rank-{rank}.jsonl").write_text(lines, encoding="utf-8")
    return folder


def asked(*arguments: str) -> tuple[int, str]:
    """The exit of the command, and all that it printed."""
    result = CliRunner().invoke(app, ["explain", *arguments])
    return result.exit_code, result.output


def test_machines(logs: Path) -> None:
    """The detector that found it is told, with the threshold that would end it, near its effect."""
    code, printed = asked("1", str(logs), "--format", "json")
    told = json.loads(printed)
    margins = {
        threshold["threshold"]: threshold
        for finding in told["findings"]
        for threshold in finding["thresholds"]
    }
    slowdown = margins["stragglers.suspects.episodes.min_slowdown"]

    assert code == 0
    assert told["verdict"]["subject"]["rank"] == SLOW
    assert {one["detector"] for one in told["findings"]} == {"stragglers"}
    assert slowdown["stands_to"] <= told["verdict"]["slowdown"] <= slowdown["gone_at"] * 1.01


def test_people(logs: Path) -> None:
    """The text has what was seen, with whom it was compared, and what would change it."""
    code, printed = asked("1", str(logs))

    assert code == 0
    assert f"Verdict 1 of 1: slow x1.49, rank {SLOW} on n0" in printed
    assert "compared with 7 peers: " in printed
    assert "stragglers.suspects.episodes.min_slowdown is 1.1; stands to 1.4" in printed


def test_raw_lines(tmp_path: Path) -> None:
    """The lines that the evidence names are told as they were read."""
    (tmp_path / "job.log").write_text(
        "".join(TIMEOUT.format(rank=rank) for rank in range(3)) + SIGNAL.format(rank=3),
        encoding="utf-8",
    )
    code, printed = asked("1", str(tmp_path))

    assert code == 0
    assert "job.log:4: Received a dump signal" in printed.split("Raw lines")[1]


def test_refusals(logs: Path, tmp_path: Path) -> None:
    """A number that there is not, and nothing found, end in words that say the way out."""
    (tmp_path / "empty.log").write_text("nothing\n", encoding="utf-8")
    wrong, none = asked("99", str(logs)), asked("1", str(tmp_path))

    assert (wrong[0], "no verdict 99; there are:\n  1  slow" in wrong[1]) == (1, True)
    assert (none[0], "no verdict there" in none[1]) == (1, True)
