"""`paceline slo`: everything that is asked about objectives."""

from typing import Final

import typer

from paceline.lazy_commands import LazyCommand, lazy_group

COMMANDS: Final = (
    LazyCommand(
        name="rules",
        module="paceline.commands.slo.rules",
        attribute="rules_command",
        summary="Make Prometheus rules, and promtool tests for them, from OpenSLO objectives.",
    ),
    LazyCommand(
        name="routes",
        module="paceline.commands.slo.routes",
        attribute="routes_command",
        summary="Print routes and inhibition for Alertmanager: one page, and no ticket beside it.",
    ),
    LazyCommand(
        name="check",
        module="paceline.commands.slo.check",
        attribute="check_command",
        summary="Say what is doubtful about objectives and rule files, each with its way out.",
    ),
    LazyCommand(
        name="report",
        module="paceline.commands.slo.report",
        attribute="report_command",
        summary="Say how much of each error budget is left, how fast it goes, when it ends, and "
        "whose it is.",
    ),
    LazyCommand(
        name="backtest",
        module="paceline.commands.slo.backtest",
        attribute="backtest_command",
        summary="Replay an alert policy over history: what would have paged, how fast, and what "
        "for.",
    ),
)
"""Every command: adding one is one entry here; `summary` is the first line of its docstring."""

app = typer.Typer(
    cls=lazy_group(COMMANDS),
    help="Objectives: rules, lints, budget reports and replays of alert policies.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def _group() -> None:
    """Objectives: rules, lints, budget reports and replays of alert policies."""
