"""The incident board: its question, its choices, its rows and the numbers of its panels."""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.incident import panels
from dashboards.incident import queries as ask
from dashboards.plans import BoardPlan
from dashboards.variables import Head, build_choice, build_source_variable

UID: Final = "aif-incident"

HEAD: Final = Head(
    uid=UID,
    title="Incident",
    description="What happened, in order?",
    start="now-6h",
)

# Ids are given once and never again: links to panels, and alerts that point back, hold them.
PANEL_IDS: Final[dict[str, int]] = {
    "Verdict": 1,
    "What this is": 2,
    "Began": 3,
    "Until": 4,
    "Runs hit": 5,
    "GPU time lost": 6,
    "Budget spent": 7,
    "Worst offenders": 8,
    "Slowest ranks of these hours": 9,
    "Devices furthest from their peers": 10,
    "Worst links of these hours": 11,
    "Where and when": 12,
    "The incident": 13,
    "Alerts": 14,
    "Nodes": 15,
    "Maintenance": 16,
    "Findings": 17,
    "Worst rank of each run": 18,
    "Link flaps": 19,
    "Why": 20,
    "Pace of each run": 21,
    "Signals furthest off": 22,
    "Links most likely at fault": 23,
    "Evidence": 24,
    "Age of sources": 25,
    "Open findings": 26,
    "Open incidents": 27,
    "How to read this board": 28,
}


def build_incident_plan(sources: Sources) -> BoardPlan:
    """Return the incident board over exporters of chosen versions."""
    return BoardPlan(
        head=HEAD,
        variables=(
            build_source_variable(),
            build_choice("cluster", "Cluster", ask.CLUSTERS),
            build_choice("incident", "Incident", ask.INCIDENTS),
        ),
        rows={
            "Verdict": panels.VERDICT,
            "Worst offenders": panels.WORST,
            "Where and when": panels.build_lanes(sources),
            "Why": panels.WHY,
            "Evidence": panels.EVIDENCE,
        },
        panel_ids=PANEL_IDS,
    )
