"""promtool tests for the rules of an objective, expecting what our own evaluator computes.

Source: Prometheus, "Unit Testing for Rules". A made-up history is evaluated over frames and the
alerts it should raise are written down; promtool then evaluates the rules on the same history. So
each generated file also proves that rules and frames agree.
"""

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import polars as pl

from collectors.frames import TIME
from slo.alert_states import burn_alerts
from slo.burns import burn_rates
from slo.growth import BurnParams, Mode
from slo.objectives import Objective
from slo.rules import (
    ABSENT_FOR_SECONDS,
    absent_reason,
    alert_name,
    burn_annotations,
    burn_labels,
    data_annotations,
    data_labels,
    dump_yaml,
    group_names,
)
from slo.selectors import Matcher, MatchSign, quoted
from slo.windows import MINUTE_SECONDS

# promtool counts from the epoch; so does the made-up history.
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_HEALTHY_MINUTES: Final = 120
_SLOW_MINUTES: Final = 60
_RECOVERED_MINUTES: Final = 90
_MINUTES: Final = _HEALTHY_MINUTES + _SLOW_MINUTES + _RECOVERED_MINUTES
_EVENTS_PER_MINUTE: Final = 4
_STRUCK, _SPARED = "a", "b"

_GROWING: Final = f"0+{_EVENTS_PER_MINUTE}x{_MINUTES}"
_FLAT: Final = f"0x{_MINUTES}"
_RISING_WHEN_SLOW: Final = (
    f"0x{_HEALTHY_MINUTES} {_EVENTS_PER_MINUTE}+{_EVENTS_PER_MINUTE}x{_SLOW_MINUTES - 1} "
    f"{_EVENTS_PER_MINUTE * _SLOW_MINUTES}x{_RECOVERED_MINUTES - 1}"
)
_STANDING_WHEN_SLOW: Final = (
    f"0+{_EVENTS_PER_MINUTE}x{_HEALTHY_MINUTES} "
    f"{_EVENTS_PER_MINUTE * _HEALTHY_MINUTES}x{_SLOW_MINUTES - 1} "
    f"{_EVENTS_PER_MINUTE * (_HEALTHY_MINUTES + 1)}+{_EVENTS_PER_MINUTE}x{_RECOVERED_MINUTES - 1}"
)


_OPPOSITE: Final[dict[str, MatchSign]] = {"=": "!=", "!=": "=", "=~": "!~", "!~": "=~"}

History = tuple[str, dict[str, str], str]
"""A made-up series: metric, labels, and values in promtool's short form."""


class NoExampleError(ValueError):
    """No label value is known that a matcher would accept."""


def burn_rule_tests(objective: Objective, *, rules_file: str) -> str:
    """Return a promtool test file for the rules of an objective.

    Args:
        objective: Whose rules; each of its matchers needs a value that can be guessed.
        rules_file: Name of the rule file, beside the test file.

    Raises:
        NoExampleError: A regular expression is too involved to guess a label value for.
    """
    document = {
        "rule_files": [rules_file],
        "evaluation_interval": "1m",
        "group_eval_order": group_names(objective),
        "tests": [_slow_and_back(objective), _no_part(objective), _nothing(objective)],
    }
    return (
        f"# Run with `promtool test rules`; expectations come from our own evaluator.\n"
        f"{dump_yaml(document)}"
    )


def _slow_and_back(objective: Objective) -> dict[str, object]:
    """Return the test of one group that turns bad for an hour while another stays healthy."""
    part = objective.bad or objective.good or objective.total
    all_, part_of_struck, part_of_spared = _courses(objective)
    labels = {group: _labels(objective, part.matchers, group) for group in (_STRUCK, _SPARED)}
    groups = [(_STRUCK, all_[0], part_of_struck), (_SPARED, all_[1], part_of_spared)]
    histories: list[History] = []
    for group, total, values in groups if objective.group_labels else groups[:1]:
        histories.append((objective.total.metric, _total_labels(objective, group), total))
        histories.append((part.metric, labels[group], values))
    return {
        "name": f"{objective.name}: bad for an hour, then healthy again",
        "interval": "1m",
        "input_series": [_input(*history) for history in histories],
        "alert_rule_test": _expectations(objective, histories),
    }


