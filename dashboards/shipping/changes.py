"""What pushing or building would change: a line a board, and whether somebody else's hand shows."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from dashboards.jsontree import Json
from dashboards.shipping.fingerprints import board_sum, read_sums, sum_of

SUMS_FILE: Final = "boards.sha256"
OWNED_BY_FILE: Final = "a file on the server's disk owns it; change the file"


class Kind(StrEnum):
    """What has to be done for a board to stand as the code builds it."""

    CREATE = "create"
    UPDATE = "update"
    UNCHANGED = "unchanged"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One board, and what stands in its place.

    Attributes:
        uid: The board's.
        kind: What has to be done.
        reason: Why, for people; empty where the kind says all.
    """

    uid: str
    kind: Kind
    reason: str = ""

    def __str__(self) -> str:
        """Return the change as one line."""
        return f"{self.kind} {self.uid}" + (f": {self.reason}" if self.reason else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A board as it stands in a Grafana.

    Attributes:
        board: The JSON.
        version: Number of its newest version, which a save has to name.
        folder: Uid of its folder; empty for the root.
        wrote: The hash in the newest version's message; null when we did not write it.
        is_provisioned: Whether a file on the server's disk owns it.
    """

    board: Json
    version: int
    folder: str
    wrote: str | None
    is_provisioned: bool = False


def compare_standing(uid: str, wanted: Json, found: Standing | None, folder: str) -> Change:
    """Return what pushing a board would change.

    Args:
        uid: The board's.
        wanted: What the code builds.
        found: What stands there; null for nothing.
        folder: Uid of the folder that it belongs into.
    """
    if found is None:
        return Change(uid=uid, kind=Kind.CREATE)
    standing = board_sum(found.board)
    same = standing == board_sum(wanted)
    if found.folder == folder and same and not found.is_provisioned:
        return Change(uid=uid, kind=Kind.UNCHANGED)
    reason = _drift(found, standing, folder)
    return Change(uid=uid, kind=Kind.DRIFT if reason else Kind.UPDATE, reason=reason)


def _drift(found: Standing, standing: str, folder: str) -> str:
    """Return whose hand shows in what stands there; empty when it is ours alone."""
    if found.is_provisioned:
        return OWNED_BY_FILE
    if found.folder != folder:
        return f"it stands in folder {found.folder or 'root'!r} and not in {folder!r}"
    if found.wrote is None:
        return "somebody else wrote what stands there"
    return "" if found.wrote == standing else "it was changed after the last push"


def compare_folder(boards: Mapping[str, str], folder: Path) -> list[Change]:
    """Return what building into a folder would change, by uid.

    Args:
        boards: Text by uid.
        folder: Where `build` wrote, perhaps another version of the boards.

    Raises:
        OSError: A file cannot be read.
    """
    sums_file = folder / SUMS_FILE
    sums = read_sums(sums_file.read_text(encoding="utf-8")) if sums_file.is_file() else {}
    return [_compare_file(uid, text, folder, sums) for uid, text in sorted(boards.items())]


def _compare_file(uid: str, text: str, folder: Path, sums: Mapping[str, str]) -> Change:
    path = folder / f"{uid}.json"
    if not path.is_file():
        return Change(uid=uid, kind=Kind.CREATE)
    found = path.read_bytes().decode(errors="replace")
    if found == text:
        return Change(uid=uid, kind=Kind.UNCHANGED)
    if sums.get(path.name) == sum_of(found):
        return Change(uid=uid, kind=Kind.UPDATE)
    reason = "it was changed by hand" if path.name in sums else f"{SUMS_FILE} does not name it"
    return Change(uid=uid, kind=Kind.DRIFT, reason=reason if _is_json(found) else "it is no JSON")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
