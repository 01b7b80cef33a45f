"""Pushes boards to a server: creates and updates, and leaves what somebody else wrote alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dashboards.jsontree import Json
from dashboards.shipping.changes import OWNED_BY_FILE, Change, Kind, Standing, compare_standing
from dashboards.shipping.fingerprints import build_message
from dashboards.shipping.servers import RaceError, Server
from dashboards.variables import FOLDER_TITLE, FOLDER_UID

MAX_TRIES: Final = 3
"""Times that a board is read again after somebody else saved it in between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Push:
    """How to push.

    Attributes:
        note: What the version's message says, such as the commit.
        overwrite: Whether to take over what somebody else wrote, changed or moved.
        folder_uid: Folder of the boards.
        folder_title: Its title, for when it has to be made.
    """

    note: str = ""
    overwrite: bool = False
    folder_uid: str = FOLDER_UID
    folder_title: str = FOLDER_TITLE


def compare_boards(boards: Mapping[str, Json], server: Server, folder: str) -> list[Change]:
    """Return what a push would change, by uid.

    Args:
        boards: Every board by uid.
        server: Where they go.
        folder: Uid of their folder.

    Raises:
        GrafanaError: The server cannot be asked.
    """
    return [
        compare_standing(uid, board, server.find(uid), folder)
        for uid, board in sorted(boards.items())
    ]


def push_boards(boards: Mapping[str, Json], server: Server, push: Push) -> list[Change]:
    """Push boards, and return what was done: `DRIFT` is what was left alone.

    Args:
        boards: Every board by uid.
        server: Where they go.
        push: How.

    Raises:
        GrafanaError: The server cannot be asked, or refuses.
    """
    if not server.has_folder(push.folder_uid):
        server.create_folder(push.folder_uid, push.folder_title)
    return [_push(uid, board, server, push) for uid, board in sorted(boards.items())]


def _push(uid: str, board: Json, server: Server, push: Push) -> Change:
    for left in reversed(range(MAX_TRIES)):
        found = server.find(uid)
        change = compare_standing(uid, board, found, push.folder_uid)
        if not _is_due(change, push):
            return change
        try:
            _save(board, found, server, push)
        except RaceError:
            if not left:
                raise
        else:
            return change
    raise AssertionError("the last try returns or raises")


def _is_due(change: Change, push: Push) -> bool:
    if change.kind is Kind.DRIFT:
        return push.overwrite and change.reason != OWNED_BY_FILE
    return change.kind is not Kind.UNCHANGED


def _save(board: Json, found: Standing | None, server: Server, push: Push) -> None:
    server.save(
        board,
        folder=push.folder_uid,
        version=found.version if found else None,
        message=build_message(board, push.note),
    )
