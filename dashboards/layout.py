"""Places panels on Grafana's grid of 24 columns, left to right, row by row."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboards.grafana import build_plain
from dashboards.jsontree import Json

GRID_COLUMNS = 24


class GridError(ValueError):
    """Panels do not fill their grid rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One titled row of a board.

    Attributes:
        title: Unique on the board.
        panels: In reading order; each line of them fills the grid and has one height.
        collapsed: Whether the reader has to open it.
    """

    title: str
    panels: tuple[Json, ...]
    collapsed: bool = False


def build_layout(sections: Sequence[Section]) -> list[Json]:
    """Return rows and panels with their places.

    Panels of an open row follow it as siblings, those of a collapsed one stand inside it:
    the only two forms in which Grafana shows them.

    Raises:
        GridError: A line of panels is not `GRID_COLUMNS` wide, or its panels differ in height.
    """
    placed: list[Json] = []
    top = 0
    for section in sections:
        panels = list(_placed(section, top + 1))
        row = build_plain(
            "RowPanel",
            title=section.title,
            collapsed=section.collapsed,
            gridPos={"x": 0, "y": top, "w": GRID_COLUMNS, "h": 1},
            panels=panels if section.collapsed else [],
        )
        placed += [row] if section.collapsed else [row, *panels]
        top = panels[-1]["gridPos"]["y"] + panels[-1]["gridPos"]["h"]
    return placed


def _placed(section: Section, top: int) -> Iterator[Json]:
    left = 0
    height = 0
    for panel in section.panels:
        place = panel["gridPos"]
        if left and place["h"] != height:
            raise GridError(
                f"{panel['title']!r} is {place['h']} rows high, the panels left of it {height}; "
                "give the panels of one line one height"
            )
        height = place["h"]
        yield panel | {"gridPos": place | {"x": left, "y": top}}
        left += place["w"]
        if left >= GRID_COLUMNS:
            top, left = _next_line(section, top + height, left)
    if left:
        raise GridError(f"the last line of {section.title!r} is {left} columns wide, not 24")


def _next_line(section: Section, top: int, width: int) -> tuple[int, int]:
    if width > GRID_COLUMNS:
        raise GridError(f"a line of {section.title!r} is {width} columns wide, not 24")
    return top, 0
