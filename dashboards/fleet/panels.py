"""The panels of the fleet board, from the verdict down to the evidence."""

from typing import Final

from dashboards import shared
from dashboards.exporters.choices import Sources
from dashboards.fields import Field, build_override
from dashboards.fleet import queries as ask
from dashboards.links import build_row_link, build_series_link
from dashboards.panels import Columns, Plan
from dashboards.plans import (
    NOTE_HEIGHT,
    now,
    over,
    plan_bars,
    plan_events,
    plan_heatmap,
    plan_lanes,
    plan_lines,
    plan_note,
    plan_stat,
    plan_table,
    taller,
)
from dashboards.thresholds import (
    BAD_COUNT_STEPS,
    COUNT_STEPS,
    FIT_STEPS,
    LEMON_STEPS,
    MIN_FAR_OFF_PEERS_RATIO,
    MIN_THROTTLED_SHARE,
    PACE_STEPS,
)

_SHARE: Final = Field(unit="percentunit", decimals=1, min_value=0, max_value=1)
_COUNT: Final = Field(unit="none", decimals=0, min_value=0)

VERDICT: Final = (
    plan_stat(
        "Nodes fit to train",
        3,
        "Nodes that take jobs, of all that were ever seen. The others stand in the table below.",
        [now(ask.FIT_SHARE, "fit")],
        Field(unit="percentunit", decimals=1, steps=FIT_STEPS),
    ),
    plan_stat(
        "Goodput now",
        3,
        "Productive time of all runs over the time that they hold their nodes. "
        "Low with no run slow: look for restarts and queues.",
        [now(ask.GOODPUT, "goodput")],
        Field(unit="percentunit", decimals=1, steps=PACE_STEPS),
    ),
    plan_stat(
        "Runs with a slow rank",
        3,
        "Runs whose worst rank is at or above 1.1x. Open the board of the job.",
        [now(ask.SLOW_RUNS, "runs")],
        Field(unit="none", decimals=0, steps=COUNT_STEPS),
    ),
    plan_stat(
        "Devices off their peers",
        3,
        "Devices with a signal that is a tenth or more off the median of their peers. "
        "Open the board of devices.",
        [now(ask.OFF_DEVICES, "devices")],
        Field(unit="none", decimals=0, steps=COUNT_STEPS),
    ),
    plan_stat(
        "Links likely at fault",
        3,
        "Ports whose fault score is one half or more. Open the board of the fabric.",
        [now(ask.BAD_LINKS, "links")],
        Field(unit="none", decimals=0, steps=COUNT_STEPS),
    ),
    plan_stat(
        "Objectives that burn",
        3,
        "Objectives with a page or a ticket now. Open the board of budgets.",
        [now(ask.BURNING, "objectives")],
        Field(unit="none", decimals=0, steps=BAD_COUNT_STEPS),
    ),
    plan_stat(
        "Incidents open",
        3,
        "Incidents that nobody has closed. The list is under Evidence.",
        [now(ask.INCIDENTS, "incidents")],
        Field(unit="none", decimals=0, steps=COUNT_STEPS),
    ),
    shared.OLDEST_SOURCE,
)

WORST: Final = (
    plan_table(
        "Nodes that need hands",
        15,
        "Faulty before suspect before unknown; the signal is the one furthest from its peers. "
        "A node without a time of last health was never well in the range.",
        [
            now(ask.NEEDY),
            now(ask.NEEDY_SIGNAL),
            now(ask.NEEDY_SINCE),
            now(ask.NEEDY_LEMON),
        ],
        Columns(
            order=("node", "Value #A", "signal", "Value #B", "Value #C", "Value #D"),
            names={
                "Value #A": "state",
                "Value #B": "off peers",
                "Value #C": "last healthy",
                "Value #D": "lemon score",
            },
            overrides=(
                build_override(
                    "state",
                    unit="none",
                    mappings=list(shared.NODE_STATES),
                    custom__cellOptions=shared.COLORED_TEXT,
                ),
                build_override("off peers", unit="percentunit", decimals=1),
                build_override(
                    "last healthy", unit="dateTimeFromNow", mappings=[shared.NEVER_IN_RANGE]
                ),
                build_override("lemon score", unit="none", decimals=1),
            ),
            sort_by="state",
            links=(
                build_row_link("Devices of this node", "aif-device", node="node"),
                build_row_link("Failures of this node", "aif-lemon", node="node"),
            ),
        ),
    ),
    plan_bars(
        "Highest lemon scores",
        9,
        "Failures of the last four weeks that are blamed on a node, older ones for less. "
        "From 2 on, decide what to do with it.",
        [now(ask.LEMONS, "{{node}}")],
        Field(
            unit="none",
            decimals=1,
            min_value=0,
            steps=LEMON_STEPS,
            links=(build_series_link("Failures of this node", "aif-lemon", node="node"),),
        ),
    ),
)

