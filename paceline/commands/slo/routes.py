"""`paceline slo routes`: the parts of an Alertmanager configuration that the rules count on."""

from pathlib import Path
from typing import Annotated

import typer

from paceline.commands.arguments import refused
from slo.alert_routes import alert_routes
from slo.specs import load_library, load_objectives


def routes_command(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="OBJECTIVE.yml...",
            help="Specs whose alerts are to be routed. Default: those that come with Paceline.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print routes and inhibition for Alertmanager: one page, and no ticket beside it.

    Example: paceline slo routes my-objective.yml

    Exit 0: printed. 2: a bad document or argument.
    """
    try:
        objectives = load_objectives(*paths) if paths else load_library()
    except (OSError, ValueError) as error:
        raise refused(str(error)) from error
    typer.echo(alert_routes(objectives), nl=False)
