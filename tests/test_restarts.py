"""Restarts of Prometheus and limits of rules: what alerts forget, and what is bridged."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.alert_states import burn_alerts
from slo.bridged_firings import BRIDGED_FIRINGS, bridge_firings
from slo.burns import BURNS
from slo.objectives import Objective
from slo.restarts import Outage
from slo.selectors import Selector
from slo.windows import RECOMMENDED_WINDOWS

START = datetime(2026, 1, 5, 11, 55, tzinfo=UTC)
WINDOW = RECOMMENDED_WINDOWS[0]


def objective(for_minutes: int = 0, keep_minutes: int = 0) -> Objective:
    """An objective with one pair that waits and holds."""
    window = replace(WINDOW, for_seconds=60 * for_minutes, keep_firing_seconds=60 * keep_minutes)
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
        windows=(window,),
    )


def minute(number: int) -> datetime:
    """A moment after the start."""
    return START + timedelta(minutes=number)


def burns(held: str, c: str = "a") -> pl.DataFrame:
    """Conditions by minute: `1` holds, anything else does not."""
    rows = [
        {
            "time": minute(number),
            "severity": WINDOW.severity,
            "long_seconds": WINDOW.long_seconds,
            "short_seconds": WINDOW.short_seconds,
            "fires": sign == "1",
        }
        for number, sign in enumerate(held)
    ]
    return pl.DataFrame(rows, schema=BURNS).with_columns(c=pl.lit(c))


def down(start: int, end: int) -> Outage:
    """An outage from minute to minute."""
    return Outage(start=minute(start), end=minute(end))


def alerts(
    held: str, *outages: Outage, for_minutes: int = 0, keep_minutes: int = 0
) -> pl.DataFrame:
    """The alerts of conditions by minute."""
    times = pl.Series([minute(number) for number in range(len(held))], dtype=TIME)
    promised = objective(for_minutes, keep_minutes)
    return burn_alerts(burns(held), promised, times, outages=outages)


def intervals(found: pl.DataFrame) -> list[tuple[int | None, ...]]:
    """Minutes at which an alert became active, fired and resolved."""
    return [
        tuple(None if t is None else (t - START) // timedelta(minutes=1) for t in row)
        for row in found.select("active_at", "fired_at", "resolved_at").iter_rows()
    ]


@pytest.mark.parametrize(
    ("for_minutes", "expected"),
    [
        pytest.param(5, [(0, 5, 36), (36, 41, None)], id="a short wait begins again: one gap"),
        pytest.param(15, [(0, 15, None)], id="a long wait is restored: no gap"),
    ],
)
def test_restart(for_minutes: int, expected: list[object]) -> None:
    """Case 43: only rules that wait ten minutes or more are restored after a minute's outage."""
    assert intervals(alerts("1" * 60, down(35, 36), for_minutes=for_minutes)) == expected


@pytest.mark.parametrize(
    ("held", "outage", "waits", "expected"),
    [
        pytest.param("1" * 150, (20, 81), (10, 0), [(0, 10, 81), (81, 91, None)], id="too long"),
        pytest.param("1" * 150, (20, 80), (10, 0), [(0, 10, None)], id="an hour is tolerated"),
        pytest.param("1" * 60, (5, 8), (30, 0), [(0, 33, None)], id="waiting pauses while down"),
        pytest.param("1" * 60, (25, 26), (30, 0), [(0, 36, None)], id="the rest is the grace"),
        pytest.param("1" * 20 + "0" * 20, (25, 26), (10, 30), [(0, 10, 26)], id="held is lost"),
        pytest.param("1" * 20 + "0" * 9, (40, 41), (10, 5), [(0, 10, 25)], id="an outage later"),
        pytest.param("1" * 9, (5, 20), (1, 0), [(0, 1, None)], id="no evaluation after it"),
        pytest.param("1" * 5 + "0" * 9, (5, 8), (1, 0), [(0, 1, 8)], id="ended while down"),
    ],
)
def test_outages(
    held: str, outage: tuple[int, int], waits: tuple[int, int], expected: list[object]
) -> None:
    """What is restored, what waits again, and what is lost follows Prometheus' rules."""
    found = alerts(held, down(*outage), for_minutes=waits[0], keep_minutes=waits[1])

    assert intervals(found) == expected


