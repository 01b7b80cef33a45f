"""The panels of the incident board: what it cost, who it was, and what happened, in order."""

from typing import Final

from dashboards import shared
from dashboards.exporters.choices import Sources
from dashboards.fields import Field, build_states
from dashboards.incident import queries as ask
from dashboards.links import build_series_link
from dashboards.panels import Plan
from dashboards.plans import (
    NOTE_HEIGHT,
    now,
    over,
    plan_bars,
    plan_events,
    plan_lanes,
    plan_lines,
    plan_note,
    plan_stat,
    taller,
)
from dashboards.thresholds import (
    COUNT_STEPS,
    INFORMATION_STEPS,
    LINK_STEPS,
    OFF_PEERS_STEPS,
    PACE_STEPS,
    SLOWDOWN_STEPS,
)

_COUNT: Final = Field(unit="none", decimals=0, min_value=0)
_LASTS: Final = Field(unit="dtdurations", decimals=0, steps=INFORMATION_STEPS)
_FIRES: Final = build_states({1: ("fires", "red")})
_OPEN: Final = build_states({0: ("closed", "green"), 1: ("open", "orange")})
LANE_HEIGHT: Final = 5
VERDICT_HEIGHT: Final = 6

RECORD: Final = """\
**Incident ${incident}** in cluster **${cluster}**.

The hours above are those of the link that led here, so that they are the same for everyone.
Series end with the retention of your Prometheus; the incident's own record, with its evidence
and its timeline, is kept by the service for longer.
"""

VERDICT: Final = (
    taller(
        plan_note(
            "What this is",
            6,
            "Which incident these hours are about. Its record has what people did.",
            RECORD,
        ),
        VERDICT_HEIGHT,
    ),
    taller(
        plan_stat(
            "Began",
            3,
            "The onset of the condition, from which all times count.",
            [now(ask.ONSET, "onset")],
            Field(unit="dateTimeAsIso", steps=INFORMATION_STEPS),
        ),
        VERDICT_HEIGHT,
    ),
    taller(
        plan_stat(
            "Until",
            6,
            "From the onset to what followed. A long way to the first is a matter of detection, "
            "a long way after it one of people.",
            [
                now(ask.since_onset("detected"), "detected"),
                now(ask.since_onset("paged"), "paged"),
                now(ask.since_onset("mitigated"), "mitigated"),
                now(ask.since_onset("resolved"), "resolved"),
            ],
            _LASTS,
        ),
        VERDICT_HEIGHT,
    ),
    taller(
        plan_stat(
            "Runs hit",
            3,
            "Runs with a rank at or above 1.1x at some time of these hours.",
            [now(ask.RUNS_HIT, "runs")],
            Field(unit="none", decimals=0, steps=COUNT_STEPS),
        ),
        VERDICT_HEIGHT,
    ),
    taller(
        plan_stat(
            "GPU time lost",
            3,
            "Hours of GPUs that it has cost. Set it against the cost of the mend.",
            [now(ask.LOST_GPU_HOURS, "lost")],
            Field(unit="suffix: GPU-h", decimals=1, steps=INFORMATION_STEPS),
        ),
        VERDICT_HEIGHT,
    ),
    taller(
        plan_stat(
            "Budget spent",
            3,
            "Share of the budget that the worst objective lost in these hours.",
            [now(ask.BUDGET_SPENT, "spent")],
            Field(unit="percentunit", decimals=1, steps=INFORMATION_STEPS),
        ),
        VERDICT_HEIGHT,
    ),
)

