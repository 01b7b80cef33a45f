"""Records of single slices and samples, as promtool evaluates them."""

import subprocess
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from slo.objectives import Counting, Method, Objective, SampleBound
from slo.piece_rules import sample_rules, slice_rules
from slo.selectors import parse_selector
from slo.slices import EmptySlice, Slices
from slo.specs import load_ready
from slo.yaml_text import dump_yaml

GAUGE = parse_selector("gpu_celsius")
STEPS = replace(
    load_ready(),
    group_labels=("run",),
    method=Method.TIMESLICES,
    slices=Slices(target_ratio=Decimal("0.9"), empty=EmptySlice.BAD),
)
HOT = replace(
    STEPS,
    bad=None,
    good=GAUGE,
    total=GAUGE,
    counting=Counting.SAMPLES,
    sample_bound=SampleBound(sign="<=", value=85.0),
)
TOTAL, SLOW = "paceline_training_steps_total", "paceline_training_slow_steps_total"


def check(objective: Objective, record: str, time: str, value: float) -> dict[str, object]:
    """A check that a record of run a has a value at a time."""
    labels = f'{record}{{objective="{objective.name}",run="a"}}'
    expected = {"labels": labels, "value": value}
    return {"expr": f'{record}{{run="a"}}', "eval_time": time, "exp_samples": [expected]}


@pytest.mark.parametrize(
    ("objective", "series", "checks"),
    [
        pytest.param(
            STEPS,
            {f'{TOTAL}{{run="a"}}': "0+4x40 160x40", f'{SLOW}{{run="a"}}': "0x80"},
            [
                check(STEPS, "paceline_slo:bad:slice", "5m", 0),
                check(STEPS, "paceline_slo:bad:slice", "15m", 1),
                check(STEPS, "paceline_slo:total:slice", "15m", 1),
            ],
            id="a counter that stands still where there should be events",
        ),
        pytest.param(
            STEPS,
            {f'{TOTAL}{{run="a"}}': "0+4x40", f'{SLOW}{{run="a"}}': "0x40"},
            [
                check(STEPS, "paceline_slo:bad:slice", "45m", 1),
                check(STEPS, "paceline_slo:total:slice", "45m", 1),
            ],
            id="a counter that is gone, long after it was last seen",
        ),
        pytest.param(
            HOT,
            {'gpu_celsius{run="a"}': "80x7 NaN NaN NaN NaN 90x3"},
            [
                check(HOT, "paceline_slo:good:sample", "1m", 1),
                check(HOT, "paceline_slo:good:sample", "2m", 0),
                check(HOT, "paceline_slo:total:sample", "2m", 1),
                check(HOT, "paceline_slo:good:sample", "3m", 0),
            ],
            id="a sample that is no number meets no bound, and counts",
        ),
        pytest.param(
            replace(HOT, good=None, bad=GAUGE),
            {'gpu_celsius{run="a"}': "80x7 NaN NaN NaN NaN 90x3"},
            [
                check(HOT, "paceline_slo:bad:sample", "1m", 0),
                check(HOT, "paceline_slo:bad:sample", "2m", 1),
                check(HOT, "paceline_slo:bad:sample", "3m", 1),
            ],
            id="what meets no bound is bad where bad ones are counted",
        ),
        pytest.param(
            HOT,
            {'gpu_celsius{run="a"}': "80x4"},
            [
                check(HOT, "paceline_slo:total:slice", "30m", 1),
                check(HOT, "paceline_slo:bad:slice", "30m", 1),
            ],
            id="a gauge that is gone, where silence is the failure",
        ),
    ],
)
def test_pieces(
    promtool: str,
    tmp_path: Path,
    objective: Objective,
    series: dict[str, str],
    checks: list[dict[str, object]],
) -> None:
    """Each slice and each sample is recorded for what it is."""
    rules = [*sample_rules(objective), *slice_rules(objective)]
    text = dump_yaml({"groups": [{"name": "g", "rules": rules}]})
    (tmp_path / "r.yml").write_text(text, encoding="utf-8")
    document = {
        "rule_files": ["r.yml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "15s",
                "input_series": [{"series": s, "values": v} for s, v in series.items()],
                "promql_expr_test": checks,
            }
        ],
    }
    (tmp_path / "t.yml").write_text(dump_yaml(document), encoding="utf-8")

    outcome = subprocess.run(
        [promtool, "test", "rules", "t.yml"], cwd=tmp_path, capture_output=True, check=False
    )

    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_same_times() -> None:
    """A slice ends on a multiple of its length, whenever its group is evaluated; none is open."""
    ends = {str(rule["expr"]).rpartition("\n")[2] for rule in slice_rules(STEPS)}

    assert ends == {")[59s999ms:1m])"}
