"""`paceline goodput`: where the time of runs went, in parts that sum to the wall."""

from pathlib import Path
from typing import Annotated

import typer

from collectors.sniffing import ReadOptions
from paceline.commands.arguments import (
    Format,
    FormatOption,
    GpusPerNodeOption,
    HistoryPaths,
    OutOption,
    TimeZoneOption,
    answer,
    refused,
    writing_to,
    zone_name,
)
from paceline.fleet_review import FleetParams, FleetReview, review_fleet
from paceline.goodput_output import goodput_bytes, goodput_text
from paceline.history import RECORDS, read_history


def goodput_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    paths: HistoryPaths,
    output: FormatOption = Format.TEXT,
    out: OutOption = None,
    top: Annotated[int, typer.Option(min=1, help="How many runs to print.")] = 10,
    gpus_per_node: GpusPerNodeOption = None,
    time_zone: TimeZoneOption = "UTC",
) -> None:
    """Say where the time of each run went: productive, lost and to what, waiting, not known.

    Example: paceline goodput logs/ --out goodput/

    Exit 0: ran. 1: no run of which any moment is known. 2: bad arguments.
    """
    options = ReadOptions(time_zone=zone_name(time_zone))
    reading = read_history(paths, options, (*RECORDS, "steps"))
    review = review_fleet(reading, FleetParams(gpus_per_node=gpus_per_node))
    if review.goodput.runs.is_empty():
        raise refused(
            "no run with a clock there; give step logs with times, or the scheduler's accounts",
            code=1,
        )
    answer(output, lambda: goodput_bytes(review), lambda: goodput_text(review, top))
    if out is not None:
        _write(review, out, quiet=output is Format.JSON)


def _write(review: FleetReview, folder: Path, *, quiet: bool) -> None:
    """Write the page and the JSON."""
    from paceline.reports.goodput_page import goodput_page  # noqa: PLC0415 -- drawing loads for long

    page = folder / "goodput.html"
    with writing_to(folder):
        page.write_text(goodput_page(review), encoding="utf-8")
        (folder / "goodput.json").write_bytes(goodput_bytes(review))
    if not quiet:
        typer.echo(f"Wrote {page} and goodput.json")
