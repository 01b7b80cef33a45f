"""The rules made from an objective, as Prometheus' own promtool judges them."""

import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from slo import rules as rules_module
from slo.calendars import Calendar
from slo.exclusions import Exclusion
from slo.guards import NO_GUARD, Guard
from slo.objectives import AlertLabel, Counting, Method, Objective, SampleBound
from slo.rule_tests import burn_rule_tests
from slo.rules import burn_rules
from slo.selectors import parse_selector
from slo.slices import EmptySlice, Slices
from slo.specs import load_library, load_ready
from slo.windows import RECOMMENDED_WINDOWS, windows_by_period, windows_by_share
from slo.yaml_text import dump_yaml

GENERATED = Path(rules_module.__file__).parent / "generated"
DAY = 86400
LIBRARY = load_ready()
PAGES, TICKETS = RECOMMENDED_WINDOWS[:2], RECOMMENDED_WINDOWS[2:]
BRIEF = replace(LIBRARY, windows=(PAGES[0], TICKETS[0]))
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


MAINTENANCE = Exclusion(
    start=datetime(2026, 1, 5, 2, tzinfo=UTC),
    end=datetime(2026, 1, 5, 3, tzinfo=UTC),
    author="ada",
    reason="new switches",
)
UP = parse_selector("probe_ok")
BRIEF_GOOD = replace(GOOD, windows=BRIEF.windows)
LIMITED = replace(
    BRIEF,
    name="limited",
    bad=None,
    good=parse_selector("gpu_celsius"),
    total=parse_selector("gpu_celsius"),
    group_labels=("host",),
    counting=Counting.SAMPLES,
    sample_bound=SampleBound(sign="<", value=85.5),
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


SHAPES: dict[str, Objective] = {
    "the training steps of the library": LIBRARY,
    "one group for all": replace(LIBRARY, group_labels=()),
    "good events, with matchers and links": GOOD,
    "bad events by a regular expression": by_code('code=~"5.."'),
    "bad events by what they are not": by_code('code!="0",ok!~"yes"'),
    "good events that are some of all": replace(
        GOOD,
        good=parse_selector('all_total{code=~"2.."}'),
        total=parse_selector('all_total{code!=""}'),
    ),
    "six nines are not rounded to zero": replace(LIBRARY, target_percent=Decimal("99.9999")),
    "a page that cannot be reached": replace(LIBRARY, target_percent=Decimal(90)),
    "windows by share of 28 days": replace(
        LIBRARY, period_seconds=28 * DAY, windows=windows_by_share(28 * DAY)
    ),
    "windows by a period of 7 days": replace(
        LIBRARY, period_seconds=7 * DAY, windows=windows_by_period(7 * DAY, scrape_seconds=15)
    ),
    "pages only": replace(LIBRARY, windows=PAGES),
    "tickets only": replace(LIBRARY, windows=TICKETS),
    "alerts that are held": replace(
        LIBRARY, windows=tuple(replace(w, keep_firing_seconds=300) for w in PAGES)
    ),
    "time slices": replace(
        BRIEF, method=Method.TIMESLICES, slices=Slices(target_ratio=Decimal("0.95"))
    ),
    "time slices of which empty ones are bad": replace(
        BRIEF, method=Method.TIMESLICES, slices=Slices(empty=EmptySlice.BAD)
    ),
    "time slices of which empty ones are good": replace(
        BRIEF_GOOD, method=Method.TIMESLICES, slices=Slices(empty=EmptySlice.GOOD)
    ),
    "the mean of slices of five minutes": replace(
        BRIEF, method=Method.RATIO_TIMESLICES, slices=Slices(seconds=300)
    ),
    "the mean of slices of a gauge's samples": replace(
        LIMITED, method=Method.RATIO_TIMESLICES, slices=Slices()
    ),
    "a gauge of 1 and 0": replace(
        BRIEF_GOOD, counting=Counting.SAMPLES, good=UP, total=UP, group_labels=("zone",)
    ),
    "a gauge of 1 and 0 that says what is bad": replace(
        BRIEF, counting=Counting.SAMPLES, bad=UP, total=UP
    ),
    "samples below a bound": LIMITED,
    "samples that miss a bound": replace(LIMITED, bad=LIMITED.total, good=None),
    "totals over a window": replace(BRIEF_GOOD, counting=Counting.WINDOWED),
    "a bucket of a histogram": replace(
        BRIEF,
        bad=None,
        good=parse_selector('answer_seconds_bucket{le="1"}'),
        total=parse_selector('answer_seconds_bucket{le="+Inf"}'),
    ),
    "every guard": replace(
        BRIEF, guard=Guard(min_bad_count=5, by_traffic=True, confidence_ratio=0.95)
    ),
    "pages that are muted": replace(BRIEF, muted=("page",)),
    "labels of a team": replace(
        BRIEF,
        labels=(
            AlertLabel(name="team", value="training"),
            AlertLabel(name="channel", value="loud", severity="page"),
        ),
    ),
    "a month of the calendar": replace(
        BRIEF, calendar=Calendar(unit="month", zone="Europe/Berlin")
    ),
}


def parsed(objective: Objective) -> list[dict[str, Any]]:
    """Every rule of an objective, in order."""
    (document,) = yaml.safe_load_all(burn_rules(objective))
    return [rule for group in document["groups"] for rule in group["rules"]]


def told(promtool: str, folder: Path, *arguments: str) -> str:
    """What promtool says of files in a folder, with its exit code before it."""
    done = subprocess.run(
        [promtool, *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    return f"{done.returncode}: {done.stdout}"


def without_numbers(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Generated tests without those of each pair's numbers, which are tried elsewhere."""
    return [test for test in tests if not re.search(": (page|ticket) ", test["name"])]


def without_silence(tests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Generated tests without those of missing data, where the ready objectives show enough."""
    return [test for test in tests if not re.search(": no ", test["name"])]


@pytest.mark.parametrize("name", [objective.name for objective in load_library()])
def test_generated(golden: Callable[[str, str], None], name: str) -> None:
    """The committed files are what the library's objectives make."""
    objective, rules_file = load_ready(name), f"{name}.rules.yml"

    golden(str(GENERATED / rules_file), burn_rules(objective))
    golden(
        str(GENERATED / f"{name}.rules.test.yml"),
        burn_rule_tests(objective, rules_file=rules_file),
    )


def test_nothing_else_is_generated() -> None:
    """There is no rule file whose objective is gone."""
    names = {path.name.split(".")[0] for path in GENERATED.glob("*.rules*.yml")}

    assert names == {objective.name for objective in load_library()}


def test_promtool(promtool: str, tmp_path: Path) -> None:
    """Prometheus loads every rule of every shape, and fires when our own evaluator says so."""
    ready = load_library()
    objectives = [*ready, *SHAPES.values()]
    for number, objective in enumerate(objectives):
        rules_file = f"{number}.yml"
        (tmp_path / rules_file).write_text(burn_rules(objective), encoding="utf-8")
        document = yaml.safe_load(burn_rule_tests(objective, rules_file=rules_file))
        if number >= len(ready) and objective.guard == NO_GUARD:
            document["tests"] = without_silence(without_numbers(document["tests"]))
        (tmp_path / f"{number}.test.yml").write_text(dump_yaml(document), encoding="utf-8")
    files = [f"{number}.yml" for number in range(len(objectives))]

    checked = told(promtool, tmp_path, "check", "rules", "--lint-fatal", *files)
    tested = told(promtool, tmp_path, "test", "rules", *(f"{file[:-4]}.test.yml" for file in files))

    counts = [len(parsed(objective)) for objective in objectives]
    assert [int(count) for count in re.findall(r"SUCCESS: (\d+) rules", checked)] == counts
    assert (checked[:2], tested[:2]) == ("0:", "0:"), tested


CHANGES = {
    "pages become tickets": ("severity: page", "severity: ticket"),
    "pairs of pages are routed with tickets": ("tier: page", "tier: ticket"),
    "pairs are routed themselves": ("severity: info", "severity: page"),
    "a label names another window": ("short: 5m", "short: 6m"),
    "a group label is summed away": ("by (cluster, run)", "by (run)"),
    "pages wait longer": ("for: 2m", "for: 5m"),
    "stopped samples are missed later": ("steps_total[5m])", "steps_total[10m])"),
    "ended groups are missed for longer": ("[30m]))\n      unless", "[2h]))\n      unless"),
    "the absent alert does not parse": ("absent(", "absent(absent("),
}


def test_promtool_can_fail(promtool: str, tmp_path: Path) -> None:
    """A rule file with one thing changed fails the generated tests: they really evaluate."""
    made = burn_rules(BRIEF)
    files: list[str] = []
    for number, (old, new) in enumerate(CHANGES.values()):
        assert old in made
        rules_file = f"{number}.yml"
        (tmp_path / rules_file).write_text(made.replace(old, new), encoding="utf-8")
        document = yaml.safe_load(burn_rule_tests(BRIEF, rules_file=rules_file))
        document["tests"] = without_numbers(document["tests"])
        files.append(f"{number}.test.yml")
        (tmp_path / files[-1]).write_text(dump_yaml(document), encoding="utf-8")

    tested = told(promtool, tmp_path, "test", "rules", *files)

    blocks = tested.split("Unit Testing:")[1:]
    passed = [what for what, block in zip(CHANGES, blocks, strict=True) if "SUCCESS" in block]
    assert passed == []


def test_one_document() -> None:
    """Case 45: all rules stand in one document, of which promtool sees every one."""
    assert (len(list(yaml.safe_load_all(burn_rules(LIBRARY)))), len(parsed(LIBRARY))) == (1, 28)


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
    """Each window and the period are recorded once, bad and total events apart."""
    records = [rule["record"] for rule in parsed(LIBRARY) if "record" in rule]

    assert sorted(records) == sorted(
        [
            "paceline_slo:budget:ratio",
            "paceline_slo:budget_left:ratio",
            "paceline_slo:period_burn:ratio",
            *(
                f"paceline_slo:{events}:increase{window}"
                for events in ("bad", "total")
                for window in ("5m", "30m", "1h", "2h", "6h", "1d", "3d", "30d")
            ),
        ]
    )


@pytest.mark.parametrize("objective", SHAPES.values(), ids=SHAPES)
def test_no_collision(objective: Objective) -> None:
    """No two rules write the same series, and no rule's label hides one that groups."""
    rules = parsed(objective)
    written = [
        (rule.get("record", rule.get("alert")), *sorted(rule["labels"].items())) for rule in rules
    ]

    assert len(set(written)) == len(rules)
    assert not {label for rule in rules for label in rule["labels"]} & set(objective.group_labels)


@pytest.mark.parametrize("objective", SHAPES.values(), ids=SHAPES)
def test_safe_shapes(objective: Objective) -> None:
    """Each division has a denominator above 0, and no rule sums before it takes the growth."""
    expressions = [rule["expr"] for rule in parsed(objective)]
    divided = [part for text in expressions for part in re.split(r"\n\s+/\n\s+", text)[1:]]

    assert len(divided) >= 2 * len(objective.alerting_windows)
    # A slice is recorded where it divides by 0 and is bad; what is no number is dropped.
    assert all(re.match(r"\(paceline_slo:total:\S+ > 0\)|[^>]+>= 0\n", p) for p in divided)
    assert not any(re.search(r"increase\((?!\w+(\{|\[))|vector\(0\)", e) for e in expressions)


def test_labels() -> None:
    """What is routed names the objective alone; pairs are to be looked at; data is another's."""
    labels = [tuple(rule["labels"].values()) for rule in parsed(LIBRARY) if "alert" in rule]

    assert labels == [
        ("training-steps", "info", "page", "1h", "5m"),
        ("training-steps", "info", "page", "6h", "30m"),
        ("training-steps", "page"),
        ("training-steps", "data"),
        ("training-steps", "data"),
        ("training-steps", "data"),
        ("training-steps", "info", "ticket", "1d", "2h"),
        ("training-steps", "info", "ticket", "3d", "6h"),
        ("training-steps", "ticket"),
    ]


def test_muted() -> None:
    """A muted severity is recorded and raises no alert."""
    made = parsed(SHAPES["pages that are muted"])
    alerts = {rule["alert"].removeprefix("TrainingSteps") for rule in made if "alert" in rule}

    assert alerts == {"BudgetBurn", "Ticket", "DataFault", "DataAge", "Absent"}
    assert "paceline_slo:bad:increase1h" in {rule.get("record") for rule in made}


def test_routed_by_labels() -> None:
    """Alerts carry the labels that lead to a team, and those of their severity only."""
    carried = {
        rule["alert"].removeprefix("TrainingSteps"): (
            rule["labels"].get("team"),
            rule["labels"].get("channel"),
        )
        for rule in parsed(SHAPES["labels of a team"])
        if rule.get("alert", "BudgetBurn")[-4:] != "Burn"
    }

    assert carried == {
        "Page": ("training", "loud"),
        "Ticket": ("training", None),
        "DataFault": ("training", None),
        "DataAge": ("training", None),
        "Absent": ("training", None),
    }


@pytest.mark.parametrize(
    ("objective", "note"),
    [
        pytest.param(
            SHAPES["a month of the calendar"],
            "# Alerts look back over rolling windows; the budget of the calendar month "
            "(Europe/Berlin) is for the report only.\n",
            id="alerts are rolling, whatever the period",
        ),
        pytest.param(
            replace(LIBRARY, exclusions=(MAINTENANCE,)),
            "# Declared maintenance is left out by the report, and not by these rules: silence "
            "them.\n",
            id="live alerts are silenced, not computed again",
        ),
    ],
)
def test_notes(objective: Objective, note: str) -> None:
    """What only the report does is said at the head of the rules, and nothing records it."""
    made = burn_rules(objective)

    assert note in made
    assert ("budget_left" in made) == (objective.calendar is None)


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


CONTRADICTIONS = {
    "case 3: bad events while the total stands still": (
        LIBRARY,
        {
            "paceline_training_slow_steps_total": "0+1x25",
            "paceline_training_steps_total": "0+100x10 1000x15",
        },
        True,
    ),
    "no total at all": (LIBRARY, {"paceline_training_slow_steps_total": "0+1x25"}, True),
    "more bad events than events": (
        LIBRARY,
        {
            "paceline_training_slow_steps_total": "0+120x25",
            "paceline_training_steps_total": "0+100x25",
        },
        True,
    ),
    "nothing but bad events": (
        LIBRARY,
        {
            "paceline_training_slow_steps_total": "0+100x25",
            "paceline_training_steps_total": "0+100x25",
        },
        False,
    ),
    "case 5: more good events than events": (
        GOOD,
        {'good_total{zone="z"}': "0+103x25", 'all_total{zone="z"}': "0+100x25"},
        True,
    ),
    "nothing but good events": (
        GOOD,
        {'good_total{zone="z"}': "0+100x25", 'all_total{zone="z"}': "0+100x25"},
        False,
    ),
}


def fault_test(objective: Objective, series: dict[str, str], *, fires: bool) -> dict[str, object]:
    """A promtool test of whether the alert for contradicting counters fires after 25 minutes."""
    fault = next(r for r in parsed(objective) if r.get("alert", "").endswith("DataFault"))
    alert = {"exp_labels": fault["labels"], "exp_annotations": fault["annotations"]}
    check = {
        "eval_time": "25m",
        "alertname": fault["alert"],
        "exp_alerts": [alert] if fires else [],
    }
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "alert_rule_test": [check],
    }


def test_data_fault(promtool: str, tmp_path: Path) -> None:
    """Counters that contradict each other raise an alert of their own; those that agree do not."""
    tests = [
        fault_test(replace(objective, group_labels=()), series, fires=fires) | {"name": name}
        for name, (objective, series, fires) in CONTRADICTIONS.items()
    ]
    for objective in (LIBRARY, GOOD):
        rules = [
            rule
            for rule in parsed(replace(objective, group_labels=()))
            if rule.get("record", "increase5m").endswith("increase5m")
        ]
        text = dump_yaml({"groups": [{"name": objective.name, "rules": rules}]})
        (tmp_path / f"{objective.name}.yml").write_text(text, encoding="utf-8")
    document = {
        "rule_files": [f"{LIBRARY.name}.yml", f"{GOOD.name}.yml"],
        "evaluation_interval": "1m",
        "tests": tests,
    }
    (tmp_path / "t.yml").write_text(dump_yaml(document), encoding="utf-8")

    tested = told(promtool, tmp_path, "test", "rules", "t.yml")

    assert tested.startswith("0:"), tested


def test_bound_of_two_spellings(promtool: str, tmp_path: Path) -> None:
    """Case 37: after an upgrade the bound is 1.0 and was 1, and the ratio goes on."""
    objective = replace(
        BRIEF,
        bad=None,
        good=parse_selector('answer_seconds_bucket{le="1"}'),
        total=parse_selector("answer_seconds_count"),
        group_labels=(),
    )
    (tmp_path / "r.yml").write_text(burn_rules(objective), encoding="utf-8")
    series = {
        "answer_seconds_count": "0+100x60",
        'answer_seconds_bucket{le="1"}': "0+99x30",
        'answer_seconds_bucket{le="1.0"}': "_x31 3069+99x29",
    }
    ratio = "paceline_slo:bad:increase1h / paceline_slo:total:increase1h"
    check = {
        "expr": f"abs({ratio} - 0.01) <= bool 1e-12",
        "eval_time": "1h",
        "exp_samples": [{"labels": '{objective="training-steps"}', "value": 1}],
    }
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [check],
    }
    document = {"rule_files": ["r.yml"], "evaluation_interval": "5m", "tests": [test]}
    (tmp_path / "t.yml").write_text(dump_yaml(document), encoding="utf-8")

    tested = told(promtool, tmp_path, "test", "rules", "t.yml")

    assert tested.startswith("0:"), tested
