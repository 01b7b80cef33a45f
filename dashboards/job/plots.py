"""The lower half of the job board: where and when it is slow, why, and on what evidence."""

from functools import partial

from dashboards.fields import Field, build_override
from dashboards.job import queries as ask
from dashboards.panels import (
    Caption,
    Columns,
    Plan,
    Query,
    build_bar_gauge,
    build_heatmap,
    build_state_timeline,
    build_table,
    build_time_series,
)
from dashboards.shared import NODE_STATES
from dashboards.thresholds import AGE_STEPS, INFORMATION_STEPS, LINK_STEPS, SLOWDOWN_STEPS

# A line plot draws a limit a step; below the first one there is nothing to say.
_SLOWDOWN_LINES = SLOWDOWN_STEPS[1:]
_LINK_LINES = LINK_STEPS[1:]

READING_GUIDE = """\
**Reading order.** *Verdict* says whether the run is slow now. *Worst offenders* name the rank: the
culprit computes longest **and** waits least. *Where and when* shows since when, and whether one
rank, one node or all ranks changed at once. *Why* puts device and link signals beside it.

**Grey is not green.** Grey means that nobody measured; see the ages of the sources before you
believe a calm board. Series of healthy ranks far from the worst are left out on purpose, so the
medians here are those of the ranks shown.
"""

WHERE_AND_WHEN = (
    Plan(
        recipe=build_heatmap,
        caption=Caption(
            title="Slowdown by rank and time",
            description="Strong colour is slow, on one scale in every range. "
            "A row is a rank, a block of rows a node or stage, a column the whole run.",
            width=12,
            height=9,
        ),
        queries=(Query(expr=ask.SLOWDOWN_BY_RANK, legend="{{rank}}"),),
        field=Field(unit="suffix:x", decimals=2, min_value=1, max_value=1.5),
    ),
    Plan(
        recipe=partial(build_heatmap, reverse=True),
        caption=Caption(
            title="Waiting by rank and time",
            description="Share of the step spent waiting in communication; strong colour waits "
            "least. One strong row among pale ones is the rank that the others wait for.",
            width=12,
            height=9,
        ),
        queries=(Query(expr=ask.WAIT_BY_RANK, legend="{{rank}}"),),
        field=Field(unit="percentunit", decimals=0, min_value=0, max_value=1),
    ),
    Plan(
        recipe=build_time_series,
        caption=Caption(
            title="Compute: worst rank and median",
            description="A worst rank that leaves the median is a straggler. "
            "If both rise the change is common to the run.",
            width=12,
            height=8,
        ),
        queries=(
            Query(expr=ask.WORST_SLOWDOWN, legend="worst rank"),
            Query(expr=ask.MEDIAN_SLOWDOWN, legend="median of the ranks shown"),
        ),
        field=Field(unit="suffix:x", decimals=2, steps=_SLOWDOWN_LINES),
    ),
    Plan(
        recipe=build_time_series,
        caption=Caption(
            title="Communication: share of waiting",
            description="Most and median rising while the least stays: all wait for one rank. "
            "All three rising together: suspect the network.",
            width=12,
            height=8,
        ),
        queries=(
            Query(expr=ask.MOST_WAIT, legend="most"),
            Query(expr=ask.MEDIAN_WAIT, legend="median of the ranks shown"),
            Query(expr=ask.LEAST_WAIT, legend="least"),
        ),
        field=Field(unit="percentunit", min_value=0, max_value=1),
    ),
)

WHY = (
    Plan(
        recipe=partial(build_time_series, many=True),
        caption=Caption(
            title="Signals of the worst rank's node",
            description="Each device over the median of its peers, so 1 is alike. "
            "The signal that leaves 1 when the slowdown starts is the lead.",
            width=12,
            height=9,
        ),
        queries=(Query(expr=ask.WORST_NODE_SIGNALS, legend="{{node}} {{device}} {{signal}}"),),
        field=Field(unit="suffix:x", decimals=2),
    ),
    Plan(
        recipe=partial(build_time_series, many=True),
        caption=Caption(
            title="Signals furthest from their peers",
            description="The eight signals of the run's nodes that are furthest from 1 now. "
            "Choose a node above to see its own.",
            width=12,
            height=9,
        ),
        queries=(Query(expr=ask.ODDEST_SIGNALS, legend="{{node}} {{device}} {{signal}}"),),
        field=Field(unit="suffix:x", decimals=2),
    ),
    Plan(
        recipe=build_state_timeline,
        caption=Caption(
            title="States of the run's nodes",
            description="Nodes that held a listed rank in the range. "
            "A gap means that nobody knew the state, not that it was well.",
            width=12,
            height=8,
        ),
        queries=(Query(expr=ask.NODE_STATES, legend="{{node}}"),),
        field=Field(unit="none", mappings=NODE_STATES),
    ),
    Plan(
        recipe=build_time_series,
        caption=Caption(
            title="Links most likely at fault",
            description="The five links of the cluster with the highest fault score. "
            "A score that rises with the waiting share is worth a look at the cable.",
            width=12,
            height=8,
        ),
        queries=(Query(expr=ask.WORST_LINKS, legend="{{switch}} port {{port}}"),),
        field=Field(unit="none", decimals=2, min_value=0, max_value=1, steps=_LINK_LINES),
    ),
)


def _listed(*labels: str) -> Columns:
    return Columns(
        order=(*labels, "Value"),
        names={"Value": "open"},
        overrides=(build_override("open", unit="none", decimals=0),),
        sort_by="open",
    )


EVIDENCE = (
    Plan(
        recipe=build_time_series,
        caption=Caption(
            title="Step time",
            description="The newest completed step, as the run reports it. "
            "Compare a jump with the marks of restarts and checkpoints.",
            width=12,
            height=8,
        ),
        queries=(Query(expr=ask.STEP_SECONDS, legend="step"),),
        field=Field(unit="s", decimals=2, min_value=0),
    ),
    Plan(
        recipe=build_bar_gauge,
        caption=Caption(
            title="Age of sources",
            description="Age of each source's newest sample. "
            "What a late source would have shown is unknown, not well.",
            width=12,
            height=8,
        ),
        queries=(Query(expr=ask.SOURCE_AGES, legend="{{source}}", instant=True),),
        field=Field(unit="s", decimals=0, min_value=0, steps=AGE_STEPS),
    ),
    Plan(
        recipe=partial(build_table, columns=_listed("kind", "level")),
        caption=Caption(
            title="Open findings",
            description="Findings of the cluster by kind and level. "
            "Open the incident to see their evidence.",
            width=8,
            height=8,
        ),
        queries=(Query(expr=ask.OPEN_FINDINGS, instant=True),),
        field=Field(unit="string", steps=INFORMATION_STEPS),
    ),
    Plan(
        recipe=partial(build_table, columns=_listed("incident")),
        caption=Caption(
            title="Open incidents",
            description="Incidents of the cluster that nobody has closed yet. "
            "Look them up by their number.",
            width=8,
            height=8,
        ),
        queries=(Query(expr=ask.OPEN_INCIDENTS, instant=True),),
        field=Field(unit="string", steps=INFORMATION_STEPS),
    ),
)
