"""What stands falls into parts that share no rank."""

import polars as pl
import pytest

from detectors.wait_parts import wait_parts


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param({}, [], id="nothing stands"),
        pytest.param({"a": [0, 1], "b": [2, 3]}, [["a"], ["b"]], id="two that share no rank"),
        pytest.param({"a": [0, 1], "b": [1, 2]}, [["a", "b"]], id="two that share one"),
        pytest.param(
            {"a": [0, 1], "b": [6, 7], "c": [5, 6], "d": [1, 5]},
            [["a", "b", "c", "d"]],
            id="a chain in no order",
        ),
    ],
)
def test_parts(members: dict[str, list[int]], expected: list[list[str]]) -> None:
    """Groups by the part that they are of."""
    rows = [("r", None, group, rank) for group, ranks in members.items() for rank in ranks]
    names = {"run": pl.String, "scope": pl.String, "group": pl.String, "rank": pl.Int32}
    found = wait_parts(pl.DataFrame(rows, schema=names, orient="row")).sort("part", "group")
    parts = found.group_by("part", maintain_order=True).agg("group")
    assert parts["group"].to_list() == expected


def test_runs_are_parts() -> None:
    """The same group of two runs is two."""
    rows = [(run, None, "a", 0) for run in ("r", "s")]
    names = {"run": pl.String, "scope": pl.String, "group": pl.String, "rank": pl.Int32}
    found = wait_parts(pl.DataFrame(rows, schema=names, orient="row"))
    assert found["part"].n_unique() == 2
