"""An objective's rules as a PrometheusRule, for clusters where the Prometheus Operator runs.

Source: Prometheus Operator, API reference, monitoring.coreos.com/v1. Its groups are those of a rule
file; the operator picks manifests up by their labels, which each cluster chooses for itself.
"""

from collections.abc import Mapping
from typing import Final

from slo.objectives import Objective
from slo.rules import rule_groups, rule_notes
from slo.yaml_text import dump_yaml

API_VERSION: Final = "monitoring.coreos.com/v1"
KIND: Final = "PrometheusRule"


def rule_manifest(objective: Objective, labels: Mapping[str, str]) -> str:
    """Return the rules of an objective as a PrometheusRule: one YAML document.

    Args:
        objective: Whose rules.
        labels: Labels that the operator's `ruleSelector` asks for.
    """
    notes = "".join(f"# {note}\n" for note in rule_notes(objective))
    metadata: dict[str, object] = {"name": f"paceline-slo-{objective.name}"}
    if labels:
        metadata["labels"] = dict(labels)
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata,
        "spec": {"groups": rule_groups(objective)},
    }
    return f"{notes}{dump_yaml(document)}"
