"""promtool tests for the rules of an objective: a file beside each rule file.

Source: Prometheus, "Unit Testing for Rules". Whole histories go through records and alerts, and
every number that an expression compares with is tried just above and just below.
"""

from dataclasses import replace
from itertools import product
from typing import Final

from slo.burn_rules import PAIR_SUFFIX, ROUTED_SUFFIXES, routed_severities
from slo.data_rules import (
    ABSENT_FOR_SECONDS,
    FORGET_SECONDS,
    MAX_AGE_SECONDS,
    data_annotations,
    data_labels,
)
from slo.edge_tests import edge_tests
from slo.example_histories import (
    HEALTHY,
    SLOW,
    Course,
    History,
    group_histories,
    sample_seconds,
    step_seconds,
)
from slo.expected_alerts import alert_tests, evaluated, expectation, filled_groups
from slo.objectives import Counting, Objective
from slo.promtool_tests import ALERTS, RuleTest, promtool_test
from slo.record_tests import record_tests
from slo.rules import group_names
from slo.windows import MINUTE_SECONDS
from slo.yaml_text import dump_yaml

_HEALTHY_STEPS: Final = 30
_QUIET_STEPS: Final = 20
_SLOW_STEPS: Final = 30
_RECOVERED_STEPS: Final = 40
_SAMPLES_BEFORE_END: Final = 11
_STRUCK, _SPARED = "a", "b"


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
        "evaluation_interval": f"{step_seconds(objective)}s",
        "group_eval_order": group_names(objective),
        "tests": [
            _slow_and_back(objective),
            *_quiet(objective),
            _stopped(objective),
            _nothing(objective),
            *edge_tests(objective),
            *record_tests(objective),
        ],
    }
    return (
        f"# Run with `promtool test rules`; expectations come from our own evaluator.\n"
        f"{dump_yaml(document)}"
    )


def _slow_and_back(objective: Objective) -> RuleTest:
    """Return the test of one group that turns bad for a while and of one that stays healthy."""
    per_step = step_seconds(objective) // sample_seconds(objective)
    slow = _course([(HEALTHY, _HEALTHY_STEPS), (SLOW, _SLOW_STEPS), (HEALTHY, _RECOVERED_STEPS)])
    struck = [share for share in slow for _ in range(per_step)]
    histories = group_histories(objective, _STRUCK, struck)
    spared = group_histories(objective, _SPARED, [HEALTHY] * len(struck))
    if histories[0].labels != spared[0].labels:
        histories += spared
    return _history_test(objective, "bad for a while, then healthy again", histories)


def _history_test(objective: Objective, name: str, histories: list[History]) -> RuleTest:
    """Return the test of a history: what fires around every change, and at its end."""
    step, sample = step_seconds(objective), sample_seconds(objective)
    judged = evaluated(objective, histories, sample_seconds=sample, step_seconds=step)
    end = (len(histories[0].values) - 1) * sample // step * step
    seconds = {end} | {each - lag for each in judged.changes for lag in (0, step)}
    checks = [check for second in sorted(seconds) for check in alert_tests(judged, second)]
    series = [one.input for one in histories]
    return promtool_test(objective, name, series, ALERTS, checks)


def _course(stretches: list[tuple[float, int]]) -> Course:
    """Return what happens, stretch by stretch: a bad share, and for how many steps."""
    return [share for share, count in stretches for _ in range(count)]


def _quiet(objective: Objective) -> list[RuleTest]:
    """Return the tests of groups that nothing bad is known of."""
    silent = group_histories(objective, _STRUCK, [HEALTHY] * _QUIET_STEPS)
    is_counted = objective.counting is not Counting.SAMPLES
    tests: list[RuleTest] = []
    if is_counted and objective.bad is not None:
        tests.append(_history_test(objective, "no series of bad events", silent[:1]))
    if is_counted:
        flat = [replace(one, values=[0.0] * len(one.values)) for one in silent]
        tests.append(_history_test(objective, "no traffic", flat))
    return tests


def _stopped(objective: Objective) -> RuleTest:
    """Return the test of a group whose samples end."""
    step, sample = step_seconds(objective), sample_seconds(objective)
    last = _SAMPLES_BEFORE_END * sample
    (total, *_) = group_histories(objective, _STRUCK, [HEALTHY] * (_SAMPLES_BEFORE_END + 1))
    texts = data_annotations(objective, "DataAge")
    group = {label: total.labels[label] for label in objective.group_labels}
    alert: dict[str, object] = {
        "exp_labels": group | data_labels(objective),
        "exp_annotations": filled_groups(texts, group),
    }
    checks: list[dict[str, object]] = []
    for edge, lag in product((MAX_AGE_SECONDS, FORGET_SECONDS), (-MINUTE_SECONDS, MINUTE_SECONDS)):
        second = (last + edge + lag) // step * step
        is_missed = MAX_AGE_SECONDS < second - last <= FORGET_SECONDS
        checks.append(expectation(objective, "DataAge", second, [alert] if is_missed else []))
    return promtool_test(objective, "no newer samples", [total.input], ALERTS, checks)


def _nothing(objective: Objective) -> RuleTest:
    """Return the test of an objective without any series."""
    step = step_seconds(objective)
    known = {m.label: m.value for m in objective.total.matchers if m.sign == "="}
    alert: dict[str, object] = {
        "exp_labels": known | data_labels(objective),
        "exp_annotations": data_annotations(objective, "Absent"),
    }
    fires = -(-ABSENT_FOR_SECONDS // step) * step
    checks = [
        expectation(objective, "Absent", fires - step, []),
        expectation(objective, "Absent", fires, [alert]),
        *(
            expectation(objective, suffix, fires, [])
            for suffix in (
                PAIR_SUFFIX,
                *(ROUTED_SUFFIXES[severity] for severity in routed_severities(objective)),
            )
        ),
    ]
    return promtool_test(objective, "no series at all", [], ALERTS, checks)
