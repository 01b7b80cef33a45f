"""`paceline dashboards check`: lints the boards, and compares a folder with a rebuild."""

from pathlib import Path
from typing import Annotated

import typer

from dashboards.files import JSON_FOLDER, check_files
from dashboards.lint import check_boards
from dashboards.schemas import NoSchemasError, NoValidatorError, check_schemas
from paceline.commands.arguments import refused
from paceline.commands.dashboards.choices import Chosen, OwnOption, SourceOption, chosen_boards


def check_command(
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
    schemas: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Grafana's types as JSON Schemas, to check the boards against.",
            show_default=False,
        ),
    ] = None,
    source: SourceOption = None,
    own: OwnOption = None,
) -> None:
    """Lint the boards and compare a folder with a rebuild; one finding a line.

    Exits 0 when there is none, and 1 when there are some.

    Example: paceline dashboards check provisioning/json
    """
    findings = findings_of(chosen_boards(source, own), folder, schemas)
    for line in findings:
        typer.echo(line)
    if findings:
        raise typer.Exit(code=1)
    typer.echo("no findings, no drift", err=True)


def findings_of(boards: Chosen, folder: Path, schemas: Path | None = None) -> list[str]:
    """Return what is wrong with boards and with their files in a folder, a line each.

    Args:
        boards: Every board.
        folder: Where `build` wrote them once.
        schemas: Folder of Grafana's types; null leaves them out.

    Raises:
        OSError: A file cannot be read.
    """
    findings = [str(one) for one in check_boards(boards.trees, known=boards.series)]
    if schemas is not None:
        try:
            findings += check_schemas(boards.trees, schemas)
        except (NoSchemasError, NoValidatorError) as error:
            raise refused(str(error)) from error
    return findings + check_files(boards.texts, folder)
