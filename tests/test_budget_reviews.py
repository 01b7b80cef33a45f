"""Objectives at one moment: both periods, outlook, trend, days, and where bad events come from."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest

from collectors.frames import TIME
from slo.budget_reviews import ObjectiveReview, ReviewParams, review_objective, shares_of
from slo.calendars import Calendar
from slo.exclusions import Exclusion
from slo.histories import frame_history
from slo.objectives import Objective
from slo.policy_replays import NoHistoryError
from slo.selectors import Selector
from slo.windows import DAY_SECONDS, RECOMMENDED_WINDOWS

START = datetime(2026, 2, 1, tzinfo=UTC)
DAY = timedelta(days=1)
OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal("99.9"),
    period_seconds=30 * DAY_SECONDS,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("run",),
    windows=RECOMMENDED_WINDOWS,
)


def series(
    days: float, *outages: tuple[float, float], run: str = "a", gap_minutes: int = 10, **labels: str
) -> pl.DataFrame:
    """Counters of one event a second, all of them bad in the outages (in days after the start)."""
    count = int(days * 1440 / gap_minutes) + 1
    at = [gap_minutes / 1440 * n for n in range(count)]
    bad = [sum(max(0.0, min(now, end) - start) for start, end in outages) * 86400.0 for now in at]
    times = pl.Series(
        [START + n * timedelta(minutes=gap_minutes) for n in range(count)], dtype=TIME
    )
    return pl.concat(
        pl.DataFrame({"metric": metric, "run": run, **labels, "time": times, "value": values})
        for metric, values in (
            ("bad_total", bad),
            ("all_total", [DAY_SECONDS * now for now in at]),
        )
    )


def review(
    *frames: pl.DataFrame,
    objective: Objective = OBJECTIVE,
    as_of: datetime | None = None,
    **params: object,
) -> ObjectiveReview:
    """An objective over some series."""
    history = frame_history(pl.concat(frames, how="diagonal").lazy())
    return review_objective(history, objective, ReviewParams(**params), as_of=as_of)  # type: ignore[arg-type]  # a test passes any field on


OUTAGE_20_FEBRUARY = (19.0, 19.0 + 43.2 / 1440)


def test_rolling_and_calendar_stand_side_by_side() -> None:
    """43.2 min lost on 20 February: on 10 March nothing is left of 30 days, and all of March."""
    now = datetime(2026, 3, 10, tzinfo=UTC)
    both = review(series(37, OUTAGE_20_FEBRUARY), as_of=now)
    rows = [
        (row["period"], row["period_start"], round(row["budget_left_ratio"], 2))
        for frame in (both.budgets, both.beside)
        for row in frame.iter_rows(named=True)
    ]

    assert rows == [
        ("rolling", datetime(2026, 2, 8, tzinfo=UTC), 0.0),
        ("month UTC", datetime(2026, 3, 1, tzinfo=UTC), 1.0),
    ]


def test_calendar_stands_beside_rolling() -> None:
    """A calendar's budget has the rolling one beside it."""
    calendar = replace(OBJECTIVE, calendar=Calendar(unit="month", zone="Europe/Berlin"))
    both = review(series(37), objective=calendar)

    assert (both.budgets["period"][0], both.beside["period"][0]) == (
        "month Europe/Berlin",
        "rolling",
    )


def test_trend_looks_back_over_the_period() -> None:
    """Half of the budget went three days ago: the trend's last days are at 50 %, not full."""
    outage = (27.0, 27.0 + 21.6 / 1440)
    trend = review(series(30, outage), trend_points=31).trend

    assert [round(left, 2) for left in trend["budget_left_ratio"].tail(3)] == [0.46, 0.48, 0.5]
    assert trend["time"].max() == START + 30 * DAY


