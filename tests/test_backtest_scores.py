"""Backtests: routed pages, known incidents, scores, and what another policy would change."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest

from collectors.frames import TIME
from slo.alert_states import BURN_ALERTS
from slo.backtest_scores import all_alerts, score_alerts
from slo.histories import FrameHistory, frame_history
from slo.known_incidents import IncidentsError, known_incidents, with_spent
from slo.objectives import Objective
from slo.page_changes import page_changes
from slo.page_routes import routed_pages
from slo.policy_replays import TRAFFIC, PolicyReplay
from slo.selectors import Selector
from slo.windows import DAY_SECONDS, RECOMMENDED_WINDOWS

START = datetime(2026, 1, 5, tzinfo=UTC)
END = START + timedelta(days=2)
OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal(99),
    period_seconds=30 * DAY_SECONDS,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("run",),
    windows=RECOMMENDED_WINDOWS,
)
HOUR, SIX_HOURS, DAY, _ = RECOMMENDED_WINDOWS


def moment(minutes: float | None) -> datetime | None:
    """A moment after the start; null of null."""
    return None if minutes is None else START + timedelta(minutes=minutes)


def replayed(*firings: tuple[int, float, float, float | None, str | None]) -> PolicyReplay:
    """A replay of (window, active, fired, resolved in minutes, run), each with 20 bad events.

    Each run has 1,000 events a day, so that 300 bad ones are the budget of 30 days.
    """
    rows = [
        {
            "run": run,
            "objective": "o",
            "severity": RECOMMENDED_WINDOWS[at].severity,
            "long_seconds": RECOMMENDED_WINDOWS[at].long_seconds,
            "short_seconds": RECOMMENDED_WINDOWS[at].short_seconds,
            "active_at": moment(active),
            "fired_at": moment(fired),
            "resolved_at": moment(resolved),
            "peak_bad": 20.0,
        }
        for at, active, fired, resolved, run in firings
    ]
    schema = pl.Schema({"run": pl.String(), **BURN_ALERTS, "peak_bad": pl.Float64()})
    days = [(run, moment(1440 * n), 5.0, 1000.0) for run in ("a", "b") for n in (1, 2)]
    traffic = pl.Schema({"run": pl.String(), **TRAFFIC})
    return PolicyReplay(
        objective=OBJECTIVE,
        start=START,
        end=END,
        step_seconds=60,
        firings=pl.DataFrame(rows, schema=schema),
        traffic=pl.DataFrame(days, schema=traffic, orient="row"),
    )


def incidents(*rows: tuple[str | None, float, float | None, float | None]) -> pl.DataFrame:
    """Incidents of (run, start, end in minutes, share of the budget)."""
    table = pl.DataFrame(
        [("x", run, moment(start), moment(end), spent) for run, start, end, spent in rows],
        schema={
            "label": pl.String,
            "run": pl.String,
            "start": TIME,
            "end": TIME,
            "spent_ratio": pl.Float64,
        },
        orient="row",
    )
    known = known_incidents(table, OBJECTIVE)
    return known.join(table, on=["label", "run", "start", "end"], how="left", nulls_equal=True)


@pytest.mark.parametrize(
    ("firings", "expected"),
    [
        pytest.param([], [], id="no firing is no page"),
        pytest.param(
            [(0, 10, 12, 60, "a"), (1, 20, 22, 90, "a")],
            [("page", 12, 90, ["1h/5m", "6h/30m"])],
            id="two pairs at once are one page",
        ),
        pytest.param(
            [(0, 10, 12, 60, "a"), (0, 69, 70, 90, "a")],
            [("page", 12, 90, ["1h/5m"])],
            id="a firing that comes back in ten minutes is the same page",
        ),
        pytest.param(
            [(0, 10, 12, 60, "a"), (0, 70, 71, 90, "a")],
            [("page", 12, 60, ["1h/5m"]), ("page", 71, 90, ["1h/5m"])],
            id="a firing that comes back later is another page",
        ),
        pytest.param(
            [(0, 10, 12, None, "a"), (1, 20, 22, 90, "a"), (0, 900, 902, 950, "a")],
            [("page", 12, None, ["1h/5m", "6h/30m"])],
            id="what has not let go takes all that follows",
        ),
        pytest.param(
            [(0, 10, 12, 60, "a"), (0, 10, 12, 60, "b"), (2, 10, 25, 99, "a")],
            [
                ("page", 12, 60, ["1h/5m"]),
                ("ticket", 25, 99, ["1d/2h"]),
                ("page", 12, 60, ["1h/5m"]),
            ],
            id="each group and severity has its own",
        ),
    ],
)
def test_routes(
    firings: list[tuple[int, float, float, float | None, str]],
    expected: list[tuple[str, float, float | None, list[str]]],
) -> None:
    """The firings of a group and severity are one page where they touch or nearly do."""
    pages = routed_pages(replayed(*firings).firings, ("run",))

    assert pages.select("severity", "fired_at", "resolved_at", "pairs").rows() == [
        (severity, moment(fired), moment(resolved), pairs)
        for severity, fired, resolved, pairs in expected
    ]


def test_spent_share() -> None:
    """A firing's share is its bad events over what the month's traffic allows."""
    alerts = all_alerts(replayed((0, 2870, 2871, None, "a"), (0, 10, 12, 60, None)))

    assert [
        (run, alert, None if spent is None else round(spent, 9))
        for run, alert, spent in alerts.select("run", "alert", "spent_ratio").rows()
    ] == [
        ("a", "1h/5m", round(20 / 300, 9)),
        (None, "1h/5m", None),
        (None, "routed", None),
        ("a", "routed", round(20 / 300, 9)),
    ]


FIRST = {
    "alert": "1h/5m",
    "severity": "page",
    "firings": 1,
    "significant_firings": 1,
    "precision": 1.0,
    "incidents": 1,
    "found": 1,
    "recall": 1.0,
    "ttd_seconds": 720.0,
    "max_ttd_seconds": 720.0,
    "reset_seconds": 300.0,
    "max_reset_seconds": 300.0,
}
MISSED = FIRST | {
    "significant_firings": 0,
    "precision": 0.0,
    "found": 0,
    "recall": 0.0,
    "ttd_seconds": None,
    "max_ttd_seconds": None,
    "reset_seconds": None,
    "max_reset_seconds": None,
}


@pytest.mark.parametrize(
    ("firings", "known", "expected"),
    [
        pytest.param([(0, 9, 12, 65, "a")], [("a", 0, 60, 0.1)], FIRST, id="found"),
        pytest.param([(0, 9, 12, 65, "a")], [(None, 0, 60, 0.1)], FIRST, id="of any group"),
        pytest.param([(0, 9, 12, 65, "a")], [("b", 0, 60, 0.1)], MISSED, id="of another group"),
        pytest.param(
            [(0, 9, 12, 65, "a")],
            [("a", 0, 60, 0.01)],
            MISSED | {"incidents": 0, "recall": None},
            id="too small to be significant",
        ),
        pytest.param(
            [(0, 9, 12, 65, "a")],
            [("a", 0, 60, None)],
            MISSED | {"incidents": 0, "recall": None},
            id="without data nothing is significant",
        ),
        pytest.param([(0, 70, 72, 90, "a")], [("a", 0, 60, 0.1)], MISSED, id="too late"),
        pytest.param(
            [(0, 9, 12, 30, "a"), (0, 50, 52, 65, "a")],
            [("a", 0, 60, 0.1)],
            FIRST | {"firings": 2, "significant_firings": 2},
            id="twice for one incident: the first detects, the last resets",
        ),
        pytest.param(
            [(0, 9, 12, None, "a")],
            [("a", 0, None, 0.1)],
            FIRST | {"reset_seconds": None, "max_reset_seconds": None},
            id="both go on",
        ),
        pytest.param(
            [(0, 9, 12, 40, "a")],
            [("a", 0, 60, 0.1)],
            FIRST | {"reset_seconds": 0.0, "max_reset_seconds": 0.0},
            id="let go before the end",
        ),
        pytest.param(
            [],
            [("a", 0, 60, 0.1)],
            MISSED | {"firings": 0, "precision": None},
            id="no firing has no precision",
        ),
        pytest.param(
            [(0, 9, 12, 65, "a"), (0, 140, 144, 200, "b")],
            [("a", 0, 60, 0.1), ("b", 120, 180, 0.1)],
            FIRST
            | {"firings": 2, "significant_firings": 2, "incidents": 2, "found": 2}
            | {"ttd_seconds": 1080.0, "max_ttd_seconds": 1440.0}
            | {"reset_seconds": 750.0, "max_reset_seconds": 1200.0},
            id="medians and the worst of two",
        ),
    ],
)
def test_scores(
    firings: list[tuple[int, float, float, float | None, str]],
    known: list[tuple[str | None, float, float | None, float | None]],
    expected: dict[str, object],
) -> None:
    """The page 1h/5m is scored against incidents that cost 2 % of the budget or more."""
    scores = score_alerts(replayed(*firings), incidents(*known), min_spent_ratio=0.02)

    assert scores.row(0, named=True) == expected


def test_every_alert_is_scored() -> None:
    """Each pair has a row, also when it never fired, and each severity as it is routed."""
    scores = score_alerts(replayed((1, 9, 12, 65, "a")), None, min_spent_ratio=0.02)

    assert scores.select("alert", "severity", "firings", "precision", "recall").rows() == [
        ("1h/5m", "page", 0, None, None),
        ("6h/30m", "page", 1, 1.0, None),
        ("1d/2h", "ticket", 0, None, None),
        ("3d/6h", "ticket", 0, None, None),
        ("routed", "page", 1, 1.0, None),
        ("routed", "ticket", 0, None, None),
    ]


def test_small_firings_are_not_significant() -> None:
    """Without known incidents a firing has to cost the set share itself."""
    scores = score_alerts(replayed((0, 9, 12, 65, "a")), None, min_spent_ratio=0.5)

    assert scores.row(0)[:5] == ("1h/5m", "page", 1, 0, 0.0)


def history(runs: dict[str, int]) -> FrameHistory:
    """Counters over an hour with 10 steps a minute, so many of them bad in each run."""
    times = pl.Series([moment(n) for n in range(61)], dtype=TIME)
    frames = [
        pl.DataFrame(
            {"metric": metric, "run": run, "time": times, "value": [each * n for n in range(61)]}
        )
        for run, bad in runs.items()
        for metric, each in (("bad_total", float(bad)), ("all_total", 10.0))
    ]
    return frame_history(pl.concat(frames).lazy())


@pytest.mark.parametrize(
    ("run", "start", "end", "expected"),
    [
        pytest.param("a", 0, 60, 60 / 300, id="its own group"),
        pytest.param(None, 0, 60, 120 / 300, id="of any group, the one that was hurt most"),
        pytest.param("a", 0, 30, 30 / 300, id="a part of the time"),
        pytest.param("c", 0, 60, None, id="a group that is not there"),
        pytest.param("a", 90, 99, None, id="a time without data"),
        pytest.param("a", 30, None, 30 / 300, id="an incident that goes on"),
    ],
)
def test_spent(run: str | None, start: float, end: float | None, expected: float | None) -> None:
    """An incident costs its bad events over those that the period allows."""
    known = incidents((run, start, end, None)).drop("spent_ratio")
    spent = with_spent(known, history({"a": 1, "b": 2}), OBJECTIVE, replayed())

    assert spent["spent_ratio"].to_list() == [
        expected if expected is None else pytest.approx(expected, rel=0.02)
    ]


def test_incident_without_group_column() -> None:
    """A table that names no group means any, and incidents come by their start."""
    table = pl.DataFrame({"start": [END, START], "end": [END, START]}).cast(TIME)

    assert known_incidents(table, OBJECTIVE).rows() == [
        (None, None, START, START),
        (None, None, END, END),
    ]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        pytest.param(None, END, id="no start"),
        pytest.param(END, START, id="an end before its start"),
    ],
)
def test_wrong_incidents(start: datetime | None, end: datetime) -> None:
    """An incident without a start, or that ends before it, is refused and shown."""
    table = pl.DataFrame({"start": [start], "end": [end]}, schema={"start": TIME, "end": TIME})
    with pytest.raises(IncidentsError, match="wanted incidents that start"):
        known_incidents(table, OBJECTIVE)


@pytest.mark.parametrize(
    ("now", "then", "expected"),
    [
        pytest.param([], [(0, 9, 12, 65, "a")], [("added", "a", 12, None)], id="added"),
        pytest.param([(0, 9, 12, 65, "a")], [], [("removed", "a", 12, None)], id="removed"),
        pytest.param(
            [(0, 9, 12, 65, "a")],
            [(1, 9, 22, 95, "a")],
            [("kept", "a", 22, -600.0)],
            id="kept, ten minutes later",
        ),
        pytest.param(
            [(0, 9, 12, 65, "a")],
            [(0, 9, 12, 65, "b")],
            [("removed", "a", 12, None), ("added", "b", 12, None)],
            id="another group is another page",
        ),
        pytest.param(
            [(0, 9, 12, 30, "a"), (0, 50, 52, 65, "a")],
            [(1, 9, 22, None, "a")],
            [("kept", "a", 22, -600.0)],
            id="one that joins two keeps both",
        ),
        pytest.param(
            [(2, 9, 12, 65, "a")],
            [(0, 9, 12, 65, "a")],
            [("added", "a", 12, None), ("removed", "a", 12, None)],
            id="a ticket that becomes a page",
        ),
    ],
)
def test_changes(
    now: list[tuple[int, float, float, float | None, str]],
    then: list[tuple[int, float, float, float | None, str]],
    expected: list[tuple[str, str, float, float | None]],
) -> None:
    """A page is kept where the other policy's overlaps it in its group and severity."""
    changes = page_changes(replayed(*now), replayed(*then))

    assert changes.select("change", "run", "fired_at", "earlier_seconds").rows() == [
        (change, run, moment(fired), earlier) for change, run, fired, earlier in expected
    ]
