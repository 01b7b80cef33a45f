"""`paceline slo check`: what is doubtful about objectives and rule files, before they are used."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import orjson
import typer

from paceline.commands.arguments import (
    Format,
    FormatOption,
    answer,
    refused,
)
from slo.documents import DocumentError
from slo.lints import LintParams
from slo.spec_lints import UNREADABLE, Remark, lint_texts
from slo.specs import read_text, spec_files
from slo.windows import DAY_SECONDS


def check_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Specs of objectives (OpenSLO, Sloth, Pyrra), rule files, or folders of them.",
        ),
    ],
    output: FormatOption = Format.TEXT,
    scrape_seconds: Annotated[
        int, typer.Option(min=1, help="Seconds between two scrapes.")
    ] = LintParams().scrape_seconds,
    *,
    notes: Annotated[
        bool, typer.Option("--notes", help="Print what is good to know, too; JSON always has it.")
    ] = False,
    retention_days: Annotated[
        int, typer.Option(min=1, help="Days for which Prometheus keeps samples.")
    ] = LintParams().retention_seconds // DAY_SECONDS,
) -> None:
    """Say what is doubtful about objectives and rule files, each with its way out.

    Example: paceline slo check objectives/ rules/

    Exit 0: nothing that cannot work. 1: an error. 2: a bad argument.
    """
    params = LintParams(
        scrape_seconds=scrape_seconds, retention_seconds=retention_days * DAY_SECONDS
    )
    try:
        remarks = lint_texts({str(path): read_text(path) for path in spec_files(*paths)}, params)
    except (FileNotFoundError, DocumentError) as error:
        raise refused(str(error), code=2) from error
    answer(output, lambda: _json(remarks), lambda: _text(remarks, with_notes=notes))
    if any(remark.lint.level == "error" for remark in remarks):
        raise typer.Exit(1)


def _json(remarks: Sequence[Remark]) -> bytes:
    """Return the messages as one JSON object."""
    rows = [
        {
            "level": remark.lint.level,
            "code": remark.lint.code,
            "subject": remark.subject or None,
            "text": remark.lint.text,
        }
        for remark in remarks
    ]
    whole = {"lints": rows, "counts": _counts(remarks)}
    return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _text(remarks: Sequence[Remark], *, with_notes: bool) -> str:
    """Return the messages, one a line, and how many there are."""
    lines = [
        f"{remark.lint.level}: {_place(remark)}{remark.lint.text} [{remark.lint.code}]\n"
        for remark in remarks
        if with_notes or remark.lint.level != "note"
    ]
    counts = ", ".join(
        f"{count} {level}{'' if count == 1 else 's'}" for level, count in _counts(remarks).items()
    )
    return f"{''.join(lines)}{counts}{'' if with_notes else ' (--notes prints them)'}\n"


def _place(remark: Remark) -> str:
    """Return what a message is about; one about a file that cannot be read says so itself."""
    says_itself = remark.lint.code == UNREADABLE or not remark.subject
    return "" if says_itself else f"{remark.subject}: "


def _counts(remarks: Sequence[Remark]) -> dict[str, int]:
    """Return how many messages of each level there are, gravest first."""
    found = Counter(remark.lint.level for remark in remarks)
    return {level: found[level] for level in ("error", "warning", "note")}
