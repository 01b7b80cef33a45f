"""The fabric board: its question, its choices, its rows and the numbers of its panels."""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.fabric import panels
from dashboards.fabric import queries as ask
from dashboards.fabric.causes import build_why
from dashboards.plans import BoardPlan
from dashboards.variables import Head, build_choice, build_filter, build_source_variable

UID: Final = "aif-fabric"

HEAD: Final = Head(
    uid=UID,
    title="Fabric",
    description="Which link hurts which jobs?",
    start="now-6h",
)

# Ids are given once and never again: links to panels, and alerts that point back, hold them.
PANEL_IDS: Final[dict[str, int]] = {
    "Verdict": 1,
    "Links likely at fault": 2,
    "Flaps in the range": 3,
    "Blocks beyond correction": 4,
    "Time in pause": 5,
    "Runs on hosts that lost a link": 6,
    "Oldest source": 7,
    "Worst offenders": 8,
    "Worst links": 9,
    "Cards that are paused most": 10,
    "Where and when": 11,
    "Fault score by port and time": 12,
    "States of the worst ports": 13,
    "Flaps": 14,
    "Why": 15,
    "Error correction": 16,
    "Bit errors before correction": 17,
    "Module temperature": 18,
    "Light received": 19,
    "Light sent": 20,
    "Pause frames": 21,
    "Time in pause by card": 22,
    "Congestion notices": 23,
    "Packets marked by switches": 24,
    "Drops by queue": 25,
    "What RDMA lost": 26,
    "Traffic over line rate": 27,
    "Balance over the ports of a switch": 28,
    "Evidence": 29,
    "Age of sources": 30,
    "Open findings": 31,
    "Open incidents": 32,
    "How to read this board": 33,
}


def build_fabric_plan(sources: Sources) -> BoardPlan:
    """Return the fabric board over exporters of chosen versions."""
    return BoardPlan(
        head=HEAD,
        variables=(
            build_source_variable(),
            build_choice("cluster", "Cluster", ask.CLUSTERS),
            build_filter("switch", "Switch", ask.SWITCHES),
            build_filter("port", "Port", ask.PORTS),
        ),
        rows={
            "Verdict": panels.build_verdict(sources),
            "Worst offenders": panels.build_worst(sources),
            "Where and when": panels.build_where(sources),
            "Why": build_why(sources),
            "Evidence": panels.EVIDENCE,
        },
        panel_ids=PANEL_IDS,
    )
