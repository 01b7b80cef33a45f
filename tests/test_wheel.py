"""Tests of the wheel: what is in it, what is not, and that it works without the tree around it."""

import email
import subprocess
import sys
import zipfile
from email.message import Message
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).parent.parent
PACKAGES = ("alerts", "collectors", "dashboards", "detectors", "paceline", "slo")
PROBE = """
import sys
sys.path.insert(0, sys.argv[1])
import alerts, collectors, dashboards, detectors, paceline, slo
import paceline.main
from alerts.service.runbooks import runbook_text
from dashboards.boards import build_boards
from dashboards.files import JSON_FOLDER, check_files
from paceline.reports import documents
from alerts.storing.databases import open_database
from slo.specs import load_library
modules = (alerts, collectors, dashboards, detectors, paceline, slo, documents)
assert all(one.__file__.startswith(sys.argv[1]) for one in modules), modules
assert "training-steps" in [one.name for one in load_library()]
assert runbook_text("hang").startswith("# Hang")
assert check_files(build_boards(), JSON_FOLDER) == []
open_database(f"sqlite:///{sys.argv[1]}/incidents.db").dispose()
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the tree as it stands."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """The names of all files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    """The wheel's metadata."""
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read("paceline-0.1.0.dist-info/METADATA"))


def test_packages(names: set[str]) -> None:
    """The six floors are in it, and nothing else beside its metadata."""
    assert {name.split("/")[0] for name in names} == {*PACKAGES, "paceline-0.1.0.dist-info"}


def test_every_module(names: set[str]) -> None:
    """Each module of the tree is in it, and each is from the tree."""
    modules = {
        path.relative_to(ROOT).as_posix() for one in PACKAGES for path in (ROOT / one).rglob("*.py")
    }

    assert {name for name in names if name.endswith(".py")} == modules


@pytest.mark.parametrize(
    ("folder", "pattern"),
    [
        pytest.param("collectors/hosts", "*.toml", id="what Xid numbers mean"),
        pytest.param("collectors/signatures", "*.yml", id="how failures look"),
        pytest.param("slo/library", "*.yml", id="the objectives that are shipped"),
        pytest.param("slo/generated", "*.yml", id="the rules made from them"),
        pytest.param("dashboards/json", "*.json", id="the boards"),
        pytest.param("paceline/reports/templates", "*", id="the templates of the report"),
        pytest.param("alerts/service/pages/templates", "*", id="the templates of the service"),
    ],
)
def test_data_files(names: set[str], folder: str, pattern: str) -> None:
    """Files that the code opens at run time travel with it."""
    wanted = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).glob(pattern)}

    assert wanted
    assert wanted <= names


def test_runbooks(names: set[str]) -> None:
    """The service finds its runbooks beside itself, without the documentation around it."""
    pages = {page.name for page in (ROOT / "docs" / "runbooks").glob("*.md")}

    assert {f"alerts/service/runbooks/{page}" for page in pages} <= names


def test_left_out(names: set[str]) -> None:
    """Tests, docs, notebooks and benchmarks stay at home."""
    outside = ("tests", "docs", "notebooks", "benchmarks")

    assert [name for name in names if any(part in outside for part in Path(name).parts)] == []


def test_name_and_version(wheel: Path, metadata: Message) -> None:
    """Name and version are pinned: another one is a decision, not an accident."""
    assert wheel.name == "paceline-0.1.0-py3-none-any.whl"
    assert (metadata["Name"], metadata["Version"]) == ("paceline", "0.1.0")


def test_never_uploaded(metadata: Message) -> None:
    """An index that knows the classifier refuses it: its packages have common names."""
    assert "Private :: Do Not Upload" in metadata.get_all("Classifier", [])


def test_licence(wheel: Path, metadata: Message) -> None:
    """The Apache licence is stated and comes along word for word."""
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read("paceline-0.1.0.dist-info/licenses/LICENSE").decode("utf-8")

    assert metadata["License-Expression"] == "Apache-2.0"
    assert text == (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text


def test_works_without_the_tree(wheel: Path, tmp_path: Path) -> None:
    """Every package imports from the unpacked wheel, and finds its data there."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    command = [sys.executable, "-I", "-c", PROBE, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
