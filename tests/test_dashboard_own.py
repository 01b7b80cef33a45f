"""A user's own board: the file that the guide shows stands beside ours and obeys the same rules."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dashboards.own_boards import OwnBoardError, build_own_boards, load_own_boards
from paceline.commands.dashboards.app import app

GUIDE = Path(__file__).parent.parent / "docs" / "guides" / "add-a-board.md"


def shown_board() -> str:
    """Return the file that the guide shows."""
    found = re.search(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_board_of_the_guide(tmp_path: Path) -> None:
    """The guide's board is at most forty lines, is built beside ours, and is clean."""
    file = tmp_path / "input_board.py"
    file.write_text(shown_board())
    options = ["--with", str(file)]

    built = CliRunner().invoke(app, ["build", "--out", str(tmp_path / "json"), *options])
    checked = CliRunner().invoke(app, ["check", str(tmp_path / "json"), *options])

    assert len(shown_board().splitlines()) <= 40
    assert (built.exit_code, checked.exit_code, checked.stdout) == (0, 0, "")
    board = json.loads((tmp_path / "json" / "aif-team-data.json").read_text())
    assert [link["title"] for link in board["links"]] == ["AI fleet boards"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param("aif-team-data", "aif-job", "uid 'aif-job' is taken", id="a uid of ours"),
        pytest.param("BOARD = ", "PLAN = ", "no BOARD of type BoardPlan", id="no board"),
        pytest.param("BOARD = ", "BOARD = (", "SyntaxError", id="no Python"),
        pytest.param("    24,", "    12,", "is 12 columns wide", id="a line that is not filled"),
        pytest.param('"Oldest source": 2, ', "", "without an id", id="a panel without a number"),
    ],
)
def test_refused_boards(tmp_path: Path, old: str, new: str, message: str) -> None:
    """What cannot stand beside our boards is refused with the reason."""
    file = tmp_path / "board.py"
    file.write_text(shown_board().replace(old, new))

    with pytest.raises(OwnBoardError, match=message):
        build_own_boards(load_own_boards([file]))


def test_file_of_another_kind(tmp_path: Path) -> None:
    """A file that is no Python is refused by its name."""
    file = tmp_path / "board.json"
    file.write_text("{}")

    with pytest.raises(OwnBoardError, match=r"its name must end in \.py"):
        load_own_boards([file])
