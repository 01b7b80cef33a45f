"""The job board: its question, its choices, its rows and the numbers of its panels."""

from typing import Final

from dashboards.job import queries as ask
from dashboards.job.plots import EVIDENCE, READING_GUIDE, WHERE_AND_WHEN, WHY
from dashboards.job.verdict import VERDICT, WORST
from dashboards.plans import BoardPlan, plan_note
from dashboards.variables import (
    Head,
    build_choice,
    build_filter,
    build_source_variable,
)

UID: Final = "aif-job"

HEAD: Final = Head(
    uid=UID,
    title="Job and stragglers",
    description="Which rank is slow, since when, on what, and is it compute or communication?",
    start="now-6h",
)

# Ids are given once and never again: links to panels, and alerts that point back, hold them.
PANEL_IDS: Final[dict[str, int]] = {
    "Verdict": 1,
    "Worst slowdown": 2,
    "Slow ranks": 3,
    "Pace now": 4,
    "Step time in the range": 5,
    "Time lost in the range": 6,
    "Slow steps in the range": 7,
    "Oldest source": 8,
    "Worst offenders": 9,
    "Slowest ranks": 10,
    "Ranks that wait least": 11,
    "Suspects": 12,
    "Where and when": 13,
    "Slowdown by rank and time": 14,
    "Waiting by rank and time": 15,
    "Compute: worst rank and median": 16,
    "Communication: share of waiting": 17,
    "Why": 18,
    "Signals of the worst rank's node": 19,
    "Signals furthest from their peers": 20,
    "States of the run's nodes": 21,
    "Links most likely at fault": 22,
    "Evidence": 23,
    "Step time": 24,
    "Age of sources": 25,
    "Open findings": 26,
    "Open incidents": 27,
    "How to read this board": 28,
}


JOB_PLAN: Final = BoardPlan(
    head=HEAD,
    variables=(
        build_source_variable(),
        build_choice("cluster", "Cluster", ask.CLUSTERS),
        build_choice("run", "Run", ask.RUNS),
        build_filter("node", "Node", ask.NODES),
        build_filter("rank", "Rank", ask.RANKS, numeric=True),
    ),
    rows={
        "Verdict": VERDICT,
        "Worst offenders": WORST,
        "Where and when": WHERE_AND_WHEN,
        "Why": WHY,
        "Evidence": (
            *EVIDENCE,
            plan_note(
                "How to read this board",
                8,
                "Read it once before your first night on call.",
                READING_GUIDE,
            ),
        ),
    },
    panel_ids=PANEL_IDS,
)
