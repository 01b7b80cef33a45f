"""The command line: `paceline`, also `python -m paceline`."""

import typer

from paceline.commands import dashboards, slo
from paceline.commands.analyze import analyze_command
from paceline.commands.demo import demo_command

app = typer.Typer(
    name="paceline",
    help="What slows a training cluster, since when, on what evidence; and whom to wake.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo_command)
app.command("analyze")(analyze_command)
app.add_typer(slo.app, name="slo")
app.add_typer(dashboards.app, name="dashboards")


def main() -> None:
    """Run the command line."""
    app()
