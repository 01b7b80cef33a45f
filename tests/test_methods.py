"""The bad share by each budgeting method."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from slo.methods import SLICES, budget_bad_share
from slo.objectives import Method


def slices(*counts: tuple[float, float | None]) -> pl.LazyFrame:
    """Five-minute slices of (bad, total)."""
    start = datetime(2026, 1, 5, tzinfo=UTC)
    rows = [(start + timedelta(minutes=5 * n), bad, total) for n, (bad, total) in enumerate(counts)]
    return pl.LazyFrame(rows, schema=SLICES, orient="row")


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        pytest.param(Method.OCCURRENCES, 1 / 2870001, id="case 21: events weigh alike"),
        pytest.param(Method.RATIO_TIMESLICES, 1 / 288, id="case 21: slices weigh alike"),
        pytest.param(Method.TIMESLICES, 1 / 288, id="one bad slice of all"),
    ],
)
def test_bad_share(method: Method, expected: float) -> None:
    """One bad event in a quiet slice is nothing among events and much among slices."""
    shares = budget_bad_share(slices(*[(0, 10000)] * 287, (1, 1)), method).collect()

    assert shares.rows() == [(method.value, pytest.approx(expected), 288, 0)]


def test_empty_slices() -> None:
    """Empty slices are left out of the share, and counted."""
    shares = budget_bad_share(slices((1, 2), (0, 0), (0, None)), Method.TIMESLICES).collect()

    assert shares.rows() == [("Timeslices", 1.0, 3, 2)]


@pytest.mark.parametrize("method", list(Method))
def test_no_number_is_no_slice(method: Method) -> None:
    """A slice whose counts are no number is neither good nor bad: it is left out, and counted."""
    nan, infinite = float("nan"), float("inf")
    unknown = [(nan, 10.0), (1.0, nan), (infinite, 10.0), (1.0, infinite)]
    shares = budget_bad_share(slices((1, 1), (0, 1), *unknown), method).collect()

    assert shares.rows() == [(method.value, 0.5, 6, 4)]


@pytest.mark.parametrize("method", list(Method))
def test_share_is_a_share(method: Method) -> None:
    """More bad events than events are all of them, and fewer than none are none."""
    shares = [budget_bad_share(slices((bad, 10)), method).collect() for bad in (15, -5)]

    assert [each["bad_ratio"].item() for each in shares] == [1.0, 0.0]


def test_only_empty_slices() -> None:
    """Without any event there is no share: null, and not zero."""
    shares = budget_bad_share(slices((0, 0)), Method.OCCURRENCES).collect()

    assert shares.rows() == [("Occurrences", None, 1, 1)]


def test_slice_target() -> None:
    """A slice at its own target is good, beyond it is bad."""
    shares = budget_bad_share(
        slices((5, 100), (6, 100)), Method.TIMESLICES, max_slice_error_ratio=0.05
    ).collect()

    assert shares["bad_ratio"].to_list() == [0.5]
