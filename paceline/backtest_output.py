"""What `paceline slo backtest` prints: policies side by side, their pages, what would change."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson
import polars as pl

from alerts.wording import UNKNOWN, percent_text, span_text
from detectors.verdicts import rfc3339
from paceline.backtests import Backtest, Policy
from paceline.json_rows import json_rows
from slo.backtest_scores import WHOLE
from slo.growth import Mode
from slo.windows import duration

MAX_SHOWN: Final = 20
"""Pages and changes of one policy that the text lists; the JSON holds all."""

_NO_VALUE: Final = "-"
_HEAD: Final = (
    f"  {'alert':<15}{'fired':>6}{'precision':>11}{'recall':>14}{'TTD (worst)':>21}  reset (worst)"
)


def backtest_bytes(backtest: Backtest) -> bytes:
    """Return a backtest as JSON, indented, with a final line break."""
    replay = backtest.current.replay
    told = {
        "source": backtest.source,
        "objective": replay.objective.name,
        "grid": {
            "start": rfc3339(replay.start),
            "end": rfc3339(replay.end),
            "step_seconds": replay.step_seconds,
        },
        "semantics": backtest.params.replay.burns.semantics.value,
        "mode": backtest.params.replay.burns.mode.value,
        "min_spent_ratio": backtest.params.min_spent_ratio,
        "incidents": None if backtest.incidents is None else json_rows(backtest.incidents),
        "policies": [_policy_json(one) for one in backtest.policies],
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _policy_json(policy: Policy) -> dict[str, object]:
    objective = policy.replay.objective
    return {
        "policy": policy.name,
        "objective": objective.name,
        "promise": objective.promise,
        "windows": [
            {
                "severity": one.severity,
                "long": duration(one.long_seconds),
                "short": duration(one.short_seconds),
                "factor": float(one.factor),
                "for_seconds": one.for_seconds,
            }
            for one in objective.windows
        ],
        "scores": json_rows(policy.scores),
        "firings": json_rows(policy.alerts),
        "changes": None if policy.changes is None else json_rows(policy.changes),
    }


def backtest_text(backtest: Backtest) -> str:
    """Return what people read, and paste into a ticket."""
    replay = backtest.current.replay
    burns = backtest.params.replay.burns
    lines = [
        f"Backtest of {replay.objective.name}: {replay.objective.promise}, on {backtest.source}",
        f"Grid: {replay.grid}; {burns.semantics.value}, {burns.mode.value} mode.",
        _significance(backtest),
        "",
    ]
    for policy in backtest.policies:
        lines += [*_policy_lines(policy, backtest), ""]
    return "\n".join(lines)


def _significance(backtest: Backtest) -> str:
    """Return what counts as significant, and how many of the incidents do."""
    least = percent_text(backtest.params.min_spent_ratio)
    said = f"Significant: spent at least {least} of the budget."
    if backtest.incidents is None:
        return (
            f"{said} No incidents are known (--incidents): recall and times are not known either."
        )
    spent = backtest.incidents["spent_ratio"]
    count = int((spent >= backtest.params.min_spent_ratio).sum())
    return (
        f"{said} Of {len(spent)} known incidents {count} are, "
        f"{len(spent) - count - spent.null_count()} spent less, {spent.null_count()} have no data."
    )


def _policy_lines(policy: Policy, backtest: Backtest) -> Iterator[str]:
    yield f"Policy {policy.name}"
    yield _HEAD
    yield from (_score_line(row) for row in policy.scores.iter_rows(named=True))
    yield from _short_history_lines(policy, backtest)
    routed = policy.alerts.filter(alert=WHOLE)
    labels = policy.replay.objective.group_labels
    if routed.is_empty():
        yield "  Nothing would have fired."
    yield from (_page_line(row, labels) for row in routed.head(MAX_SHOWN).iter_rows(named=True))
    if routed.height > MAX_SHOWN:
        yield f"  and {routed.height - MAX_SHOWN} more; --format json lists all"
    if policy.changes is not None:
        both = [one for one in labels if one in backtest.current.replay.objective.group_labels]
        yield from _change_lines(policy.changes, tuple(both))


def _short_history_lines(policy: Policy, backtest: Backtest) -> Iterator[str]:
    """Yield which pairs could not fire because the history is shorter than they need."""
    burns = backtest.params.replay.burns
    seconds = (policy.replay.end - policy.replay.start).total_seconds()
    needed = [
        f"{one.name} ({span_text(burns.min_coverage_ratio * one.long_seconds)})"
        for one in policy.replay.objective.windows
        if seconds < burns.min_coverage_ratio * one.long_seconds
    ]
    if needed and burns.mode is Mode.PRODUCT:
        yield f"  Too little history ({span_text(seconds)}) for {', '.join(needed)}."


def _score_line(row: Mapping[str, Any]) -> str:
    name = f"{row['severity']} {row['alert']}"
    recall = _NO_VALUE
    if row["recall"] is not None:
        recall = f"{_ratio(row['recall'])} ({row['found']}/{row['incidents']})"
    ttd = _with_worst(row["ttd_seconds"], row["max_ttd_seconds"])
    reset = _with_worst(row["reset_seconds"], row["max_reset_seconds"])
    return (
        f"  {name:<15}{row['firings']:>6}{_ratio(row['precision']):>11}{recall:>14}{ttd:>21}"
        f"  {reset}"
    )


def _ratio(ratio: float | None) -> str:
    return _NO_VALUE if ratio is None else percent_text(ratio)


def _with_worst(usual: float | None, worst: float | None) -> str:
    """Return a time with the worst of its kind beside it."""
    return _NO_VALUE if usual is None else f"{span_text(usual)} ({span_text(worst)})"


def _page_line(row: Mapping[str, Any], labels: tuple[str, ...]) -> str:
    until = "still firing" if row["resolved_at"] is None else f"until {_clock(row['resolved_at'])}"
    spent = "" if row["spent_ratio"] is None else f", {percent_text(row['spent_ratio'])} of budget"
    return (
        f"  {row['severity']:<6} {_clock(row['fired_at'])} {until}, "
        f"active from {_clock(row['active_at'])}{spent}{_group(row, labels)}"
    )


def _change_lines(changes: pl.DataFrame, labels: tuple[str, ...]) -> Iterator[str]:
    """Yield how many pages would be other ones, and those that would be new or gone."""
    counts = {name: changes.filter(change=name).height for name in ("added", "removed", "kept")}
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    yield f"  Against the current policy: {said}."
    other = changes.filter(pl.col("change") != "kept")
    signs = {"added": "+", "removed": "-"}
    for row in other.head(MAX_SHOWN).iter_rows(named=True):
        yield (
            f"  {signs[row['change']]} {row['severity']:<6} {_clock(row['fired_at'])}"
            f"{_group(row, labels)}"
        )
    if other.height > MAX_SHOWN:
        yield f"  and {other.height - MAX_SHOWN} more; --format json lists all"


def _clock(time: Any) -> str:  # noqa: ANN401 -- a cell of a row
    return UNKNOWN if time is None else f"{time:%Y-%m-%d %H:%M:%S}"


def _group(row: Mapping[str, Any], labels: tuple[str, ...]) -> str:
    """Return whose page it is; one without labels is everybody's."""
    named = [f"{label} {row[label]}" for label in labels if row[label] is not None]
    return f"  ({', '.join(named)})" if named else ""
