"""Boards of users: a Python file a board, which names it `BOARD`."""

import importlib.util
from collections.abc import Iterable, Mapping
from pathlib import Path

from dashboards.boards import BOARDS
from dashboards.exporters.choices import KNOWN_SERIES
from dashboards.jsontree import Json
from dashboards.layout import GridError
from dashboards.normaliser import PanelIdError
from dashboards.plans import BoardPlan


class OwnBoardError(ValueError):
    """A file does not hold a board that can stand beside ours."""


def load_own_boards(files: Iterable[Path]) -> dict[str, BoardPlan]:
    """Return the boards of files, by uid.

    The files are run as Python: they are to be yours.

    Args:
        files: Each with a `BOARD`.

    Raises:
        OwnBoardError: A file has no `BOARD`, or a uid that is taken.
        OSError: A file cannot be read.
    """
    boards: dict[str, BoardPlan] = {}
    for file in files:
        plan = _plan_in(file)
        uid = plan.head.uid
        if uid in boards or uid in BOARDS:
            raise OwnBoardError(f"{file}: uid {uid!r} is taken; give the board one of its own")
        boards[uid] = plan
    return boards


def build_own_boards(plans: Mapping[str, BoardPlan]) -> dict[str, Json]:
    """Return boards as plain JSON, by uid.

    Raises:
        OwnBoardError: Panels do not fill their lines, or have no number.
    """
    boards: dict[str, Json] = {}
    for uid, plan in plans.items():
        try:
            boards[uid] = plan.build()
        except (GridError, PanelIdError) as error:
            raise OwnBoardError(f"{uid}: {error.args[0]}") from error
    return boards


def known_series(plans: Iterable[BoardPlan]) -> dict[str, frozenset[str]]:
    """Return the labels of every series that boards may ask, with those that theirs bring."""
    own = {
        name: frozenset({"cluster", *labels})
        for plan in plans
        for name, labels in plan.series.items()
    }
    return {**own, **KNOWN_SERIES}


def _plan_in(file: Path) -> BoardPlan:
    if not file.is_file():
        raise OwnBoardError(f"{file}: is no file; give a Python file with a BOARD in it")
    spec = importlib.util.spec_from_file_location(f"own_board_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise OwnBoardError(f"{file}: is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise OwnBoardError(f"{file}: {type(error).__name__}: {error}") from error
    plan = getattr(module, "BOARD", None)
    if not isinstance(plan, BoardPlan):
        raise OwnBoardError(f"{file}: no BOARD of type BoardPlan; see docs/guides/add-a-board.md")
    return plan
