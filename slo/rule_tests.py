"""promtool tests for the rules of an objective, expecting what our own evaluator computes.

Source: Prometheus, "Unit Testing for Rules". A made-up history is evaluated over frames and the
alerts it should raise are written down; promtool then evaluates the rules on the same history. So
each generated file also proves that rules and frames agree.
"""

import re
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
from slo.selectors import Matcher, Selector
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
    part, struck = (
        (objective.bad, _RISING_WHEN_SLOW)
        if objective.bad
        else (objective.good or objective.total, _STANDING_WHEN_SLOW)
    )
    spared = _FLAT if objective.bad else _GROWING
    histories = [
        (objective.total, _STRUCK, _GROWING),
        (part, _STRUCK, struck),
        *((objective.total, _SPARED, _GROWING), (part, _SPARED, spared))[: _spared(objective)],
    ]
    return {
        "name": f"{objective.name}: bad for an hour, then healthy again",
        "interval": "1m",
        "input_series": [_input(objective, *history) for history in histories],
        "alert_rule_test": _expectations(objective, histories),
    }


def _spared(objective: Objective) -> int:
    """Return how many series stay healthy: none when there is but one group."""
    return 2 if objective.group_labels else 0


def _no_part(objective: Objective) -> dict[str, object]:
    """Return the test of a group for which bad (or good) events never had a series."""
    history = [(objective.total, _STRUCK, _GROWING if objective.bad else "0x120")]
    return {
        "name": f"{objective.name}: events, and no series of bad or good ones",
        "interval": "1m",
        "input_series": [_input(objective, *each) for each in history],
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


def _labels(objective: Objective, selector: Selector, group: str) -> dict[str, str]:
    """Return labels that a selector accepts, of one group."""
    labels = {label: f"{label}-{group}" for label in objective.group_labels}
    return labels | {matcher.label: _example(matcher) for matcher in selector.matchers}


def _example(matcher: Matcher) -> str:
    """Return a label value that a matcher accepts."""
    if matcher.sign == "=":
        return matcher.value
    candidates = ["other", "500", "200", "a", *matcher.value.split("|")]
    wanted = matcher.sign == "=~"
    for value in candidates:
        is_match = (
            re.fullmatch(matcher.value, value) is not None
            if matcher.sign != "!="
            else value == matcher.value
        )
        if is_match == wanted:
            return value
    raise NoExampleError(
        f"wanted a value that {matcher.label}{matcher.sign}{matcher.value!r} accepts, found none "
        f"in {candidates}; write the promtool test by hand"
    )


def _input(objective: Objective, selector: Selector, group: str, values: str) -> dict[str, str]:
    """Return one input series of promtool."""
    labels = sorted(_labels(objective, selector, group).items())
    inside = ",".join(f'{name}="{value}"' for name, value in labels)
    return {"series": f"{selector.metric}{{{inside}}}", "values": values}


def _expectations(
    objective: Objective, histories: list[tuple[Selector, str, str]]
) -> list[dict[str, object]]:
    """Return what fires around every change, as our own evaluator has it."""
    series = _series(objective, histories)
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


def _series(objective: Objective, histories: list[tuple[Selector, str, str]]) -> pl.DataFrame:
    """Return the made-up history as a frame of series."""
    frames = [
        pl.DataFrame(
            {
                "metric": selector.metric,
                **_labels(objective, selector, group),
                "time": _times(_MINUTES),
                "value": _expanded(values),
            }
        )
        for selector, group, values in histories
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
    pair = ["severity", "long_seconds", "short_seconds"]
    resolves = pl.col("resolved_at")
    firing = (
        alerts.filter(pl.col("fired_at") <= now, resolves.is_null() | (resolves > now))
        .with_columns(time=pl.lit(now, dtype=TIME))
        .join(burns, on=[*objective.group_labels, "time", *pair])
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