def _courses(objective: Objective) -> tuple[tuple[str, str], str, str]:
    """Return the values of the total of both groups, and of the part of each.

    Where good events are some of the total's own series, the rest of these are the bad ones.
    """
    if objective.bad is not None:
        return (_GROWING, _GROWING), _RISING_WHEN_SLOW, _FLAT
    if objective.good is not None and objective.good.metric == objective.total.metric:
        return (_RISING_WHEN_SLOW, _FLAT), _STANDING_WHEN_SLOW, _GROWING
    return (_GROWING, _GROWING), _STANDING_WHEN_SLOW, _GROWING


def _no_part(objective: Objective) -> dict[str, object]:
    """Return the test of a group for which bad (or good) events never had a series."""
    values = _GROWING if objective.bad else _FLAT
    series = _input(objective.total.metric, _total_labels(objective, _STRUCK), values)
    return {
        "name": f"{objective.name}: events, and no series of bad or good ones",
        "interval": "1m",
        "input_series": [series],
        "alert_rule_test": [
            {"eval_time": "1h", "alertname": alert_name(objective, suffix), "exp_alerts": []}
            for suffix in ("BudgetBurn", "DataFault", "Absent")
        ],
    }


def _nothing(objective: Objective) -> dict[str, object]:
    """Return the test of an objective without any series."""
    known = {m.label: m.value for m in objective.total.matchers if m.sign == "="}
    alert = {
        "exp_labels": known | data_labels(objective),
        "exp_annotations": data_annotations(objective, absent_reason(objective)),
    }
    minutes = ABSENT_FOR_SECONDS // MINUTE_SECONDS
    name = alert_name(objective, "Absent")
    return {
        "name": f"{objective.name}: no series at all",
        "interval": "1m",
        "input_series": [],
        "alert_rule_test": [
            {"eval_time": f"{minutes - 1}m", "alertname": name, "exp_alerts": []},
            {"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": [alert]},
            {
                "eval_time": f"{minutes}m",
                "alertname": alert_name(objective, "BudgetBurn"),
                "exp_alerts": [],
            },
        ],
    }


def _total_labels(objective: Objective, group: str) -> dict[str, str]:
    """Return labels that the total accepts, and that are not those of its bad or good part."""
    total = objective.total.matchers
    part = objective.bad or objective.good or objective.total
    if part.metric != objective.total.metric:
        return _labels(objective, total, group)
    for matcher in part.matchers:
        refused = replace(matcher, sign=_OPPOSITE[matcher.sign])
        with suppress(NoExampleError):
            return _labels(objective, (*total, refused), group)
    raise NoExampleError(
        f"wanted series of {objective.total.text} that are not of {part.text}, found none; "
        "write the promtool test by hand"
    )


def _labels(objective: Objective, matchers: tuple[Matcher, ...], group: str) -> dict[str, str]:
    """Return labels that matchers accept, of one group."""
    labels = {label: f"{label}-{group}" for label in objective.group_labels}
    for name in sorted({matcher.label for matcher in matchers}):
        labels[name] = _example([matcher for matcher in matchers if matcher.label == name])
    return labels


def _example(matchers: list[Matcher]) -> str:
    """Return a value of one label that each of its matchers accepts."""
    written = [part for matcher in matchers for part in matcher.value.split("|")]
    for value in ("500", "200", "other", "a", *written):
        if all(_accepts(matcher, value) for matcher in matchers):
            return value
    wanted = " and ".join(f"{m.label}{m.sign}{m.value!r}" for m in matchers)
    raise NoExampleError(
        f"wanted a value that fulfils {wanted}, found none; write the promtool test by hand"
    )


def _accepts(matcher: Matcher, value: str) -> bool:
    """Return whether a label value fulfils a matcher."""
    if matcher.sign in {"=", "!="}:
        is_same = value == matcher.value
    else:
        is_same = re.fullmatch(matcher.value, value) is not None
    return is_same == (matcher.sign in {"=", "=~"})


