"""Replay of an objective's alerts over history, stretch by stretch in bounded memory.

Source: Prometheus, rules/manager.go: rules are evaluated on a fixed grid. Ours lies on whole
multiples of the step since the epoch, as promtool's does, so that two replays meet the same
moments. Burn rates of a stretch need no sample older than the longest window; the state machine of
the alerts then runs over the stretches' conditions as one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from collectors.frames import TIME
from slo.alert_states import BURN_ALERTS, burn_alerts
from slo.burns import burn_rates
from slo.growth import BurnParams, event_growth
from slo.histories import SeriesHistory
from slo.objectives import Objective
from slo.windows import DAY_SECONDS

TRAFFIC: Final = pl.Schema({"time": TIME, "bad": pl.Float64(), "total": pl.Float64()})
"""Beside the group labels: events of the day before `time`; the last day may be cut short."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SPARE: Final = timedelta(minutes=10)
"""Read beyond the longest window: what a lookback may still see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayParams:
    """How a policy is replayed.

    Attributes:
        step_seconds: Time between two evaluations.
        chunk: Length of a stretch; shorter takes less memory and more time.
        max_cells: Evaluations (groups times moments times pairs) at once; more groups than fit are
            evaluated one batch after the other.
        burns: Arithmetic and mode. Without `scrape_seconds` each stretch takes the usual gap of its
            own samples, which matters where a group changes its scrape interval.
    """

    step_seconds: int = 60
    chunk: timedelta = timedelta(days=3)
    max_cells: int = 1_000_000
    burns: BurnParams = field(default_factory=BurnParams)

    def __post_init__(self) -> None:
        """Refuse a grid without steps and a stretch without one."""
        if self.step_seconds < 1:
            raise ValueError(f"step_seconds must be at least 1, found {self.step_seconds}")
        if self.chunk < timedelta(seconds=self.step_seconds):
            raise ValueError(
                f"a chunk must hold a step of {self.step_seconds} s, found {self.chunk}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReplay:
    """What a policy would have done.

    Attributes:
        objective: The policy.
        start: First evaluation.
        end: Last evaluation.
        step_seconds: Time between two.
        firings: The group labels and `BURN_ALERTS`, with `peak_bad`, the most bad events that the
            long window held while the alert fired.
        traffic: The group labels and `TRAFFIC`.
    """

    objective: Objective
    start: datetime
    end: datetime
    step_seconds: int
    firings: pl.DataFrame
    traffic: pl.DataFrame

    @property
    def grid(self) -> str:
        """The evaluations in words."""
        return (
            f"evaluated every {self.step_seconds} s on whole multiples of it, "
            f"{self.start:%Y-%m-%d %H:%M:%S} to {self.end:%Y-%m-%d %H:%M:%S} UTC"
        )


class NoHistoryError(ValueError):
    """There is nothing to replay."""


def replay_policy(
    history: SeriesHistory,
    objective: Objective,
    params: ReplayParams,
    *,
    span: tuple[datetime | None, datetime | None] = (None, None),
) -> PolicyReplay:
    """Return when each alert of an objective would have fired.

    Args:
        history: The series.
        objective: The policy.
        params: Grid, stretches and arithmetic.
        span: First and last evaluation; null is the history's.

    Raises:
        NoHistoryError: The history has no sample of the objective in the span.
        MissingColumnError: The series lack a label that the objective groups by.
        DuplicateSampleError: A series has two different values at one time.
        TooManyGroupsError: There are more groups than the objective allows.
    """
    start, end = _ends(history, objective, params.step_seconds, span)
    held: list[pl.DataFrame] = []
    traffic: list[pl.DataFrame] = []
    for times, series in _stretches(history, objective, params, (start, end)):
        for batch in _batches(series, objective, params.max_cells // len(times)):
            burns = burn_rates(batch, _for_alerts(objective), times, params.burns)
            held.append(burns.filter("fires"))
            traffic.append(_traffic(batch, objective, times, params))
    if not held:
        raise NoHistoryError(
            f"objective {objective.name!r}: no sample from {start.isoformat()} to "
            f"{end.isoformat()}; widen --start and --end, or look whether the metric "
            f"{objective.total.metric} is in the source"
        )
    fired = pl.concat(held)
    return PolicyReplay(
        objective=objective,
        start=start,
        end=end,
        step_seconds=params.step_seconds,
        firings=_with_peaks(
            burn_alerts(fired, objective, _grid(start, end, params.step_seconds)), fired, objective
        ),
        traffic=pl.concat(traffic).sort(*objective.group_labels, "time"),
    )


def _for_alerts(objective: Objective) -> Objective:
    """Return the objective without what only its budget needs: a long period costs memory."""
    if objective.guard.by_traffic:
        return objective
    return replace(objective, period_seconds=objective.window_seconds[-1], calendar=None)


def _ends(
    history: SeriesHistory,
    objective: Objective,
    step_seconds: int,
    span: tuple[datetime | None, datetime | None],
) -> tuple[datetime, datetime]:
    """Return the first and the last evaluation, on the grid."""
    known = history.span()
    if known is None:
        raise NoHistoryError(
            f"objective {objective.name!r}: the source has no series at all; give logs with "
            "steps, a store, a file of series, or a Prometheus"
        )
    first, last = (max(known[0], span[0] or known[0]), min(known[1], span[1] or known[1]))
    if first > last:
        raise NoHistoryError(
            f"objective {objective.name!r}: the source has samples from {known[0].isoformat()} to "
            f"{known[1].isoformat()}, and none in the span asked for; change --start or --end"
        )
    step = timedelta(seconds=step_seconds)
    begin = _EPOCH + -((_EPOCH - first) // step) * step
    return begin, max(begin, _EPOCH + (last - _EPOCH) // step * step)


def _grid(start: datetime, end: datetime, step_seconds: int) -> pl.Series:
    """Return the evaluation times, both ends included."""
    step = timedelta(seconds=step_seconds)
    return pl.datetime_range(start, end, step, time_unit="us", eager=True).alias("time")


def _stretches(
    history: SeriesHistory,
    objective: Objective,
    params: ReplayParams,
    ends: tuple[datetime, datetime],
) -> Iterator[tuple[pl.Series, pl.DataFrame]]:
    """Yield each stretch's evaluation times, and the samples that they look back on.

    Each sample is read once; what the next stretch looks back on is kept.
    """
    slices = 0 if objective.slices is None else 2 * objective.slices.seconds
    reach = max(*objective.window_seconds, DAY_SECONDS, _for_alerts(objective).period_seconds)
    lookback = timedelta(seconds=reach + slices) + _SPARE
    step = timedelta(seconds=params.step_seconds)
    chunk = params.chunk // step * step
    start, end = ends
    read_from, kept = start - lookback, None
    while start <= end:
        last = min(start + chunk - step, end)
        fresh = history.read(read_from, last + timedelta(milliseconds=1))
        read_from = last + timedelta(milliseconds=1)
        series = fresh if kept is None else pl.concat([kept, fresh], how="diagonal_relaxed")
        if series.height:
            yield _grid(start, last, params.step_seconds), series
        start = last + step
        kept = series.filter(pl.col("time") >= start - lookback)


def _batches(series: pl.DataFrame, objective: Objective, max_cells: int) -> Iterator[pl.DataFrame]:
    """Yield the series of some groups at a time; all of them where they fit."""
    labels = list(objective.group_labels)
    size = max(1, max_cells // len(objective.windows))
    if not labels or not set(labels) <= set(series.columns):
        yield series
        return
    groups = series.select(labels).unique().sort(labels)
    objective.refuse_many(groups.height)
    if groups.height <= size:
        yield series
        return
    for first in range(0, groups.height, size):
        some = groups.slice(first, size)
        yield series.join(some, on=labels, how="semi", nulls_equal=True, maintain_order="left")


def _traffic(
    series: pl.DataFrame, objective: Objective, times: pl.Series, params: ReplayParams
) -> pl.DataFrame:
    """Return the events of each whole day in a stretch, and of what is left at its end.

    Days begin a step before the first evaluation, where the stretch before ended.
    """
    day, end = timedelta(days=1), times[-1]
    begin = times[0] - timedelta(seconds=params.step_seconds)
    count = (end - begin) // day
    days = pl.Series("time", [begin + n * day for n in range(1, count + 1)], dtype=TIME)
    rest = int((end - begin - count * day).total_seconds())
    parts = [(days, DAY_SECONDS)] * (count > 0) + [(times.tail(1), rest)] * (rest > 0)
    grown = [
        event_growth(series, objective, ends, range_seconds=seconds, params=params.burns)
        for ends, seconds in parts
    ]
    return pl.concat(one.select(*objective.group_labels, *TRAFFIC.names()) for one in grown)


def _with_peaks(alerts: pl.DataFrame, fired: pl.DataFrame, objective: Objective) -> pl.DataFrame:
    """Return firings with the most bad events that their long window held."""
    # An absent label equals an empty one, and an as-of join would not match nulls.
    labels = [pl.col(label).fill_null("") for label in objective.group_labels]
    key = [*objective.group_labels, "severity", "long_seconds", "short_seconds"]
    numbered = alerts.with_row_index("_firing")
    active = numbered.select(pl.exclude("active_at"), at="active_at").with_columns(labels)
    rows = fired.select(*key, at="time", peak_bad="long_bad").with_columns(labels)
    peaks = (
        rows.sort("at")
        .join_asof(
            active.select(*key, "at", "_firing", "resolved_at").sort("at"),
            on="at",
            by=key,
            check_sortedness=False,
        )
        .filter(pl.col("resolved_at").is_null() | (pl.col("at") < pl.col("resolved_at")))
        .group_by("_firing")
        .agg(pl.col("peak_bad").max())
    )
    return (
        numbered.join(peaks, on="_firing", how="left")
        .sort("_firing")
        .select(*objective.group_labels, *BURN_ALERTS.names(), "peak_bad")
    )
