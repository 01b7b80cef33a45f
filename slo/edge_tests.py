"""promtool tests that try each number of the rules just above and just below.

A pair's condition reads what was recorded, so records are made up and not series: any window can
then hold anything, and a test lasts no longer than its alert waits. Numbers that a record itself
compares with are tried on series.
"""

import math
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from slo.burn_rules import PAIR_SUFFIX, ROUTED_SUFFIXES
from slo.example_histories import notation, step_seconds
from slo.example_series import Labels, group_of, series_text
from slo.expected_alerts import expectation, expected_pair, expected_route
from slo.guard_conditions import PERIOD_TOTAL, guard_allows, normal_quantile
from slo.objectives import Objective
from slo.promtool_tests import ALERTS, RuleTest
from slo.records import record_name
from slo.windows import BurnWindow, duration, spent_budget

EDGE: Final = 1e-9
"""Relative distance from a number: far below what anyone would change it by, far above rounding."""
_MANY: Final = 1e24
"""So many events that no guard by confidence doubts their ratio."""
_FEW: Final = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the windows of a pair hold: bad and total, and all events of the period."""

    long_bad: float
    long_total: float
    short_bad: float
    short_total: float
    period_total: float


def edge_tests(objective: Objective) -> list[RuleTest]:
    """Return the tests of each pair's numbers: burn rates and guards, just above and just below.

    Where an objective has groups, each case is a group of one test, which is quicker.
    """
    tests: list[RuleTest] = []
    for window in objective.alerting_windows:
        edges = [*_burn_edges(objective, window), *_guard_edges(objective, window)]
        if objective.group_labels:
            tests.append(_pair_test(objective, "each number", window, edges))
        else:
            tests += [_pair_test(objective, edge[0], window, [edge]) for edge in edges]
    return tests


def _burn_edges(objective: Objective, window: BurnWindow) -> list[tuple[str, Counts]]:
    """Return counts just above the threshold, and with one of the windows just below it."""
    threshold = objective.threshold(window)
    return [
        (name, _counts(long * threshold, short * threshold))
        for name, long, short in (
            ("both windows just above", 1 + EDGE, 1 + EDGE),
            ("the long window just below", 1 - EDGE, 2.0),
            ("the short window just below", 2.0, 1 - EDGE),
        )
    ]


def _guard_edges(objective: Objective, window: BurnWindow) -> list[tuple[str, Counts]]:
    """Return counts at each number of the guard, while all else lets the pair fire."""
    guard, threshold = objective.guard, objective.threshold(window)
    burning = max(1.0, 2 * threshold)
    plenty = _counts(burning, burning)
    edges: list[tuple[str, Counts]] = []
    if guard.min_bad_count:
        for name, bad in (("too few", 1 - EDGE), ("enough", 1.0)):
            count = guard.min_bad_count * bad
            few = replace(plenty, long_bad=count, long_total=count / burning, period_total=count)
            edges.append((f"bad events just {name}", few))
    if guard.by_traffic:
        share = float(spent_budget(window, objective.period_seconds) * objective.budget)
        for name, off in (("too small", 1 - EDGE), ("large enough", 1 + EDGE)):
            traffic = replace(plenty, period_total=plenty.long_bad / (share * off))
            edges.append((f"share of the real budget just {name}", traffic))
    if guard.confidence_ratio is not None:
        edges += _bound_edges(objective, threshold, plenty)
    return edges


def _bound_edges(
    objective: Objective, threshold: float, plenty: Counts
) -> list[tuple[str, Counts]]:
    """Return counts whose lower bound is just above and just below the threshold."""
    z = normal_quantile(objective.guard.confidence_ratio or 0.5)
    total = max(_FEW, 2 * objective.guard.min_bad_count / threshold)
    edges: list[tuple[str, Counts]] = []
    for name, bound in (("low", threshold * (1 - EDGE)), ("high", threshold * (1 + EDGE))):
        if bound >= total / (total + z**2):
            continue
        bad = total * _ratio_with_bound(bound, total, z)
        few = replace(plenty, long_bad=bad, long_total=total, period_total=bad)
        edges.append((f"lower bound just too {name}", few))
        # More bad events than events count as all of them.
        least = bound * z**2 / (1 - bound)
        full = replace(plenty, long_bad=2 * least, long_total=least, period_total=least)
        edges.append((f"lower bound of nothing but bad events just too {name}", full))
    return edges


def _ratio_with_bound(bound: float, total: float, z: float) -> float:
    """Return the ratio whose lower bound is given: the upper end of Wilson's interval around it."""
    spread = z * math.sqrt(bound * (1 - bound) / total)
    return bound + spread


