"""Tests of `--engine`: a store is judged in its partitions, and the answer is the same."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from paceline.main import app
from paceline.simulation.orion import OrionParams, simulate

RUN = CliRunner()
SMALL = OrionParams(nodes=4, minutes=20, onset_minutes=8, fault_minutes=8)


def asked(*arguments: str) -> tuple[int, str]:
    """The exit and everything that was printed."""
    result = RUN.invoke(app, list(arguments))
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a throttled GPU."""
    folder = tmp_path_factory.mktemp("orion")
    simulate("throttled-gpu", folder, seed=3, params=SMALL)
    code, said = asked("collect", str(folder / "sources"), "--store", str(folder / "store"))
    assert code == 0, said
    return folder / "store"


def test_the_same_answer(store: Path) -> None:
    """The partitions of a store give what the whole gives, to the last byte."""
    whole = RUN.invoke(app, ["analyze", str(store), "--format", "json"])
    parts = RUN.invoke(app, ["analyze", str(store), "--format", "json", "--engine", "local"])

    assert (whole.exit_code, parts.exit_code) == (0, 0)
    assert parts.stdout == whole.stdout
    assert '"thermal"' in parts.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--engine", "dask"], "no engine 'dask'", id="an engine that nobody knows"),
        pytest.param(["--engine", "ray@"], "no engine 'ray@'", id="a cluster without an address"),
    ],
)
def test_unknown_engines(store: Path, arguments: list[str], words: str) -> None:
    """What is no engine is refused with those that are."""
    code, said = asked("analyze", str(store), *arguments)

    assert (code, words in said, "known: local, ray" in said) == (2, True, True)


def test_no_store(tmp_path: Path) -> None:
    """Logs have no partitions: they are collected first, or read as a whole."""
    (tmp_path / "a.log").write_text("step 1\n", encoding="utf-8")
    code, said = asked("analyze", str(tmp_path), "--engine", "local")

    assert (code, "give its folder alone" in said) == (2, True)
