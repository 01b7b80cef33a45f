"""One test of promtool: made-up series in, alerts and values of expressions out.

Source: Prometheus, "Unit Testing for Rules".
"""

from typing import Final, Literal

from slo.example_histories import sample_seconds
from slo.objectives import Objective
from slo.windows import duration

ALERTS: Final = "alert_rule_test"
"""Tests of which alerts fire."""
VALUES: Final = "promql_expr_test"
"""Tests of what expressions give."""

RuleTest = dict[str, object]
Check = dict[str, object]


def promtool_test(
    objective: Objective,
    name: str,
    series: list[dict[str, str]],
    kind: Literal["alert_rule_test", "promql_expr_test"],
    checks: list[Check],
) -> RuleTest:
    """Return a test of an objective's rules, whose samples come as often as it is scraped.

    Args:
        objective: Whose rules.
        name: What happens.
        series: The input series.
        kind: What is looked at: alerts, or values of expressions.
        checks: What is expected, each at its time.
    """
    return {
        "name": f"{objective.name}: {name}",
        "interval": duration(sample_seconds(objective)),
        "input_series": series,
        kind: checks,
    }
