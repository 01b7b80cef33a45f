"""Panels are placed on the grid, left to right, and fill it."""

import pytest

from dashboards.jsontree import Json
from dashboards.layout import GridError, Section, build_layout


def panel(title: str, width: int, height: int = 4) -> Json:
    """Return a panel of a size."""
    return {"title": title, "gridPos": {"x": 0, "y": 0, "w": width, "h": height}}


def places(panels: list[Json]) -> list[tuple[str, int, int]]:
    """Return title, column and line of panels."""
    return [(item["title"], item["gridPos"]["x"], item["gridPos"]["y"]) for item in panels]


def test_open_rows() -> None:
    """Panels of an open row follow it, and the next row stands below them."""
    first = Section(title="A", panels=(panel("a", 12), panel("b", 12), panel("c", 24, 2)))
    second = Section(title="B", panels=(panel("d", 24),))

    assert places(build_layout([first, second])) == [
        ("A", 0, 0),
        ("a", 0, 1),
        ("b", 12, 1),
        ("c", 0, 5),
        ("B", 0, 7),
        ("d", 0, 8),
    ]


def test_collapsed_rows() -> None:
    """Panels of a collapsed row stand inside it."""
    section = Section(title="A", panels=(panel("a", 24),), collapsed=True)

    (row,) = build_layout([section])

    assert (row["collapsed"], places(row["panels"])) == (True, [("a", 0, 1)])


@pytest.mark.parametrize(
    ("panels", "message"),
    [
        pytest.param((panel("a", 20),), "is 20 columns wide", id="a line that is too short"),
        pytest.param((panel("a", 20), panel("b", 8)), "28 columns", id="a line that is too long"),
        pytest.param(
            (panel("a", 12, 4), panel("b", 12, 5)), "one height", id="panels of two heights"
        ),
    ],
)
def test_lines_are_filled(panels: tuple[Json, ...], message: str) -> None:
    """A line that leaves holes or runs over is refused."""
    with pytest.raises(GridError, match=message):
        build_layout([Section(title="A", panels=panels)])