WORST: Final = (
    plan_bars(
        "Slowest ranks of these hours",
        8,
        "Highest slowdown of each. Click one for its run.",
        [now(ask.SLOWEST, "{{run}} rank {{rank}}, {{node}} gpu {{gpu}}")],
        Field(
            unit="suffix:x",
            decimals=2,
            min_value=0,
            steps=SLOWDOWN_STEPS,
            links=(build_series_link("Ranks of this run", "aif-job", run="run", node="node"),),
        ),
    ),
    plan_bars(
        "Devices furthest from their peers",
        8,
        "Highest deviation of each. Click one for its node.",
        [now(ask.FURTHEST, "{{node}} {{device}} {{signal}}")],
        Field(
            unit="percentunit",
            decimals=1,
            min_value=0,
            steps=OFF_PEERS_STEPS,
            links=(build_series_link("Devices of this node", "aif-device", node="node"),),
        ),
    ),
    plan_bars(
        "Worst links of these hours",
        8,
        "Highest fault score of each. Click one for its port.",
        [now(ask.WORST_LINKS, "{{switch}} {{port}}")],
        Field(
            unit="none",
            decimals=2,
            min_value=0,
            max_value=1,
            steps=LINK_STEPS,
            links=(build_series_link("This port", "aif-fabric", switch="switch", port="port"),),
        ),
    ),
)


def build_lanes(sources: Sources) -> tuple[Plan, ...]:
    """Return a lane for each kind of event, one below the other on one axis of time."""
    lanes = (
        plan_lanes(
            "The incident",
            24,
            "Open from the first finding to the close. A gap is a time without the service.",
            [over(ask.OPEN, "incident")],
            Field(unit="none", mappings=_OPEN),
        ),
        plan_lanes(
            "Alerts",
            24,
            "Pages, tickets and doubts about data. What fired first is not always the cause.",
            [over(ask.ALERTS, "{{alertname}} {{severity}}")],
            Field(unit="none", mappings=_FIRES),
        ),
        plan_lanes(
            "Nodes",
            24,
            "Nodes that were suspect or faulty in these hours.",
            [over(ask.NODES, "{{node}}")],
            shared.NODE_STATE_FIELD,
        ),
        plan_events(
            "Maintenance",
            24,
            "Nodes under maintenance; deploys are marks across all lanes.",
            [over(ask.MAINTAINED, "nodes in maintenance")],
            _COUNT,
        ),
        plan_events(
            "Findings",
            24,
            "What detectors said, by kind and level. The first that is not a wait is the lead.",
            [over(ask.FINDINGS, "{{kind}} of a {{level}}")],
            _COUNT,
        ),
        plan_lines(
            "Worst rank of each run",
            24,
            "Compute time over the median of its peers. The step up dates the onset.",
            [over(ask.WORST_RANK, "{{run}}")],
            Field(unit="suffix:x", decimals=2, steps=SLOWDOWN_STEPS[1:]),
        ),
        plan_events(
            "Link flaps",
            24,
            "Changes of port state. One just before the onset deserves a look.",
            [over(ask.flaps(sources), "{{switch}} {{port}}")],
            _COUNT,
        ),
    )
    return tuple(taller(lane, LANE_HEIGHT) for lane in lanes)


WHY: Final = (
    plan_lines(
        "Pace of each run",
        8,
        "Productive time over allocated time. What users felt.",
        [over(ask.PACE, "{{run}}")],
        Field(unit="percentunit", decimals=1, min_value=0, steps=PACE_STEPS[1:]),
    ),
    plan_lines(
        "Signals furthest off",
        8,
        "The eight furthest from their peers at the end of these hours.",
        [over(ask.SIGNALS, "{{node}} {{device}} {{signal}}")],
        Field(unit="percentunit", decimals=1),
    ),
    plan_lines(
        "Links most likely at fault",
        8,
        "The five highest scores at the end of these hours.",
        [over(ask.LINKS, "{{switch}} {{port}}")],
        Field(unit="none", decimals=2, min_value=0, max_value=1, steps=LINK_STEPS[1:]),
    ),
)

READING_GUIDE: Final = """\
**Reading order.** *Verdict*: what it cost and how long each step took. *Where and when*: lanes
on one axis of time, from the incident itself to the flaps; read down at the onset. Findings of
detectors come with their confidence in the incident's record.

**Grey is not green.** What is grey was not recorded, or has left the retention of Prometheus.
"""

EVIDENCE: Final = (
    *shared.EVIDENCE,
    taller(
        plan_note("How to read this board", 24, "Read it before the review.", READING_GUIDE),
        NOTE_HEIGHT,
    ),
)
