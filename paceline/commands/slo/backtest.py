"""`paceline slo backtest`: what a policy would have paged over history, and what another would."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import polars as pl
import typer
from rich.console import Console

from collectors.sniffing import ReadOptions
from paceline.analysis import AnalysisParams, analyze
from paceline.backtest_output import backtest_bytes, backtest_text
from paceline.backtests import CURRENT, Backtest, BacktestParams, run_backtest
from paceline.commands.arguments import (
    Format,
    FormatOption,
    answer,
    moment,
    refused,
    writing_to,
    zone_name,
)
from paceline.commands.slo.places import UNREADABLE, objectives_of, open_place
from paceline.durations import NoDurationError, duration_of
from paceline.incident_tables import found_incidents, read_incidents
from paceline.progress import progress_bar
from paceline.reports.backtest_plot import backtest_svg
from paceline.series_sources import SeriesSource, StepsSource
from slo.growth import BurnParams, Mode
from slo.known_incidents import IncidentsError
from slo.objectives import Objective
from slo.policy_replays import ReplayParams
from slo.schemes import windows_of

FROM_VERDICTS: Final = "verdicts"
"""What stands for a file of incidents: what the detectors find in the same logs."""


def backtest_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    objective: Annotated[
        Path | None,
        typer.Argument(
            metavar="OBJECTIVE.yml",
            help="The current policy: a file with one objective. Default: training-steps.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="PLACE",
            help="History: logs, a store, a .parquet or .csv of series, or a Prometheus' address.",
        ),
    ] = "",
    incidents: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Known incidents: CSV or JSON with start, end, label; or `verdicts`, for what "
            "the detectors find in the same logs.",
        ),
    ] = None,
    alternative: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|SCHEME",
            help="Another policy beside it: an objective's file, a scheme (recommended, by-share, "
            "by-period, sloth), or pairs as in 'page long=1h short=5m factor=10'; repeatable.",
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="TIME", help="First evaluation, in UTC.")
    ] = None,
    end: Annotated[
        str | None, typer.Option(metavar="TIME", help="Last evaluation, in UTC.")
    ] = None,
    step: Annotated[
        str, typer.Option(help="Time between two evaluations, as in 30s or 1m.")
    ] = "1m",
    significant: Annotated[
        float,
        typer.Option(min=0.0, max=100.0, help="Percent of the budget that makes an event count."),
    ] = 2.0,
    output: FormatOption = Format.TEXT,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder for backtest.json and the timeline, backtest.svg."
        ),
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="Zone of log stamps that carry none.")
    ] = "UTC",
    *,
    parity: Annotated[
        bool,
        typer.Option(
            "--parity",
            help="Evaluate exactly as Prometheus would: no hold for missing history or faults.",
        ),
    ] = False,
) -> None:
    """Replay an alert policy over history: what would have paged, how fast, and what for.

    Example: paceline slo backtest --from logs/ --incidents incidents.csv --alternative by-share

    Exit 0: ran. 1: there is nothing to replay. 2: bad arguments.
    """
    params = BacktestParams(
        replay=ReplayParams(
            step_seconds=step_seconds(step),
            burns=BurnParams(mode=Mode.PARITY if parity else Mode.PRODUCT),
        ),
        span=(moment("--start", start), moment("--end", end)),
        min_spent_ratio=significant / 100,
    )
    policies = _policies(objective, alternative or [])
    options = ReadOptions(time_zone=zone_name(time_zone))
    place = open_place(source, options, params.span, lambda: datetime.now(UTC))
    backtest = _backtest(place, policies, incidents, params)
    if out is not None:
        _write(backtest, out)
    answer(output, lambda: backtest_bytes(backtest), lambda: backtest_text(backtest))


def step_seconds(text: str) -> int:
    """Return an option's step in whole seconds, or refuse it."""
    try:
        step = duration_of(text)
    except NoDurationError as error:
        raise refused(f"--step: {error}") from error
    if step % timedelta(seconds=1):
        raise refused(f"--step '{text}' is no whole number of seconds; give one such as 30s or 1m")
    return int(step.total_seconds())


def _policies(path: Path | None, alternatives: list[str]) -> dict[str, Objective]:
    """Return the current policy and its alternatives by name."""
    found = objectives_of(path)
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise refused(f"wanted a file with one objective, found {names}; give a file for each")
    policies = {CURRENT: found[0]}
    for text in alternatives:
        for name, one in _alternatives(text, found[0]).items():
            if name in policies:
                raise refused(f"--alternative {name} was given twice; name each one once")
            policies[name] = one
    return policies


def _alternatives(text: str, current: Objective) -> dict[str, Objective]:
    """Return what an alternative asks for: objectives of a file, or other windows."""
    path = Path(text)
    if path.suffix in {".yml", ".yaml"} or path.is_file():
        found = objectives_of(path)
        twins = [one for one in found if one.name == current.name]
        return {path.name if twins else f"{path.name}: {one.name}": one for one in twins or found}
    try:
        windows = windows_of(text, current.period_seconds, "--alternative")
    except ValueError as error:
        said = str(error).replace("paceline/windows", "a file or a scheme")
        raise refused(said) from error
    return {text: replace(current, windows=windows)}


def _backtest(
    place: SeriesSource,
    policies: dict[str, Objective],
    incidents: str | None,
    params: BacktestParams,
) -> Backtest:
    console = Console(stderr=True)
    try:
        known = _known(place, incidents)
        with progress_bar("Replaying", console) as say:
            return run_backtest((place.name, place.history), policies, known, params, say)
    except IncidentsError as error:
        raise refused(f"--incidents {error}") from error
    except UNREADABLE as error:
        raise refused(str(error), code=1) from error


def _known(place: SeriesSource, incidents: str | None) -> pl.DataFrame | None:
    """Return the known incidents; null when none were given."""
    if incidents is None:
        return None
    if incidents != FROM_VERDICTS:
        return read_incidents(Path(incidents))
    if not isinstance(place, StepsSource):
        raise refused(
            "--incidents verdicts needs logs or a store in --from, whose faults detectors find; "
            "give a CSV of incidents for series"
        )
    with progress_bar("Detecting", Console(stderr=True)) as say:
        return found_incidents(analyze(place.reading, AnalysisParams(), say).incidents)


def _write(backtest: Backtest, folder: Path) -> None:
    with writing_to(folder):
        (folder / "backtest.json").write_bytes(backtest_bytes(backtest))
        (folder / "backtest.svg").write_text(backtest_svg(backtest), encoding="utf-8")
