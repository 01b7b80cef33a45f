"""Burn ratios of our rules equal those of the queries that Sloth would have recorded.

Sloth records `(error_query) / (total_query)` a window; our rules record bad and total events apart.
promtool evaluates both on the same irregular series.
"""

import subprocess
from pathlib import Path

import pytest
import yaml

from slo.expressions import recorded
from slo.objectives import Objective
from slo.rules import burn_rules, rule_groups
from slo.specs import load_objectives
from slo.windows import duration

DATA = Path(__file__).parent / "data" / "slo"
FILES = ("sloth-first.yml", "sloth-bucket.yml", "sloth-silent.yml", "openslo-alpha.yml")
HTTP, API = "http_request_duration_seconds_count", "apiserver_request"
SERIES = {
    f'{HTTP}{{job="shop",code="200",pod="a"}}': "0+97x300 5+90x2000",
    f'{HTTP}{{job="shop",code="500",pod="a"}}': "0x100 0+3x200 2+1x2000",
    f'{HTTP}{{job="shop",code="429",pod="b"}}': "_x40 7+2x2260",
    f'{HTTP}{{job="batch",code="200"}}': "0+50x2300",
    f'{HTTP}{{job="batch",code="503"}}': "0x50 0+1x20 20x2230",
    f'{API}_total{{code="200"}}': "0+1000x2300",
    f'{API}_total{{code="504"}}': "0+1x700 0+2x1600",
    f'{API}_duration_seconds_count{{verb="GET"}}': "0+100x2300",
    f'{API}_duration_seconds_count{{verb="WATCH"}}': "0+900x2300",
    f'{API}_duration_seconds_bucket{{verb="GET",le="0.4"}}': "0+99x1000 100000+95x1300",
    f'{API}_duration_seconds_bucket{{verb="GET",le="5"}}': "0+100x2300",
}


def queries(name: str) -> list[tuple[str, str]]:
    """Bad and total queries of a file, as the document words them, objective by objective."""
    found: list[tuple[str, str]] = []
    for document in yaml.safe_load_all((DATA / name).read_text(encoding="utf-8")):
        for slo in document.get("slos", []):
            events = slo["sli"]["events"]
            found.append((events["error_query"], events["total_query"]))
        for target in document.get("spec", {}).get("objectives", []):
            good, total = (target["ratioMetrics"][part]["query"] for part in ("good", "total"))
            found.append((f"({total}) - ({good})", total))
    return found


def differences(objective: Objective, bad: str, total: str) -> list[dict[str, object]]:
    """Expressions that are 1 where a window's ratio is theirs, at two times."""
    tests: list[dict[str, object]] = []
    for seconds in objective.window_seconds:
        theirs = f"({bad}) / ({total})".replace("{{.window}}", duration(seconds))
        ours = " / ".join(
            f"sum({recorded(objective, events, seconds)})" for events in ("bad", "total")
        )
        alike = f"abs(({theirs}) - ({ours})) <= bool 1e-9"
        tests += [
            {"expr": alike, "eval_time": at, "exp_samples": [{"labels": "{}", "value": 1}]}
            for at in ("12h", "36h")
        ]
    return tests


@pytest.mark.parametrize("name", FILES)
def test_ratios(name: str, tmp_path: Path, promtool: str) -> None:
    """Every window's ratio is the one that Sloth's expression gives, to 1e-9."""
    objectives = load_objectives(DATA / name)
    expressions = [
        test
        for objective, (bad, total) in zip(objectives, queries(name), strict=True)
        for test in differences(objective, bad, total)
    ]
    order = [group["name"] for one in objectives for group in rule_groups(one)]
    for one in objectives:
        (tmp_path / f"{one.name}.yml").write_text(burn_rules(one), encoding="utf-8")
    document = {
        "rule_files": [f"{one.name}.yml" for one in objectives],
        "evaluation_interval": "12h",
        "group_eval_order": order,
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": s, "values": v} for s, v in SERIES.items()],
                "promql_expr_test": expressions,
            }
        ],
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump(document), encoding="utf-8")

    outcome = subprocess.run(
        [promtool, "test", "rules", "test.yml"], cwd=tmp_path, capture_output=True, check=False
    )

    assert (outcome.returncode, len(expressions)) == (0, 14 * len(objectives)), outcome.stdout
