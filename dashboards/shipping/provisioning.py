"""Files that Grafana, Prometheus and Kubernetes take boards, data sources and rules from.

Source: Grafana, "Provision Grafana"; the sidecar of its Helm chart, which loads every ConfigMap
with one label. The file always wins over edits in Grafana; a file that is gone deletes its board.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dashboards.variables import FLEET_TAG, FOLDER_TITLE, FOLDER_UID
from slo.manifests import rule_manifest
from slo.objectives import Objective
from slo.rules import burn_rules
from slo.yaml_text import dump_yaml

SIDECAR_LABEL: Final = "grafana_dashboard"
SIDECAR_FOLDER: Final = "grafana_folder"
SOURCE_UID: Final = "paceline-prometheus"
BOARDS_PATH: Final = "/etc/grafana/dashboards/ai-fleet"
PROMETHEUS_URL: Final = "http://prometheus:9090"
SCRAPE_SECONDS: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where files will be read.

    Attributes:
        boards_path: Folder of the boards on the server's disk.
        prometheus_url: Where Grafana reaches Prometheus.
        scrape_seconds: Time between two scrapes; the window of rates follows from it.
        labels: Of ConfigMaps and rule manifests.
        namespace: Of ConfigMaps; empty leaves it to whoever applies them.
    """

    boards_path: str = BOARDS_PATH
    prometheus_url: str = PROMETHEUS_URL
    scrape_seconds: int = SCRAPE_SECONDS
    labels: Mapping[str, str] = field(default_factory=lambda: {SIDECAR_LABEL: "1"})
    namespace: str = ""


def build_provisioning(
    boards: Mapping[str, str], objectives: list[Objective], place: Place
) -> dict[str, str]:
    """Return every file by its path.

    Args:
        boards: Text of every board by uid.
        objectives: Whose alert rules go along.
        place: Where the files will be read.
    """
    return {
        "grafana/provisioning/dashboards/ai-fleet.yaml": build_provider(place),
        "grafana/provisioning/datasources/paceline.yaml": build_data_source(place),
        **{f"grafana/dashboards/ai-fleet/{uid}.json": text for uid, text in boards.items()},
        **{f"prometheus/rules/{one.name}.rules.yml": burn_rules(one) for one in objectives},
        **{
            f"kubernetes/{uid}.configmap.yaml": build_config_map(uid, text, place)
            for uid, text in boards.items()
        },
        **{
            f"kubernetes/{one.name}.rules.yaml": rule_manifest(one, _rule_labels(place))
            for one in objectives
        },
    }


def build_provider(place: Place) -> str:
    """Return the file that tells Grafana where the boards stand on its disk."""
    provider = {
        "name": FLEET_TAG,
        "orgId": 1,
        "folder": FOLDER_TITLE,
        "folderUid": FOLDER_UID,
        "type": "file",
        "disableDeletion": False,
        "allowUiUpdates": False,
        "updateIntervalSeconds": 30,
        "options": {"path": place.boards_path},
    }
    return dump_yaml({"apiVersion": 1, "providers": [provider]})


def build_data_source(place: Place) -> str:
    """Return the file that tells Grafana of the Prometheus to ask."""
    source = {
        "name": "Paceline Prometheus",
        "type": "prometheus",
        "uid": SOURCE_UID,
        "access": "proxy",
        "url": place.prometheus_url,
        "editable": False,
        "jsonData": {"httpMethod": "POST", "timeInterval": f"{place.scrape_seconds}s"},
    }
    return dump_yaml({"apiVersion": 1, "prune": True, "datasources": [source]})


def build_config_map(uid: str, text: str, place: Place) -> str:
    """Return a board as a ConfigMap that the sidecar of Grafana's chart loads."""
    metadata: dict[str, object] = {"name": f"paceline-{uid}"}
    if place.namespace:
        metadata["namespace"] = place.namespace
    metadata["labels"] = dict(place.labels)
    metadata["annotations"] = {SIDECAR_FOLDER: FOLDER_TITLE}
    return dump_yaml(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {f"{uid}.json": text},
        }
    )


def _rule_labels(place: Place) -> dict[str, str]:
    """Return the labels without the sidecar's, which is for boards alone."""
    return {name: value for name, value in place.labels.items() if name != SIDECAR_LABEL}
