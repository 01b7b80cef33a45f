"""Every message about files of objectives and of rules, whichever a file holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from slo.collision_lints import lint_collisions
from slo.documents import DocumentError, load_yaml
from slo.lints import Lint, LintParams
from slo.objective_lints import lint_objective
from slo.rule_file_lints import is_rule_file, is_rule_test, lint_rule_file
from slo.specs import objectives_of

UNREADABLE: Final = "unreadable"
"""Code of the message about a text that cannot be read; it names the text itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One message, and whom it is about.

    Attributes:
        subject: Id of an objective, or name of a file of rules; empty for all objectives together.
        lint: The message.
    """

    subject: str
    lint: Lint


def lint_texts(texts: Mapping[str, str], params: LintParams) -> list[Remark]:
    """Return every message about texts, those of rules first.

    Args:
        texts: YAML by file name; specs may refer to each other.
        params: What windows are judged against.

    Returns:
        In the order of files, objectives and rules of lint. What cannot be read is an error of
        its own, with the code `unreadable`.
    """
    remarks: list[Remark] = []
    specs: dict[str, str] = {}
    for source, text in texts.items():
        try:
            parts = load_yaml(text, source)
            if is_rule_file(parts):
                lints = lint_rule_file(text, source)
                remarks += [Remark(subject=source, lint=one) for one in lints]
            elif not is_rule_test(parts):
                specs[source] = text
        except DocumentError as error:
            remarks.append(_unreadable(source, error))
    return remarks + (_spec_remarks(specs, params) if specs else [])


def _spec_remarks(specs: Mapping[str, str], params: LintParams) -> list[Remark]:
    """Return the messages about objectives."""
    try:
        objectives = objectives_of(specs)
    except ValueError as error:
        return [_unreadable(", ".join(specs), error)]
    remarks = [
        Remark(subject=objective.name, lint=one)
        for objective in objectives
        for one in lint_objective(objective, params)
    ]
    return remarks + [Remark(subject="", lint=one) for one in lint_collisions(objectives)]


def _unreadable(subject: str, error: ValueError) -> Remark:
    """Return the message about what cannot be read; the error says the way out itself."""
    return Remark(subject=subject, lint=Lint(code=UNREADABLE, level="error", text=str(error)))
