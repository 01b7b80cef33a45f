"""PromQL of an objective: its events over a window, and the condition of each pair of windows.

Source: the safe shapes of our own trials on Prometheus 2.42: rates per series before sums; a group
without bad series counts as 0 (`or 0 * total`, where `or vector(0)` would lose the group); a group
without traffic gives nothing (`> 0` on the denominator).
"""

from slo.objectives import Objective
from slo.selectors import Selector, quoted
from slo.windows import BurnWindow, duration, exact


def total_events(objective: Objective, range_seconds: int) -> str:
    """Return the PromQL of all events of each group over a window."""
    return _grown(objective, objective.total, range_seconds)


def bad_events(objective: Objective, range_seconds: int) -> str:
    """Return the PromQL of the bad events of each group over a window; 0 where none is known."""
    total = total_events(objective, range_seconds)
    if objective.bad is not None:
        return f"{_grown(objective, objective.bad, range_seconds)}\nor\n0 * {total}"
    return f"clamp_min(\n  {total}\n  - (\n    {good_events(objective, range_seconds)}\n  ), 0\n)"


def good_events(objective: Objective, range_seconds: int) -> str:
    """Return the PromQL of the good events of each group; an objective with bad events has none."""
    total = total_events(objective, range_seconds)
    good = _grown(objective, objective.good or objective.total, range_seconds)
    return f"{good} or 0 * {total}"


def alert_condition(objective: Objective, window: BurnWindow) -> str:
    """Return the PromQL over the raw counters that holds when a pair burns too fast.

    It has a result at the same evaluations at which the generated rules, and `burn_rates` in parity
    mode, do; only the alert's `for` is left out.
    """
    long, short = (
        _over_raw(objective, seconds) for seconds in (window.long_seconds, window.short_seconds)
    )
    return _both(long, short, exact(objective.threshold(window)))


def recorded_condition(objective: Objective, window: BurnWindow) -> str:
    """Return the PromQL over the recorded events that holds when a pair burns too fast."""
    long, short = (
        f"{recorded(objective, 'bad', seconds)}\n  /\n  "
        f"({recorded(objective, 'total', seconds)} > 0)"
        for seconds in (window.long_seconds, window.short_seconds)
    )
    return _both(long, short, exact(objective.threshold(window)))


def record_name(events: str, range_seconds: int) -> str:
    """Return the name of recorded `bad` or `total` events over a window."""
    return f"paceline_slo:{events}:increase{duration(range_seconds)}"


def recorded(objective: Objective, events: str, range_seconds: int) -> str:
    """Return the selector of an objective's recorded events over a window."""
    return f"{record_name(events, range_seconds)}{{objective={quoted(objective.name)}}}"


def _grown(objective: Objective, selector: Selector, range_seconds: int) -> str:
    """Return the growth of a counter over a window, summed by group."""
    by = f" by ({', '.join(objective.group_labels)}) " if objective.group_labels else ""
    return f"sum{by}(increase({selector.text}[{duration(range_seconds)}]))"


def _over_raw(objective: Objective, range_seconds: int) -> str:
    """Return the error ratio over a window, from the raw counters."""
    bad = bad_events(objective, range_seconds)
    return f"({bad})\n  /\n  ({total_events(objective, range_seconds)} > 0)"


def _both(long: str, short: str, threshold: str) -> str:
    """Return the condition that two ratios exceed a threshold."""
    return f"(\n  {long}\n  > {threshold}\n)\nand\n(\n  {short}\n  > {threshold}\n)\n"
