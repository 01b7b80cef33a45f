"""`paceline dashboards build`: writes the boards as files."""

from pathlib import Path
from typing import Annotated

import typer

from dashboards.files import JSON_FOLDER, build_files
from paceline.commands.arguments import writing_to
from paceline.commands.dashboards.choices import OwnOption, SourceOption, chosen_boards


def build_command(
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            show_default=False,
            help="Folder for the files, made when missing; without it the committed ones.",
        ),
    ] = JSON_FOLDER,
    source: SourceOption = None,
    own: OwnOption = None,
) -> None:
    """Write each board as <uid>.json and print the paths.

    Example: paceline dashboards build --out provisioning/json
    """
    boards = chosen_boards(source, own)
    with writing_to(out):
        paths = build_files(boards.texts, out)
    for path in paths:
        typer.echo(path)
