"""`paceline dashboards` writes the boards and fails on findings and drift."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dashboards.boards import BOARDS, build_board_trees, build_boards
from dashboards.exporters.choices import KNOWN_SERIES
from dashboards.shipping.fingerprints import build_sums
from paceline.commands.dashboards.app import app
from paceline.commands.dashboards.check import findings_of
from paceline.commands.dashboards.choices import Chosen


def run(*arguments: str | Path) -> tuple[int, str]:
    """Return exit code and output of the command."""
    result = CliRunner(env={"COLUMNS": "200", "TERM": "dumb"}).invoke(app, [*map(str, arguments)])
    return result.exit_code, result.output


def test_build_writes_every_board(tmp_path: Path) -> None:
    """Each board becomes a file, whose path is printed."""
    code, output = run("build", "--out", tmp_path / "new" / "json")

    files = {path.name: path.read_text() for path in (tmp_path / "new" / "json").iterdir()}
    wanted = {f"{uid}.json": text for uid, text in build_boards().items()}
    assert (code, files) == (0, wanted | {"boards.sha256": build_sums(build_boards())})
    assert output.split() == [
        str(tmp_path / "new" / "json" / f"{uid}.json") for uid in sorted(BOARDS)
    ]


def test_build_where_nothing_can_be_written(tmp_path: Path) -> None:
    """A folder that cannot be made is a bad argument, not a traceback."""
    (tmp_path / "file").write_text("")

    code, output = run("build", "--out", tmp_path / "file" / "json")

    assert code == 2
    assert "cannot write to" in output


def test_check_of_the_committed_boards() -> None:
    """The boards of this commit are clean and as built."""
    assert run("check") == (0, "no findings, no drift\n")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param(
            "aif-job.json",
            "{}",
            "aif-job.json: differs from what the code builds; "
            "write it by: paceline dashboards build --out",
            id="a file changed by hand",
        ),
        pytest.param(
            "aif-job.json",
            None,
            "aif-job.json: is missing; write it by: paceline dashboards build --out",
            id="a file that is not there",
        ),
        pytest.param(
            "aif-old.json",
            "{}",
            "aif-old.json: no board builds it; delete it, or list its board in `BOARDS`",
            id="a file of a board that is gone",
        ),
    ],
)
def test_check_finds_drift(tmp_path: Path, name: str, text: str | None, message: str) -> None:
    """A file that the code would not write is named, with the command that mends it."""
    run("build", "--out", tmp_path)
    (tmp_path / name).unlink(missing_ok=True)
    if text is not None:
        (tmp_path / name).write_text(text)

    code, output = run("check", tmp_path)

    assert code == 1
    assert [line for line in output.splitlines() if message in line] == output.splitlines()


def test_findings_before_drift(tmp_path: Path) -> None:
    """A board that breaks a rule is named, and its missing file too."""
    board = build_board_trees()["aif-job"] | {"editable": True}

    chosen = Chosen(trees={"aif-job": board}, series=KNOWN_SERIES)

    assert findings_of(chosen, tmp_path) == [
        (
            "aif-job: the board can be edited in Grafana; set editable to false "
            "[uneditable-dashboard]"
        ),
        (
            f"{tmp_path}/aif-job.json: is missing; "
            f"write it by: paceline dashboards build --out {tmp_path}"
        ),
        (
            f"{tmp_path}/boards.sha256: is missing; "
            f"write it by: paceline dashboards build --out {tmp_path}"
        ),
    ]


def test_check_of_no_folder(tmp_path: Path) -> None:
    """A folder that does not exist is a bad argument."""
    assert run("check", tmp_path / "gone")[0] == 2


def test_check_without_the_schemas_it_was_given(tmp_path: Path) -> None:
    """A folder without Grafana's types is refused with what makes them."""
    code, output = run("check", "--schemas", tmp_path)

    assert (code, "benchmarks/grafana/schemas.mjs" in output) == (2, True)


def test_boards_of_another_source(tmp_path: Path) -> None:
    """A version of an exporter changes the names that its boards ask, and no other board."""
    run("build", "--out", tmp_path, "--source", "dcgm=4.6")

    changed = [
        uid
        for uid, text in build_boards().items()
        if (tmp_path / f"{uid}.json").read_text() != text
    ]
    assert changed == ["aif-device", "aif-fleet", "aif-lemon"]
    assert run("check", tmp_path, "--source", "dcgm=4.6")[0] == 0


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        pytest.param("--source", "dcgm", "--source wants NAME=VALUE", id="no version"),
        pytest.param("--source", "dcgm=9", "no version '9' of dcgm", id="an unknown version"),
        pytest.param("--source", "smi=1", "no source 'smi'", id="an unknown source"),
        pytest.param("--with", "gone.py", "gone.py: is no file", id="a board that is not there"),
    ],
)
def test_refused_choices(tmp_path: Path, option: str, value: str, message: str) -> None:
    """A choice that cannot be is refused in one line."""
    code, output = run("build", "--out", tmp_path, option, value)

    assert (code, message in output) == (2, True)


@pytest.mark.parametrize("command", ["build", "check", "diff", "push", "provision"])
def test_help_has_an_example(command: str) -> None:
    """The help of each command shows how it is used."""
    code, output = run(command, "--help")

    assert (code, f"Example: paceline dashboards {command}" in output) == (0, True)
