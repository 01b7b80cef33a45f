"""The upper panels of the fabric board: how many links hurt, which, where and since when."""

from typing import Final

from dashboards import shared
from dashboards.exporters.choices import Sources
from dashboards.fabric import queries as ask
from dashboards.fields import Field, build_override, build_states
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
    plan_note,
    plan_stat,
    plan_table,
    taller,
)
from dashboards.thresholds import BAD_COUNT_STEPS, COUNT_STEPS, PAUSED_STEPS

PORT_NAME: Final = "{{switch}} {{port}}"
COUNT: Final = Field(unit="none", decimals=0, min_value=0)

# ifOperStatus of the interfaces MIB.
_PORT_STATES: Final = build_states(
    {
        1: ("up", "green"),
        2: ("down", "red"),
        3: ("testing", "blue"),
        4: ("unknown", "#8e8e8e"),
        5: ("dormant", "yellow"),
        6: ("not present", "orange"),
        7: ("lower layer down", "red"),
    }
)


def build_verdict(sources: Sources) -> tuple[Plan, ...]:
    """Return how many links hurt, and whom."""
    return (
        plan_stat(
            "Links likely at fault",
            4,
            "Ports whose fault score is one half or more. Look below for which.",
            [now(ask.BAD_LINKS, "links")],
            Field(unit="none", decimals=0, steps=COUNT_STEPS),
        ),
        plan_stat(
            "Flaps in the range",
            4,
            "Changes of port state; down and up are two. Set them against maintenance.",
            [now(ask.total(sources, "transitions"), "changes")],
            Field(unit="none", decimals=0, steps=COUNT_STEPS),
        ),
        plan_stat(
            "Blocks beyond correction",
            4,
            "Blocks that error correction gave up on: each is a lost packet. "
            "A few on every port are links that came up.",
            [now(ask.total(sources, "fec_uncorrectable"), "blocks")],
            Field(unit="short", decimals=0, steps=BAD_COUNT_STEPS),
        ),
        plan_stat(
            "Time in pause",
            4,
            "Share of the range for which ports were told to stop. "
            "Its objective allows one in a hundred.",
            [now(ask.PAUSED_SHARE, "paused")],
            Field(unit="percentunit", decimals=2, steps=PAUSED_STEPS),
        ),
        plan_stat(
            "Runs on hosts that lost a link",
            5,
            "Runs with a listed rank on such a host. They wait or restart: see the job's board.",
            [now(ask.runs_at_risk(sources), "runs")],
            Field(unit="none", decimals=0, steps=COUNT_STEPS),
        ),
        shared.OLDEST_SOURCE,
    )


def build_worst(sources: Sources) -> tuple[Plan, ...]:
    """Return the links to look at first."""
    return (
        plan_table(
            "Worst links",
            16,
            "Start with the highest score, and change the cable at the end that counts errors. "
            "Counts cleared a minute ago say little.",
            [
                now(ask.LISTED),
                now(ask.peers(sources)),
                now(ask.error_rates(sources)),
                now(ask.uncorrectable(sources)),
                now(ask.cleared_ago(sources)),
            ],
            Columns(
                order=(
                    *("switch", "port", "peer", "Value #A", "Value #B"),
                    *("Value #C", "Value #D", "Value #E"),
                ),
                names={
                    "Value #A": "fault score",
                    "Value #B": "state",
                    "Value #C": "errors",
                    "Value #D": "beyond correction",
                    "Value #E": "cleared",
                },
                overrides=(
                    build_override("fault score", unit="none", decimals=2),
                    build_override(
                        "state",
                        unit="none",
                        mappings=list(_PORT_STATES),
                        custom__cellOptions=shared.COLORED_TEXT,
                    ),
                    build_override("errors", unit="suffix:/s", decimals=2),
                    build_override("beyond correction", unit="short", decimals=0),
                    build_override("cleared", unit="dtdurations", decimals=0),
                ),
                sort_by="fault score",
                links=(
                    build_row_link(
                        "Narrow to this port", "aif-fabric", switch="switch", port="port"
                    ),
                ),
            ),
        ),
        plan_bars(
            "Cards that are paused most",
            8,
            "Share of the range for which the network told a card to stop. "
            "One alone: its switch port; many: congestion.",
            [now(ask.PAUSED_CARDS, "{{node}} {{device}}")],
            Field(
                unit="percentunit",
                decimals=2,
                min_value=0,
                steps=PAUSED_STEPS,
                links=(build_series_link("Devices of this node", "aif-device", node="node"),),
            ),
        ),
    )


def build_where(sources: Sources) -> tuple[Plan, ...]:
    """Return since when each of the worst links has been bad."""
    return (
        plan_heatmap(
            "Fault score by port and time",
            12,
            "Strong colour is a likely fault, on one scale in every range. "
            "A block of rows of one switch is the switch.",
            [over(ask.SCORES, PORT_NAME)],
            Field(unit="none", decimals=2, min_value=0, max_value=1),
        ),
        plan_lanes(
            "States of the worst ports",
            12,
            "Ports with the highest scores, as their switch sees them. "
            "A gap means that the switch was not asked.",
            [over(ask.states(sources), PORT_NAME)],
            Field(unit="none", mappings=_PORT_STATES),
        ),
        plan_events(
            "Flaps",
            24,
            "Changes of state of the ports with most. Bars at even distances are a retry timer.",
            [over(ask.grown(sources, "transitions"), PORT_NAME)],
            COUNT,
        ),
    )


READING_GUIDE: Final = """\
**Reading order.** A link has two ends, and the one that *receives* counts the errors. *Worst
links* has the score and what the switch counts; *Why* goes from light and error correction to
pauses, marks and what RDMA lost. Pauses received come from the network, pauses sent from the
host.

**Grey is not green.** A port that no exporter asks has no score and no colour.
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
