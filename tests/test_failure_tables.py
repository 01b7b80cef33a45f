"""Failures by week: counts, costs, and the weeks in which nothing failed."""

from datetime import UTC, date, datetime
from typing import Any

import polars as pl

from collectors.frames import conform
from paceline.failure_tables import by_week, weeks_of
from slo.failure_costs import COSTS


def failure(day: int, cause: str, hours: float | None, **more: Any) -> dict[str, Any]:
    """A row of `COSTS` of January 2026, which began on a Thursday."""
    told = {"time": datetime(2026, 1, day, 12, tzinfo=UTC), "cause": cause, "gpu_hours_lost": hours}
    return told | {"forced_by": None} | more


def weeks(*rows: dict[str, Any]) -> pl.DataFrame:
    """The failures by week."""
    return by_week(conform(pl.LazyFrame(rows, infer_schema_length=None), COSTS).collect())


def test_by_week() -> None:
    """A week begins on Monday; what nobody can price is null, what others made is counted."""
    found = weeks(
        failure(5, "gpu", 2.0),
        failure(11, "gpu", 3.0, forced_by="big"),
        failure(12, "host", None),
    )

    assert found.rows() == [
        (date(2026, 1, 5), "gpu", 2, 5.0, 1),
        (date(2026, 1, 12), "host", 1, None, 0),
    ]


def test_weeks_without_failures() -> None:
    """A quiet week between two others is a week, and nothing has none."""
    found = weeks(failure(5, "gpu", 2.0), failure(27, "gpu", 2.0))

    assert weeks_of(found).to_list() == [date(2026, 1, day) for day in (5, 12, 19, 26)]
    assert weeks_of(by_week(COSTS.to_frame())).is_empty()
