"""The list of boards, and their text as it is committed and shipped."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from dashboards import job
from dashboards.jsontree import Json

# One line a board, by uid. A uid is never used again for another board.
BOARDS: Mapping[str, Callable[[], Json]] = MappingProxyType(
    {
        job.UID: job.build_job_board,
    }
)


def build_board_trees() -> dict[str, Json]:
    """Return every board as plain JSON, by uid."""
    return {uid: build() for uid, build in sorted(BOARDS.items())}


def build_boards() -> dict[str, str]:
    """Return every board's text by uid: sorted keys, two spaces, a final newline."""
    return {uid: build_text(board) for uid, board in build_board_trees().items()}


def build_text(board: Json) -> str:
    """Return the one text that a board has."""
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
