"""Replays over history: grid, stretches that join to the whole, traffic, and what is refused."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import TIME
from slo.alert_states import burn_alerts
from slo.burns import burn_rates
from slo.growth import BurnParams
from slo.guards import Guard
from slo.histories import frame_history
from slo.objectives import Method, Objective, TooManyGroupsError
from slo.policy_replays import NoHistoryError, PolicyReplay, ReplayParams, replay_policy
from slo.selectors import Selector
from slo.slices import Slices
from slo.windows import DAY_SECONDS, BurnWindow

START = datetime(2026, 1, 5, tzinfo=UTC)
WINDOWS = (
    BurnWindow(
        severity="page",
        long_seconds=1200,
        short_seconds=300,
        factor=Decimal(10),
        budget_ratio=Decimal("0.02"),
        for_seconds=120,
    ),
    BurnWindow(
        severity="ticket",
        long_seconds=7200,
        short_seconds=600,
        factor=Decimal(2),
        budget_ratio=Decimal("0.1"),
        for_seconds=0,
        keep_firing_seconds=300,
    ),
)
OBJECTIVE = Objective(
    name="o",
    title="O",
    description="",
    service="s",
    target_percent=Decimal(99),
    period_seconds=7 * DAY_SECONDS,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("c",),
    windows=WINDOWS,
)


def moment(minutes: float) -> datetime:
    """A moment after the start."""
    return START + timedelta(minutes=minutes)


def series(bad: list[int], *, c: str | None = "a", each: int = 10, gap: int = 1) -> pl.DataFrame:
    """Counters with so many bad events of `each` in every `gap` minutes."""
    times = pl.Series([moment(gap * n) for n in range(len(bad))], dtype=TIME)
    totals = {"bad_total": pl.Series(bad).cum_sum(), "all_total": pl.Series([each] * len(bad))}
    totals["all_total"] = totals["all_total"].cum_sum()
    return pl.concat(
        pl.DataFrame({"metric": name, "c": c, "time": times, "value": values.cast(pl.Float64)})
        for name, values in totals.items()
    ).with_columns(pl.col("c").cast(pl.String))


def replay(frame: pl.DataFrame, objective: Objective = OBJECTIVE, **params: object) -> PolicyReplay:
    """What an objective would have done over a frame."""
    return replay_policy(frame_history(frame.lazy()), objective, ReplayParams(**params))  # type: ignore[arg-type]  # a test passes any field on


OUTAGE = [0] * 300 + [10] * 60 + [0] * 300
EMPTY = series([1]).clear()
NINE_DAYS_LATER = series([1] * 30).with_columns(pl.col("time") + timedelta(days=9))


def test_firings() -> None:
    """Firings tell when each alert was active, fired and let go, and its most bad events."""
    whole = replay(series(OUTAGE))

    assert whole.firings.select("severity", "active_at", "fired_at", "resolved_at").rows() == [
        ("page", moment(302), moment(304), moment(364)),
        ("ticket", moment(302), moment(302), moment(374)),
    ]
    assert whole.firings["peak_bad"].round(6).to_list() == [200.0, 600.0]
    assert whole.grid == (
        "evaluated every 60 s on whole multiples of it, "
        "2026-01-05 00:00:00 to 2026-01-05 10:59:00 UTC"
    )


def test_labels_may_be_absent() -> None:
    """A group without its label has firings and peaks like any other."""
    whole = replay(series(OUTAGE, c=None))

    assert whole.firings.select("c", pl.col("peak_bad").round(6)).rows() == [
        (None, 200.0),
        (None, 600.0),
    ]


def test_still_firing() -> None:
    """An alert that fires at the end has not let go, and has its peak."""
    whole = replay(series(OUTAGE[:320]))

    assert whole.firings.filter(severity="page").select("fired_at", "resolved_at").rows() == [
        (moment(304), None)
    ]
    assert whole.firings["peak_bad"].null_count() == 0


def test_span_is_cut() -> None:
    """Evaluations lie on whole steps inside the span that is asked for, windows reach before it."""
    span = (moment(310.3), moment(320.9))
    cut = replay_policy(frame_history(series(OUTAGE).lazy()), OBJECTIVE, ReplayParams(), span=span)

    assert (cut.start, cut.end) == (moment(311), moment(320))
    assert cut.firings["active_at"].to_list() == [moment(311), moment(311)]


def test_traffic_by_day() -> None:
    """Each whole day, and what is left of the last, has its events, whatever the stretches."""
    days = [replay(series([1] * 4000), chunk=timedelta(days=n)).traffic for n in (1, 2, 9)]
    counts = days[0].select("time", pl.col("bad").round(6), pl.col("total").round(6)).rows()

    assert [one.equals(days[0]) for one in days] == [True] * 3
    assert [(at, bad, total) for at, bad, total in counts] == [
        (moment(1439), 1440.0, 14400.0),
        (moment(2879), 1440.0, 14400.0),
        (moment(3999), 1120.0, 11200.0),
    ]


BAD_RUNS = st.lists(st.tuples(st.integers(20, 60), st.integers(0, 10)), min_size=2, max_size=5)
GUARDS = st.sampled_from([Guard(), Guard(min_bad_count=3), Guard(by_traffic=True)])


@settings(max_examples=8)
@given(
    bad=BAD_RUNS,
    other=BAD_RUNS,
    lost=st.sets(st.integers(0, 300), max_size=30),
    chunk=st.integers(60, 200),
    guard=GUARDS,
    max_cells=st.sampled_from([1, 10**6]),
)
def test_stretches_are_the_whole(
    bad: list[tuple[int, int]],
    other: list[tuple[int, int]],
    lost: set[int],
    chunk: int,
    guard: Guard,
    max_cells: int,
) -> None:
    """Stretch by stretch, with resets and lost scrapes, the firings are those of one evaluation."""
    frames = [
        series([number for count, number in runs for _ in range(count)], c=c)
        for c, runs in (("a", bad), ("b", other))
    ]
    restarted = pl.col("value") - pl.when(pl.col("time") > moment(70)).then(3.0).otherwise(0.0)
    frame = pl.concat(frames).with_columns(restarted.clip(lower_bound=0.0))
    kept = frame.filter(~pl.col("time").is_in(pl.lit(pl.Series(map(moment, lost), dtype=TIME))))
    kept = kept if kept.height else frame
    objective = replace(OBJECTIVE, guard=guard)
    params = BurnParams(scrape_seconds=60)
    pieces = replay(
        kept, objective, chunk=timedelta(minutes=chunk), burns=params, max_cells=max_cells
    )
    times = pl.datetime_range(pieces.start, pieces.end, "1m", time_unit="us", eager=True)
    whole = burn_alerts(burn_rates(kept, objective, times, params), objective, times)

    assert pieces.firings.drop("peak_bad").equals(whole)


def test_one_budget_for_all() -> None:
    """An objective without groups is one batch, whatever may be held at once."""
    whole, small = (
        replay(series(OUTAGE), replace(OBJECTIVE, group_labels=()), max_cells=cells)
        for cells in (10**6, 1)
    )

    assert (whole.firings.height, small.firings.equals(whole.firings)) == (2, True)


def test_slices_reach_farther() -> None:
    """An objective of slices is replayed in stretches as in one."""
    sliced = replace(
        OBJECTIVE, method=Method.TIMESLICES, slices=Slices(seconds=300, target_ratio=Decimal("0.9"))
    )
    burns = BurnParams(scrape_seconds=60)
    short, whole = (
        replay(series(OUTAGE), sliced, chunk=timedelta(minutes=n), burns=burns).firings
        for n in (37, 9999)
    )

    assert short.height > 0
    assert short.drop("peak_bad").equals(whole.drop("peak_bad"))


def test_gap_in_history() -> None:
    """Stretches without any sample are passed over."""
    whole = replay(pl.concat([series([1] * 30), NINE_DAYS_LATER]), chunk=timedelta(days=1))

    assert (whole.end - whole.start, whole.traffic.height) == (timedelta(days=9, minutes=29), 2)


@pytest.mark.parametrize(
    ("frame", "span", "words"),
    [
        pytest.param(EMPTY, (None, None), "no series at all", id="no history"),
        pytest.param(series([1] * 9), (moment(99), None), "none in the span", id="another time"),
        pytest.param(
            pl.concat([series([1] * 9), NINE_DAYS_LATER]),
            (moment(5000), moment(5010)),
            "no sample from 2026-01-08T11:20",
            id="a gap",
        ),
    ],
)
def test_no_history(
    frame: pl.DataFrame, span: tuple[datetime | None, datetime | None], words: str
) -> None:
    """Nothing to replay is an error that says what there is, and never a quiet history."""
    with pytest.raises(NoHistoryError, match=words):
        replay_policy(frame_history(frame.lazy()), OBJECTIVE, ReplayParams(), span=span)


def test_too_many_groups() -> None:
    """Groups count over all batches of a stretch, however few fit in one."""
    frame = pl.concat([series([0] * 9, c=name) for name in "abc"])

    with pytest.raises(TooManyGroupsError, match="found 3"):
        replay(frame, replace(OBJECTIVE, max_group_count=2), max_cells=1)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        pytest.param({"step_seconds": 0}, "at least 1, found 0", id="no step"),
        pytest.param({"chunk": timedelta(seconds=1)}, "must hold a step", id="no stretch"),
    ],
)
def test_params(params: dict[str, int], words: str) -> None:
    """A grid without steps is refused when it is built."""
    with pytest.raises(ValueError, match=words):
        ReplayParams(**params)  # type: ignore[arg-type]  # a test passes any field on
