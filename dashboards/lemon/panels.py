"""The panels of the lemon board, from the verdict down to the evidence."""

from typing import Final

from dashboards import shared
from dashboards.exporters.choices import Sources
from dashboards.fields import Field, build_override
from dashboards.lemon import queries as ask
from dashboards.links import build_row_link, build_series_link
from dashboards.panels import Columns, Plan
from dashboards.plans import (
    NOTE_HEIGHT,
    now,
    over,
    plan_bars,
    plan_events,
    plan_lanes,
    plan_lines,
    plan_many_lines,
    plan_note,
    plan_stat,
    plan_table,
    taller,
)
from dashboards.thresholds import COUNT_STEPS, INFORMATION_STEPS, LEMON_STEPS

VERDICT: Final = (
    plan_stat(
        "Lemons",
        6,
        "Nodes with a score of two or more: failures that are blamed on them, old ones for less. "
        "Each is a decision.",
        [now(ask.LEMONS, "nodes")],
        Field(unit="none", decimals=0, steps=COUNT_STEPS),
    ),
    plan_stat(
        "Awaiting a decision",
        6,
        "Lemons that still take jobs. Drain, repair or return them, or say why not.",
        [now(ask.UNDECIDED, "nodes")],
        Field(unit="none", decimals=0, steps=COUNT_STEPS),
    ),
    plan_stat(
        "Failures that lemons cause",
        9,
        "Their share of all that is blamed on nodes. A low one says that removing them "
        "helps little.",
        [now(ask.BLAMED_SHARE, "share")],
        Field(unit="percentunit", decimals=0, steps=INFORMATION_STEPS),
    ),
    shared.OLDEST_SOURCE,
)

# Signal of the contract, head of its column, digits.
_SIGNALS: Final = (
    ("failures_alone", "alone", 0),
    ("failures_shared", "shared", 0),
    ("excluding_jobs", "excluded by", 0),
    ("xids", "Xids", 0),
    ("tickets", "tickets", 0),
    ("drains", "drains", 0),
    ("hours", "hours", 0),
)
_LETTERS: Final = "BCDEFGH"


def _ranked() -> Plan:
    values = [f"Value #{letter}" for letter in f"A{_LETTERS}IJ"]
    heads = ["score", *(head for _, head, _ in _SIGNALS), "per 1000 h", "last faulty"]
    return plan_table(
        "Nodes by score",
        18,
        "Never the score alone: failures of jobs on this node only count most, few hours make "
        "any rate a guess.",
        [
            now(ask.LISTED),
            *(now(ask.signal(name)) for name, _, _ in _SIGNALS),
            now(ask.FAILURES_BY_1000_HOURS),
            now(ask.LAST_FAULTY),
        ],
        Columns(
            order=("node", *values),
            names=dict(zip(values, heads, strict=True)),
            overrides=(
                build_override("score", unit="none", decimals=1),
                *(build_override(head, unit="none", decimals=n) for _, head, n in _SIGNALS),
                build_override("per 1000 h", unit="none", decimals=1),
                build_override(
                    "last faulty", unit="dateTimeFromNow", mappings=[shared.NEVER_IN_RANGE]
                ),
            ),
            sort_by="score",
            links=(
                build_row_link("Devices of this node", "aif-device", node="node"),
                build_row_link("Narrow to this node", "aif-lemon", node="node"),
            ),
        ),
    )


WORST: Final = (
    taller(_ranked(), 10),
    taller(
        plan_bars(
            "Scores",
            6,
            "The twenty highest. A gap after the first few says how many there are.",
            [now(ask.RANKED, "{{node}}")],
            Field(
                unit="none",
                decimals=1,
                min_value=0,
                steps=LEMON_STEPS,
                links=(build_series_link("Devices of this node", "aif-device", node="node"),),
            ),
        ),
        10,
    ),
)

WHERE_AND_WHEN: Final = (
    plan_lanes(
        "States of the listed nodes",
        14,
        "The 25 highest scores over the range. Red after blue is a repair that did not hold.",
        [over(ask.STATES, "{{node}}")],
        shared.NODE_STATE_FIELD,
    ),
    plan_events(
        "Faulty again after a repair",
        10,
        "Nodes that are faulty and were in maintenance within the week before. Return them.",
        [over(ask.RELAPSES, "{{node}}")],
        Field(unit="none", decimals=0, min_value=0),
    ),
)


def build_why(sources: Sources) -> tuple[Plan, ...]:
    """Return what the scores are made of, and how they moved."""
    xids = sources.gpus.value("xids_in_window", "node, xid", node="$node", xid=".+")
    boots = sources.hosts.select("boot_time", node="$node")
    return (
        plan_many_lines(
            "Signals by kind",
            12,
            "Sums over the chosen nodes. One kind that leads is a common cause, not many lemons.",
            [over(ask.CAUSES, "{{signal}}")],
            Field(unit="none", decimals=0, min_value=0),
        ),
        plan_lines(
            "Scores over time",
            12,
            "The eight highest now. One that rose at once has a date, and so a cause to look for.",
            [over(ask.SCORES, "{{node}}")],
            Field(unit="none", decimals=1, min_value=0, steps=LEMON_STEPS[1:]),
        ),
        plan_events(
            "Xids",
            8,
            "GPU errors of the chosen nodes, by number. Look the number up before you drain.",
            [over(f"count by (node, xid) ({xids} > 0)", "{{node}} Xid {{xid}}")],
            Field(unit="none", decimals=0, min_value=0),
        ),
        plan_events(
            "Restarts of hosts",
            8,
            "Restarts within each hour. Those outside of maintenance are a signal of their own.",
            [over(sources.hosts.by("max", "node", f"changes({boots}[1h])"), "{{node}}")],
            Field(unit="none", decimals=0, min_value=0),
        ),
        plan_many_lines(
            "Share of the day that was faulty",
            8,
            "Of the nodes with the highest scores. It is what a node costs whoever waits for it.",
            [over(ask.FAULTY_SHARE, "{{node}}")],
            Field(unit="percentunit", decimals=0, min_value=0, max_value=1),
        ),
    )


READING_GUIDE: Final = """\
**Reading order.** A lemon fails jobs again and again, and hides among nodes with bad luck.
*Nodes by score* shows each signal and the hours behind it; take out the worst first, and a few
at a time.

**Grey is not green.** A node without a score was never judged: too short a history, or no
accounts.
"""

EVIDENCE: Final = (
    *shared.EVIDENCE,
    taller(
        plan_note("How to read this board", 24, "Read it before you drain a node.", READING_GUIDE),
        NOTE_HEIGHT,
    ),
)
