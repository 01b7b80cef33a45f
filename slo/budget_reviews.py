"""An objective at one moment: budget left, burn, when it runs out, and where bad events come from.

Source: The Site Reliability Workbook, chapters 2 and 5. A rolling budget stands beside that of the
calendar, each with its start: slok/sloth issue 656, where the two were taken for one number. Each
point of the trend looks back over the whole period: pyrra-dev/pyrra issue 1576, where a chart
started full.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.budgets import budget_left
from slo.burns import burn_rates
from slo.calendars import Calendar
from slo.growth import BurnParams, event_growth
from slo.histories import SeriesHistory
from slo.objectives import Objective
from slo.policy_replays import NoHistoryError
from slo.windows import DAY_SECONDS

OUTLOOKS: Final = schema_of(
    {"state": pl.String, "exhausts_at": TIME, "pace_seconds": pl.Int64, "is_spent": pl.Boolean}
)
"""Beside the group labels. `state`: firing, fault, warming_up, quiet, or no_data where no window
has an event. `exhausts_at` is when the budget ends at the pace of the window of `pace_seconds`:
that of the soonest pair that fires, else of the longest; null when nothing burns, or not within
`MAX_OUTLOOK`."""

CONTRIBUTORS: Final = schema_of(
    {"label": pl.String, "name": pl.String, "bad": pl.Float64, "share_ratio": pl.Float64}
)
"""Where bad events of the period come from: a label's value and its share (0-1) of them all."""

