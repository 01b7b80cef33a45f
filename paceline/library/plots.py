"""Plots of an incident for notebooks: its run's pace, its ranks, its suspect; charts of Altair."""

import altair as alt

from alerts.incidents import Incident
from paceline.choices import GRAVEST
from paceline.goodput_output import NAMELESS
from paceline.library.charts import NothingToDrawError, chart_of, stack_of
from paceline.library.evidence import Evidence
from paceline.library.incidents import the_incident
from paceline.reports.documents import RunData, run_data
from paceline.reports.peer_plot import peer_drawings
from paceline.reports.rank_map import rank_drawing
from paceline.reports.step_plot import step_drawing


def plot_timeline(evidence: Evidence, incident: str | Incident = GRAVEST) -> alt.LayerChart:
    """Return the step time of an incident's run against its healthy pace, with its moments marked.

    Args:
        evidence: What was opened.
        incident: The incident, its id or the first characters of it, or `gravest`.

    Raises:
        UnknownIncidentError: None is called so, or several are.
        NothingToDrawError: No step of its run could be judged.
    """
    chosen, data = _drawn(evidence, incident)
    drawing = step_drawing(data.events, data.axis, [chosen])
    if drawing is None:
        raise NothingToDrawError(
            f"no judged step of {_run_name(chosen)}; step logs with times would give its pace"
        )
    return chart_of(drawing, f"Step time of {_run_name(chosen)}")


def plot_ranks(evidence: Evidence, incident: str | Incident = GRAVEST) -> alt.LayerChart:
    """Return how much longer each rank of an incident's run works than its role's median.

    Args:
        evidence: What was opened.
        incident: The incident, its id or the first characters of it, or `gravest`.

    Raises:
        UnknownIncidentError: None is called so, or several are.
        NothingToDrawError: Fewer than two ranks of its run report.
    """
    chosen, data = _drawn(evidence, incident)
    drawing = rank_drawing(data.paces, data.axis, [chosen])
    if drawing is None:
        raise NothingToDrawError(
            f"fewer than two ranks of {_run_name(chosen)} report; step logs of each rank with "
            "compute times would show them"
        )
    return chart_of(drawing, f"Ranks of {_run_name(chosen)} against their role's median")


def plot_suspect(evidence: Evidence, incident: str | Incident = GRAVEST) -> alt.VConcatChart:
    """Return an incident's first suspect against its peers: its ranks' work, then its device.

    Args:
        evidence: What was opened.
        incident: The incident, its id or the first characters of it, or `gravest`.

    Raises:
        UnknownIncidentError: None is called so, or several are.
        NothingToDrawError: Nobody is accused, or neither the suspect nor a peer was measured.
    """
    chosen, data = _drawn(evidence, incident)
    samples = evidence.reading.samples
    drawings = [
        (caption, drawing)
        for _, caption, drawing in peer_drawings(chosen, data.paces, samples, data.axis)
    ]
    if not drawings:
        why = "neither the suspect nor a peer was measured" if chosen.suspects else "no suspect"
        raise NothingToDrawError(
            f"{why} in {chosen.title}; times of ranks and signals of devices would show them"
        )
    return stack_of(drawings)


def _drawn(evidence: Evidence, incident: str | Incident) -> tuple[Incident, RunData]:
    """Return the incident that is meant, and what plots of its run are made of."""
    chosen = the_incident(evidence, incident)
    data = run_data(evidence.contents, chosen.run)
    if data is None:
        raise NothingToDrawError(
            f"nothing of {_run_name(chosen)} has a time or a step; give logs with stamps"
        )
    return chosen, data


def _run_name(incident: Incident) -> str:
    return incident.run or NAMELESS
