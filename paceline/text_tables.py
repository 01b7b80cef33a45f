"""Tables for a terminal or a ticket."""

from collections.abc import Sequence


def table(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a table for a terminal or a ticket: the first column to the left, others right.

    Args:
        title: Above it.
        rows: The first is the heading.
    """
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    ]
    return "\n".join([title, *(f"  {line}" for line in lines), ""])
