"""Attributes of events are pairs of names and texts, without those that are not said."""

from typing import Any

import polars as pl
import pytest

from collectors.frames import LABEL
from collectors.texts.event_labels import event_labels, label_value

ROWS = pl.DataFrame(
    {"a": [1, None, None], "b": [" x = 1, y", "", None]}, schema={"a": pl.Int32, "b": pl.String}
)


def labels(values: dict[str, pl.Expr]) -> list[Any]:
    """The attributes of each row, as pairs."""
    found = ROWS.select(event_labels(values)).to_series()
    assert found.dtype == pl.List(LABEL)
    return [row and [tuple(pair.values()) for pair in row] for row in found.to_list()]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(
            {"b": pl.col("b"), "a": pl.col("a")},
            [[("b", " x = 1, y"), ("a", "1")], [("b", "")], None],
            id="pairs come in the order given, an empty text is said, and no pair is null",
        ),
        pytest.param({"a": pl.col("a")}, [[("a", "1")], None, None], id="numbers become texts"),
        pytest.param(
            {"c": pl.lit("f(x) -> 0,5;"), "a": pl.col("a")},
            [[("c", "f(x) -> 0,5;"), ("a", "1")], *[[("c", "f(x) -> 0,5;")]] * 2],
            id="a value may be the same for all",
        ),
        pytest.param(
            {"c": pl.lit("x\ufdd0c\ufdd1y"), "a": pl.col("a")},
            [[("c", "x\ufffdc\ufffdy"), ("a", "1")], *[[("c", "x\ufffdc\ufffdy")]] * 2],
            id="a value that holds our own marks makes no pair of its own",
        ),
    ],
)
def test_labels(values: dict[str, pl.Expr], expected: list[Any]) -> None:
    """What is null is left out of a row, and a row without any is null."""
    assert labels(values) == expected


def test_values_are_found_again() -> None:
    """A value is found by its name, and null where it is not said."""
    told = ROWS.with_columns(attributes=event_labels({"a": pl.col("a"), "b": pl.col("b")}))
    assert told.select(label_value("b")).to_series().to_list() == [" x = 1, y", "", None]
