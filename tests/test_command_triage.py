"""Tests of `paceline triage`: logs in, text and JSON out."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from paceline.main import app

LOG = """\
2026-01-05T04:11:00Z hx8-001 trainer: step 3 loss 2.1
[rank3]: Traceback (most recent call last):
[rank3]:   File "loop.py", line 412, in step
[rank3]:     loss.backward()
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.86 GiB.
2026-01-05T04:11:08Z hx8-002 zorblax: FATAL quorum of shards lost, epoch 33 rolled back
2026-01-05T04:11:09Z hx8-003 zorblax: FATAL quorum of shards lost, epoch 34 rolled back
0 errors, 0 warnings
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with a log, and a table that is none."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "train.log").write_text(LOG, encoding="utf-8")
    return folder


def asked(*arguments: str) -> tuple[int, str]:
    """The exit and everything that was printed."""
    result = CliRunner().invoke(app, ["triage", *arguments])
    return result.exit_code, result.output


def test_text(logs: Path, golden: Callable[[str, str], None]) -> None:
    """People see each family with what helped then and its lines, and what is unknown."""
    code, text = asked(str(logs))

    assert code == 0
    golden("triage.txt", text)


def test_json(logs: Path, golden: Callable[[str, str], None]) -> None:
    """Machines see the same, a traceback with its lines."""
    code, text = asked(str(logs), "--format", "json")
    told = json.loads(text)
    rows = {row["family"]: row for row in told["failures"]}

    golden("triage.json", text)
    assert (code, set(rows)) == (0, {None, "cuda_out_of_memory"})
    assert rows[None]["first"] == "2026-01-05T04:11:08Z"
    assert rows["cuda_out_of_memory"]["lines"][0]["block"].count("\n") == 3


def test_nothing(tmp_path: Path) -> None:
    """A log without failures is said to have none."""
    (tmp_path / "calm.log").write_text("step 1 loss 2.0\n", encoding="utf-8")

    assert asked(str(tmp_path)) == (0, "No failure in 0 lines that could tell of one.\n")


def test_nothing_to_read(tmp_path: Path) -> None:
    """A folder without a file, or with an empty one, is not said to be without failures."""
    without = asked(str(tmp_path))
    (tmp_path / "empty.log").touch()
    with_empty = asked(str(tmp_path))

    for code, output in (without, with_empty):
        assert (code, "nothing to read there" in output) == (1, True)


def test_refused(logs: Path) -> None:
    """A file of failures that is none is refused in one line, before anything is read."""
    wrong = logs / "own.yml"
    wrong.write_text("- a\n", encoding="utf-8")

    assert asked(str(logs), "--signatures", str(wrong))[0] == 2
    assert asked(str(logs), "--signatures", str(logs / "gone.yml"))[0] == 2