def evaluated(held: str, downs: list[tuple[int, int]]) -> Iterator[tuple[int, str, bool]]:
    """Give minute and sign of each evaluation, and whether the server was down before it."""
    was_down = False
    for now, sign in enumerate(held):
        if any(start <= now < end for start, end in downs):
            was_down = True
        else:
            yield now, sign, was_down
            was_down = False


def by_the_book(held: str, downs: list[tuple[int, int]], waits: tuple[int, int]) -> list[object]:
    """The same for waits that no restart restores, evaluation by evaluation."""
    found: list[list[int | None]] = []
    active, missed, firing = None, None, False
    for now, sign, is_back in evaluated(held, downs):
        missed = None if sign == "1" else now if missed is None else missed
        is_over = missed is not None and (not firing or now - missed >= waits[1])
        if firing and (is_over or is_back):
            found[-1][2] = now
        if is_over or is_back:
            active, firing = None, False
        if sign == "1":
            active = now if active is None else active
            if not firing and now - active >= waits[0]:
                firing = True
                found.append([active, now, None])
    return [tuple(interval) for interval in found]


@settings(max_examples=60)
@given(
    st.text("01", min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 35), st.integers(1, 6)), max_size=2),
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_by_the_book(held: str, spans: list[tuple[int, int]], waits: tuple[int, int]) -> None:
    """Whole frames give what one evaluation after the other gives, restarts included."""
    downs = [(start, start + length) for start, length in spans]
    outages = [down(*each) for each in downs]

    found = alerts(held, *outages, for_minutes=waits[0], keep_minutes=waits[1])

    assert intervals(found) == by_the_book(held, downs, waits)


def test_limit() -> None:
    """Over its limit a rule drops all of its alerts, and each begins again afterwards."""
    both = pl.concat([burns("1111111", "a"), burns("0011000", "b")])
    times = pl.Series([minute(number) for number in range(7)], dtype=TIME)
    promised = objective(for_minutes=1, keep_minutes=9)

    free, bounded = (burn_alerts(both, promised, times, limit=limit) for limit in (2, 1))

    assert [row[0] for row in free.select("c").iter_rows()] == ["a", "b"]
    assert intervals(bounded) == [(0, 1, 2), (4, 5, None)]


def test_bridge() -> None:
    """Case 43: a gap of five minutes is one incident, and the break is told."""
    found = bridge_firings(alerts("1" * 60, down(35, 36), for_minutes=5), objective())

    assert found.drop("c").schema == BRIDGED_FIRINGS
    assert intervals(found) == [(0, 5, None)]
    assert found.select("break_count", "break_seconds").rows() == [(1, 300.0)]


@pytest.mark.parametrize(
    ("gap", "count"),
    [
        pytest.param(10, 1, id="ten minutes are bridged"),
        pytest.param(11, 2, id="eleven minutes are two incidents"),
    ],
)
def test_longest_break(gap: int, count: int) -> None:
    """Firings are one up to a break of ten minutes, and only those of the same labels."""
    held = "11" + "0" * gap + "11"
    times = pl.Series([minute(number) for number in range(len(held))], dtype=TIME)
    both = pl.concat([burns(held, "a"), burns(held, "b")])

    found = bridge_firings(burn_alerts(both, objective(), times), objective())

    assert found["c"].to_list() == ["a"] * count + ["b"] * count


@pytest.mark.parametrize(
    ("start", "end"),
    [
        pytest.param(minute(2), minute(2), id="no length"),
        pytest.param(minute(2).replace(tzinfo=None), minute(3), id="no zone"),
    ],
)
def test_impossible_outage(start: datetime, end: datetime) -> None:
    """An outage without a length or a zone is refused."""
    with pytest.raises(ValueError, match="aware times"):
        Outage(start=start, end=end)