def test_maintenance_both_ways() -> None:
    """A declared hour is left out beside the budget that counts it."""
    hour = Exclusion(
        start=START + 9 * DAY, end=START + 9 * DAY + timedelta(hours=1), author="ada", reason="swap"
    )
    excluded = replace(OBJECTIVE, exclusions=(hour,))
    (row,) = review(series(10, (9.0, 9.0 + 1 / 24)), objective=excluded).budgets.to_dicts()

    assert (row["excluded_seconds"], round(row["net_bad"])) == (3600.0, 0)
    assert (round(row["bad"]), row["net_budget_left_ratio"]) == (3600, 1.0)


@pytest.mark.parametrize(
    ("outages", "expected"),
    [
        pytest.param((), ("quiet", None, 259200, False), id="nothing burns"),
        pytest.param(((8.0, 8.00001),), ("quiet", None, 259200, False), id="not in ten years"),
        pytest.param(
            ((9.95, 9.95 + 1 / 1440),),
            ("quiet", START + 10 * DAY + timedelta(hours=2894), 259200, False),
            id="a minute in three days",
        ),
        pytest.param(
            ((9.996, 10.0),),
            ("firing", START + 10 * DAY + timedelta(hours=4.5), 3600, False),
            id="what fires decides, the soonest",
        ),
        pytest.param(
            ((9.9, 10.0),), ("firing", START + 10 * DAY, 3600, True), id="spent is spent now"
        ),
    ],
)
def test_outlook(
    outages: tuple[tuple[float, float], ...], expected: tuple[str, datetime | None, int, bool]
) -> None:
    """The budget ends at the pace of what fires, else at that of the longest window."""
    ((_, state, ends, pace, is_spent),) = review(
        series(10, *outages, gap_minutes=1)
    ).outlooks.rows()
    close = ends is expected[1] or abs(ends - expected[1]) < timedelta(hours=3)

    assert (state, close, pace, is_spent) == (expected[0], True, *expected[2:])


def test_no_data_in_any_window() -> None:
    """A run that ended a week ago has a budget, and no state but `no data`."""
    ended, going = series(3, run="old"), series(12, run="new")
    outlooks = review(ended, going).outlooks

    assert outlooks.select("run", "state").rows() == [("new", "quiet"), ("old", "no_data")]


def test_days_and_contributors() -> None:
    """Bad events are told by day, and by each label that tells them apart."""
    first = series(3, (0.5, 0.5 + 30 / 1440), run="a", host="n1")
    second = series(3, (2.5, 2.5 + 10 / 1440), run="a", host="n2")
    found = review(first, second, series(3, run="b", host="n3"))
    days = found.days.filter(pl.col("bad") > 1).select("run", "time", pl.col("bad").round())

    assert days.rows() == [("a", START + DAY, 1800.0), ("a", START + 3 * DAY, 600.0)]
    assert found.contributors.select("label", "name", pl.col("share_ratio").round(2)).rows() == [
        ("host", "n1", 0.75),
        ("host", "n2", 0.25),
        ("run", "a", 1.0),
    ]


def test_no_number_contributes_nothing() -> None:
    """A label whose bad events are no number has no share, and takes none from the others."""
    counts = [2.0, float("nan"), float("inf"), 0.0]
    part = pl.DataFrame({"label": "host", "name": list("abcd"), "bad": counts})

    assert shares_of([part]).rows() == [("host", "a", 2.0, 1.0)]


def test_one_sample_has_no_event() -> None:
    """A single scrape is no error and no budget: nothing is known."""
    found = review(series(0))

    assert (found.budgets.height, found.outlooks.height, found.contributors.height) == (0, 0, 0)


@pytest.mark.parametrize(
    ("frame", "as_of", "words"),
    [
        pytest.param(series(0).clear(), None, "no series of it", id="no history"),
        pytest.param(series(0).clear(), START, "no series of it", id="no history at a time"),
        pytest.param(series(1), START - DAY, "no sample up to", id="before the first sample"),
    ],
)
def test_nothing_to_review(frame: pl.DataFrame, as_of: datetime | None, words: str) -> None:
    """Without a sample there is an error with the way out, never a full budget."""
    with pytest.raises(NoHistoryError, match=words):
        review(frame, as_of=as_of)
