"""`paceline slo check`: lints of objectives and rule files, for people and machines."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from paceline.commands.slo.app import app
from slo import specs

LIBRARY = Path(specs.__file__).parent / "library"
RULES = "groups:\n- name: g\n  rules:\n  - {record: r, expr: x}\n"


def run(*arguments: str | Path) -> Result:
    """The outcome of the command."""
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_clean() -> None:
    """What we ship is clean; what is good to know is counted, and printed when asked for."""
    quiet, told = run(LIBRARY), run(LIBRARY / "training-steps.yml", "--notes")

    assert quiet.exit_code == 0
    assert quiet.stdout.startswith("0 errors, 0 warnings, ")
    assert quiet.stdout.endswith(" notes (--notes prints them)\n")
    assert "note: training-steps: page 1h/5m: a single bad event fires it below" in told.stdout


def test_errors(tmp_path: Path) -> None:
    """An error is printed with its subject and code, and ends with exit code 1."""
    text = (LIBRARY / "training-steps.yml").read_text(encoding="utf-8")
    path = tmp_path / "low.yml"
    path.write_text(text.replace("targetPercent: 99", "targetPercent: 90"), encoding="utf-8")

    outcome = run(path)

    assert outcome.exit_code == 1
    assert outcome.stdout.startswith("error: training-steps: page 1h/5m: 14.4 x the budget")
    assert "it works from 93.06 % on, or choose a smaller factor [unreachable]" in outcome.stdout
    assert "\n1 error, 0 warnings, " in outcome.stdout


def test_rule_files(tmp_path: Path) -> None:
    """A folder may hold rules, their tests and specs beside each other; JSON tells the counts."""
    (tmp_path / "two.yml").write_text(f"{RULES}---\n{RULES}", encoding="utf-8")
    (tmp_path / "two.test.yml").write_text("rule_files: [two.yml]\ntests: []\n", encoding="utf-8")
    (tmp_path / "words.txt").write_text("not looked at", encoding="utf-8")
    (tmp_path / "broken.yml").write_text("a: [", encoding="utf-8")

    outcome = run(tmp_path, "--format", "json")
    found = json.loads(outcome.stdout)

    assert outcome.exit_code == 1
    assert [(row["subject"], row["code"], row["level"]) for row in found["lints"]] == [
        (str(tmp_path / "broken.yml"), "unreadable", "error"),
        (str(tmp_path / "two.yml"), "many-documents", "error"),
        (str(tmp_path / "two.yml"), "same-group", "error"),
        (str(tmp_path / "two.yml"), "same-rule", "error"),
    ]
    assert found["counts"] == {"error": 4, "warning": 0, "note": 0}


def test_collisions(tmp_path: Path) -> None:
    """Messages about objectives together have no subject; a spec that is refused is an error."""
    text = (LIBRARY / "training-steps.yml").read_text(encoding="utf-8")
    both = f"{text}---\n{text.replace('name: training-steps', 'name: training.steps')}"
    (tmp_path / "both.yml").write_text(both, encoding="utf-8")
    (tmp_path / "bad.yml").write_text("apiVersion: n9/v1alpha\n", encoding="utf-8")

    together = run(tmp_path / "both.yml")
    refused = run(tmp_path)

    assert (together.exit_code, refused.exit_code) == (0, 1)
    assert "\nwarning: 'training-steps' and 'training.steps' differ" in f"\n{together.stdout}"
    assert "is Nobl9's own; export OpenSLO [unreadable]" in refused.stdout


def test_params() -> None:
    """How often is scraped, and how long samples are kept, is what windows are judged against."""
    path = LIBRARY / "training-steps.yml"

    assert "holds fewer than 4 scrapes of 80 s" in run(path, "--scrape-seconds", "80").stdout
    assert "samples are kept for 2d only" in run(path, "--retention-days", "2").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["gone.yml"], "found no file gone.yml", id="a missing file"),
        pytest.param([], "Missing argument", id="nothing to look at"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    """Impossible arguments are refused with exit code 2."""
    outcome = run(*arguments)

    assert outcome.exit_code == 2
    assert message in outcome.stderr


def test_no_text(tmp_path: Path) -> None:
    """A file that is no text is refused in one line that names it."""
    (tmp_path / "picture.yml").write_bytes(b"\xff\xfe")
    outcome = run(tmp_path / "picture.yml")

    assert outcome.exit_code == 2
    assert "picture.yml: wanted UTF-8 text" in outcome.stderr
