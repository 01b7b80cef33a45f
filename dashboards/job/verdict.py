"""The upper half of the job board: how the run does, and which ranks are to blame."""

from functools import partial

from dashboards.fields import INFORMATION_COLOR, Field, build_override, build_states
from dashboards.job import queries as ask
from dashboards.jsontree import Json
from dashboards.panels import (
    Caption,
    Columns,
    Plan,
    Query,
    build_bar_gauge,
    build_stat,
    build_table,
)
from dashboards.thresholds import (
    AGE_STEPS,
    INFORMATION_STEPS,
    PACE_STEPS,
    SLOWDOWN_STEPS,
)

VERDICT = (
    Plan(
        recipe=build_stat,
        caption=Caption(
            title="Worst slowdown",
            description="Compute time of the slowest rank over the median of its peers. "
            "From 1.1x on, look below for who it is.",
            width=4,
            height=4,
        ),
        queries=(Query(expr=ask.WORST_SLOWDOWN, legend="worst rank", instant=True),),
        field=Field(unit="suffix:x", decimals=2, steps=SLOWDOWN_STEPS),
    ),
    Plan(
        recipe=build_stat,
        caption=Caption(
            title="Slow ranks",
            description="Ranks at or above 1.1x. One: suspect its device; "
            "several on one node or stage: suspect what they share.",
            width=3,
            height=4,
        ),
        queries=(Query(expr=ask.SLOW_RANKS, legend="slow ranks", instant=True),),
        field=Field(unit="none", decimals=0, steps=(("green", 0.0), ("orange", 1.0))),
    ),
    Plan(
        recipe=build_stat,
        caption=Caption(
            title="Pace now",
            description="Throughput against the run's own healthy baseline. "
            "Low pace without a slow rank points at the network, the input or a restart.",
            width=4,
            height=4,
        ),
        queries=(Query(expr=ask.PACE, legend="pace", instant=True),),
        field=Field(unit="percentunit", decimals=1, steps=PACE_STEPS),
    ),
    Plan(
        recipe=build_stat,
        caption=Caption(
            title="Step time in the range",
            description="Median and longest step of the range. "
            "A long worst step with a calm median is one event, not a slow rank.",
            width=4,
            height=4,
        ),
        queries=(
            Query(expr=ask.MEDIAN_STEP_SECONDS, legend="median", instant=True),
            Query(expr=ask.WORST_STEP_SECONDS, legend="worst", instant=True),
        ),
        field=Field(unit="s", decimals=2, steps=INFORMATION_STEPS),
    ),
    Plan(
        recipe=build_stat,
        caption=Caption(
            title="Time lost in the range",
            description="Allocated time less time at the healthy pace; restarts and redone steps "
            "count too. Set it against the cost of stopping the run.",
            width=3,
            height=4,
        ),
        queries=(Query(expr=ask.LOST_SECONDS, legend="lost", instant=True),),
        field=Field(unit="dtdurations", decimals=1, steps=INFORMATION_STEPS),
    ),
    Plan(
        recipe=build_stat,
        caption=Caption(
            title="Slow steps in the range",
            description="Share of judged steps that were slow. "
            "This is what the objective of the run spends its budget on.",
            width=3,
            height=4,
        ),
        queries=(Query(expr=ask.SLOW_STEP_SHARE, legend="slow steps", instant=True),),
        field=Field(unit="percentunit", decimals=2, steps=INFORMATION_STEPS),
    ),
    Plan(
        recipe=build_stat,
        caption=Caption(
            title="Oldest source",
            description="Age of the newest sample of the source that lags most. "
            "When it is not green, mend the source before you believe the rest.",
            width=3,
            height=4,
        ),
        queries=(Query(expr=ask.OLDEST_SOURCE, legend="age", instant=True),),
        field=Field(unit="s", decimals=0, steps=AGE_STEPS),
    ),
)


def _narrowing(node: str, rank: str) -> tuple[Json, ...]:
    """Return the link that narrows the plots of this board to one rank."""
    kept = "${__url_time_range}&${datasource:queryparam}&${cluster:queryparam}&${run:queryparam}"
    url = f"/d/aif-job?{kept}&var-node=${{{node}}}&var-rank=${{{rank}}}"
    return ({"title": "Narrow this board to this rank", "url": url, "targetBlank": False},)


_LABEL_LINKS = _narrowing("__field.labels.node", "__field.labels.rank")
_ROW_LINKS = _narrowing("__data.fields.node", "__data.fields.rank")
_RANK_LEGEND = "rank {{rank}}, {{node}} gpu {{gpu}}"

_PHASES = build_states(
    {
        0: ("waits for others", INFORMATION_COLOR),
        1: ("compute, hidden", "yellow"),
        2: ("before compute", "orange"),
        3: ("compute", "red"),
    }
)
_NEVER_IN_RANGE: Json = {
    "type": "special",
    "options": {"match": "null+nan", "result": {"text": "not in the range", "index": 0}},
}
_COLORED_TEXT: Json = {"type": "color-text"}

_SUSPECT_COLUMNS = Columns(
    order=("rank", "node", "gpu", "Value #A", "Value #B", "Value #C", "Value #D"),
    names={
        "Value #A": "slowdown",
        "Value #B": "waiting",
        "Value #C": "last healthy",
        "Value #D": "suspected phase",
    },
    overrides=(
        build_override("slowdown", unit="suffix:x", decimals=2, custom__cellOptions=_COLORED_TEXT),
        build_override("waiting", unit="percentunit", decimals=1),
        build_override("last healthy", unit="dateTimeFromNow", mappings=[_NEVER_IN_RANGE]),
        build_override(
            "suspected phase",
            unit="none",
            mappings=list(_PHASES),
            custom__cellOptions=_COLORED_TEXT,
        ),
    ),
    sort_by="slowdown",
)

WORST = (
    Plan(
        recipe=build_bar_gauge,
        caption=Caption(
            title="Slowest ranks",
            description="The five ranks that compute longest against their peers. "
            "Click one to narrow the plots below to it.",
            width=6,
            height=8,
        ),
        queries=(Query(expr=ask.SLOWEST_RANKS, legend=_RANK_LEGEND, instant=True),),
        field=Field(
            unit="suffix:x", decimals=2, min_value=0, steps=SLOWDOWN_STEPS, links=_LABEL_LINKS
        ),
    ),
    Plan(
        recipe=build_bar_gauge,
        caption=Caption(
            title="Ranks that wait least",
            description="The culprit waits least, since all others wait for it. "
            "A rank here that is not slow in compute is late before it: look at its input.",
            width=6,
            height=8,
        ),
        queries=(Query(expr=ask.LEAST_WAITING_RANKS, legend=_RANK_LEGEND, instant=True),),
        field=Field(
            unit="percentunit",
            decimals=1,
            min_value=0,
            max_value=1,
            steps=INFORMATION_STEPS,
            links=_LABEL_LINKS,
        ),
    ),
    Plan(
        recipe=partial(build_table, columns=_SUSPECT_COLUMNS),
        caption=Caption(
            title="Suspects",
            description="A slow rank without a time of last health was slow all through the range. "
            "Start with a rank whose phase is compute.",
            width=12,
            height=8,
        ),
        queries=(
            Query(expr=ask.LISTED_SLOWDOWN, instant=True),
            Query(expr=ask.LISTED_WAIT, instant=True),
            Query(expr=ask.LISTED_LAST_HEALTHY, instant=True),
            Query(expr=ask.LISTED_PHASE, instant=True),
        ),
        field=Field(unit="string", steps=SLOWDOWN_STEPS, links=_ROW_LINKS),
    ),
)
