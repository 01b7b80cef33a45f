"""`paceline checkpoint-interval`: how often to save, from the failure rate that was measured."""

from typing import Annotated

import typer

from collectors.sniffing import ReadOptions
from paceline.commands.arguments import (
    Format,
    FormatOption,
    HistoryPaths,
    MinNodesOption,
    TimeZoneOption,
    answer,
    refused,
    zone_name,
)
from paceline.fleet_review import FleetParams, review_fleet
from paceline.history import RECORDS, read_history
from paceline.interval_output import interval_bytes, interval_text, plans_of
from slo.rates_by_size import RateParams


def checkpoint_interval_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    paths: HistoryPaths,
    output: FormatOption = Format.TEXT,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Of a job that is planned; default: those seen.")
    ] = None,
    write_seconds: Annotated[
        float | None, typer.Option(min=0.001, help="What a save takes; default: what was measured.")
    ] = None,
    min_nodes: MinNodesOption = 1,
    top: Annotated[int, typer.Option(min=1, help="How many runs to print.")] = 5,
    time_zone: TimeZoneOption = "UTC",
) -> None:
    """Say how often to save a checkpoint, from the failure rate that was measured.

    Example: paceline checkpoint-interval accounts.txt logs/ --nodes 512 --write-seconds 45

    Exit 0: ran. 1: no attempt of any job could be read. 2: bad arguments.
    """
    options = ReadOptions(time_zone=zone_name(time_zone))
    reading = read_history(paths, options, (*RECORDS, "steps"))
    review = review_fleet(reading, FleetParams(rates=RateParams(min_nodes=min_nodes)))
    if review.lives.is_empty():
        raise refused("no job there; give the scheduler's accounts, such as sacct -P", code=1)
    plans = plans_of(review, nodes, write_seconds)
    answer(output, lambda: interval_bytes(review, plans), lambda: interval_text(review, plans, top))
