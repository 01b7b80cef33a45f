"""Tests of stores that are there and cannot be read: one line, and the way out."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collectors.storage.store import Store
from collectors.storage.store_faults import reading_store
from paceline.main import app

RUN = CliRunner()
STEP = '{"step": 1, "rank": 0, "t": 1767571200.0, "step_s": 1.0, "loss": 2.0}\n'


def torn(root: Path) -> None:
    """Leave of each file of steps its beginning."""
    for file in (root / "steps").rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:200])


def gone(root: Path) -> None:
    """Take the files of steps away."""
    for file in (root / "steps").rglob("*.parquet"):
        file.unlink()


def newer(root: Path) -> None:
    """Let a later protocol of Delta be needed."""
    log = root / "steps" / "_delta_log"
    version = len(list(log.glob("*.json")))
    told = {"protocol": {"minReaderVersion": 9, "minWriterVersion": 99}}
    (log / f"{version:020}.json").write_text(json.dumps(told) + "\n", encoding="utf-8")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one step."""
    folder = tmp_path_factory.mktemp("store")
    (folder / "rank0.jsonl").write_text(STEP, encoding="utf-8")
    done = RUN.invoke(app, ["collect", str(folder / "rank0.jsonl"), "--store", str(folder / "st")])
    assert done.exit_code == 0, done.output
    return folder / "st"


@pytest.mark.parametrize(
    ("hurt", "words"),
    [
        pytest.param(torn, "torn or gone", id="files that are torn"),
        pytest.param(gone, "torn or gone", id="files that are gone"),
        pytest.param(newer, "a newer one", id="tables of a later protocol"),
    ],
)
@pytest.mark.parametrize("command", ["analyze", "goodput", "doctor --store"])
def test_one_line(
    whole: Path, tmp_path: Path, hurt: Callable[[Path], None], words: str, command: str
) -> None:
    """A command says what is wrong with a store and the way out, and ends with 1."""
    root = tmp_path / "st"
    shutil.copytree(whole, root)
    hurt(root)
    done = RUN.invoke(app, [*command.split(), str(root)])

    assert (done.exit_code, words in done.output) == (1, True)
    assert "Traceback" not in done.output


def test_a_store_that_is_missing(tmp_path: Path) -> None:
    """No store is another thing than one that cannot be read."""
    with pytest.raises(FileNotFoundError), reading_store(str(tmp_path)):
        Store.open_at(str(tmp_path))


def test_a_whole_store(whole: Path) -> None:
    """What can be read is read."""
    assert Store.open_at(str(whole)).read_all().steps.height == 1


def test_what_is_no_fault_of_the_store(tmp_path: Path) -> None:
    """Other errors stay what they are."""
    with pytest.raises(KeyError), reading_store(str(tmp_path)):
        raise KeyError("mine")
