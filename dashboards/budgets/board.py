"""The budget board: its question, its choices, its rows and the numbers of its panels."""

from typing import Final

from dashboards.budgets import panels
from dashboards.budgets import queries as ask
from dashboards.plans import BoardPlan
from dashboards.variables import Head, build_choice, build_filter, build_source_variable

UID: Final = "aif-slo"

HEAD: Final = Head(
    uid=UID,
    title="Budgets and burn rates",
    description="Are we inside budget, and how fast do we spend it?",
    start="now-3d",
)

# Ids are given once and never again: links to panels, and alerts that point back, hold them.
PANEL_IDS: Final[dict[str, int]] = {
    "Verdict": 1,
    "Objectives missed": 2,
    "Objectives that burn": 3,
    "Least budget left": 4,
    "Objectives judged": 5,
    "Oldest source": 6,
    "Objectives": 7,
    "Worst offenders": 8,
    "Least budget left by group": 9,
    "Fastest burn by group": 10,
    "Where and when": 11,
    "Burn rates that page": 12,
    "Burn rates that open a ticket": 13,
    "Budget left": 14,
    "Alerts by objective": 15,
    "Why": 16,
    "Events": 17,
    "Bad share by contributor": 18,
    "Doubts about the data": 19,
    "Evidence": 20,
    "Age of sources": 21,
    "Open findings": 22,
    "Open incidents": 23,
    "How to read this board": 24,
}

BUDGET_PLAN: Final = BoardPlan(
    head=HEAD,
    variables=(
        build_source_variable(),
        build_choice("cluster", "Cluster", ask.CLUSTERS),
        build_filter("slo", "Objective", ask.OBJECTIVE_NAMES),
    ),
    rows={
        "Verdict": panels.VERDICT,
        "Worst offenders": panels.WORST,
        "Where and when": panels.WHERE_AND_WHEN,
        "Why": panels.WHY,
        "Evidence": panels.EVIDENCE,
    },
    panel_ids=PANEL_IDS,
)
