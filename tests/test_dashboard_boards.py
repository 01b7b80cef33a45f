"""The committed boards are what the code builds, on any machine."""

import json
import subprocess
import sys

import pytest

from dashboards.boards import BOARDS, build_board_trees, build_boards
from dashboards.files import JSON_FOLDER, check_files
from dashboards.jsontree import Json, panels_of

TEXTS = build_boards()


def test_committed_boards() -> None:
    """Each committed file is what the code builds; `paceline dashboards build` writes them."""
    assert check_files(TEXTS, JSON_FOLDER) == []


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_same_text_under_any_hash_seed(seed: str) -> None:
    """A board's text depends on nothing but the code."""
    code = (
        "import json; from dashboards.boards import build_boards; print(json.dumps(build_boards()))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
    )

    assert json.loads(answer.stdout) == TEXTS


@pytest.mark.parametrize("uid", sorted(BOARDS))
def test_form_of_the_text(uid: str) -> None:
    """The text is made for reading differences: sorted keys, two spaces, a final newline."""
    text = TEXTS[uid]

    expected = json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert text == expected


def test_building_twice_shares_nothing() -> None:
    """Whoever changes a built board does not change the next one."""
    for board in build_board_trees().values():
        for panel in panels_of(board):
            panel.clear()

    assert build_boards() == TEXTS


def rows(board: Json) -> list[str]:
    """Return the titles of a board's rows."""
    return [panel["title"] for panel in board["panels"] if panel["type"] == "row"]


@pytest.mark.parametrize("uid", sorted(BOARDS))
def test_order_of_rows(uid: str) -> None:
    """Every board answers in the same order of questions."""
    assert rows(json.loads(TEXTS[uid])) == [
        "Verdict",
        "Worst offenders",
        "Where and when",
        "Why",
        "Evidence",
    ]


@pytest.mark.parametrize("uid", sorted(BOARDS))
def test_first_screen(uid: str) -> None:
    """Whoever opens a board sees its verdict, and its worst offenders begin on the same screen."""
    top = {panel["title"]: panel["gridPos"]["y"] for panel in json.loads(TEXTS[uid])["panels"]}

    assert (top["Verdict"], top["Worst offenders"] < 20) == (0, True)
