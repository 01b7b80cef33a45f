"""The command line: `paceline`, also `python -m paceline`."""

from importlib.metadata import version
from typing import Annotated, Final

import typer

from paceline.lazy_commands import LazyCommand, lazy_group

COMMANDS: Final = (
    LazyCommand(
        name="demo",
        module="paceline.commands.demo",
        attribute="demo_command",
        summary="Simulate a cluster in its sources' own formats and run the whole pipeline on it.",
    ),
    LazyCommand(
        name="analyze",
        module="paceline.commands.analyze",
        attribute="analyze_command",
        summary="Name what is slow, since when and on what evidence, in whatever lies below PATH.",
    ),
    LazyCommand(
        name="explain",
        module="paceline.commands.explain",
        attribute="explain_command",
        summary="Say why a verdict was said: peers, evidence, raw lines, and what would change it.",
    ),
    LazyCommand(
        name="postmortem",
        module="paceline.commands.postmortem",
        attribute="postmortem_command",
        summary="Write what the data gives for the postmortem of an incident, with blanks for the "
        "rest.",
    ),
    LazyCommand(
        name="collect",
        module="paceline.commands.collect",
        attribute="collect_command",
        summary="Take files and a Prometheus into a store, each row once; again takes what is new.",
    ),
    LazyCommand(
        name="tidy",
        module="paceline.commands.tidy",
        attribute="tidy_command",
        summary="Keep a store quick: incidents for ever, peer statistics for months, samples for "
        "days.",
    ),
    LazyCommand(
        name="doctor",
        module="paceline.commands.doctor",
        attribute="doctor_command",
        summary="Say which sources answer, what each detector needs and does not get, and what "
        "that blinds.",
    ),
    LazyCommand(
        name="lemons",
        module="paceline.commands.lemons",
        attribute="lemons_command",
        summary="Name the nodes and GPUs that end jobs again and again, on weeks of accounts and "
        "logs.",
    ),
    LazyCommand(
        name="goodput",
        module="paceline.commands.goodput",
        attribute="goodput_command",
        summary="Say where the time of each run went: productive, lost and to what, waiting, not "
        "known.",
    ),
    LazyCommand(
        name="failures",
        module="paceline.commands.failures",
        attribute="failures_command",
        summary="Say what ended jobs, what that cost, how often it happens, and what hangs on each "
        "part.",
    ),
    LazyCommand(
        name="checkpoint-interval",
        module="paceline.commands.checkpoint_interval",
        attribute="checkpoint_interval_command",
        summary="Say how often to save a checkpoint, from the failure rate that was measured.",
    ),
    LazyCommand(
        name="triage",
        module="paceline.commands.triage",
        attribute="triage_command",
        summary="Sort the failures that logs tell of: known families with what helped then, and "
        "new ones.",
    ),
    LazyCommand(
        name="watch",
        module="paceline.commands.watch",
        attribute="watch_command",
        summary="Watch what the settings name, tick after tick; with a service in them, serve its "
        "pages too.",
    ),
    LazyCommand(
        name="serve",
        module="paceline.commands.watch",
        attribute="serve_command",
        summary="Watch what the settings name and serve its pages, on loopback unless told "
        "otherwise.",
    ),
    LazyCommand(
        name="slo",
        module="paceline.commands.slo.app",
        attribute="app",
        summary="Objectives: rules, lints, budget reports and replays of alert policies.",
    ),
    LazyCommand(
        name="alerts",
        module="paceline.commands.alerts",
        attribute="app",
        summary="Alert policies: check one, and see what it would have sent.",
    ),
    LazyCommand(
        name="dashboards",
        module="paceline.commands.dashboards.app",
        attribute="app",
        summary="Grafana boards as code: build, check, compare, push and provision them.",
    ),
)
"""Every command: adding one is one entry here; `summary` is the first line of its docstring."""


def _print_version(asked: bool) -> None:  # noqa: FBT001 -- the option's value, as typer hands it over
    """Print the version, if asked, and end."""
    if asked:
        typer.echo(f"paceline {version('paceline')}")
        raise typer.Exit


app = typer.Typer(
    name="paceline",
    cls=lazy_group(COMMANDS),
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


def main() -> None:
    """Run the command line."""
    app()
