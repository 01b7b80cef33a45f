"""The alert state machine: pending, firing, resolved, and held."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.alert_states import BURN_ALERTS, burn_alerts
from slo.burns import BURNS
from slo.objectives import Objective
from slo.selectors import Selector
from slo.windows import RECOMMENDED_WINDOWS

START = datetime(2026, 1, 5, tzinfo=UTC)


def objective(for_minutes: int = 0, keep_minutes: int = 0) -> Objective:
    """An objective with two pairs that wait and hold."""
    windows = tuple(
        replace(window, for_seconds=60 * for_minutes, keep_firing_seconds=60 * keep_minutes)
        for window in RECOMMENDED_WINDOWS[:2]
    )
    return Objective(
        name="o",
        title="O",
        description="",
        service="s",
        target_percent=Decimal("99.9"),
        period_seconds=2592000,
        total=Selector(metric="all_total"),
        bad=Selector(metric="bad_total"),
        group_labels=("c",),
        windows=windows,
    )


def minutes(count: int) -> pl.Series:
    """Evaluations, one a minute."""
    return pl.Series([START + timedelta(minutes=n) for n in range(count)], dtype=TIME)


def burns(held: str, *, c: str = "a", pair: int = 0) -> pl.DataFrame:
    """Conditions by minute: `1` holds, `0` does not, a blank is no row."""
    window = RECOMMENDED_WINDOWS[pair]
    rows = [
        {
            "time": START + timedelta(minutes=n),
            "severity": window.severity,
            "long_seconds": window.long_seconds,
            "short_seconds": window.short_seconds,
            "fires": sign == "1",
        }
        for n, sign in enumerate(held)
        if sign != " "
    ]
    return pl.DataFrame(rows, schema=BURNS).with_columns(c=pl.lit(c))


def intervals(held: str, *, for_minutes: int = 0, keep_minutes: int = 0) -> list[object]:
    """Minutes at which an alert became active, fired and resolved."""
    found = burn_alerts(burns(held), objective(for_minutes, keep_minutes), minutes(len(held)))
    return [
        tuple(None if t is None else (t - START) // timedelta(minutes=1) for t in row)
        for row in found.select("active_at", "fired_at", "resolved_at").iter_rows()
    ]


def by_the_book(held: str, for_minutes: int, keep_minutes: int) -> list[object]:
    """The same, evaluation by evaluation as Prometheus does it."""
    found: list[list[int | None]] = []
    active: int | None = None
    missed: int | None = None
    firing = False
    for now, sign in enumerate(held):
        if sign == "1":
            active, missed = now if active is None else active, None
            if not firing and now - active >= for_minutes:
                firing = True
                found.append([active, now, None])
        elif active is not None:
            missed = now if missed is None else missed
            if not firing or now - missed >= keep_minutes:
                if firing:
                    found[-1][2] = now
                active, missed, firing = None, None, False
    return [tuple(interval) for interval in found]


@pytest.mark.parametrize(
    ("held", "for_minutes", "keep_minutes", "expected"),
    [
        pytest.param("0111100", 0, 0, [(1, 1, 5)], id="without for it fires at once"),
        pytest.param("0111100", 3, 0, [(1, 4, 5)], id="a for of 3 m from minute 1: minute 4"),
        pytest.param("0111100", 4, 0, [], id="pending only is no firing"),
        pytest.param("0110110", 2, 0, [], id="one miss forgets a pending alert"),
        pytest.param("0111", 1, 0, [(1, 2, None)], id="still firing has no end"),
        pytest.param("011 110", 0, 0, [(1, 1, 3), (4, 4, 6)], id="no row is a miss"),
        pytest.param("0110000", 0, 2, [(1, 1, 5)], id="held for 2 m from the first miss"),
        pytest.param("0110110", 0, 2, [(1, 1, None)], id="held over a gap"),
        pytest.param("01110100", 2, 2, [(1, 3, None)], id="a held alert does not wait again"),
        pytest.param("01100011", 0, 2, [(1, 1, 5), (6, 6, None)], id="a gap too long ends it"),
        pytest.param("0000", 0, 0, [], id="nothing"),
    ],
)
def test_intervals(held: str, for_minutes: int, keep_minutes: int, expected: list[object]) -> None:
    """Conditions become intervals as Prometheus' state machine has it."""
    assert intervals(held, for_minutes=for_minutes, keep_minutes=keep_minutes) == expected


@settings(max_examples=60, deadline=None)
@given(st.text("01 ", min_size=1, max_size=40), st.integers(0, 3), st.integers(0, 3))
def test_by_the_book(held: str, for_minutes: int, keep_minutes: int) -> None:
    """Whole frames give what one evaluation after the other gives."""
    found = intervals(held, for_minutes=for_minutes, keep_minutes=keep_minutes)

    assert found == by_the_book(held, for_minutes, keep_minutes)


def test_groups_and_pairs() -> None:
    """Each group and pair is an alert of its own."""
    frames = [
        burns("0110" if (c, pair) != ("b", 1) else "0011", c=c, pair=pair)
        for c, pair in product("ba", (1, 0))
    ]
    found = burn_alerts(pl.concat(frames), objective(), minutes(4))

    assert found.select("c", "long_seconds", "fired_at", "resolved_at").rows() == [
        ("a", 3600, START + timedelta(minutes=1), START + timedelta(minutes=3)),
        ("a", 21600, START + timedelta(minutes=1), START + timedelta(minutes=3)),
        ("b", 3600, START + timedelta(minutes=1), START + timedelta(minutes=3)),
        ("b", 21600, START + timedelta(minutes=2), None),
    ]


def test_parts_of_a_millisecond() -> None:
    """A clock finer than Prometheus' own loses no alert: burn rates are told to the millisecond."""
    clock = minutes(3) + timedelta(microseconds=999)
    found = burn_alerts(burns("010"), objective(), clock)

    assert found.select("fired_at", "resolved_at").rows() == [
        (START + timedelta(minutes=1), START + timedelta(minutes=2))
    ]


def test_schema() -> None:
    """Beside the group labels the columns are those of the schema."""
    found = burn_alerts(burns("01"), objective(), minutes(2))

    assert found.drop("c").schema == BURN_ALERTS
