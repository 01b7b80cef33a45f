"""Recorded targets of replicas: one ruler each, and a word where they differ."""

import polars as pl
import pytest

from slo.rulers import budget_rulers


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([0.999, 0.999], (0.999, 2, None), id="equal values collapse"),
        pytest.param([0.999, 0.99], (0.999, 2, "rulers_differ"), id="unequal ones are a finding"),
        pytest.param([0.999, float("nan")], (0.999, 2, None), id="NaN says nothing"),
        pytest.param([0.999, None], (0.999, 2, None), id="null says nothing"),
        pytest.param([None, None], (None, 2, None), id="nobody says anything"),
    ],
)
def test_rulers(values: list[float | None], expected: tuple[float | None, int, str | None]) -> None:
    """Case 33: replicas of one objective are one ruler, so that a join on its id finds one."""
    records = pl.DataFrame(
        {"slo": ["x", "x"], "replica": ["0", "1"], "value": values},
        schema_overrides={"value": pl.Float64},
    )
    burn = pl.DataFrame({"slo": ["x"], "burn": [2.0]})

    joined = burn.join(budget_rulers(records, replica_labels=["replica"]), on="slo")

    assert joined.rows() == [("x", 2.0, *expected)]


def test_other_labels() -> None:
    """What is told apart by other labels stays apart."""
    records = pl.DataFrame({"slo": ["b", "a"], "replica": ["0", "0"], "value": [1.0, 2.0]})

    found = budget_rulers(records, replica_labels=["replica", "pod"])

    assert found.rows() == [("a", 2.0, 1, None), ("b", 1.0, 1, None)]
