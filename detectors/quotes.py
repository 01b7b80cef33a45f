"""Quote where something was seen: the file, its line, the time, the words."""

from collections.abc import Mapping
from typing import Any, Final

from detectors.verdicts import Evidence

MAX_QUOTED: Final = 240
"""Longer messages are cut."""


def quoted(row: Mapping[str, Any], what: str | None = None) -> Evidence:
    """Return the evidence in a row.

    Args:
        row: `source`, `position` (a line number from 1), `time` and, without `what`, `message`.
        what: Words instead of the row's own message.
    """
    words = what or row["message"] or ""
    return Evidence(source=quoted_place(row), time=row["time"], what=words[:MAX_QUOTED])


def quoted_place(row: Mapping[str, Any]) -> str:
    """Return `source:line`; the source alone where no line is known."""
    source = row["source"] or "events"
    return source if row["position"] is None else f"{source}:{row['position']}"
