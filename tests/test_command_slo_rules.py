"""`paceline slo rules`: files out, lints beside them, and one clear line for a refusal."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from paceline.commands.slo.app import app
from paceline.main import app as paceline
from slo import rules as rules_module
from slo.alert_routes import alert_routes
from slo.manifests import rule_manifest
from slo.rules import burn_rules
from slo.specs import load_library, load_ready

GENERATED = Path(rules_module.__file__).parent / "generated"
LIBRARY = Path(rules_module.__file__).parent / "library" / "training-steps.yml"
NAMES = ["training-steps.rules.yml", "training-steps.rules.test.yml"]


def run(*arguments: str | Path) -> Result:
    """The outcome of the command."""
    return CliRunner().invoke(app, ["rules", *map(str, arguments)])


def test_printed() -> None:
    """Without --out the rules of the library go to the output, and lints beside it."""
    outcome = run()

    assert (outcome.exit_code, outcome.stdout) == (0, burn_rules(load_ready()))
    assert "note: training-steps: page 1h/5m: a single bad event fires it" in outcome.stderr


def test_written(tmp_path: Path) -> None:
    """With --out both files are written, their paths printed, and they are the committed ones."""
    outcome = run(LIBRARY, "--out", tmp_path / "new")

    assert (outcome.exit_code, outcome.stdout.split()) == (
        0,
        [str(tmp_path / "new" / name) for name in NAMES],
    )
    assert [(tmp_path / "new" / name).read_text(encoding="utf-8") for name in NAMES] == [
        (GENERATED / name).read_text(encoding="utf-8") for name in NAMES
    ]


def test_check(tmp_path: Path) -> None:
    """--check is content with what is up to date, and names what is not or is missing."""
    run("--out", tmp_path)
    fresh = run("--out", tmp_path, "--check")
    (tmp_path / NAMES[0]).write_bytes(b"changed \xff")
    (tmp_path / NAMES[1]).unlink()
    stale = run("--out", tmp_path, "--check")

    assert (fresh.exit_code, stale.exit_code) == (0, 1)
    assert [line for line in stale.stderr.splitlines() if line.startswith("not up")] == [
        f"not up to date: {tmp_path / name}; run `paceline slo rules --out {tmp_path}`"
        for name in NAMES
    ]
    assert (tmp_path / NAMES[0]).read_bytes() == b"changed \xff"


def changed(folder: Path, old: str, new: str) -> Path:
    """The library's document with one thing changed."""
    path = folder / "changed.yml"
    path.write_text(LIBRARY.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param("targetPercent: 99", "targetPercent: 100", "found 100", id="no budget"),
        pytest.param("kind: SLO", "kind: [", "wanted YAML", id="no YAML"),
        pytest.param("service: training", "serv: x", "spec.serv: Extra inputs", id="a wrong field"),
    ],
)
def test_bad_document(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A bad document is refused in one line, with exit code 2 and no traceback."""
    outcome = run(changed(tmp_path, old, new))

    assert (outcome.exit_code, outcome.stdout, len(outcome.stderr.splitlines())) == (2, "", 1)
    assert message in outcome.stderr


def test_no_text(tmp_path: Path) -> None:
    """A file that is no text is refused in one line that names it."""
    (tmp_path / "picture.yml").write_bytes(b"\xff\xfe")
    outcome = run(tmp_path / "picture.yml")

    assert (outcome.exit_code, len(outcome.stderr.splitlines())) == (2, 1)
    assert "picture.yml: wanted UTF-8 text" in outcome.stderr


def test_command_line() -> None:
    """The command is part of `paceline`, and without a name of its own it says what there is."""
    whole = CliRunner().invoke(paceline, ["slo", "rules"])
    bare = CliRunner().invoke(paceline, ["slo"])

    assert (whole.exit_code, whole.stdout) == (0, run().stdout)
    assert (bare.exit_code, "rules" in bare.stdout) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["gone.yml"], "found no file gone.yml", id="a missing file"),
        pytest.param(["--check"], "wanted --out DIR beside --check", id="nothing to check"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    """Impossible arguments are refused in one line, with exit code 2."""
    outcome = run(*arguments)

    assert (outcome.exit_code, len(outcome.stderr.splitlines())) == (2, 1)
    assert message in outcome.stderr


def test_unwritable(tmp_path: Path) -> None:
    """A folder that cannot be made is named."""
    (tmp_path / "file").touch()
    outcome = run("--out", tmp_path / "file")

    assert outcome.exit_code == 2
    assert f"cannot write to {tmp_path / 'file'}: File exists" in outcome.stderr


def test_several(tmp_path: Path) -> None:
    """Several objectives are several files; they cannot be printed as one document."""
    text = LIBRARY.read_text(encoding="utf-8")
    both = tmp_path / "both.yml"
    both.write_text(f"{text}---\n{text.replace('name: training-steps', 'name: other')}", "utf-8")

    printed, written = run(both), run(both, "--out", tmp_path)

    assert (printed.exit_code, written.exit_code, len(written.stdout.split())) == (2, 0, 4)
    assert "several objectives (training-steps, other)" in printed.stderr


def test_library(tmp_path: Path) -> None:
    """Ready objectives are chosen by name, all of them at once, or beside files."""
    one = run("--library", "job-start")
    every = run("--library", "all", "--out", tmp_path)
    both = run(LIBRARY, "--library", "job-start", "--out", tmp_path / "both")
    gone = run("--library", "gone")

    assert (one.exit_code, one.stdout) == (0, burn_rules(load_ready("job-start")))
    assert len(every.stdout.split()) == 2 * len(load_library())
    assert len(both.stdout.split()) == 4
    assert (gone.exit_code, len(gone.stderr.splitlines())) == (2, 1)
    assert "no ready objective 'gone'; known: checkpoint-duration, " in gone.stderr


def test_manifest(tmp_path: Path) -> None:
    """With --manifest the output is a PrometheusRule, printed or one file an objective."""
    labels = ("--label", "release=monitoring", "--label", "team=training")
    printed = run("--manifest", *labels)
    written = run("--manifest", "--out", tmp_path)
    wrong = run("--manifest", "--label", "release")
    names = {"release": "monitoring", "team": "training"}

    assert (printed.exit_code, printed.stdout) == (0, rule_manifest(load_ready(), names))
    assert written.stdout.split() == [str(tmp_path / "training-steps.prometheusrule.yml")]
    assert wrong.exit_code == 2
    assert "wanted --label NAME=VALUE, as in release=monitoring, found 'release'" in wrong.stderr


def test_routes(tmp_path: Path) -> None:
    """Alertmanager's part is printed for the ready objectives, or for those of a file."""
    ready, one, gone = (
        CliRunner().invoke(app, ["routes", *paths])
        for paths in ([], [str(LIBRARY)], [str(tmp_path / "gone.yml")])
    )

    assert (ready.exit_code, ready.stdout) == (0, alert_routes(load_library()))
    assert (one.exit_code, one.stdout) == (0, alert_routes([load_ready()]))
    assert (gone.exit_code, "found no file" in gone.stderr) == (2, True)


def test_help() -> None:
    """The help says what it does, with an example."""
    assert "Example: paceline slo rules" in run("--help").stdout
