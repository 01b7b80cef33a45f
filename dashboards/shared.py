"""What several boards show: the words of node states, ages of sources, open findings.

Each board keeps its own numbers of these panels.
"""

from typing import Final

from dashboards.fields import NO_DATA_COLOR, Field, build_override, build_states
from dashboards.jsontree import Json
from dashboards.links import build_incident_link
from dashboards.panels import Columns, Plan
from dashboards.plans import now, plan_bars, plan_stat, plan_table
from dashboards.selectors import select
from dashboards.thresholds import AGE_STEPS
from slo import metrics

NODE_STATES: Final = build_states(
    {
        0: ("unknown", NO_DATA_COLOR),
        1: ("healthy", "green"),
        2: ("suspect", "orange"),
        3: ("faulty", "red"),
        4: ("maintenance", "blue"),
    }
)
"""The contract's codes of `paceline_node_state`."""

NODE_STATE_FIELD: Final = Field(unit="none", mappings=NODE_STATES)
COLORED_TEXT: Final[Json] = {"type": "color-text"}
NEVER_IN_RANGE: Final[Json] = {
    "type": "special",
    "options": {"match": "null+nan", "result": {"text": "not in range", "index": 0}},
}

_AGE: Final = select(metrics.SOURCE_AGE_SECONDS)

OLDEST_SOURCE: Final = plan_stat(
    "Oldest source",
    3,
    "Age of the newest sample of the source that lags most. "
    "When it is not green, mend the source before you believe the rest.",
    [now(f"max({_AGE})", "age")],
    Field(unit="s", decimals=0, steps=AGE_STEPS),
)

SOURCE_AGES: Final = plan_bars(
    "Age of sources",
    8,
    "Age of each source's newest sample. What a late source would have shown is unknown, not well.",
    [now(f"sort_desc(max by (source) ({_AGE}))", "{{source}}")],
    Field(unit="s", decimals=0, min_value=0, steps=AGE_STEPS),
)

OPEN_FINDINGS: Final = plan_table(
    "Open findings",
    8,
    "Findings of the cluster by kind and level. Open the incident to see their evidence.",
    [now(f"max by (kind, level) ({select(metrics.VERDICTS)}) > 0")],
    Columns(
        order=("kind", "level", "Value"),
        names={"Value": "open"},
        overrides=(build_override("open", unit="none", decimals=0),),
        sort_by="open",
    ),
)

OPEN_INCIDENTS: Final = plan_table(
    "Open incidents",
    8,
    "Incidents of the cluster that nobody has closed yet. Click one for what happened, in order.",
    [now(f"max by (incident) ({select(metrics.INCIDENT_OPEN)}) > 0")],
    Columns(
        order=("incident", "Value"),
        names={"Value": "open"},
        overrides=(build_override("open", unit="none", decimals=0),),
        sort_by="open",
        links=(build_incident_link("incident"),),
    ),
)

EVIDENCE: Final[tuple[Plan, ...]] = (SOURCE_AGES, OPEN_FINDINGS, OPEN_INCIDENTS)
