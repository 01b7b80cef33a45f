"""The fleet board: its question, its choices, its rows and the numbers of its panels."""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.fleet import panels
from dashboards.fleet import queries as ask
from dashboards.plans import BoardPlan
from dashboards.variables import Head, build_choice, build_filter, build_source_variable

UID: Final = "aif-fleet"

HEAD: Final = Head(
    uid=UID,
    title="Fleet overview",
    description="Is the fleet fit to train, and what needs hands?",
    start="now-6h",
)

# Ids are given once and never again: links to panels, and alerts that point back, hold them.
PANEL_IDS: Final[dict[str, int]] = {
    "Verdict": 1,
    "Nodes fit to train": 2,
    "Goodput now": 3,
    "Runs with a slow rank": 4,
    "Devices off their peers": 5,
    "Links likely at fault": 6,
    "Objectives that burn": 7,
    "Incidents open": 8,
    "Oldest source": 9,
    "Worst offenders": 10,
    "Nodes that need hands": 11,
    "Highest lemon scores": 12,
    "Where and when": 13,
    "States of nodes": 14,
    "Deviation by node and time": 15,
    "Alerts that fire, by severity": 16,
    "Goodput of the fleet": 17,
    "Why": 18,
    "GPUs busy": 19,
    "Held back by heat": 20,
    "GPU errors": 21,
    "Errors of network cards": 22,
    "Waiting for storage": 23,
    "Evidence": 24,
    "Age of sources": 25,
    "Open findings": 26,
    "Open incidents": 27,
    "How to read this board": 28,
}


def build_fleet_plan(sources: Sources) -> BoardPlan:
    """Return the fleet board over exporters of chosen versions."""
    return BoardPlan(
        head=HEAD,
        variables=(
            build_source_variable(),
            build_choice("cluster", "Cluster", ask.CLUSTERS),
            build_filter("node", "Node", ask.NODES),
        ),
        rows={
            "Verdict": panels.VERDICT,
            "Worst offenders": panels.WORST,
            "Where and when": panels.WHERE_AND_WHEN,
            "Why": panels.build_why(sources),
            "Evidence": panels.EVIDENCE,
        },
        panel_ids=PANEL_IDS,
    )
