"""Files for Grafana, Prometheus and Kubernetes say what each of them reads, on any machine."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from dashboards.boards import build_boards
from paceline.commands.dashboards.app import app
from slo.specs import load_library

MAX_CONFIG_MAP_BYTES = 1_048_576


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every file."""
    out = tmp_path_factory.mktemp("provisioning")
    options = ["--namespace", "monitoring", "--label", "release=main", "--scrape-seconds", "30"]
    result = CliRunner().invoke(app, ["provision", "--out", str(out), *options])
    assert result.exit_code == 0, result.output
    return out


def read(folder: Path, name: str) -> Any:
    """Return a YAML file."""
    return yaml.safe_load((folder / name).read_text(encoding="utf-8"))


def test_provider(folder: Path) -> None:
    """Grafana is told where the boards stand, and that nobody edits them there."""
    (provider,) = read(folder, "grafana/provisioning/dashboards/ai-fleet.yaml")["providers"]

    assert provider == {
        "name": "ai-fleet",
        "orgId": 1,
        "folder": "AI fleet",
        "folderUid": "aif",
        "type": "file",
        "disableDeletion": False,
        "allowUiUpdates": False,
        "updateIntervalSeconds": 30,
        "options": {"path": "/etc/grafana/dashboards/ai-fleet"},
    }


def test_data_source(folder: Path) -> None:
    """Grafana knows the scrape interval, which the window of rates follows."""
    (source,) = read(folder, "grafana/provisioning/datasources/paceline.yaml")["datasources"]

    assert source["jsonData"] == {"httpMethod": "POST", "timeInterval": "30s"}
    assert (source["uid"], source["editable"]) == ("paceline-prometheus", False)


def test_boards(folder: Path) -> None:
    """The boards are those that `build` writes."""
    files = (folder / "grafana/dashboards/ai-fleet").iterdir()

    assert {file.stem: file.read_text() for file in files} == build_boards()


def test_rules(folder: Path) -> None:
    """Every ready objective has its rule file and its manifest."""
    names = {one.name for one in load_library()}

    found = {file.name.split(".")[0] for file in (folder / "prometheus/rules").iterdir()}
    manifest = read(folder, "kubernetes/training-steps.rules.yaml")
    assert found == names
    assert manifest["metadata"]["labels"] == {"release": "main"}


@pytest.mark.parametrize("uid", sorted(build_boards()))
def test_config_maps(folder: Path, uid: str) -> None:
    """A ConfigMap holds one board as it is, fits, and has the label that the sidecar asks for."""
    name = f"kubernetes/{uid}.configmap.yaml"
    told = read(folder, name)

    assert told["data"] == {f"{uid}.json": build_boards()[uid]}
    assert told["metadata"] == {
        "name": f"paceline-{uid}",
        "namespace": "monitoring",
        "labels": {"grafana_dashboard": "1", "release": "main"},
        "annotations": {"grafana_folder": "AI fleet"},
    }
    assert (folder / name).stat().st_size < MAX_CONFIG_MAP_BYTES