def _input(metric: str, labels: dict[str, str], values: str) -> dict[str, str]:
    """Return one input series of promtool."""
    inside = ",".join(f"{name}={quoted(value)}" for name, value in sorted(labels.items()))
    return {"series": f"{metric}{{{inside}}}", "values": values}


def _expectations(objective: Objective, histories: list[History]) -> list[dict[str, object]]:
    """Return what fires around every change, as our own evaluator has it."""
    series = _series(histories)
    times = _times(_MINUTES)
    burns = burn_rates(series, objective, times, BurnParams(mode=Mode.PARITY))
    alerts = burn_alerts(burns, objective, times)
    minutes = {_HEALTHY_MINUTES, _MINUTES}
    for changed in (*alerts["fired_at"], *alerts["resolved_at"].drop_nulls()):
        minute = (changed - _START) // timedelta(minutes=1)
        minutes |= {minute - 1, minute}
    return [
        {
            "eval_time": f"{minute}m",
            "alertname": alert_name(objective, "BudgetBurn"),
            "exp_alerts": _firing(objective, burns, alerts, _START + timedelta(minutes=minute)),
        }
        for minute in sorted(minutes)
    ]


def _times(minutes: int) -> pl.Series:
    """Return every full minute from the start on."""
    return pl.Series([_START + timedelta(minutes=m) for m in range(minutes + 1)], dtype=TIME)


def _series(histories: list[History]) -> pl.DataFrame:
    """Return the made-up history as a frame of series."""
    frames = [
        pl.DataFrame(
            {"metric": metric, **labels, "time": _times(_MINUTES), "value": _expanded(values)}
        )
        for metric, labels, values in histories
    ]
    return pl.concat(frames, how="diagonal")


def _expanded(values: str) -> list[float]:
    """Return the numbers that promtool's short form stands for: `a+bxn` is n + 1 of them."""
    numbers: list[float] = []
    for first, step, count in re.findall(r"(\d+)(?:\+(\d+))?x(\d+)", values):
        numbers += [float(int(first) + int(step or 0) * n) for n in range(int(count) + 1)]
    return numbers


def _firing(
    objective: Objective, burns: pl.DataFrame, alerts: pl.DataFrame, now: datetime
) -> list[dict[str, object]]:
    """Return the alerts that fire at a time, with labels and annotations filled in."""
    key = [*objective.group_labels, "severity", "long_seconds", "short_seconds"]
    resolves = pl.col("resolved_at")
    # An alert that is held shows the value of the last evaluation at which its condition held.
    values = (
        burns.filter("fires", pl.col("time") <= now)
        .group_by(key)
        .agg(pl.col("long_error_ratio").sort_by("time").last())
    )
    firing = (
        alerts.filter(pl.col("fired_at") <= now, resolves.is_null() | (resolves > now))
        .join(values, on=key)
        .sort(*objective.group_labels, "long_seconds")
    )
    windows = {(w.severity, w.long_seconds, w.short_seconds): w for w in objective.windows}
    expected: list[dict[str, object]] = []
    for row in firing.iter_rows(named=True):
        window = windows[row["severity"], row["long_seconds"], row["short_seconds"]]
        labels = {label: str(row[label]) for label in objective.group_labels}
        texts = burn_annotations(objective, window)
        expected.append(
            {
                "exp_labels": labels | burn_labels(objective, window),
                "exp_annotations": _filled(texts, labels, row["long_error_ratio"]),
            }
        )
    return expected


def _filled(texts: dict[str, str], labels: dict[str, str], value: float) -> dict[str, str]:
    """Return annotations as Prometheus fills them in."""
    filled = dict(texts)
    for key, text in texts.items():
        whole = text.replace("{{ $value | humanizePercentage }}", f"{value * 100:.4g}%")
        for label, content in labels.items():
            whole = whole.replace(f"{{{{ $labels.{label} }}}}", content)
        filled[key] = whole
    return filled
