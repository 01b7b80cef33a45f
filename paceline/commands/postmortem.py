"""`paceline postmortem`: what the data gives for the document that is written after an incident."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from alerts.incidents import Incident
from collectors.sniffing import ReadOptions
from paceline.analysis import Analysis, AnalysisParams, analyze
from paceline.choices import UnknownIncidentError, chosen_incident
from paceline.commands.arguments import (
    OutOption,
    TimeZoneOption,
    refused,
    writing_to,
    zone_name,
)
from paceline.history import read_history
from paceline.kept_incidents import analysis_of, kept_incident
from paceline.output import report_contents
from paceline.progress import progress_bar
from paceline.reports.postmortem_text import postmortem_markdown, postmortem_page
from paceline.reports.postmortems import Postmortem, postmortem_of


def postmortem_command(
    incident: Annotated[
        str,
        typer.Argument(
            metavar="INCIDENT", help="Its id, or the first characters of it; or: gravest."
        ),
    ],
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files, folders or a store; files are sniffed."),
    ],
    out: OutOption = None,
    time_zone: TimeZoneOption = "UTC",
) -> None:
    """Write what the data gives for the postmortem of an incident, with blanks for the rest.

    Example: paceline postmortem gravest logs/ --out postmortem/

    Exit 0: written. 1: nothing could be read, or no such incident. 2: bad arguments.
    """
    analysis = _analysis(incident, paths, ReadOptions(time_zone=zone_name(time_zone)))
    found = postmortem_of(analysis, _chosen(analysis.incidents, incident))
    if out is None:
        typer.echo(postmortem_markdown(found), nl=False)
    else:
        _write(found, analysis, out)


def _analysis(incident: str, paths: list[Path], options: ReadOptions) -> Analysis:
    """Return what a store keeps of the incident, or else an analysis of all there is."""
    kept = kept_incident(paths, incident)
    if kept is not None:
        return analysis_of(*kept)
    reading = read_history(paths, options)
    with progress_bar("Detecting", Console(stderr=True)) as say:
        return analyze(reading, AnalysisParams(), say)


def _chosen(incidents: list[Incident], name: str) -> Incident:
    """Return the incident that is meant, or refuse with those that there are."""
    try:
        return chosen_incident(incidents, name)
    except UnknownIncidentError as error:
        raise refused(str(error), code=1) from error


def _write(postmortem: Postmortem, analysis: Analysis, folder: Path) -> None:
    """Write the document in both forms, the page with its plots."""
    from paceline.reports.documents import run_drawings  # noqa: PLC0415 -- drawing loads for long

    text, page = folder / "postmortem.md", folder / "postmortem.html"
    contents = report_contents(analysis, postmortem.incident.title, ())
    drawings = run_drawings(replace(contents, incidents=[postmortem.incident]), max_runs=1)
    with writing_to(folder):
        text.write_text(postmortem_markdown(postmortem), encoding="utf-8")
        page.write_text(postmortem_page(postmortem, drawings), encoding="utf-8")
    typer.echo(f"Wrote {text} and postmortem.html")
