"""Recording rules of single slices and samples, which windows then count.

Source: OpenSLO v1, `timeSliceTarget`; Prometheus, "Subquery": its steps lie on absolute multiples
of the step. So a slice is cut at the same times whenever its group happens to be evaluated, and the
one that is still open is not recorded. Prometheus has no count of the samples that meet a bound;
samples are therefore judged once each, when the rules next see them.
"""

from decimal import Decimal
from typing import Final

from slo.contradictions import can_contradict
from slo.expressions import bad_events, by_group, total_events
from slo.objectives import Counting, Method, Objective, SampleBound
from slo.records import Piece, piece_name, recorded_pieces
from slo.selectors import Selector
from slo.slices import EmptySlice, Slices
from slo.windows import duration, exact, open_duration

SAMPLE_SECONDS: Final = 30
"""How often samples are judged. Of several in between the newest one counts."""

Rule = dict[str, object]


def sample_rules(objective: Objective) -> list[Rule]:
    """Return the rules that count samples as they come in; none without a bound for them."""
    bound = objective.sample_bound
    if bound is None:
        return []
    judged = ("bad", objective.bad) if objective.bad else ("good", objective.good)
    counts = {
        judged[0]: _judged_samples(objective, judged[1] or objective.total, bound),
        "total": f"{by_group(objective, 'count')}({_newest(objective.total)})",
    }
    return _records(objective, counts, "sample")


def slice_rules(objective: Objective) -> list[Rule]:
    """Return the rules that record each slice as it ends; none where events are counted."""
    cut = objective.slices
    if cut is None:
        return []
    # A slice without events divides 0 by 0; what is no number is not at least 0.
    ratio = f"(\n  (\n{bad_events(objective, cut.seconds)}\n  )\n  /\n  "
    ratio += f"{total_events(objective, cut.seconds)}\n  >= 0\n)"
    if objective.counting is not Counting.COUNTER:
        ratio = f"(\n{ratio}\nand\n{_seen(objective, cut)}\n)"
    counts = {
        "bad": _slice_bad(objective, cut, ratio),
        "total": _slice_total(objective, cut, ratio),
    }
    at_end = f"[{open_duration(cut.seconds)}:{duration(cut.seconds)}]"
    ended = {name: f"last_over_time((\n{text}\n){at_end})" for name, text in counts.items()}
    return _records(objective, ended, "slice")


def max_slice_ratio(objective: Objective) -> Decimal:
    """Return the bad share (0-1) of a slice above which it misses its target."""
    target = None if objective.slices is None else objective.slices.target_ratio
    return objective.budget if target is None else 1 - target


def _records(objective: Objective, counts: dict[str, str], piece: Piece) -> list[Rule]:
    """Return recording rules of what is counted."""
    labels = {"objective": objective.name}
    return [
        {"record": piece_name(events, piece), "expr": expression, "labels": labels}
        for events, expression in counts.items()
    ]


def _newest(selector: Selector) -> str:
    """Return the newest sample of each series, if it came in since the last evaluation."""
    return f"last_over_time({selector.text}[{open_duration(SAMPLE_SECONDS)}])"


def _judged_samples(objective: Objective, selector: Selector, bound: SampleBound) -> str:
    """Return how many samples are good, or bad where the objective names bad ones."""
    meets = f"{_newest(selector)} {bound.sign} bool {exact(bound.value)}"
    # Not the opposite sign: what is no number meets no bound, and is bad.
    missed = f"({meets}) == bool 0" if objective.bad else meets
    return f"{by_group(objective, 'sum')}({missed})"


def _slice_bad(objective: Objective, cut: Slices, ratio: str) -> str:
    """Return how bad a slice is: 0 or 1 where it is judged, its bad share where it is not."""
    may_exceed = objective.bad is not None and can_contradict(objective)
    bad = f"clamp_max({ratio}, 1)" if may_exceed else ratio
    if objective.method is Method.TIMESLICES:
        bad = f"{ratio}\n> bool {exact(max_slice_ratio(objective))}"
    if cut.empty is EmptySlice.EXCLUDED:
        return bad
    if cut.empty is EmptySlice.GOOD:
        return f"{bad}\nor\n0 * {total_events(objective, cut.seconds)}"
    return f"{bad}\nor\n{_slice_total(objective, cut, ratio)}"


def _slice_total(objective: Objective, cut: Slices, ratio: str) -> str:
    """Return 1 for each slice that counts."""
    head = by_group(objective, "group")
    total = total_events(objective, cut.seconds)
    if cut.empty is EmptySlice.EXCLUDED:
        return f"{head}({ratio})"
    if cut.empty is EmptySlice.GOOD:
        return f"{head}({total})"
    before = f"last_over_time({recorded_pieces(objective, 'total', 'slice')}"
    return f"{_seen(objective, cut)}\nor\n{head}({before}[{duration(2 * cut.seconds)}]))"


def _seen(objective: Objective, cut: Slices) -> str:
    """Return 1 for each group that had a sample in a slice; one at its very end is the next's."""
    samples = objective.total.text
    if objective.sample_bound is not None:
        samples = recorded_pieces(objective, "total", "sample")
    newest = f"last_over_time({samples}[{open_duration(cut.seconds)}] offset 1ms)"
    return f"{by_group(objective, 'group')}({newest})"