WHERE_AND_WHEN: Final = (
    taller(
        plan_lanes(
            "States of nodes",
            12,
            "A lane a node, 25 a page. A gap means that nobody knew the state.",
            [over(ask.NODE_STATES, "{{node}}")],
            shared.NODE_STATE_FIELD,
        ),
        10,
    ),
    taller(
        plan_heatmap(
            "Deviation by node and time",
            12,
            "Strong colour is a device far from its peers, on one scale in every range. "
            "A column of many nodes is a common cause.",
            [over(ask.NODE_DEVIATIONS, "{{node}}")],
            Field(unit="percentunit", decimals=0, min_value=0, max_value=MIN_FAR_OFF_PEERS_RATIO),
        ),
        10,
    ),
    plan_events(
        "Alerts that fire, by severity",
        12,
        "Pages and tickets at each moment. A page while this board is calm: look at the budgets.",
        [over(ask.ALERTS, "{{severity}}")],
        _COUNT,
    ),
    plan_lines(
        "Goodput of the fleet",
        12,
        "Productive time over allocated time. A step down dates what the tables above name.",
        [over(ask.GOODPUT, "goodput")],
        Field(unit="percentunit", decimals=1, min_value=0, max_value=1, steps=PACE_STEPS[1:]),
    ),
)


def build_why(sources: Sources) -> tuple[Plan, ...]:
    """Return what each class of resources says: use, saturation, errors."""
    return (
        plan_lines(
            "GPUs busy",
            8,
            "Most, mean and least busy GPU. A least one at zero in a busy fleet is idle or lost.",
            [over(ask.busy(sources, name), name) for name in ("max", "avg", "min")],
            _SHARE,
        ),
        plan_lines(
            "Held back by heat",
            8,
            "Largest share of time for which a GPU was slowed by heat, worst nodes. "
            "Several in one rack: look at its cooling.",
            [over(ask.throttled(sources, "heat_throttled_ns"), "{{node}}")],
            Field(
                unit="percentunit",
                decimals=1,
                min_value=0,
                max_value=1,
                steps=(("orange", MIN_THROTTLED_SHARE),),
            ),
        ),
        plan_events(
            "GPU errors",
            8,
            "GPUs with each Xid, and uncorrected memory errors of the worst nodes. "
            "Look the number up before you restart anything.",
            [
                over(ask.xids(sources), "Xid {{xid}}"),
                over(ask.lost_memory(sources), "memory {{node}}"),
            ],
            _COUNT,
        ),
        plan_events(
            "Errors of network cards",
            12,
            "Symbol errors and link losses of the nodes that have most. "
            "Find the port on the board of the fabric.",
            [
                over(ask.symbol_errors(sources), "symbols {{node}}"),
                over(ask.links_downed(sources), "links lost {{node}}"),
            ],
            _COUNT,
        ),
        plan_lines(
            "Waiting for storage",
            12,
            "Share of time in which something waited for storage: most and mean of the nodes. "
            "When both rise the storage is common to all.",
            [over(ask.storage_waits(sources, name), name) for name in ("max", "avg")],
            _SHARE,
        ),
    )


READING_GUIDE: Final = """\
**Reading order.** *Verdict*: what share of the nodes can take jobs, and how many of each kind
of trouble there is. *Worst offenders* say which node, on what signal, since when; a click goes
one level down. *Where and when*: one node, or many at once. *Why*: the classes of resources
side by side.

**Grey is not green.** Grey means that nobody measured; look at the ages of sources first.
"""

EVIDENCE: Final = (
    *shared.EVIDENCE,
    taller(
        plan_note(
            "How to read this board",
            24,
            "Read it once before your first night on call.",
            READING_GUIDE,
        ),
        NOTE_HEIGHT,
    ),
)
