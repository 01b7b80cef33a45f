"""`paceline analyze`: drop logs, scrapes and dumps in; get culprit, timeline and report."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, get_args

import typer
from rich.console import Console

from collectors.readings import FRAMES, Reading, join_readings
from collectors.sniffing import ReadOptions
from collectors.storage.store_commits import NoStoreError
from collectors.storage.store_faults import UnreadableStoreError
from detectors.verdicts import Kind
from paceline.analysis import Analysis, AnalysisParams, analyze, reject_reasons
from paceline.commands.arguments import (
    BootOption,
    Format,
    FormatOption,
    HostOption,
    TakenOption,
    XidTableOption,
    answer,
    host_name,
    moment,
    refused,
    server_address,
    utc,
    xid_table_file,
    zone_name,
)
from paceline.commands.engine_option import EngineOption, chosen_engine, spread_over
from paceline.output import analysis_bytes, analysis_text, write_analysis
from paceline.progress import progress_bar
from paceline.pulling import PullError, PullRequest, pull
from paceline.sources import NoSuchPathError
from paceline.stored_sources import StoredSpan, read_places
from paceline.stored_tiers import coarse_verdicts


def analyze_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files, folders or a store; files are sniffed."),
    ],
    output: FormatOption = Format.TEXT,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for report.html and analysis.json.")
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="Zone of stamps that carry none.")
    ] = "UTC",
    year: Annotated[
        int | None, typer.Option(help="Year of stamps that carry none; default: that of the data.")
    ] = None,
    host: HostOption = None,
    taken: TakenOption = None,
    boot: BootOption = None,
    xid_table: XidTableOption = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="URL", help="Pull device and fabric series from here too.")
    ] = None,
    start: Annotated[
        datetime | None, typer.Option(help="Of --prometheus or a store: from when, in UTC.")
    ] = None,
    end: Annotated[
        datetime | None, typer.Option(help="Of --prometheus or a store: until when, in UTC.")
    ] = None,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Exit 3 when such a finding is there; repeatable."),
    ] = None,
    engine: EngineOption = None,
) -> None:
    """Name what is slow, since when and on what evidence, in whatever lies below PATH.

    Example: paceline analyze logs/ --out report/

    Exit 0: ran, with findings or without. 1: nothing could be read. 2: bad arguments. 3: --fail-on.
    """
    request = _request(prometheus, start, end)
    options = ReadOptions(
        time_zone=zone_name(time_zone),
        year=year,
        host=host_name(host),
        taken=moment("--taken", taken),
        boot=moment("--boot", boot),
        xid_table=xid_table_file(xid_table),
    )
    kinds = _kinds(fail_on or [])
    choice = chosen_engine(engine, paths, pulls=request is not None)
    span = StoredSpan(start=start and utc(start), end=end and utc(end))
    reading = _read(paths, options, request, span)
    console = Console(stderr=True)
    with progress_bar("Detecting", console) as say, spread_over(choice, paths, span) as spread:
        params = AnalysisParams(spread=spread)
        analysis = analyze(reading, params, say, coarse_verdicts(paths, span))
    answer(output, lambda: analysis_bytes(analysis), lambda: analysis_text(analysis))
    if out is not None:
        _write(analysis, out, paths, quiet=output is Format.JSON)
    if kinds & {one.kind for one in analysis.verdicts}:
        raise typer.Exit(3)


def _kinds(names: list[str]) -> set[str]:
    known: tuple[str, ...] = get_args(Kind)
    for name in names:
        if name not in known:
            raise refused(f"no kind '{name}' of finding; known: {', '.join(sorted(known))}")
    return set(names)


def _request(url: str | None, start: datetime | None, end: datetime | None) -> PullRequest | None:
    if url is None:
        return None
    server_address(url)
    if start is None or end is None:
        raise refused("--prometheus needs --start and --end, such as --start 2026-01-05T00:00:00")
    return PullRequest.of(url, start, end)


def _read(
    paths: list[Path], options: ReadOptions, request: PullRequest | None, span: StoredSpan
) -> Reading:
    console = Console(stderr=True)
    try:
        with progress_bar("Reading", console) as say:
            reading = read_places(paths, options, span, say)
        if request is not None:
            reading = join_readings([reading, pull(request)])
    except (NoSuchPathError, NoStoreError, UnreadableStoreError, PullError) as error:
        raise refused(str(error), code=1) from error
    if not any(reading.frame(name).height for name in FRAMES if name != "rejects"):
        reasons = [f"{one.count} x {one.reason}" for one in reject_reasons(reading.rejects)]
        why = f"; rejected: {', '.join(reasons)}" if reasons else ""
        raise refused(f"nothing to read there{why}; give logs, scrapes, steps or dumps", code=1)
    return reading


def _write(analysis: Analysis, out: Path, paths: list[Path], *, quiet: bool) -> None:
    title = ", ".join(path.name or str(path) for path in paths)
    try:
        written = write_analysis(analysis, out, title, ())
    except OSError as error:
        raise refused(f"cannot write to {out}: {error.strerror}") from error
    for path in written if not quiet else ():
        typer.echo(f"Wrote {path}")
