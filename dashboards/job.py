"""The job board: which rank is slow, since when, on what, and is it compute or communication?"""

from typing import Final

from dashboards import job_queries as ask
from dashboards.job_plots import (
    EVIDENCE,
    READING_CAPTION,
    READING_GUIDE,
    WHERE_AND_WHEN,
    WHY,
)
from dashboards.job_verdict import VERDICT, WORST
from dashboards.jsontree import Json
from dashboards.layout import Section, build_layout
from dashboards.normaliser import build_normal
from dashboards.panels import Plan, build_text
from dashboards.variables import (
    Head,
    build_board,
    build_choice,
    build_filter,
    build_source_variable,
)

UID = "aif-job"

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


def build_job_board() -> Json:
    """Return the job board in its normal form."""
    head = Head(
        uid=UID,
        title="Job and stragglers",
        description="Which rank is slow, since when, on what, and is it compute or communication?",
        start="now-6h",
    )
    panels = build_layout(_build_sections())
    return build_normal(build_board(head, _build_variables(), panels), PANEL_IDS)


def _build_variables() -> list[Json]:
    return [
        build_source_variable(),
        build_choice("cluster", "Cluster", ask.CLUSTERS),
        build_choice("run", "Run", ask.RUNS),
        build_filter("node", "Node", ask.NODES),
        build_filter("rank", "Rank", ask.RANKS, numeric=True),
    ]


def _build_sections() -> list[Section]:
    evidence = (*_built(EVIDENCE), build_text(READING_CAPTION, READING_GUIDE))
    return [
        Section(title="Verdict", panels=_built(VERDICT)),
        Section(title="Worst offenders", panels=_built(WORST)),
        Section(title="Where and when", panels=_built(WHERE_AND_WHEN)),
        Section(title="Why", panels=_built(WHY)),
        Section(title="Evidence", panels=evidence, collapsed=True),
    ]


def _built(plans: tuple[Plan, ...]) -> tuple[Json, ...]:
    return tuple(plan.build() for plan in plans)
