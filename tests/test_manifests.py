"""PrometheusRule manifests hold the very rules of the rule file."""

import subprocess
from pathlib import Path

import pytest
import yaml

from slo.manifests import rule_manifest
from slo.rules import burn_rules
from slo.specs import load_ready
from slo.yaml_text import dump_yaml

OBJECTIVE = load_ready()


@pytest.mark.parametrize(
    ("labels", "metadata"),
    [
        pytest.param(
            {"release": "monitoring"},
            {"name": "paceline-slo-training-steps", "labels": {"release": "monitoring"}},
            id="labels that the operator selects by",
        ),
        pytest.param({}, {"name": "paceline-slo-training-steps"}, id="an operator that takes all"),
    ],
)
def test_manifest(labels: dict[str, str], metadata: dict[str, object]) -> None:
    """A manifest is one document whose groups are those of the rule file."""
    (document,) = yaml.safe_load_all(rule_manifest(OBJECTIVE, labels))

    assert document == {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": metadata,
        "spec": yaml.safe_load(burn_rules(OBJECTIVE)),
    }


def test_promtool(promtool: str, tmp_path: Path) -> None:
    """Prometheus loads what the operator would write from a manifest."""
    spec = yaml.safe_load(rule_manifest(OBJECTIVE, {}))["spec"]
    (tmp_path / "rules.yml").write_text(dump_yaml(spec), encoding="utf-8")

    outcome = subprocess.run(
        [promtool, "check", "rules", "--lint-fatal", str(tmp_path / "rules.yml")],
        capture_output=True,
        check=False,
    )

    assert outcome.returncode == 0, outcome.stderr
