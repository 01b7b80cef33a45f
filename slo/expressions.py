"""PromQL of an objective: its bad and its total events over a window.

Source: the safe shapes of our own trials on Prometheus 2.42: rates per series before sums; a group
without bad series counts as 0 (`or 0 * total`, where `or vector(0)` would lose the group); a group
without traffic gives nothing (`> 0` on the denominator). What a window counts may be events,
samples or slices; bad and total are recorded apart and divided only where they are compared.
"""

from slo.guard_expressions import guard_conditions
from slo.objectives import Counting, Method, Objective
from slo.records import recorded, recorded_pieces
from slo.selectors import Selector
from slo.windows import BurnWindow, duration, exact, open_duration


def total_events(objective: Objective, range_seconds: int) -> str:
    """Return the PromQL of all events of each group over a range."""
    return _events(objective, objective.total, "total", range_seconds)


def bad_events(objective: Objective, range_seconds: int) -> str:
    """Return the PromQL of the bad events of each group over a range; 0 where none is known."""
    total = total_events(objective, range_seconds)
    if objective.bad is not None:
        return f"{_events(objective, objective.bad, 'bad', range_seconds)}\nor\n0 * {total}"
    return f"clamp_min(\n  {total}\n  - (\n    {good_events(objective, range_seconds)}\n  ), 0\n)"


def good_events(objective: Objective, range_seconds: int) -> str:
    """Return the PromQL of the good events of each group; an objective with bad events has none."""
    total = total_events(objective, range_seconds)
    good = _events(objective, objective.good or objective.total, "good", range_seconds)
    return f"{good} or 0 * {total}"


def window_counts(objective: Objective, range_seconds: int) -> dict[str, str]:
    """Return the PromQL of what a window counts, `bad` and `total`, by that name.

    Occurrences count events. The methods of slices count the slices that ended in the window, as
    they were recorded one by one.
    """
    if objective.method is not Method.OCCURRENCES:
        return {
            events: f"sum_over_time({recorded_pieces(objective, events, 'slice')}"
            f"[{open_duration(range_seconds)}])"
            for events in ("bad", "total")
        }
    return {
        "bad": bad_events(objective, range_seconds),
        "total": total_events(objective, range_seconds),
    }


def alert_condition(objective: Objective, window: BurnWindow) -> str:
    """Return the PromQL over the raw series that holds when a pair burns too fast.

    It has a result at the same evaluations at which the generated rules, and `burn_rates` in parity
    mode, do; only the alert's `for` and a guard are left out.
    """
    long, short = (
        "({bad})\n  /\n  ({total} > 0)".format_map(window_counts(objective, seconds))
        for seconds in (window.long_seconds, window.short_seconds)
    )
    return joined([long, short], exact(objective.threshold(window)))


def recorded_condition(objective: Objective, window: BurnWindow) -> str:
    """Return the PromQL over what was recorded that holds when a pair burns too fast."""
    long, short = (
        f"{recorded(objective, 'bad', seconds)}\n  /\n  "
        f"({recorded(objective, 'total', seconds)} > 0)"
        for seconds in (window.long_seconds, window.short_seconds)
    )
    burning = joined([long, short], exact(objective.threshold(window)))
    guards = (f"and\n(\n  {guard}\n)\n" for guard in guard_conditions(objective, window))
    return burning + "".join(guards)


def joined(ratios: list[str], threshold: str) -> str:
    """Return the condition that each of some ratios exceeds a threshold."""
    return "and\n".join(f"(\n  {ratio}\n  > {threshold}\n)\n" for ratio in ratios)


def by_group(objective: Objective, aggregation: str) -> str:
    """Return the head of an aggregation by the objective's groups, as in `sum by (run) `."""
    if not objective.group_labels:
        return aggregation
    return f"{aggregation} by ({', '.join(objective.group_labels)}) "


def _events(objective: Objective, selector: Selector, events: str, range_seconds: int) -> str:
    """Return the events of one selector over a range, summed by group."""
    window = f"[{duration(range_seconds)}]"
    if objective.counting is Counting.WINDOWED:
        return f"{by_group(objective, 'sum')}({selector.text})"
    if objective.sample_bound is not None:
        counted = f"sum_over_time({recorded_pieces(objective, events, 'sample')}{window})"
        return f"{by_group(objective, 'sum')}({counted})"
    function = {
        (Counting.COUNTER, "bad"): "increase",
        (Counting.COUNTER, "good"): "increase",
        (Counting.COUNTER, "total"): "increase",
        (Counting.SAMPLES, "total"): "count_over_time",
    }.get((objective.counting, events), "sum_over_time")
    return f"{by_group(objective, 'sum')}({function}({selector.text}{window}))"
