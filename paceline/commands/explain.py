"""`paceline explain`: the numbers behind a verdict, and how near it is to not being one."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from collectors.sniffing import ReadOptions
from paceline.analysis import AnalysisParams, analyze
from paceline.commands.arguments import (
    Format,
    FormatOption,
    TimeZoneOption,
    answer,
    refused,
    zone_name,
)
from paceline.explanation_output import explanation_bytes, explanation_text, verdict_list
from paceline.explanations import explain
from paceline.history import read_history
from paceline.progress import progress_bar


def explain_command(
    number: Annotated[
        int,
        typer.Argument(metavar="VERDICT", min=1, help="Its number in the order of `analyze`."),
    ],
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files, folders or a store; files are sniffed."),
    ],
    output: FormatOption = Format.TEXT,
    time_zone: TimeZoneOption = "UTC",
) -> None:
    """Say why a verdict was said: peers, evidence, raw lines, and what would change it.

    Each threshold of the detectors that found it is drawn tighter until the finding is gone.

    Example: paceline explain 1 logs/

    Exit 0: explained. 1: nothing could be read, or no such verdict. 2: bad arguments.
    """
    reading = read_history(paths, ReadOptions(time_zone=zone_name(time_zone)))
    params, console = AnalysisParams(), Console(stderr=True)
    with progress_bar("Detecting", console) as say:
        verdicts = analyze(reading, params, say).verdicts
    if not verdicts:
        raise refused("no verdict there: nothing was found in what could be read", code=1)
    if number > len(verdicts):
        raise refused(f"no verdict {number}; there are:\n{verdict_list(verdicts)}", code=1)
    with progress_bar("Asking again", console) as say:
        found = explain(reading, verdicts[number - 1], params.detectors, say)
    answer(
        output,
        lambda: explanation_bytes(found),
        lambda: explanation_text(found, number, len(verdicts)),
    )
