"""`paceline slo rules`: objectives in; Prometheus rules and their promtool tests out."""

from pathlib import Path
from typing import Annotated

import typer

from slo.lints import LintParams
from slo.manifests import rule_manifest
from slo.objective_lints import lint_objective
from slo.objectives import Objective
from slo.rule_tests import burn_rule_tests
from slo.rules import burn_rules
from slo.specs import NoReadyObjectiveError, load_library, load_objectives, load_ready


def rules_command(  # noqa: PLR0913 -- one argument an option of the command line
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="OBJECTIVE.yml...",
            help="Specs (OpenSLO, Sloth, Pyrra), or folders of them; several documents are "
            "several objectives. Default: the training-steps objective that comes with Paceline.",
            show_default=False,
        ),
    ] = None,
    library: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A ready objective instead of a file, or `all`; may stand twice."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write rule and test files to; without it, rules are printed."),
    ] = None,
    *,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing; exit 1 if the files in --out are not up to date."
        ),
    ] = False,
    manifest: Annotated[
        bool,
        typer.Option(
            "--manifest", help="PrometheusRule manifests, as the Prometheus Operator takes them."
        ),
    ] = False,
    label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Label of a manifest, for the operator's ruleSelector; may stand twice.",
        ),
    ] = None,
) -> None:
    """Make Prometheus rules, and promtool tests for them, from OpenSLO objectives.

    Example: paceline slo rules my-objective.yml --out rules/

    Exit 0: made, or up to date. 1: --check found a difference. 2: a bad document or argument.
    """
    if check and out is None:
        raise _refused("wanted --out DIR beside --check, found none; name the folder to check")
    try:
        objectives = _objectives(paths or [], library or [])
        labels = _manifest_labels(label or []) if manifest else None
        files = {name: text for each in objectives for name, text in _files(each, labels).items()}
    except (OSError, ValueError, NoReadyObjectiveError) as error:
        # Every refusal of a document is one of these, and its message already says the way out.
        raise _refused(str(error)) from error
    for each in objectives:
        _print_lints(each)
    if out is None:
        _print_rules(objectives, labels)
    elif check:
        _compare(out, files)
    else:
        _write(out, files)


def _objectives(paths: list[Path], names: list[str]) -> list[Objective]:
    """Return the objectives of files and the ready ones; training steps where neither is named."""
    found = load_objectives(*paths) if paths else []
    if "all" in names:
        return found + load_library()
    return found + [load_ready(name) for name in names] or [load_ready()]


def _manifest_labels(pairs: list[str]) -> dict[str, str]:
    """Return labels from texts such as `release=monitoring`."""
    wrong = [pair for pair in pairs if not all(pair.partition("="))]
    if wrong:
        raise _refused(f"wanted --label NAME=VALUE, as in release=monitoring, found {wrong[0]!r}")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs)}


def _files(objective: Objective, labels: dict[str, str] | None) -> dict[str, str]:
    """Return the text of each file of an objective, by name; with labels it is a manifest."""
    if labels is not None:
        return {f"{objective.name}.prometheusrule.yml": rule_manifest(objective, labels)}
    name = f"{objective.name}.rules.yml"
    return {
        name: burn_rules(objective),
        f"{objective.name}.rules.test.yml": burn_rule_tests(objective, rules_file=name),
    }


def _refused(message: str) -> typer.Exit:
    """Return the exit for a bad argument, after one line that says why."""
    typer.echo(f"paceline slo rules: {message}", err=True)
    return typer.Exit(2)


def _print_lints(objective: Objective) -> None:
    """Print what is doubtful about an objective, beside the output and not in it."""
    lints = lint_objective(objective, LintParams())
    for lint in lints:
        typer.echo(f"{lint.level}: {objective.name}: {lint.text}", err=True)


def _print_rules(objectives: list[Objective], labels: dict[str, str] | None) -> None:
    """Print the rules of a single objective: Prometheus would read no second document."""
    if len(objectives) > 1:
        names = ", ".join(each.name for each in objectives)
        raise _refused(
            f"wanted --out DIR for several objectives ({names}): Prometheus reads only the first "
            "document of a file"
        )
    (objective,) = objectives
    made = burn_rules(objective) if labels is None else rule_manifest(objective, labels)
    typer.echo(made, nl=False)


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write the files and print their paths."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
            typer.echo(str(folder / name))
    except OSError as error:
        raise _refused(f"cannot write to {folder}: {error.strerror}") from error


def _compare(folder: Path, files: dict[str, str]) -> None:
    """Exit 1 when a file in the folder is not what would be written."""
    stale = [
        folder / name
        for name, text in files.items()
        # Bytes, so that a file which is no text is not up to date and no error.
        if not (folder / name).is_file() or (folder / name).read_bytes() != text.encode()
    ]
    for path in stale:
        typer.echo(f"not up to date: {path}; run `paceline slo rules --out {folder}`", err=True)
    if stale:
        raise typer.Exit(1)
