"""The rules made from an objective, as Prometheus' own promtool judges them."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from slo import rules as rules_module
from slo.objectives import Objective
from slo.rule_tests import burn_rule_tests
from slo.rules import burn_rules, dump_yaml
from slo.selectors import parse_selector
from slo.specs import load_ready
from slo.windows import RECOMMENDED_WINDOWS, windows_by_period, windows_by_share

GENERATED = Path(rules_module.__file__).parent / "generated"
DAY = 86400
LIBRARY = load_ready()
PAGES, TICKETS = RECOMMENDED_WINDOWS[:2], RECOMMENDED_WINDOWS[2:]
GOOD = replace(
    LIBRARY,
    name="web-answers",
    bad=None,
    good=parse_selector('good_total{zone="z"}'),
    total=parse_selector('all_total{zone="z"}'),
    group_labels=(),
    runbook_url="https://example.org/runbook",
    dashboard_url="https://example.org/board",
)


def by_code(bad: str) -> Objective:
    """An objective whose bad events are some of the series of all events."""
    return replace(
        LIBRARY,
        name="by-code",
        target_percent=Decimal("99.5"),
        bad=parse_selector(f"all_total{{{bad}}}"),
        total=parse_selector("all_total"),
        group_labels=("zone",),
    )


SHAPES = [
    pytest.param(LIBRARY, id="the training steps of the library"),
    pytest.param(replace(LIBRARY, group_labels=()), id="one group for all"),
    pytest.param(GOOD, id="good events, with matchers and links"),
    pytest.param(by_code('code=~"5.."'), id="bad events by a regular expression"),
    pytest.param(by_code('code!="0",ok!~"yes"'), id="bad events by what they are not"),
    pytest.param(
        replace(
            GOOD,
            good=parse_selector('all_total{code=~"2.."}'),
            total=parse_selector('all_total{code!=""}'),
        ),
        id="good events that are some of all",
    ),
    pytest.param(
        replace(LIBRARY, target_percent=Decimal("99.9999")), id="six nines are not rounded to zero"
    ),
    pytest.param(replace(LIBRARY, target_percent=Decimal(90)), id="a page that cannot be reached"),
    pytest.param(
        replace(LIBRARY, period_seconds=28 * DAY, windows=windows_by_share(28 * DAY)),
        id="windows by share of 28 days",
    ),
    pytest.param(
        replace(
            LIBRARY, period_seconds=7 * DAY, windows=windows_by_period(7 * DAY, scrape_seconds=15)
        ),
        id="windows by a period of 7 days",
    ),
    pytest.param(replace(LIBRARY, windows=PAGES), id="pages only"),
    pytest.param(replace(LIBRARY, windows=TICKETS), id="tickets only"),
    pytest.param(
        replace(LIBRARY, windows=tuple(replace(w, keep_firing_seconds=300) for w in PAGES)),
        id="alerts that are held",
    ),
]


def parsed(objective: Objective) -> list[dict[str, Any]]:
    """Every rule of an objective, in order."""
    (document,) = yaml.safe_load_all(burn_rules(objective))
    return [rule for group in document["groups"] for rule in group["rules"]]


def told(promtool: str, folder: Path, *arguments: str) -> str:
    """What promtool says of files in a folder, with its exit code before it."""
    done = subprocess.run(
        [promtool, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    return f"{done.returncode}: {done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    ("name", "build"),
    [
        pytest.param("training-steps.rules.yml", burn_rules, id="rules"),
        pytest.param(
            "training-steps.rules.test.yml",
            partial(burn_rule_tests, rules_file="training-steps.rules.yml"),
            id="tests",
        ),
    ],
)
def test_generated(
    golden: Callable[[str, str], None], name: str, build: Callable[[Objective], str]
) -> None:
    """The committed files are what the library's objective makes."""
    golden(str(GENERATED / name), build(LIBRARY))


@pytest.mark.parametrize("objective", SHAPES)
def test_promtool(promtool: str, tmp_path: Path, objective: Objective) -> None:
    """Prometheus loads every rule, and fires when our own evaluator says so."""
    (tmp_path / "r.yml").write_text(burn_rules(objective), encoding="utf-8")
    (tmp_path / "t.yml").write_text(
        burn_rule_tests(objective, rules_file="r.yml"), encoding="utf-8"
    )

    checked = told(promtool, tmp_path, "check", "rules", "--lint-fatal", "r.yml")
    tested = told(promtool, tmp_path, "test", "rules", "t.yml")

    assert f"SUCCESS: {len(parsed(objective))} rules found" in checked
    assert (checked[:2], tested[:2]) == ("0:", "0:"), tested


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("> 0.14399999999999999", "> 0.5", id="a page's threshold is raised"),
        pytest.param("> 0.01\n", "> 0.0001\n", id="a ticket's threshold is lowered"),
        pytest.param("severity: page", "severity: ticket", id="pages become tickets"),
        pytest.param("short: 30m", "short: 31m", id="a label names another window"),
        pytest.param("by (cluster, run)", "by (run)", id="a group label is summed away"),
        pytest.param("for: 2m", "for: 5m", id="pages wait longer"),
        pytest.param("absent(", "absent(absent(", id="the absent alert does not parse"),
    ],
)
def test_promtool_can_fail(promtool: str, tmp_path: Path, old: str, new: str) -> None:
    """A rule file with one thing changed fails the generated tests: they really evaluate."""
    made = burn_rules(LIBRARY)
    assert old in made
    (tmp_path / "r.yml").write_text(made.replace(old, new), encoding="utf-8")
    (tmp_path / "t.yml").write_text(burn_rule_tests(LIBRARY, rules_file="r.yml"), encoding="utf-8")

    assert told(promtool, tmp_path, "test", "rules", "t.yml").startswith("1:")


