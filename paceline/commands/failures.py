"""`paceline failures`: what ended jobs, what that cost, how often, and what hangs on each part."""

from pathlib import Path
from typing import Annotated

import typer

from collectors.sniffing import ReadOptions
from paceline.commands.arguments import (
    Format,
    FormatOption,
    GpusPerNodeOption,
    HistoryPaths,
    MinNodesOption,
    OutOption,
    TimeZoneOption,
    answer,
    refused,
    writing_to,
    zone_name,
)
from paceline.failure_output import failure_bytes, failure_text
from paceline.fleet_review import FleetParams, FleetReview, review_fleet
from paceline.history import RECORDS, read_history
from slo.rates_by_size import RateParams


def failures_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    paths: HistoryPaths,
    output: FormatOption = Format.TEXT,
    out: OutOption = None,
    top: Annotated[int, typer.Option(min=1, help="Rows of each table.")] = 10,
    min_nodes: MinNodesOption = 1,
    gpus_per_node: GpusPerNodeOption = None,
    time_zone: TimeZoneOption = "UTC",
) -> None:
    """Say what ended jobs, what that cost, how often it happens, and what hangs on each part.

    Example: paceline failures accounts.txt logs/ --gpus-per-node 8

    Exit 0: ran, with failures or without. 1: no attempt of any job could be read. 2: bad arguments.
    """
    options = ReadOptions(time_zone=zone_name(time_zone))
    reading = read_history(paths, options, (*RECORDS, "steps"))
    params = FleetParams(rates=RateParams(min_nodes=min_nodes), gpus_per_node=gpus_per_node)
    review = review_fleet(reading, params)
    if review.lives.is_empty():
        raise refused("no job there; give the scheduler's accounts, such as sacct -P", code=1)
    answer(output, lambda: failure_bytes(review), lambda: failure_text(review, top))
    if out is not None:
        _write(review, out, quiet=output is Format.JSON)


def _write(review: FleetReview, folder: Path, *, quiet: bool) -> None:
    """Write the page and the JSON."""
    from paceline.reports.failures_page import failures_page  # noqa: PLC0415 -- loads for long

    page = folder / "failures.html"
    with writing_to(folder):
        page.write_text(failures_page(review), encoding="utf-8")
        (folder / "failures.json").write_bytes(failure_bytes(review))
    if not quiet:
        typer.echo(f"Wrote {page} and failures.json")
