"""Incidents that a policy is held against: when they were, whom they hurt, what they cost.

Source: The Site Reliability Workbook, chapter 5, "Alerting considerations": an event is significant
when it spends at least a set share of the error budget.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.growth import BurnParams, event_growth
from slo.histories import SeriesHistory
from slo.objectives import Objective
from slo.policy_replays import PolicyReplay

INCIDENTS: Final = schema_of({"label": pl.String, "start": TIME, "end": TIME})
"""Beside group labels, of which a null one or a missing column means any. `end` is null while it
lasts."""

_DAY: Final = 86_400_000_000
"""Microseconds of a day."""


class IncidentsError(ValueError):
    """A table of incidents cannot be read."""


def known_incidents(table: pl.DataFrame, objective: Objective) -> pl.DataFrame:
    """Return a table of incidents with the labels that an objective groups by.

    Args:
        table: `start`, `end` (`TIME`), and any of `label` and the group labels.
        objective: Whose groups.

    Returns:
        The group labels and `INCIDENTS`, by start and label.

    Raises:
        IncidentsError: An incident has no start, or ends before it starts.
    """
    wanted = ["label", *objective.group_labels]
    missing = [pl.lit(None, dtype=pl.String).alias(w) for w in wanted if w not in table.columns]
    whole = table.with_columns(missing).with_columns(pl.col(wanted).cast(pl.String))
    wrong = whole.filter(pl.col("start").is_null() | (pl.col("end") < pl.col("start")))
    if wrong.height:
        raise IncidentsError(
            f"wanted incidents that start, and end later, found {wrong.row(0, named=True)}; write "
            "times as 2026-01-05T04:00:00Z"
        )
    return whole.select(*objective.group_labels, *INCIDENTS.names()).sort(
        "start", "end", "label", *objective.group_labels, nulls_last=True
    )


def matches(group_labels: tuple[str, ...], suffix: str) -> pl.Expr:
    """Return whether the groups of an incident are those of the joined columns with a suffix.

    A null label of the incident, which stands without a suffix, means any.
    """
    same = [
        pl.col(label).is_null() | pl.col(label).eq_missing(pl.col(f"{label}{suffix}"))
        for label in group_labels
    ]
    return pl.all_horizontal(pl.lit(value=True), *same)


def with_spent(
    incidents: pl.DataFrame, history: SeriesHistory, objective: Objective, replay: PolicyReplay
) -> pl.DataFrame:
    """Return incidents with the share of the budget that each spent.

    Args:
        incidents: As `known_incidents` returns them.
        history: The series they happened in.
        objective: Whose budget.
        replay: A replay over the history, for what the period's budget was.

    Returns:
        The same rows with `spent_ratio`: the share (0-1) of the period's budget; null when there
        were no events in it. Of an incident that names no group, that of the group it hurt most.
    """
    labels = objective.group_labels
    numbered = incidents.with_columns(end=pl.col("end").fill_null(replay.end)).with_row_index("_n")
    none = schema_of({"_n": pl.UInt32, **dict.fromkeys(labels, pl.String), "bad": pl.Float64})
    found = [_events(row, history, objective) for row in numbered.iter_rows(named=True)]
    events = pl.concat([none.to_frame(), *(one for one in found if one is not None)])
    hurt = (
        numbered.join(events, on="_n", suffix="_hurt")
        .filter(matches(labels, "_hurt"))
        .select("_n", "end", "bad", *(pl.col(f"{label}_hurt").alias(label) for label in labels))
    )
    spent = (
        with_period_events(hurt, replay, at="end")
        .group_by("_n")
        .agg(spent_ratio=spent_ratio(objective, "bad").max())
    )
    return incidents.with_row_index("_n").join(spent, on="_n", how="left").sort("_n").drop("_n")


def spent_ratio(objective: Objective, bad: str) -> pl.Expr:
    """Return bad events as a share (0-1) of the period's budget; null without events."""
    allowed = float(objective.budget) * pl.col("period_events")
    return pl.when(allowed > 0).then(pl.col(bad).clip(lower_bound=0.0) / allowed)


def with_period_events(rows: pl.DataFrame, replay: PolicyReplay, *, at: str) -> pl.DataFrame:
    """Return rows with `period_events`: how many events the period before a time has.

    A history shorter than the period counts as if its traffic had gone on through all of it. Null
    for a group without events.

    Args:
        rows: The group labels and a column of times.
        replay: A replay, for the traffic of its days.
        at: Name of the column of times.
    """
    objective = replay.objective
    labels = list(objective.group_labels)
    period, day = timedelta(seconds=objective.period_seconds), timedelta(days=1)
    scale = objective.period_seconds * 1e6 / _seen_microseconds(replay, at)
    days = replay.traffic.select(*labels, pl.col("time").alias("_day"), "total", _all=0)
    numbered = rows.with_row_index("_row").with_columns(_all=0)
    totals = (
        numbered.join(days, on=["_all", *labels], nulls_equal=True)
        .filter(pl.col("_day") > pl.col(at) - period, pl.col("_day") < pl.col(at) + day)
        .group_by("_row", at)
        .agg(pl.col("total").sum())
        .select("_row", period_events=pl.col("total") * scale)
    )
    return numbered.join(totals, on="_row", how="left").sort("_row").drop("_row", "_all")


def _seen_microseconds(replay: PolicyReplay, at: str) -> pl.Expr:
    """Return how long the days are that have a part in the period before a time."""
    begin = replay.start - timedelta(seconds=replay.step_seconds)
    first, last = (pl.lit(one, dtype=TIME).dt.epoch("us") for one in (begin, replay.end))
    moment = pl.col(at).dt.epoch("us")
    before = ((moment - replay.objective.period_seconds * 1_000_000 - first) // _DAY).clip(0)
    after = -((first - moment) // _DAY)
    return (pl.min_horizontal(first + after * _DAY, last) - (first + before * _DAY)).clip(1)


def _events(
    row: Mapping[str, Any], history: SeriesHistory, objective: Objective
) -> pl.DataFrame | None:
    """Return the bad events of each group during one incident; null when there is no sample."""
    start, end = row["start"], row["end"]
    series = history.read(start, end + timedelta(milliseconds=1))
    seconds = max(1, round((end - start).total_seconds()))
    if series.is_empty():
        return None
    times = pl.Series("time", [end], dtype=TIME)
    grown = event_growth(series, objective, times, range_seconds=seconds, params=BurnParams())
    number = pl.lit(row["_n"], dtype=pl.UInt32).alias("_n")
    return grown.select(number, *objective.group_labels, "bad")
