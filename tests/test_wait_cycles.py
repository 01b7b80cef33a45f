"""A ring of waits is told only where all is known."""

from typing import Any

import polars as pl
import pytest

from detectors.wait_cycles import cycle_verdict


def at(rank: int, group: str, place: str, *, heard: int = 2) -> dict[str, Any]:
    """Where a rank of a group of two stands."""
    row = {"rank": rank, "group": group, "place": place, "lags": place == "behind", "size": 2}
    more = {"heard": heard, "group_name": None, "sequence": 5, "operation": "all_reduce"}
    return row | more | {"time": None, "source": "a", "position": 1}


RING = [at(0, "1", "waiting"), at(1, "1", "behind"), at(1, "2", "waiting"), at(0, "2", "behind")]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        pytest.param(RING, ("mismatch", "job", "order", 2), id="each waits where the other is not"),
        pytest.param(RING[:2], None, id="who is late waits nowhere"),
        pytest.param([RING[0]], None, id="nobody is late"),
        pytest.param([*RING[1:], at(0, "1", "waiting", heard=1)], None, id="a member is unknown"),
        pytest.param([*RING, at(3, "3", "behind"), at(2, "3", "waiting")], None, id="one is late"),
    ],
)
def test_cycles(rows: list[dict[str, Any]], expected: tuple[str, str, str, int] | None) -> None:
    """Kind, level and cause, and how many waits are named."""
    one = cycle_verdict("run", pl.DataFrame(rows, infer_schema_length=None))
    assert (one and (one.kind, one.level, one.cause, len(one.alternatives))) == expected