def test_one_document() -> None:
    """Case 45: all rules stand in one document, of which promtool sees every one."""
    assert (len(list(yaml.safe_load_all(burn_rules(LIBRARY)))), len(parsed(LIBRARY))) == (1, 21)


@pytest.mark.parametrize("target", ["90", "99", "99.9", "99.95", "99.9999"])
def test_thresholds(target: str) -> None:
    """Each threshold reads back as the very double that frames compare with."""
    objective = replace(LIBRARY, target_percent=Decimal(target))
    found = [
        {float(number) for number in re.findall(r"^  > (\S+)$", rule["expr"], re.MULTILINE)}
        for rule in parsed(objective)
        if rule.get("alert", "").endswith("BudgetBurn")
    ]

    assert found == [{objective.threshold(window)} for window in objective.windows]


def test_records() -> None:
    """Each window is recorded once, bad and total events apart."""
    records = [rule["record"] for rule in parsed(LIBRARY) if "record" in rule]

    assert sorted(records) == sorted(
        [
            "paceline_slo:budget:ratio",
            *(
                f"paceline_slo:{events}:increase{window}"
                for events in ("bad", "total")
                for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
            ),
        ]
    )


@pytest.mark.parametrize("objective", SHAPES)
def test_no_collision(objective: Objective) -> None:
    """No two rules write the same series, and no rule's label hides one that groups."""
    rules = parsed(objective)
    written = [
        (rule.get("record", rule.get("alert")), *sorted(rule["labels"].items())) for rule in rules
    ]

    assert len(set(written)) == len(rules)
    assert not {label for rule in rules for label in rule["labels"]} & set(objective.group_labels)


@pytest.mark.parametrize("objective", SHAPES)
def test_safe_shapes(objective: Objective) -> None:
    """Each division has a denominator above 0, and no rule sums before it takes the growth."""
    expressions = [rule["expr"] for rule in parsed(objective)]
    divided = [part for text in expressions for part in re.split(r"\n\s+/\n\s+", text)[1:]]

    assert len(divided) == 2 * len(objective.windows)
    assert all(re.match(r"\(paceline_slo:total:\S+ > 0\)", part) for part in divided)
    assert not any(re.search(r"increase\((?!\w+(\{|\[))|vector\(0\)", e) for e in expressions)


def test_labels() -> None:
    """Burn alerts carry objective, severity, long and short; those about data another severity."""
    labels = [tuple(rule["labels"].values()) for rule in parsed(LIBRARY) if "alert" in rule]

    assert labels == [
        ("training-steps", "page", "1h", "5m"),
        ("training-steps", "page", "6h", "30m"),
        ("training-steps", "data"),
        ("training-steps", "data"),
        ("training-steps", "ticket", "1d", "2h"),
        ("training-steps", "ticket", "3d", "6h"),
    ]


def test_links() -> None:
    """A page leads to the runbook and the dashboard where the objective has them."""
    (first, *_) = [rule for rule in parsed(GOOD) if "alert" in rule]

    assert (first["annotations"]["runbook_url"], first["annotations"]["dashboard_url"]) == (
        "https://example.org/runbook",
        "https://example.org/board",
    )


def test_held() -> None:
    """A pair that holds its alert says so to Prometheus."""
    objective = replace(LIBRARY, windows=tuple(replace(w, keep_firing_seconds=300) for w in PAGES))

    assert [r["keep_firing_for"] for r in parsed(objective) if "keep_firing_for" in r] == ["5m"] * 2


@pytest.mark.parametrize(
    ("objective", "series", "fires"),
    [
        pytest.param(
            LIBRARY,
            {
                "paceline_training_slow_steps_total": "0+1x60",
                "paceline_training_steps_total": "0+100x20 2000x40",
            },
            True,
            id="case 3: bad events while the total stands still",
        ),
        pytest.param(
            LIBRARY, {"paceline_training_slow_steps_total": "0+1x60"}, True, id="no total at all"
        ),
        pytest.param(
            LIBRARY,
            {
                "paceline_training_slow_steps_total": "0+120x60",
                "paceline_training_steps_total": "0+100x60",
            },
            True,
            id="more bad events than events",
        ),
        pytest.param(
            LIBRARY,
            {
                "paceline_training_slow_steps_total": "0+100x60",
                "paceline_training_steps_total": "0+100x60",
            },
            False,
            id="nothing but bad events",
        ),
        pytest.param(
            GOOD,
            {'good_total{zone="z"}': "0+103x60", 'all_total{zone="z"}': "0+100x60"},
            True,
            id="case 5: more good events than events",
        ),
        pytest.param(
            GOOD,
            {'good_total{zone="z"}': "0+100x60", 'all_total{zone="z"}': "0+100x60"},
            False,
            id="nothing but good events",
        ),
    ],
)
def test_data_fault(
    promtool: str, tmp_path: Path, objective: Objective, series: dict[str, str], *, fires: bool
) -> None:
    """Counters that contradict each other raise an alert of their own."""
    (tmp_path / "r.yml").write_text(burn_rules(objective), encoding="utf-8")
    fault = next(r for r in parsed(objective) if r.get("alert", "").endswith("DataFault"))
    expected = [{"exp_labels": fault["labels"], "exp_annotations": fault["annotations"]}]
    check = {
        "eval_time": "45m",
        "alertname": fault["alert"],
        "exp_alerts": expected if fires else [],
    }
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [check],
    }
    document = {"rule_files": ["r.yml"], "evaluation_interval": "1m", "tests": [test]}
    (tmp_path / "t.yml").write_text(dump_yaml(document), encoding="utf-8")

    tested = told(promtool, tmp_path, "test", "rules", "t.yml")

    assert tested.startswith("0:"), tested
