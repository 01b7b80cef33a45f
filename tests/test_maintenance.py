"""Declared maintenance: with and without it, side by side, and who declared it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest

from collectors.frames import TIME
from slo.budgets import budget_left
from slo.burns import burn_rates
from slo.exclusions import Exclusion
from slo.growth import BurnParams
from slo.maintenance import EXCLUDED, budget_exclusions, excluded_spans
from slo.measurements import Measurement
from slo.objectives import Counting, Method, Objective
from slo.selectors import Selector
from slo.slices import Slices
from slo.windows import RECOMMENDED_WINDOWS

START = datetime(2026, 1, 5, tzinfo=UTC)
PRODUCT = BurnParams()


def moment(minute: float) -> datetime:
    """A time after the start."""
    return START + timedelta(minutes=minute)


def excluded(start: float, end: float, author: str = "ann") -> Exclusion:
    """Maintenance from minute to minute."""
    return Exclusion(start=moment(start), end=moment(end), author=author, reason="new switch")


OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=86400,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("c",),
    windows=RECOMMENDED_WINDOWS,
    exclusions=(excluded(120, 180),),
)
NOW = pl.Series([moment(1440)], dtype=TIME)


def day() -> pl.DataFrame:
    """6000 of 6000 bad from 02:00 to 03:00, and 10 of 594000 in the rest of the day."""
    minutes = range(1441)
    inside = [100.0 * min(max(0, each - 120), 60) for each in minutes]
    rest = [594000 / 1380 * (each - min(max(0, each - 120), 60)) for each in minutes]
    late = [min(max(0.0, each - 600), 10.0) for each in minutes]
    values = {
        "bad_total": [a + b for a, b in zip(inside, late, strict=True)],
        "all_total": [a + b for a, b in zip(inside, rest, strict=True)],
    }
    return pl.concat(
        pl.DataFrame(
            {"metric": metric, "c": "a", "time": [moment(each) for each in minutes], "value": value}
        ).cast({"time": TIME})
        for metric, value in values.items()
    )


def test_both_numbers() -> None:
    """Case 63: the budget with and without the maintenance stand side by side."""
    (row,) = budget_left(day(), OBJECTIVE, NOW, PRODUCT).rows(named=True)

    assert row["error_ratio"] == pytest.approx(6010 / 600000)
    assert row["net_error_ratio"] == pytest.approx(10 / 594000)
    assert (row["net_bad"], row["net_total"]) == pytest.approx((10, 594000))
    assert row["net_budget_left_ratio"] == pytest.approx(1 - 10 / 594000 / 0.001)
    assert row["excluded_seconds"] == 3600.0


def test_no_number_without_it() -> None:
    """Where the ratio of all is not known, that of a part is not, either."""
    broken = day().with_columns(
        value=pl.when(pl.col("time") < NOW.item()).then("value").otherwise(float("nan"))
    )
    (row,) = budget_left(broken, OBJECTIVE, NOW, PRODUCT).rows(named=True)

    assert [row[f"{net}error_ratio"] for net in ("", "net_")] == [None, None]
    assert (row["net_budget_left_ratio"], row["fault"]) == (None, "not_a_number")


def test_listed_with_author() -> None:
    """Case 63: each exclusion is listed with its author and what it leaves out."""
    objective = replace(OBJECTIVE, exclusions=(excluded(120, 180), excluded(170, 200, "bob")))
    measured = Measurement(day(), objective, NOW, PRODUCT.view)

    found = budget_exclusions(measured)

    assert found.drop("c").schema == EXCLUDED
    assert found.select("c", "author", "reason", pl.col("bad", "total").round(6)).rows() == [
        ("a", "ann", "new switch", 6000.0, 6000.0),
        ("a", "bob", "new switch", 1000.0, round(1000 + 20 * 594000 / 1380, 6)),
    ]


def test_none_declared() -> None:
    """Without exclusions nothing is listed and both numbers are the same."""
    plain = replace(OBJECTIVE, exclusions=())

    assert budget_exclusions(Measurement(day(), plain, NOW, PRODUCT.view)).is_empty()
    found = budget_left(day(), plain, NOW, PRODUCT)
    assert found.select(pl.col("net_error_ratio") == pl.col("error_ratio")).item()


def test_live_alerts_stay() -> None:
    """Case 63: burn rates are never recomputed; the page is silenced where it is routed."""
    times = pl.Series([moment(150)], dtype=TIME)
    plain = replace(OBJECTIVE, exclusions=())

    assert burn_rates(day(), OBJECTIVE, times, PRODUCT).equals(
        burn_rates(day(), plain, times, PRODUCT)
    )


@pytest.mark.parametrize(
    ("exclusions", "expected"),
    [
        pytest.param([(0, 10), (5, 20)], [(0, 20)], id="overlapping ones are one"),
        pytest.param([(10, 20), (0, 10)], [(0, 20)], id="adjacent ones are one"),
        pytest.param([(0, 30), (5, 10)], [(0, 30)], id="one inside another adds nothing"),
        pytest.param([(0, 5), (6, 10)], [(0, 5), (6, 10)], id="apart they stay"),
    ],
)
def test_spans(exclusions: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    """No moment is excluded twice."""
    objective = replace(OBJECTIVE, exclusions=tuple(excluded(*each) for each in exclusions))
    begin = int(START.timestamp() * 1000)

    found = [((a - begin) // 60000, (b - begin) // 60000) for a, b in excluded_spans(objective)]

    assert found == expected


def test_all_of_it() -> None:
    """When all of the period is maintenance nothing is left to divide by."""
    objective = replace(OBJECTIVE, exclusions=(excluded(-60, 1441),))
    found = budget_left(day(), objective, NOW, PRODUCT)

    assert found.select("net_error_ratio", "net_budget_left_ratio").rows() == [(None, None)]


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param(180, (0.0, 1380.0), id="slices inside are left out"),
        pytest.param(179.5, (1.0, 1381.0), id="one that is only partly inside counts"),
    ],
)
def test_slices(end: float, expected: tuple[float, float]) -> None:
    """An exclusion forgives no more slices than lie inside as a whole."""
    objective = replace(
        OBJECTIVE,
        method=Method.TIMESLICES,
        slices=Slices(target_ratio=Decimal("0.95")),
        exclusions=(excluded(120, end),),
    )
    found = budget_left(day(), objective, NOW, PRODUCT)

    assert found.select("bad", "total", "net_bad", "net_total").rows() == [(60, 1440, *expected)]


def test_samples() -> None:
    """A sample at the first moment is excluded, and one at the last moment is not."""
    probe = Selector(metric="probe_ok")
    objective = replace(
        OBJECTIVE,
        total=probe,
        bad=None,
        good=probe,
        counting=Counting.SAMPLES,
        exclusions=(excluded(2, 4),),
    )
    values = [1.0, 1.0, 0.0, 0.0, 0.0]
    series = pl.DataFrame(
        {"metric": "probe_ok", "c": "a", "time": [moment(n) for n in range(5)], "value": values}
    ).cast({"time": TIME})

    found = budget_left(series, objective, pl.Series([moment(4)], dtype=TIME), PRODUCT)

    assert found.select("bad", "total", "net_bad", "net_total").rows() == [(3, 5, 1, 3)]
