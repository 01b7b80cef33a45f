"""`paceline doctor`: which sources answer, which signals are missing, and what that blinds."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import orjson
import typer
from rich.console import Console

from collectors.readings import Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.storage.store import Store, Wanted
from collectors.storage.store_commits import NoStoreError
from collectors.storage.store_faults import UnreadableStoreError, reading_store
from paceline.checkups import Checkup, CheckupParams, GoneMetric, SourceCheck, examine
from paceline.commands.arguments import (
    Format,
    FormatOption,
    answer,
    refused,
    server_address,
    utc,
    zone_name,
)
from paceline.doctor_output import checkup_json, checkup_text
from paceline.progress import progress_bar
from paceline.pulling import PullError, PullRequest, pull
from paceline.sources import NoSuchPathError, find_files, read_sources
from paceline.stored_memory import gone_metrics, last_known
from paceline.targets import check_server

DEFAULT_MINUTES: Final = 15.0


def doctor_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[PATH...]", help="Files or folders, as for analyze."),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="URL", help="Ask this server and its targets.")
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="DIR", help="Look into what collect has stored.")
    ] = None,
    minutes: Annotated[
        float, typer.Option(min=1.0, help="How far back a server or a store is looked at.")
    ] = DEFAULT_MINUTES,
    max_age: Annotated[
        float, typer.Option(metavar="SECONDS", min=1.0, help="A newest sample may be this old.")
    ] = 300.0,
    now: Annotated[
        datetime | None,
        typer.Option(help="Examine as of this time, in UTC; files alone have no age."),
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="Zone of stamps that carry none.")
    ] = "UTC",
    output: FormatOption = Format.TEXT,
) -> None:
    """Say which sources answer, what each detector needs and does not get, and what that blinds.

    Example: paceline doctor --prometheus http://localhost:9090

    Exit 0: something answered. 1: nothing did. 2: bad arguments.
    """
    if not paths and prometheus is None and store is None:
        raise refused("nothing to examine; give PATHs, --prometheus URL or --store DIR")
    options = ReadOptions(time_zone=zone_name(time_zone))
    live = utc(now) if now is not None else datetime.now(UTC)
    span = timedelta(minutes=minutes)
    params = CheckupParams(max_age=timedelta(seconds=max_age))
    readings = [_files(paths or [], options)]
    checks: list[SourceCheck] = []
    if prometheus is not None:
        reading, found = _server(prometheus, live, span)
        readings.append(reading)
        checks += found
    gone: list[GoneMetric] = []
    if store is not None:
        reading, gone = _stored(store, live, span)
        readings.append(reading)
    whole = join_readings(readings)
    is_live = now is not None or prometheus is not None or store is not None
    checkup = examine(whole, live if is_live else None, params, checks, gone)
    _print(checkup, output)
    if not any(check.state != "missing" for check in checkup.sources):
        raise typer.Exit(1)


def _print(checkup: Checkup, output: Format) -> None:
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    answer(
        output,
        lambda: orjson.dumps(checkup_json(checkup), option=options),
        lambda: checkup_text(checkup),
    )


def _files(paths: Sequence[Path], options: ReadOptions) -> Reading:
    try:
        files = find_files(paths)
    except NoSuchPathError as error:
        raise refused(str(error), code=1) from error
    with progress_bar("Reading", Console(stderr=True)) as say:
        return read_sources(files, options, say)


def _server(url: str, live: datetime, span: timedelta) -> tuple[Reading, list[SourceCheck]]:
    """Return what a server has of the span, and what it says of its targets."""
    server_address(url)
    try:
        return pull(PullRequest.of(url, live - span, live)), check_server(url, live, span)
    except PullError as error:
        check = SourceCheck(
            name=f"prometheus {url}",
            state="missing",
            rows=0,
            rejected=0,
            newest=None,
            age_seconds=None,
            note=str(error),
        )
        return Reading(), [check]


def _stored(root: str, live: datetime, span: timedelta) -> tuple[Reading, list[GoneMetric]]:
    """Return what a store has of the span, the last that it knew before it, and what is gone."""
    try:
        with reading_store(root):
            store = Store.open_at(root)
            recent = store.read_all(Wanted(since=live - span))
            known = join_readings([recent, last_known(store, live - span)])
            return known, gone_metrics(store, live - span)
    except (NoStoreError, UnreadableStoreError) as error:
        raise refused(str(error), code=1) from error
