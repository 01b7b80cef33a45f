"""Dense panels of long frames."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.panels import Panel, build_panel, group_sizes

ROWS = [
    {"g": "b", "e": 1, "t": 5, "v": 1.0},
    {"g": "a", "e": 2, "t": 7, "v": 2.0},
    {"g": "a", "e": 2, "t": 5, "v": 3.0},
    {"g": None, "e": 3, "t": 5, "v": 4.0},
    {"g": "a", "e": 1, "t": 5, "v": None},
    {"g": "a", "e": 1, "t": None, "v": 5.0},
    {"g": "a", "e": 1, "t": 7, "v": float("nan")},
]


def panel(rows: list[dict[str, object]]) -> Panel:
    """The panel of some rows."""
    kinds = {"g": pl.String, "e": pl.Int32, "t": pl.Int64, "v": pl.Float64}
    frame = pl.LazyFrame(rows, schema=kinds)
    return build_panel(frame, group=["g"], entity=["e"], tick="t", value="v")


def test_build_panel() -> None:
    """Entities are sorted by group, what is not known is NaN, and the rest is in its cell."""
    found = panel(ROWS)

    assert found.entities.rows() == [("a", 2), ("b", 1), (None, 3)]
    assert (found.groups.tolist(), found.ticks.tolist()) == ([0, 1, 2], [5, 7])
    np.testing.assert_array_equal(found.values, [[3.0, 2.0], [1.0, np.nan], [4.0, np.nan]])


def test_several_values() -> None:
    """Several values of one cell become their median."""
    found = panel([{"g": "a", "e": 1, "t": 1, "v": float(value)} for value in (1, 9, 2)])

    assert found.values.tolist() == [[2.0]]


def test_nothing() -> None:
    """No rows are a panel without entities and ticks."""
    found = panel([])

    assert found.values.shape == (0, 0)
    assert group_sizes(found.groups).tolist() == []


@settings(deadline=None)
@given(st.permutations(ROWS), st.integers(1, 3))
def test_order_and_duplicates(rows: list[dict[str, object]], copies: int) -> None:
    """Neither row order nor delivery in several copies changes the panel."""
    found, expected = panel(rows * copies), panel(ROWS)

    assert found.entities.equals(expected.entities)
    np.testing.assert_array_equal(found.values, expected.values)


def test_group_sizes() -> None:
    """Members are counted by group."""
    assert group_sizes(np.array([0, 0, 1])).tolist() == [2, 1]


def test_names_beyond_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the names of entities do not fit into one number the panel is the same."""
    frame = pl.LazyFrame(
        {
            "group": ["b", "a", None, "a"],
            "entity": ["y", "x", "x", "x"],
            "tick": [2, 1, 1, 3],
            "value": [4.0, 1.0, 3.0, 2.0],
        }
    )
    names = {"group": ["group"], "entity": ["entity"], "tick": "tick", "value": "value"}
    usual = build_panel(frame, **names)
    monkeypatch.setattr("detectors.panels.MAX_KEY", 1)
    ranked = build_panel(frame, **names)

    assert ranked.entities.equals(usual.entities)
    assert np.array_equal(ranked.values, usual.values, equal_nan=True)
