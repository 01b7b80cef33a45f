"""promtool tests of what rules record, and of the alert for counts that contradict each other.

Each number that a record or that alert compares with is tried just above and just below.
"""

from typing import Final

from slo.contradictions import can_contradict
from slo.data_rules import (
    FAULT_FOR_SECONDS,
    data_annotations,
    data_labels,
    fault_seconds,
)
from slo.edge_tests import EDGE, record_inputs
from slo.example_histories import (
    EVENTS_PER_SAMPLE,
    History,
    sample_seconds,
    steady_histories,
    step_seconds,
)
from slo.example_series import group_of, is_picked, part_labels, part_of, series_text
from slo.expected_alerts import expectation, filled_groups
from slo.growth import MAX_BAD_EXCESS_COUNT, MAX_BAD_EXCESS_RATIO, MAX_GOOD_EXCESS_RATIO
from slo.objectives import Counting, Method, Objective
from slo.piece_rules import max_slice_ratio
from slo.promtool_tests import ALERTS, VALUES, RuleTest, promtool_test
from slo.records import BUDGET, BUDGET_LEFT, PERIOD_BURN, of_objective, piece_name, record_name
from slo.windows import duration

_GROUP: Final = "a"
_PERIOD_BAD: Final = 3.0
_PERIOD_TOTAL: Final = 1000.0


def record_tests(objective: Objective) -> list[RuleTest]:
    """Return the tests of the budget, of slices and samples at their bounds, and of faults."""
    return [
        _budget_test(objective),
        *_sample_tests(objective),
        *_slice_tests(objective),
        *_fault_tests(objective),
    ]


def _budget_test(objective: Objective) -> RuleTest:
    """Return the test of the budget, and of what the period spent of it."""
    seconds, budget = objective.period_seconds, float(objective.budget)
    values = {BUDGET: budget}
    if objective.calendar is None:
        burn = _PERIOD_BAD / _PERIOD_TOTAL / budget
        values |= {PERIOD_BURN: burn, BUDGET_LEFT: 1 - burn}
    spent = {
        record_name("bad", seconds): _PERIOD_BAD,
        record_name("total", seconds): _PERIOD_TOTAL,
    }
    checks = [
        _record_check(objective, name, value, 0, has_group=name != BUDGET)
        for name, value in values.items()
    ]
    inputs = record_inputs(objective, spent, group_of(objective, _GROUP), 1)
    return promtool_test(objective, "the budget", inputs, VALUES, checks)


def _sample_tests(objective: Objective) -> list[RuleTest]:
    """Return the tests of samples at their bound."""
    bound = objective.sample_bound
    if bound is None:
        return []
    name = piece_name("bad" if objective.bad else "good", "sample")
    tests: list[RuleTest] = []
    for where, value in [*_around(bound.value), ("at its bound", bound.value)]:
        meets = {
            "<": value < bound.value,
            "<=": value <= bound.value,
            ">": value > bound.value,
            ">=": value >= bound.value,
        }[bound.sign]
        counted = float(meets != (objective.bad is not None))
        gauge = History(
            metric=part_of(objective).metric,
            labels=part_labels(objective, _GROUP),
            values=[value],
        )
        check = _record_check(objective, name, counted, 0, has_group=True)
        tests.append(promtool_test(objective, f"a sample {where}", [gauge.input], VALUES, [check]))
    return tests


def _slice_tests(objective: Objective) -> list[RuleTest]:
    """Return the tests of slices at their target."""
    cut = objective.slices
    if cut is None:
        return []
    most = float(max_slice_ratio(objective))
    cases = [(where, ratio, float(ratio > most)) for where, ratio in _around(most)]
    if objective.method is Method.RATIO_TIMESLICES:
        cases = [("of which a quarter is bad", 0.25, 0.25)]
        if objective.bad is not None and can_exceed(objective):
            cases.append(("with more bad events than events", 2.0, 1.0))
    tests: list[RuleTest] = []
    for where, ratio, expected in cases:
        bad = EVENTS_PER_SAMPLE * ratio
        part = bad if objective.bad is not None else EVENTS_PER_SAMPLE - bad
        series = _pieces_or_series(objective, part, 2 * cut.seconds)
        check = _record_check(
            objective,
            piece_name("bad", "slice"),
            expected,
            2 * cut.seconds,
            has_group=True,
        )
        tests.append(promtool_test(objective, f"a slice {where}", series, VALUES, [check]))
    return tests


