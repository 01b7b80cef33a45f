"""`paceline collect`: take files and a Prometheus into a store, once or as they grow."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import orjson
import typer

from collectors.metrics.prometheus import PrometheusServer, selector
from collectors.sniffing import ReadOptions
from collectors.storage.file_parts import FileReader
from collectors.storage.pull_ledger import PullParams
from collectors.storage.pull_windows import Puller, Source
from collectors.storage.store import Store
from collectors.storage.store_faults import UnreadableStoreError
from paceline.collecting import PASSING, Collected, Collector
from paceline.commands.arguments import (
    BootOption,
    Format,
    HostOption,
    TakenOption,
    XidTableOption,
    host_name,
    moment,
    refused,
    server_address,
    utc,
    xid_table_file,
    zone_name,
)
from paceline.durations import NoDurationError, duration_of
from paceline.following import Pace, collect_once, follow_on
from paceline.stopping import Stop, stop_on_signals


def collect_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    store: Annotated[
        str,
        typer.Option(metavar="DIR", help="The store: a folder, made if need be, or s3://... ."),
    ],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Files or folders; every file is sniffed."),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="URL", help="Pull device and fabric series from here.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(help="Pull from then on, in UTC; default: where the store left off, or 1h."),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(help="Pull until then, in UTC; default: the last window that has ended."),
    ] = None,
    follow: Annotated[  # noqa: FBT002 -- a flag of the command line
        bool, typer.Option("--follow", help="Go on with new lines and windows until a signal.")
    ] = False,
    every: Annotated[
        str, typer.Option(metavar="SPAN", help="With --follow: time between two looks.")
    ] = "30s",
    window: Annotated[
        str, typer.Option(metavar="SPAN", help="Length of a window that is pulled at once.")
    ] = "5m",
    late: Annotated[
        str, typer.Option(metavar="SPAN", help="How long after a window samples may come.")
    ] = "10m",
    match: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Pull series with this label only; repeatable."),
    ] = None,
    keep: Annotated[
        str | None, typer.Option(metavar="SPAN", help="Forget whole days older than this.")
    ] = None,
    storage: Annotated[
        list[str] | None,
        typer.Option("--storage-option", metavar="NAME=VALUE", help="For s3://...; repeatable."),
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="Zone of stamps that carry none.")
    ] = "UTC",
    year: Annotated[int | None, typer.Option(help="Year of stamps that carry none.")] = None,
    host: HostOption = None,
    taken: TakenOption = None,
    boot: BootOption = None,
    xid_table: XidTableOption = None,
    output: Annotated[
        Format, typer.Option("--format", help="Summary: text for people, json for machines.")
    ] = Format.TEXT,
) -> None:
    """Take files and a Prometheus into a store, each row once; again takes what is new.

    Example: paceline collect logs/ --prometheus http://localhost:9090 --store store/ --follow

    Exit 0: all that was asked for is stored. 1: something could not be read or written. 2: bad
    arguments.
    """
    if not paths and prometheus is None:
        raise refused("nothing to collect; give files or folders, or --prometheus URL")
    if since is not None and until is not None and until <= since:
        raise refused(f"--until must be after --since, got {since} to {until}")
    pace = Pace(every=_span("--every", every), keep=_span("--keep", keep) if keep else None)
    params = PullParams(window=_span("--window", window), late=_span("--late", late))
    source = _source(prometheus, _pairs("--match", match or []))
    options = ReadOptions(
        time_zone=zone_name(time_zone),
        year=year,
        host=host_name(host),
        taken=moment("--taken", taken),
        boot=moment("--boot", boot),
        xid_table=xid_table_file(xid_table),
    )
    storage_options = _pairs("--storage-option", storage or [])
    with stop_on_signals() as stop:
        opened = _opened(store, storage_options)
        collector = Collector(
            store=opened,
            paths=paths or [],
            reader=FileReader(store=opened, options=options, clock=_now, is_following=follow),
            puller=_puller(opened, source, params, stop),
            bounds=(since and utc(since), until and utc(until)),
            stop=stop,
        )
        failure = follow_on(collector, pace) if follow else collect_once(collector, pace)
    _print(collector.collected, store, output)
    if failure is not None:
        raise refused(failure, code=1)


def _now() -> datetime:
    return datetime.now(UTC)


def _span(option: str, text: str) -> timedelta:
    try:
        return duration_of(text)
    except NoDurationError as error:
        raise refused(f"{option}: {error}") from error


def _pairs(option: str, texts: list[str]) -> dict[str, str]:
    for text in texts:
        if not text.partition("=")[1] or text.startswith("="):
            raise refused(f"{option} '{text}' is no NAME=VALUE; give one such as {option} a=b")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}


def _source(url: str | None, matchers: dict[str, str]) -> Source | None:
    if url is None:
        if matchers:
            raise refused("--match needs --prometheus URL")
        return None
    server_address(url)
    try:
        selector(matchers)
    except ValueError as error:
        raise refused(f"--match: {error}") from error
    return Source(server=PrometheusServer(url=url), matchers=matchers)


def _opened(root: str, storage_options: dict[str, str]) -> Store:
    try:
        return Store.open_at(root, storage_options, create=True)
    except (UnreadableStoreError, *PASSING) as error:
        raise refused(str(error), code=1) from error


def _puller(store: Store, source: Source | None, params: PullParams, stop: Stop) -> Puller | None:
    if source is None:
        return None
    return Puller(store=store, source=source, params=params, clock=_now, asking=stop.idle)


def _print(collected: Collected, store: str, output: Format) -> None:
    """Print what was stored, by frame."""
    added = dict(sorted(collected.added.items()))
    problems = list(collected.problems)
    if output is Format.JSON:
        summary = {
            "store": store,
            "added": added,
            "files": collected.files,
            "windows": collected.windows,
            "problems": problems,
        }
        typer.echo(orjson.dumps(summary, option=orjson.OPT_INDENT_2).decode())
        return
    typer.echo(f"Store {store}: {collected.files} files and {collected.windows} windows were new.")
    for name, count in added.items():
        typer.echo(f"  {name:<12} {count:>12,} rows")
    if not added:
        typer.echo("  nothing new")
    for problem in problems:
        typer.echo(f"  not read: {problem}")
