"""The budget of a rolling period: what is left, on how much history, and never clipped."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.budgets import BUDGETS, budget_left
from slo.growth import BurnParams, Mode
from slo.indicators import MissingColumnError
from slo.objectives import Objective
from slo.promql import Semantics
from slo.selectors import Selector
from slo.windows import RECOMMENDED_WINDOWS

START = datetime(2026, 2, 1, tzinfo=UTC)
PARITY, PRODUCT = BurnParams(mode=Mode.PARITY), BurnParams()
DAY = 1440

OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=30 * DAY * 60,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("c",),
    windows=RECOMMENDED_WINDOWS,
)


def minutes(*numbers: float) -> pl.Series:
    """Times after the start."""
    return pl.Series([START + timedelta(minutes=n) for n in numbers], dtype=TIME)


def counters(*points: tuple[float, float, float], c: str = "a") -> pl.DataFrame:
    """Counters of (minute, bad, all)."""
    times = minutes(*(at for at, _, _ in points))
    return pl.concat(
        pl.DataFrame({"metric": metric, "c": c, "time": times, "value": values})
        for metric, values in (
            ("bad_total", [float(bad) for _, bad, _ in points]),
            ("all_total", [float(all_) for _, _, all_ in points]),
        )
    )


def outage(first: float, length: float, *, days: int = 60) -> pl.DataFrame:
    """A thousand events a minute, all of them bad for a while, scraped every 7.2 minutes."""
    scrapes = [7.2 * n for n in range(days * 200 + 1)]
    return counters(*((at, 1000 * min(max(0.0, at - first), length), 1000 * at) for at in scrapes))


def left(series: pl.DataFrame, *at: float, objective: Objective = OBJECTIVE) -> list[float | None]:
    """The budget left at each of some minutes, to a thousandth."""
    found = budget_left(series, objective, minutes(*at), PRODUCT)
    return found["budget_left_ratio"].round(3).to_list()


def test_every_column() -> None:
    """A row tells what was spent, on how much history it rests, and whose sums it is."""
    series = counters(*((n, n / 2000, n) for n in range(DAY + 1)))
    (row,) = budget_left(series, OBJECTIVE, minutes(DAY), PRODUCT).rows(named=True)

    assert row == {
        "c": "a",
        "objective": "o",
        "time": START + timedelta(days=1),
        "period": "rolling",
        "period_start": START - timedelta(days=29),
        "period_end": START + timedelta(days=1),
        "bad": pytest.approx(0.72),
        "total": pytest.approx(1440),
        "error_ratio": pytest.approx(0.0005),
        "budget_total": pytest.approx(1440),
        "budget_left_ratio": pytest.approx(0.5),
        "excluded_seconds": 0.0,
        "net_bad": pytest.approx(0.72),
        "net_total": pytest.approx(1440),
        "net_error_ratio": pytest.approx(0.0005),
        "net_budget_left_ratio": pytest.approx(0.5),
        "coverage_ratio": pytest.approx(1441 / 43200),
        "fault": None,
        "total_basis": "so far",
        "method": "Occurrences",
        "empty_slices": None,
        "semantics": "prometheus-2.42",
    }


def test_chart() -> None:
    """Case 25: each point looks back the whole period, so a short chart does not begin full."""
    series = outage(57 * DAY, 21.6)

    assert left(series, *(60 * DAY - back for back in (60, 45, 30, 15, 0))) == [0.5] * 5


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        pytest.param(20 * DAY, 1.0, id="before the outage nothing is spent"),
        pytest.param(37 * DAY, 0.0, id="case 27: 43.2 minutes within 30 days spend all of it"),
        pytest.param(49 * DAY, 0.0, id="until it is 30 days ago"),
        pytest.param(51 * DAY, 1.0, id="then it is forgotten"),
    ],
)
def test_rolling(at: float, expected: float) -> None:
    """The budget rolls: an outage counts for exactly one period."""
    assert left(outage(20 * DAY, 43.2), at) == [expected]


def test_shorter_history() -> None:
    """With less history than the period the share is that of the history, told beside it."""
    found = budget_left(outage(0, 1.44, days=1), OBJECTIVE, minutes(DAY), PRODUCT)

    assert found.select(
        pl.col("budget_left_ratio").round(6), pl.col("coverage_ratio").round(6)
    ).rows() == [(0.0, 0.0335)]


@pytest.mark.parametrize(
    ("bad", "target", "expected"),
    [
        pytest.param(0, "99.9", 1.0, id="untouched is 1"),
        pytest.param(1, "99.9", 0.0, id="just spent is 0"),
        pytest.param(3, "99.9", -2.0, id="overspent is negative"),
        pytest.param(1000, "99.9", -999.0, id="all bad is not clipped"),
        pytest.param(1, "99", 0.9, id="a looser promise has more to spend"),
        pytest.param(1, "99.9999", -999.0, id="six nines have a budget, too"),
    ],
)
def test_left(bad: float, target: str, expected: float) -> None:
    """What is left is 1 less the share of bad events over the budget."""
    series = counters(*((n, bad * n, 1000 * n) for n in range(61)))
    objective = replace(OBJECTIVE, target_percent=Decimal(target))

    assert left(series, 60, objective=objective) == [expected]


@pytest.mark.parametrize(
    ("objective", "points", "expected"),
    [
        pytest.param(
            replace(OBJECTIVE, bad=None, good=Selector(metric="bad_total")),
            [(n, 103 * n, 100 * n) for n in range(61)],
            [(1.0, "good_exceeds_total")],
            id="case 5: more good events than events do not overfill it",
        ),
        pytest.param(
            OBJECTIVE,
            [(n, n, 7) for n in range(61)],
            [(None, "bad_exceeds_total")],
            id="case 3: bad events of no events leave nothing to divide by",
        ),
        pytest.param(OBJECTIVE, [(n, 7, 7) for n in range(61)], [], id="no traffic is no row"),
    ],
)
def test_faults(
    objective: Objective,
    points: list[tuple[float, float, float]],
    expected: list[tuple[float | None, str | None]],
) -> None:
    """Faulty counters are named beside the budget, and missing ones are no row."""
    found = budget_left(counters(*points), objective, minutes(60), PRODUCT)

    assert found.select("budget_left_ratio", "fault").rows() == expected


def test_groups() -> None:
    """Each group has a budget of its own; without group labels all share one."""
    series = pl.concat(
        [
            counters(*((n, 2 * n, 1000 * n) for n in range(61)), c="a"),
            counters(*((n, 0, 1000 * n) for n in range(61)), c="b"),
        ]
    )

    assert left(series, 60) == [-1.0, 1.0]
    assert left(series, 60, objective=replace(OBJECTIVE, group_labels=())) == [0.0]


def test_schema() -> None:
    """Beside the group labels the columns are those of the schema, even without a row."""
    found = budget_left(outage(0, 1, days=1), OBJECTIVE, minutes(-10), PRODUCT)

    assert (found.height, found.drop("c").schema) == (0, BUDGETS)


def test_missing_column() -> None:
    """Series without a group's label are refused."""
    with pytest.raises(MissingColumnError, match=r"missing \['c'\]"):
        budget_left(outage(0, 1, days=1).drop("c"), OBJECTIVE, minutes(0), PRODUCT)


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=2, max_size=30),
    st.sampled_from(Semantics),
    st.integers(0, 99),
)
def test_properties(growth: list[tuple[int, int]], semantics: Semantics, seed: int) -> None:
    """Row order and duplicates change nothing; a stricter promise never leaves more."""
    points, bad, total = [(0.0, 0.0, 0.0)], 0.0, 0.0
    for number, (more, most) in enumerate(growth, start=1):
        bad, total = bad + min(more, most), total + most
        points.append((float(number), bad, total))
    series = counters(*points)
    shuffled = pl.concat([series, series[:2]]).sample(fraction=1.0, shuffle=True, seed=seed)
    params = BurnParams(semantics=semantics)
    at = minutes(len(growth))
    strict = replace(OBJECTIVE, target_percent=Decimal("99.99"))

    found = budget_left(series, OBJECTIVE, at, params)
    stricter = budget_left(series, strict, at, params)

    assert budget_left(shuffled, OBJECTIVE, at, params).equals(found)
    assert (stricter["budget_left_ratio"] <= found["budget_left_ratio"]).all()
