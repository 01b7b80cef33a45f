"""The command line: `paceline`, also `python -m paceline`."""

from importlib.metadata import version
from typing import Annotated

import typer

from paceline.commands import dashboards, slo
from paceline.commands.analyze import analyze_command
from paceline.commands.collect import collect_command
from paceline.commands.demo import demo_command
from paceline.commands.doctor import doctor_command
from paceline.commands.lemons import lemons_command


def _print_version(asked: bool) -> None:  # noqa: FBT001 -- the option's value, as typer hands it over
    """Print the version, if asked, and end."""
    if asked:
        typer.echo(f"paceline {version('paceline')}")
        raise typer.Exit


app = typer.Typer(
    name="paceline",
    help="What slows a training cluster, since when, on what evidence; and whom to wake.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Say what slows a training cluster, since when, on what evidence; and whom to wake."""


app.command("demo")(demo_command)
app.command("analyze")(analyze_command)
app.command("collect")(collect_command)
app.command("doctor")(doctor_command)
app.command("lemons")(lemons_command)
app.add_typer(slo.app, name="slo")
app.add_typer(dashboards.app, name="dashboards")


def main() -> None:
    """Run the command line."""
    app()