def _counts(long: float, short: float) -> Counts:
    """Return counts of many events with these ratios of bad ones."""
    return Counts(
        long_bad=long * _MANY,
        long_total=_MANY,
        short_bad=short * _MANY,
        short_total=_MANY,
        period_total=long * _MANY,
    )


def _records(objective: Objective, window: BurnWindow, counts: Counts) -> dict[str, float]:
    """Return what would have been recorded, by name."""
    period = record_name("total", objective.period_seconds)
    guarded = {period: counts.period_total} if objective.guard.by_traffic else {}
    return guarded | {
        record_name("bad", window.long_seconds): counts.long_bad,
        record_name("total", window.long_seconds): counts.long_total,
        record_name("bad", window.short_seconds): counts.short_bad,
        record_name("total", window.short_seconds): counts.short_total,
    }


def _fires(objective: Objective, window: BurnWindow, records: dict[str, float]) -> bool:
    """Return whether a pair fires on what was recorded; not where it lacks a record."""
    names = [
        record_name(events, seconds)
        for seconds in (window.long_seconds, window.short_seconds)
        for events in ("bad", "total")
    ]
    if any(name not in records for name in names):
        return False
    long_bad, long_total, short_bad, short_total = (records[name] for name in names)
    period = records.get(record_name("total", objective.period_seconds), math.inf)
    judged = pl.DataFrame(
        {
            "severity": [window.severity],
            "long_seconds": [window.long_seconds],
            "short_seconds": [window.short_seconds],
            "long_bad": [long_bad],
            "long_total": [long_total],
            PERIOD_TOTAL: [period],
        }
    )
    is_burning = min(long_bad / long_total, short_bad / short_total) > objective.threshold(window)
    return is_burning and bool(judged.select(guard_allows(objective)).item())


def _pair_test(
    objective: Objective, name: str, window: BurnWindow, edges: list[tuple[str, Counts]]
) -> RuleTest:
    """Return the test of what fires once a pair has waited long enough, a group an edge."""
    at, step = _wait(objective, window), step_seconds(objective)
    series: list[dict[str, str]] = []
    pairs: list[dict[str, object]] = []
    routed: list[dict[str, object]] = []
    for edge, counts in edges:
        group, records = group_of(objective, edge), _records(objective, window, counts)
        series += record_inputs(objective, records, group, at // step + 1)
        fires = _firing(objective, records, at)
        for each in fires:
            ratio = _ratio(records, each.long_seconds)
            pairs.append(expected_pair(objective, each, group, ratio))
        count = sum(each.severity == window.severity for each in fires)
        routed += [expected_route(objective, window.severity, group, count)] if count else []
    return {
        "name": f"{objective.name}: {window.name}: {name}",
        "interval": duration(step),
        "input_series": series,
        ALERTS: [
            expectation(objective, PAIR_SUFFIX, at, pairs),
            expectation(objective, ROUTED_SUFFIXES[window.severity], at, routed),
        ],
    }


def _firing(objective: Objective, records: dict[str, float], second: int) -> list[BurnWindow]:
    """Return the pairs that fire at a time on what was recorded all along."""
    return [
        window
        for window in objective.alerting_windows
        if _wait(objective, window) <= second and _fires(objective, window, records)
    ]


def record_inputs(
    objective: Objective, records: dict[str, float], group: Labels, count: int
) -> list[dict[str, str]]:
    """Return records of one group as inputs of promtool, each with one value all the time."""
    labels = group | {"objective": objective.name}
    return [
        {"series": series_text(name, labels), "values": notation([value] * count)}
        for name, value in records.items()
    ]


def _wait(objective: Objective, window: BurnWindow) -> int:
    """Return at which evaluation a pair fires whose condition holds from the first one on."""
    step = step_seconds(objective)
    return -(-window.for_seconds // step) * step


def _ratio(records: dict[str, float], seconds: int) -> float:
    """Return the recorded error ratio of a window."""
    return records[record_name("bad", seconds)] / records[record_name("total", seconds)]
