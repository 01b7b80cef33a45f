"""What an analysis prints and writes: text for people, JSON for machines, files for later."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from alerts.incidents import Incident
from alerts.pages import page_text, timeline_text
from detectors.cleaning import CleaningParams, clean_steps
from detectors.paces import rank_paces, traced_paces
from detectors.placing import rank_roles
from paceline.analysis import Analysis, analysis_json, reject_reasons
from paceline.reports.contents import ReportContents
from paceline.stored_tiers import tier_lines

MAX_PAGES: Final = 5
"""More incidents than this are listed by their title: a screen holds no more pages."""


def analysis_bytes(analysis: Analysis) -> bytes:
    """Return the JSON object of the command line, indented, with a final line break."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps(analysis_json(analysis), option=options)


def analysis_text(analysis: Analysis) -> str:
    """Return what a person reads: pages, findings without an incident, and what was not read."""
    parts = [_incident_text(one) for one in analysis.incidents[:MAX_PAGES]]
    parts += [f"also: {one.title}\n" for one in analysis.incidents[MAX_PAGES:]]
    if not analysis.verdicts:
        parts.append("No finding. That is not a proof of health: see what was read below.\n")
    parts.append(_read_text(analysis))
    return "\n".join(parts)


def _incident_text(incident: Incident) -> str:
    return f"{page_text(incident)}\n{timeline_text(incident)}"


def _read_text(analysis: Analysis) -> str:
    """Return what was read and what was rejected, a line a reason."""
    reading = analysis.reading
    counts = ", ".join(
        f"{reading.frame(name).height:,} {name}"
        for name in ("steps", "samples", "ops", "collectives", "transfers", "events")
        if reading.frame(name).height
    )
    rejected = [
        f"Rejected: {one.count} x {one.reason}, e.g. {one.example}"
        for one in reject_reasons(reading.rejects)
    ]
    tiers = tier_lines(reading.coverage)
    return "\n".join([f"Read: {counts or 'nothing'}", *tiers, *rejected, ""])


def write_analysis(
    analysis: Analysis, folder: Path, title: str, notes: Sequence[str]
) -> tuple[Path, Path]:
    """Write report and JSON into a folder, made when missing, and return their paths.

    Raises:
        OSError: The folder cannot be written to.
    """
    from paceline.reports.documents import build_report  # noqa: PLC0415 -- drawing loads for long

    folder.mkdir(parents=True, exist_ok=True)
    report, machine = folder / "report.html", folder / "analysis.json"
    report.write_text(build_report(report_contents(analysis, title, notes)), encoding="utf-8")
    machine.write_bytes(analysis_bytes(analysis))
    return report, machine


def report_contents(analysis: Analysis, title: str, notes: Sequence[str]) -> ReportContents:
    """Return what a report of an analysis shows."""
    reading = analysis.reading
    roles = rank_roles(reading.placements.lazy(), reading.samples.lazy())
    steps = clean_steps(reading.steps.lazy(), CleaningParams())
    paces = rank_paces(steps, roles).collect()
    traced = traced_paces(reading.ops.lazy()).collect()
    return ReportContents(
        title=title,
        now=analysis.as_of,
        verdicts=analysis.verdicts,
        incidents=analysis.incidents,
        events=analysis.replay.events,
        paces=paces.vstack(traced),
        samples=reading.samples,
        coverage=reading.coverage,
        rejects=reading.rejects,
        notes=notes,
    )
