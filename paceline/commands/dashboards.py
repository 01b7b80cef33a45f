"""`paceline dashboards`: writes the Grafana boards, and fails when they break a rule or drift."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from dashboards.boards import build_board_trees, build_boards, build_text
from dashboards.files import JSON_FOLDER, build_files, check_files
from dashboards.jsontree import Json
from dashboards.lint import check_boards

app = typer.Typer(
    help="Grafana boards as code: write them as JSON, and check them.", no_args_is_help=True
)


@app.command(epilog="Example: paceline dashboards build --out provisioning/json")
def build(
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            show_default=False,
            help="Folder for the files, made when missing; without it the committed ones.",
        ),
    ] = JSON_FOLDER,
) -> None:
    """Write each board as <uid>.json and print the paths."""
    try:
        paths = build_files(build_boards(), out)
    except OSError as error:
        raise typer.BadParameter(
            f"cannot write to {out}: {error.strerror}; give a folder that you may write to",
            param_hint="--out",
        ) from error
    for path in paths:
        typer.echo(path)


@app.command(epilog="Example: paceline dashboards check provisioning/json")
def check(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            exists=True,
            file_okay=False,
            show_default=False,
            help="Folder that `build` wrote; without it the committed one.",
        ),
    ] = JSON_FOLDER,
) -> None:
    """Lint the boards and compare a folder with a rebuild; one finding a line.

    Exits 0 when there is none, and 1 when there are some.
    """
    findings = findings_of(build_board_trees(), folder)
    for line in findings:
        typer.echo(line)
    if findings:
        raise typer.Exit(code=1)
    typer.echo("no findings, no drift", err=True)


def findings_of(boards: Mapping[str, Json], folder: Path) -> list[str]:
    """Return what is wrong with boards and with their files in a folder, a line each.

    Args:
        boards: Every board by uid.
        folder: Where `build` wrote them once.

    Raises:
        OSError: A file cannot be read.
    """
    broken = [str(finding) for finding in check_boards(boards)]
    return broken + check_files({uid: build_text(board) for uid, board in boards.items()}, folder)
