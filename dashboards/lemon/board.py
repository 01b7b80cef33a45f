"""The lemon board: its question, its choices, its rows and the numbers of its panels."""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.lemon import panels
from dashboards.lemon import queries as ask
from dashboards.plans import BoardPlan
from dashboards.variables import Head, build_choice, build_filter, build_source_variable

UID: Final = "aif-lemon"

HEAD: Final = Head(
    uid=UID,
    title="Lemon nodes",
    description="Which nodes fail jobs again and again?",
    start="now-30d",
)

# Ids are given once and never again: links to panels, and alerts that point back, hold them.
PANEL_IDS: Final[dict[str, int]] = {
    "Verdict": 1,
    "Lemons": 2,
    "Awaiting a decision": 3,
    "Failures that lemons cause": 4,
    "Oldest source": 5,
    "Worst offenders": 6,
    "Nodes by score": 7,
    "Scores": 8,
    "Where and when": 9,
    "States of the listed nodes": 10,
    "Faulty again after a repair": 11,
    "Why": 12,
    "Signals by kind": 13,
    "Scores over time": 14,
    "Xids": 15,
    "Restarts of hosts": 16,
    "Share of the day that was faulty": 17,
    "Evidence": 18,
    "Age of sources": 19,
    "Open findings": 20,
    "Open incidents": 21,
    "How to read this board": 22,
}


def build_lemon_plan(sources: Sources) -> BoardPlan:
    """Return the lemon board over exporters of chosen versions."""
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