def _pieces_or_series(objective: Objective, part: float, seconds: int) -> list[dict[str, str]]:
    """Return inputs with as many events, and bad or good ones, at each sample."""
    count = seconds // sample_seconds(objective) + 1
    if objective.sample_bound is None:
        steady = steady_histories(
            objective, _GROUP, total=EVENTS_PER_SAMPLE, part=part, count=count
        )
        return [history.input for history in steady]
    name = piece_name("bad" if objective.bad else "good", "sample")
    pieces = {name: part, piece_name("total", "sample"): EVENTS_PER_SAMPLE}
    return record_inputs(objective, pieces, group_of(objective, _GROUP), count)


def _fault_tests(objective: Objective) -> list[RuleTest]:
    """Return the tests of bad or good events that exceed all events by as much as they may."""
    if not can_exceed(objective):
        return []
    step, sample, window = step_seconds(objective), sample_seconds(objective), _window(objective)
    fires_at = -(-window // step) * step + -(-FAULT_FOR_SECONDS // step) * step
    alert: dict[str, object] = {
        "exp_labels": group_of(objective, _GROUP) | data_labels(objective),
        "exp_annotations": filled_groups(
            data_annotations(objective, "DataFault"), group_of(objective, _GROUP)
        ),
    }
    tests: list[RuleTest] = []
    for where, part in _around(_most_part(objective)):
        is_fault = part > _most_part(objective)
        steady = steady_histories(
            objective,
            _GROUP,
            total=EVENTS_PER_SAMPLE,
            part=part,
            count=fires_at // sample + 1,
        )
        check = expectation(objective, "DataFault", fires_at, [alert] if is_fault else [])
        series = [one.input for one in steady]
        tests.append(promtool_test(objective, f"a fault {where}", series, ALERTS, [check]))
    return tests


def can_exceed(objective: Objective) -> bool:
    """Return whether made-up series can tell of more bad or good events than events."""
    metric, labels = part_of(objective).metric, part_labels(objective, _GROUP)
    is_one_gauge = objective.counting is Counting.SAMPLES and part_of(objective) == objective.total
    has_part = is_picked(objective.total, metric, labels) and not is_one_gauge
    return can_contradict(objective) and not has_part


def _window(objective: Objective) -> int:
    """Return how long the window is that faults are seen in; a gauge over a window has none."""
    return 0 if objective.counting is Counting.WINDOWED else fault_seconds(objective)


def _most_part(objective: Objective) -> float:
    """Return how many bad or good events a sample may tell of beside those that it has in all."""
    if objective.bad is None:
        return EVENTS_PER_SAMPLE * (1 + MAX_GOOD_EXCESS_RATIO)
    samples = _window(objective) / sample_seconds(objective)
    if objective.counting is Counting.SAMPLES:
        # The range is closed on both sides, and each of its samples is one event.
        count = samples + 1
        share = (count * (1 + MAX_BAD_EXCESS_RATIO) + MAX_BAD_EXCESS_COUNT) / count
        return EVENTS_PER_SAMPLE * share
    count = EVENTS_PER_SAMPLE * max(samples, 1.0)
    most = count * (1 + MAX_BAD_EXCESS_RATIO) + MAX_BAD_EXCESS_COUNT
    return most / max(samples, 1.0)


def _around(number: float) -> list[tuple[str, float]]:
    """Return what lies just below and just above a number, with words for it."""
    away = EDGE * abs(number)
    return [("just below its bound", number - away), ("just above its bound", number + away)]


def _record_check(
    objective: Objective, name: str, value: float, second: int, *, has_group: bool
) -> dict[str, object]:
    """Return what a record should be at a time."""
    labels = {"objective": objective.name}
    if has_group:
        labels |= group_of(objective, _GROUP)
    return {
        "expr": of_objective(objective, name),
        "eval_time": duration(second),
        "exp_samples": [{"labels": series_text(name, labels), "value": value}],
    }
