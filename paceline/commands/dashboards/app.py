"""`paceline dashboards`: everything that is done with boards."""

from typing import Final

import typer

from paceline.lazy_commands import LazyCommand, lazy_group

COMMANDS: Final = (
    LazyCommand(
        name="build",
        module="paceline.commands.dashboards.build",
        attribute="build_command",
        summary="Write each board as <uid>.json and print the paths.",
    ),
    LazyCommand(
        name="check",
        module="paceline.commands.dashboards.check",
        attribute="check_command",
        summary="Lint the boards and compare a folder with a rebuild; one finding a line.",
    ),
    LazyCommand(
        name="diff",
        module="paceline.commands.dashboards.diff",
        attribute="diff_command",
        summary="Say what would change in a folder or a Grafana; one board a line.",
    ),
    LazyCommand(
        name="push",
        module="paceline.commands.dashboards.push",
        attribute="push_command",
        summary="Create and update the boards in a Grafana, and leave what others wrote alone.",
    ),
    LazyCommand(
        name="provision",
        module="paceline.commands.dashboards.provision",
        attribute="provision_command",
        summary="Write what Grafana, Prometheus and Kubernetes load boards and rules from.",
    ),
)
"""Every command: adding one is one entry here; `summary` is the first line of its docstring."""

HELP: Final = "Grafana boards as code: build, check, compare, push and provision them."

app = typer.Typer(cls=lazy_group(COMMANDS), help=HELP, no_args_is_help=True, add_completion=False)


@app.callback(help=HELP)
def _group() -> None:
    """Grafana boards as code: build, check, compare, push and provision them."""
