"""Walks over a dashboard as plain JSON: what the normaliser, the lint and the tests share."""

from collections.abc import Iterator
from typing import Any, TypeAlias, cast

Json: TypeAlias = dict[str, Any]


def panels_of(board: Json) -> Iterator[Json]:
    """Yield every panel and row of a board, those of collapsed rows after their row.

    Args:
        board: A dashboard in the classic form.

    Yields:
        The panels' own dicts, in the order of the file.
    """
    for panel in board.get("panels", []):
        yield panel
        yield from panel.get("panels", [])


def data_panels_of(board: Json) -> Iterator[Json]:
    """Yield the panels that show data: no rows, no texts."""
    return (panel for panel in panels_of(board) if panel.get("type") not in {"row", "text"})


def variables_of(board: Json) -> dict[str, Json]:
    """Return the board's variables by name, in the order of the board."""
    return {variable["name"]: variable for variable in board.get("templating", {}).get("list", [])}


def values_under(tree: object, key: str) -> Iterator[object]:
    """Yield each value that stands under `key` at any depth, outer ones first."""
    if isinstance(tree, dict):
        for name, value in cast("Json", tree).items():
            if name == key:
                yield value
            yield from values_under(value, key)
    elif isinstance(tree, list):
        for value in cast("list[object]", tree):
            yield from values_under(value, key)


def leaves_of(tree: object) -> Iterator[object]:
    """Yield every scalar of a tree."""
    if isinstance(tree, dict):
        tree = list(cast("Json", tree).values())
    if isinstance(tree, list):
        for value in cast("list[object]", tree):
            yield from leaves_of(value)
    else:
        yield tree
