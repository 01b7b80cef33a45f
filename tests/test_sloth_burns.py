"""Burn rates, budgets and alerts of our rules beside those that Sloth documents for one spec.

Sloth's rules are written here by their documented shapes, for our own example spec. Its record of
the period is a mean of five-minute ratios: it equals our RatioTimeslices, and no share of events.
"""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from slo.expressions import recorded
from slo.objectives import Method, Objective
from slo.records import BUDGET_LEFT, PERIOD_BURN, of_objective
from slo.rules import burn_rules, group_names
from slo.slices import Slices
from slo.specs import load_objectives
from slo.yaml_text import dump_yaml

SPEC = Path(__file__).parent / "data" / "slo" / "sloth-first.yml"
(FIRST,) = load_objectives(SPEC)
SLICED = replace(
    FIRST,
    name="sliced",
    method=Method.RATIO_TIMESLICES,
    slices=Slices(seconds=300),
    windows=FIRST.windows[:1],
)
HTTP = "http_request_duration_seconds_count"
SERIES = {
    f'{HTTP}{{job="shop",code="200"}}': "0+97x700 67900+20x800",
    f'{HTTP}{{job="shop",code="500"}}': "0x600 0+3x60 180x900",
    f'{HTTP}{{job="shop",code="429"}}': "_x40 7+0x300 7+1x4 11x1200",
}
TIMES = ("5h", "10h10m", "10h40m", "11h5m", "12h", "20h")
WINDOWS = ("5m", "30m", "1h", "6h")


def sloth_rules() -> dict[str, object]:
    """The rules that Sloth documents, for the shop."""
    errors = f'sum(rate({HTTP}{{job="shop",code=~"(5..|429)"}}[WINDOW]))'
    total = f'sum(rate({HTTP}{{job="shop"}}[WINDOW]))'
    ratios = {
        f"slo:sli_error:ratio_rate{window}": f"({errors}) / ({total})".replace("WINDOW", window)
        for window in WINDOWS
    }
    short = "slo:sli_error:ratio_rate5m"
    rules = ratios | {
        "slo:sli_error:ratio_rate30d": f"sum_over_time({short}[30d]) "
        f"/ count_over_time({short}[30d])",
        "slo:error_budget:ratio": "vector(1-0.999)",
        "slo:current_burn_rate:ratio": f"{short} / slo:error_budget:ratio",
        "slo:period_burn_rate:ratio": "slo:sli_error:ratio_rate30d / slo:error_budget:ratio",
        "slo:period_error_budget_remaining:ratio": "1 - slo:period_burn_rate:ratio",
    }
    records = [{"record": name, "expr": expression} for name, expression in rules.items()]
    return {"groups": [{"name": "sloth", "rules": records}]}


def sloth_page() -> str:
    """The condition of Sloth's page."""
    pairs = (("5m", "1h", "14.4"), ("30m", "6h", "6"))
    return " or ".join(
        f"(max(slo:sli_error:ratio_rate{short} > ({factor} * 0.001)) and "
        f"max(slo:sli_error:ratio_rate{long} > ({factor} * 0.001)))"
        for short, long, factor in pairs
    )


def ours(objective: Objective, record: str) -> str:
    """One of our records, without its labels."""
    return f"sum({of_objective(objective, record)})"


CURRENT = " / ".join(f"sum({recorded(FIRST, events, 300)})" for events in ("bad", "total"))
ALIKE = {
    "the burn rate of now": ("slo:current_burn_rate:ratio", f"{CURRENT} / 0.001"),
    "the burn rate of the period": ("slo:period_burn_rate:ratio", ours(SLICED, PERIOD_BURN)),
    "the budget left": ("slo:period_error_budget_remaining:ratio", ours(SLICED, BUDGET_LEFT)),
    "whether a page is due": (
        f"count({sloth_page()}) or vector(0)",
        'count(max(ALERTS{alertname="ShopAnswersBudgetBurn",tier="page"})) or vector(0)',
    ),
}


def check(expression: str, time: str) -> dict[str, object]:
    """A check that an expression is 1 at a time."""
    samples = [{"labels": "{}", "value": 1}]
    return {"expr": expression, "eval_time": time, "exp_samples": samples}


@pytest.mark.parametrize("is_changed", [False, True], ids=["as it is", "with our rules changed"])
def test_same_values(promtool: str, tmp_path: Path, *, is_changed: bool) -> None:
    """Both agree to 1e-9 in every value; the test can tell, since a changed rule is seen."""
    texts = {"sloth.yml": dump_yaml(sloth_rules())}
    texts |= {f"{one.name}.yml": burn_rules(one) for one in (FIRST, SLICED)}
    if is_changed:
        texts[f"{FIRST.name}.yml"] = texts[f"{FIRST.name}.yml"].replace("5..|", "")
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    checks = [
        check(f"abs(({theirs}) - ({mine})) <= bool 1e-9", time)
        for theirs, mine in ALIKE.values()
        for time in TIMES
    ]
    events = ours(FIRST, PERIOD_BURN)
    # Quiet hours weigh as much as busy ones in a mean of ratios: theirs is no share of events.
    apart = f"abs(slo:period_burn_rate:ratio - {events}) > bool 0.01 * {events}"
    document = {
        "rule_files": list(texts),
        "evaluation_interval": "5m",
        "group_eval_order": ["sloth", *group_names(FIRST), *group_names(SLICED)],
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": s, "values": v} for s, v in SERIES.items()],
                "promql_expr_test": [
                    *checks,
                    check(apart, "20h"),
                    # Agreeing is no accident: a page is due in the outage, and not before.
                    check(f"absent({sloth_page()})", "5h"),
                    check(f"count({sloth_page()})", "10h40m"),
                ],
            }
        ],
    }
    (tmp_path / "test.yml").write_text(dump_yaml(document), encoding="utf-8")

    outcome = subprocess.run(
        [promtool, "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, check=False
    )

    assert outcome.returncode == int(is_changed), outcome.stdout + outcome.stderr
