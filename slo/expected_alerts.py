"""What promtool should see: the alerts that our own evaluator says fire on a made-up history.

Source: Prometheus, "Unit Testing for Rules". Expectations are computed and never copied from what
promtool said, so that each generated test also proves that rules and frames agree.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from collectors.frames import TIME
from slo.alert_states import burn_alerts
from slo.burn_rules import (
    PAIR_SUFFIX,
    ROUTED_SUFFIXES,
    burn_annotations,
    burn_labels,
    routed_annotations,
    routed_labels,
    routed_severities,
)
from slo.burns import burn_rates
from slo.data_rules import alert_name
from slo.example_histories import History
from slo.example_series import Labels
from slo.growth import BurnParams, Mode
from slo.objectives import Objective
from slo.windows import BurnWindow, Severity, duration

# promtool counts from the epoch; so does the made-up history.
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)

AlertTest = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A made-up history, as our evaluator judged it.

    Attributes:
        objective: Whose.
        burns: `BURNS`.
        alerts: `BURN_ALERTS`.
    """

    objective: Objective
    burns: pl.DataFrame
    alerts: pl.DataFrame

    @property
    def changes(self) -> set[int]:
        """Every second at which an alert fires or ends."""
        changed = (*self.alerts["fired_at"], *self.alerts["resolved_at"].drop_nulls())
        return {int((moment - _START).total_seconds()) for moment in changed}


def evaluated(
    objective: Objective, histories: list[History], *, sample_seconds: int, step_seconds: int
) -> Evaluated:
    """Return a history as our evaluator judges it, at each step up to its last sample."""
    end = (len(histories[0].values) - 1) * sample_seconds
    times = _times(end, step_seconds)
    stamps = _times(end, sample_seconds)
    frames = [
        pl.DataFrame({"metric": one.metric, **one.labels, "time": stamps, "value": one.values})
        for one in histories
    ]
    series = pl.concat(frames, how="diagonal")
    burns = burn_rates(series, objective, times, BurnParams(mode=Mode.PARITY))
    return Evaluated(objective=objective, burns=burns, alerts=burn_alerts(burns, objective, times))


def alert_tests(judged: Evaluated, second: int) -> list[AlertTest]:
    """Return what should fire at a time: pairs of windows, pages and tickets."""
    objective = judged.objective
    firing = _firing(judged, _START + timedelta(seconds=second))
    pairs = [
        expected_pair(objective, _window(objective, row), _group(objective, row), row["_value"])
        for row in firing.iter_rows(named=True)
    ]
    counted = firing.group_by(*objective.group_labels, "severity", maintain_order=True).len()
    tests = [expectation(objective, PAIR_SUFFIX, second, pairs)]
    for severity in routed_severities(objective):
        routed = [
            expected_route(objective, severity, _group(objective, row), row["len"])
            for row in counted.filter(pl.col("severity") == severity).iter_rows(named=True)
        ]
        tests.append(expectation(objective, ROUTED_SUFFIXES[severity], second, routed))
    return tests


def expectation(
    objective: Objective, suffix: str, second: int, alerts: list[dict[str, object]]
) -> AlertTest:
    """Return what should fire at a time under one name."""
    return {
        "eval_time": duration(second),
        "alertname": alert_name(objective, suffix),
        "exp_alerts": alerts,
    }


def expected_pair(
    objective: Objective, window: BurnWindow, group: Labels, ratio: float
) -> dict[str, object]:
    """Return the alert of a pair, filled in as Prometheus fills it."""
    texts = burn_annotations(objective, window)
    return {
        "exp_labels": group | burn_labels(objective, window),
        "exp_annotations": _filled(texts, group, f"{ratio * 100:.4g}%"),
    }


def expected_route(
    objective: Objective, severity: Severity, group: Labels, pair_count: int
) -> dict[str, object]:
    """Return a routed alert, filled in as Prometheus fills it."""
    texts = routed_annotations(objective, severity)
    return {
        "exp_labels": group | routed_labels(objective, severity),
        "exp_annotations": _filled(texts, group, str(pair_count)),
    }


def filled_groups(texts: dict[str, str], group: Labels) -> dict[str, str]:
    """Return annotations with the labels of a group filled in."""
    filled = dict(texts)
    for label, content in group.items():
        place = f"{{{{ $labels.{label} }}}}"
        filled = {key: text.replace(place, content) for key, text in filled.items()}
    return filled


def _filled(texts: dict[str, str], group: Labels, value: str) -> dict[str, str]:
    """Return annotations with the labels of a group and a value filled in."""
    places = ("{{ $value | humanizePercentage }}", "{{ $value }}")
    filled = filled_groups(texts, group)
    for place in places:
        filled = {key: text.replace(place, value) for key, text in filled.items()}
    return filled


def _times(end: int, step: int) -> pl.Series:
    """Return every step from the start to the end, both in seconds."""
    moments = [_START + timedelta(seconds=second) for second in range(0, end + 1, step)]
    return pl.Series(moments, dtype=TIME)


def _firing(judged: Evaluated, now: datetime) -> pl.DataFrame:
    """Return the alerts that fire at a time; `_value` is what they show."""
    objective = judged.objective
    key = [*objective.group_labels, "severity", "long_seconds", "short_seconds"]
    resolves = pl.col("resolved_at")
    # An alert that is held shows the value of the last evaluation at which its condition held.
    values = (
        judged.burns.filter("fires", pl.col("time") <= now)
        .group_by(key)
        .agg(pl.col("long_error_ratio").sort_by("time").last().alias("_value"))
    )
    return (
        judged.alerts.filter(pl.col("fired_at") <= now, resolves.is_null() | (resolves > now))
        .filter(~pl.col("severity").is_in(objective.muted))
        .join(values, on=key)
        .sort(*objective.group_labels, "long_seconds")
    )


def _window(objective: Objective, row: dict[str, object]) -> BurnWindow:
    """Return the pair that a row is about."""
    wanted = row["severity"], row["long_seconds"], row["short_seconds"]
    (window,) = (
        one
        for one in objective.windows
        if (one.severity, one.long_seconds, one.short_seconds) == wanted
    )
    return window


def _group(objective: Objective, row: dict[str, object]) -> Labels:
    """Return the labels of the group that a row is about."""
    return {label: str(row[label]) for label in objective.group_labels}
