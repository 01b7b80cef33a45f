"""`paceline lemons`: which nodes and GPUs end jobs again and again, over weeks of history."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from collectors.sniffing import ReadOptions
from detectors.lemon_histories import Records
from detectors.lemon_params import LemonParams
from detectors.lemons import review_lemons
from paceline.commands.arguments import (
    Format,
    FormatOption,
    answer,
    refused,
    utc,
    zone_name,
)
from paceline.history import RECORDS, read_history
from paceline.lemon_metrics import lemon_metrics, write_textfile
from paceline.lemon_output import UnknownNodeError, lemon_bytes, lemon_text, score_text


def lemons_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Accounts, logs and node states, or a store."),
    ],
    output: FormatOption = Format.TEXT,
    as_of: Annotated[
        datetime | None, typer.Option(help="Judge as of this time, in UTC; default: the last job.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the ranking to print.")] = 20,
    node: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Open the score of this node, event by event."),
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="Zone of stamps that carry none.")
    ] = "UTC",
    textfile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.prom",
            help="Also write scores and signals as metrics, for node_exporter's textfile "
            "collector: the lemon board shows them.",
        ),
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="NAME", help="Label `cluster` of those metrics.")
    ] = None,
) -> None:
    """Name the nodes and GPUs that end jobs again and again, on weeks of accounts and logs.

    Example: paceline lemons accounts.txt logs/

    Exit 0: ran, with lemons or without. 1: no job could be read. 2: bad arguments.
    """
    if (textfile is None) != (cluster is None):
        raise refused("--textfile and --cluster go together: metrics carry their cluster")
    options = ReadOptions(time_zone=zone_name(time_zone))
    reading = read_history(paths, options, RECORDS)
    if reading.jobs.is_empty():
        raise refused("no job there; give the scheduler's accounts, such as sacct -P", code=1)
    params = LemonParams()
    asked = replace(params.history, as_of=as_of and utc(as_of))
    params = replace(params, history=asked)
    review = review_lemons(Records.of(reading), params)
    if textfile is not None and cluster is not None:
        _write(textfile, lemon_metrics(review, reading.jobs, cluster))
    if node is not None and output is Format.TEXT:
        try:
            typer.echo(score_text(review, params, node), nl=False)
        except UnknownNodeError as error:
            raise refused(str(error)) from error
        return
    answer(
        output, lambda: lemon_bytes(review, params, top), lambda: lemon_text(review, params, top)
    )


def _write(path: Path, metrics: bytes) -> None:
    try:
        write_textfile(path, metrics)
    except OSError as error:
        raise refused(f"cannot write {path}: {error.strerror}; give another file") from error
