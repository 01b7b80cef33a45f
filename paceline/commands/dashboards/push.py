"""`paceline dashboards push`: boards into a Grafana, over its HTTP API."""

from typing import Annotated

import typer

from dashboards.shipping.changes import Kind
from dashboards.shipping.pushes import Push, push_boards
from dashboards.shipping.servers import GrafanaError
from dashboards.variables import FOLDER_TITLE, FOLDER_UID
from paceline.commands.arguments import refused
from paceline.commands.dashboards.choices import (
    FolderOption,
    OwnOption,
    SourceOption,
    TokenOption,
    chosen_boards,
    chosen_server,
)


def push_command(  # noqa: PLR0913 -- one argument an option of the command line
    url: Annotated[str, typer.Argument(metavar="URL", help="Where Grafana answers.")],
    *,
    message: Annotated[
        str, typer.Option("--message", help="What the new version says, such as the commit.")
    ] = "",
    folder: FolderOption = FOLDER_UID,
    folder_title: Annotated[
        str, typer.Option(help="Title of the folder, where it has to be made.")
    ] = FOLDER_TITLE,
    token_file: TokenOption = None,
    source: SourceOption = None,
    own: OwnOption = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Take over what somebody else wrote, changed or moved, too."
        ),
    ] = False,
) -> None:
    """Create and update the boards in a Grafana, and leave what others wrote alone.

    A second push changes nothing. Exits 1 when something was left alone.

    Example: paceline dashboards push https://grafana.example --message "$GITHUB_SHA"
    """
    push = Push(note=message, overwrite=overwrite, folder_uid=folder, folder_title=folder_title)
    try:
        done = push_boards(chosen_boards(source, own).trees, chosen_server(url, token_file), push)
    except GrafanaError as error:
        raise refused(str(error)) from error
    for change in done:
        typer.echo(change)
    if not overwrite and any(change.kind is Kind.DRIFT for change in done):
        typer.echo("what drifted was left alone; --overwrite takes it over", err=True)
        raise typer.Exit(code=1)
