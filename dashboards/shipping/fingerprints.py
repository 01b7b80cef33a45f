"""One hash a board, so that it can be told who wrote what stands somewhere.

A board that we wrote carries our hash beside it: in a list of sums in a folder, in the message of
its version in Grafana. When the hash of what stands there is still the one beside it, nobody has
touched it since, and a difference to what the code builds is an update. Otherwise somebody has
changed it by hand, or made it: that is drift.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from dashboards.boards import build_text
from dashboards.jsontree import Json, panels_of
from dashboards.normaliser import build_normal

SERVER_KEYS: Final = frozenset({"id", "version", "iteration"})
"""What a server writes into a board."""

MARK: Final = re.compile(r"\[paceline (?P<sum>[0-9a-f]{64})\]")


def sum_of(text: str) -> str:
    """Return the hash of a text, as `sha256sum` has it."""
    return hashlib.sha256(text.encode()).hexdigest()


def board_sum(board: Json) -> str:
    """Return the hash of a board's normal form, without what a server adds."""
    return sum_of(build_text(normal_of(board)))


def normal_of(board: Json) -> Json:
    """Return a board in the form in which boards are compared.

    Args:
        board: A board as a server keeps it, or as the code builds it.
    """
    bare = {key: value for key, value in board.items() if key not in SERVER_KEYS}
    ids = {panel.get("title", ""): panel.get("id", 0) for panel in panels_of(bare)}
    return build_normal(bare, ids)


def build_message(board: Json, note: str) -> str:
    """Return the message of a version: what the pusher says, and our mark.

    Args:
        board: What is pushed.
        note: Such as the commit.
    """
    return f"{note} [paceline {board_sum(board)}]".lstrip()


def marked_sum(message: str) -> str | None:
    """Return the hash in a version's message; null when it is none of ours."""
    found = MARK.search(message)
    return found["sum"] if found else None


def build_sums(boards: Mapping[str, str]) -> str:
    """Return the sums of files as `sha256sum --check` reads them.

    Args:
        boards: Text by uid.
    """
    return "".join(f"{sum_of(text)}  {uid}.json\n" for uid, text in sorted(boards.items()))


def read_sums(text: str) -> dict[str, str]:
    """Return sums by name of the file; lines of another form are left out."""
    pairs = (line.split("  ", 1) for line in text.splitlines() if "  " in line)
    return {name: found for found, name in pairs}
