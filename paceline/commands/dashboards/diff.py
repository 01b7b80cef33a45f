"""`paceline dashboards diff`: what would change, and whether somebody else's hand shows."""

from pathlib import Path
from typing import Annotated

import typer

from dashboards.shipping.changes import Change, Kind, compare_folder
from dashboards.shipping.pushes import compare_boards
from dashboards.shipping.servers import GrafanaError
from dashboards.variables import FOLDER_UID
from paceline.commands.arguments import refused
from paceline.commands.dashboards.choices import (
    Chosen,
    FolderOption,
    OwnOption,
    SourceOption,
    TokenOption,
    chosen_boards,
    chosen_server,
)


def diff_command(
    target: Annotated[
        str, typer.Argument(metavar="DIR|URL", help="A folder that `build` wrote, or a Grafana.")
    ],
    folder: FolderOption = FOLDER_UID,
    token_file: TokenOption = None,
    source: SourceOption = None,
    own: OwnOption = None,
) -> None:
    """Say what would change in a folder or a Grafana; one board a line.

    create, update and unchanged need nobody; drift is what somebody else wrote, changed or
    moved. Exits 1 when there is drift.

    Example: paceline dashboards diff https://grafana.example --token-file token
    """
    boards = chosen_boards(source, own)
    changes = (
        _on_server(boards, target, folder, token_file)
        if target.startswith(("http://", "https://"))
        else _in_folder(boards, Path(target))
    )
    show_changes(changes)


def show_changes(changes: list[Change]) -> None:
    """Print a line a board; exit 1 when there is drift."""
    for change in changes:
        typer.echo(change)
    if any(change.kind is Kind.DRIFT for change in changes):
        raise typer.Exit(code=1)


def _in_folder(boards: Chosen, folder: Path) -> list[Change]:
    if not folder.is_dir():
        raise refused(f"{folder} is no folder; give one that `build` wrote, or a URL")
    try:
        return compare_folder(boards.texts, folder)
    except OSError as error:
        raise refused(f"cannot read {folder}: {error.strerror}", code=2) from error


def _on_server(boards: Chosen, url: str, folder: str, token_file: Path | None) -> list[Change]:
    try:
        return compare_boards(boards.trees, chosen_server(url, token_file), folder)
    except GrafanaError as error:
        raise refused(str(error)) from error