MAX_OUTLOOK: Final = timedelta(days=3650)
_STATES: Final = ("firing", "fault", "warming_up", "quiet")
"""From the gravest on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewParams:
    """How an objective is reviewed.

    Attributes:
        burns: Arithmetic and mode.
        zone: IANA zone of the calendar month that a rolling budget stands beside.
        trend_points: How many points the trend has.
    """

    burns: BurnParams = field(default_factory=BurnParams)
    zone: str = "UTC"
    trend_points: int = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveReview:
    """An objective at one moment.

    Attributes:
        objective: What is promised.
        as_of: The moment.
        budgets: The group labels and `BUDGETS` of the objective's own period.
        beside: The same of a calendar month for a rolling period, and of a rolling one for a
            calendar's.
        burns: The group labels and `BURNS`.
        outlooks: The group labels and `OUTLOOKS`.
        trend: The group labels, `time` and `budget_left_ratio` along the period.
        days: The group labels, `time` (a day's end), `bad` and `total`.
        contributors: `CONTRIBUTORS`, by label, the most bad events first.
    """

    objective: Objective
    as_of: datetime
    budgets: pl.DataFrame
    beside: pl.DataFrame
    burns: pl.DataFrame
    outlooks: pl.DataFrame
    trend: pl.DataFrame
    days: pl.DataFrame
    contributors: pl.DataFrame


def review_objective(
    history: SeriesHistory, objective: Objective, params: ReviewParams, *, as_of: datetime | None
) -> ObjectiveReview:
    """Return an objective at a moment.

    Args:
        history: The series.
        objective: What is promised.
        params: Arithmetic, zone, points.
        as_of: The moment; null is the last sample.

    Raises:
        NoHistoryError: There is no sample in the period before the moment.
        MissingColumnError: The series lack a label that the objective groups by.
        DuplicateSampleError: A series has two different values at one time.
        TooManyGroupsError: There are more groups than the objective allows.
    """
    span = history.span()
    now = as_of or (span and span[1])
    if now is None or span is None:
        raise NoHistoryError(
            f"objective {objective.name!r}: the source has no series of it; give logs with steps, "
            "a store, a file of series, or a Prometheus"
        )
    # Each point of the trend looks back over a period: two of them, and a month for a calendar's.
    reach = 2 * timedelta(seconds=max(objective.period_seconds, *objective.window_seconds))
    series = history.read(now - reach - timedelta(days=62), now + timedelta(milliseconds=1))
    if series.is_empty():
        raise NoHistoryError(
            f"objective {objective.name!r}: no sample up to {now.isoformat()}; it goes from "
            f"{span[0].isoformat()} to {span[1].isoformat()}: look whether it has "
            f"{objective.total.metric}, or change --as-of"
        )
    at, burns = pl.Series("time", [now], dtype=TIME), params.burns
    budgets = budget_left(series, objective, at, burns)
    rates = burn_rates(series, objective, at, burns)
    return ObjectiveReview(
        objective=objective,
        as_of=now,
        budgets=budgets,
        beside=budget_left(series, _counterpart(objective, params.zone), at, burns),
        burns=rates,
        outlooks=_outlooks(budgets, rates, objective, now),
        trend=_trend(series, objective, now, params),
        days=_days(series, objective, now, burns),
        contributors=_contributors(series, objective, at, burns),
    )


def _counterpart(objective: Objective, zone: str) -> Objective:
    """Return the objective with the other kind of period."""
    calendar = Calendar(unit="month", zone=zone) if objective.calendar is None else None
    return replace(objective, calendar=calendar)


def _outlooks(
    budgets: pl.DataFrame, burns: pl.DataFrame, objective: Objective, now: datetime
) -> pl.DataFrame:
    """Return the state of each group, and when its budget ends."""
    labels = list(objective.group_labels)
    is_firing = pl.col("state") == "firing"
    ordered = burns.with_columns(_all=0).sort(
        ~is_firing,
        pl.when(is_firing).then("exhaustion_seconds"),
        pl.when(~is_firing).then(-pl.col("long_seconds")),
        nulls_last=True,
    )
    grave = pl.col("state").replace_strict(
        {state: number for number, state in enumerate(_STATES)}, return_dtype=pl.Int8
    )
    told = ordered.group_by("_all", *labels, maintain_order=True).agg(
        pl.col("state").sort_by(grave).first(),
        pl.col("exhaustion_seconds").first(),
        pl.col("long_seconds").first().alias("pace_seconds"),
    )
    seconds = pl.col("exhaustion_seconds")
    soon = seconds <= MAX_OUTLOOK.total_seconds()
    ends = pl.lit(now, dtype=TIME) + (seconds * 1e6).cast(pl.Int64).cast(pl.Duration("us"))
    return (
        budgets.select(*labels, "budget_left_ratio", _all=0)
        .join(told, on=["_all", *labels], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            pl.col("state").fill_null("no_data"),
            exhausts_at=pl.when(soon).then(ends),
            is_spent=pl.col("budget_left_ratio") <= 0,
        )
        .select(*labels, *OUTLOOKS.names())
    )


def _trend(
    series: pl.DataFrame, objective: Objective, now: datetime, params: ReviewParams
) -> pl.DataFrame:
    """Return the budget left along the period, or since the first sample if that is later."""
    first = max(now - timedelta(seconds=objective.period_seconds), _first(series))
    step = (now - first) / max(1, params.trend_points - 1)
    times = [now - number * step for number in reversed(range(params.trend_points))]
    at = pl.Series("time", times, dtype=TIME).unique().sort()
    budgets = budget_left(series, objective, at, params.burns)
    return budgets.select(*objective.group_labels, "time", "budget_left_ratio")


def _days(
    series: pl.DataFrame, objective: Objective, now: datetime, params: BurnParams
) -> pl.DataFrame:
    """Return the events of each of the period's days, counted back from the moment."""
    day = timedelta(days=1)
    count = min(objective.period_seconds // DAY_SECONDS, (now - _first(series)) // day + 1)
    ends = pl.Series("time", [now - number * day for number in range(max(1, count))], dtype=TIME)
    grown = event_growth(series, objective, ends, range_seconds=DAY_SECONDS, params=params)
    return grown.select(*objective.group_labels, "time", "bad", "total")


def _first(series: pl.DataFrame) -> datetime:
    """Return the time of the first sample."""
    first: datetime = series.select(pl.col("time").min()).item()
    return first


def _contributors(
    series: pl.DataFrame, objective: Objective, at: pl.Series, params: BurnParams
) -> pl.DataFrame:
    """Return how the period's bad events spread over the values of each label."""
    labels = [name for name in series.columns if name not in {"metric", "time", "value"}]
    parts = [
        event_growth(
            series,
            replace(objective, group_labels=(label,), max_group_count=series.height),
            at,
            range_seconds=objective.period_seconds,
            params=params,
        ).select(label=pl.lit(label), name=pl.col(label).fill_null(""), bad="bad")
        for label in labels
        if series[label].n_unique() > 1
    ]
    return shares_of(parts)


def shares_of(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Return counts of bad events with the share of each in its label's.

    Args:
        parts: `label`, `name` and `bad`, each about one label.

    Returns:
        `CONTRIBUTORS`, by label, the most bad events first; what had none, or no number of them,
        is left out.
    """
    schema = schema_of({name: CONTRIBUTORS[name] for name in ("label", "name", "bad")})
    share = pl.col("bad") / pl.col("bad").sum().over("label")
    return (
        pl.concat([schema.to_frame(), *parts])
        .filter((pl.col("bad") > 0) & pl.col("bad").is_finite())
        .with_columns(share_ratio=share)
        .sort("label", "bad", "name", descending=[False, True, False])
    )
