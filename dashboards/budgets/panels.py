"""The panels of the budget board, from the verdict down to the evidence."""

from typing import Final

from dashboards import shared
from dashboards.budgets import queries as ask
from dashboards.fields import NO_DATA_COLOR, Field, build_override, build_states, build_steps
from dashboards.jsontree import Json
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
    plan_note,
    plan_stat,
    plan_table,
    taller,
)
from dashboards.thresholds import (
    BAD_COUNT_STEPS,
    BUDGET_STEPS,
    BURN_STEPS,
    INFORMATION_STEPS,
    MIN_CALM_BUDGET_SHARE,
    OVERSPENT_COLOR,
)
from slo.windows import BurnWindow, duration

_ALERT_STATES: Final = build_states({1: ("about to", "yellow"), 2: ("fires", "red")})
_NO_END: Final[Json] = {
    "type": "special",
    "options": {"match": "null+nan", "result": {"text": "spent, or nothing burns", "index": 0}},
}
_BURN_HEADS: Final = tuple(f"burn {duration(seconds)}" for seconds in ask.LONG_SECONDS)
_VALUES: Final = tuple(f"Value #{letter}" for letter in "ABCDEFGH")
_HEADS: Final = ("target", "indicator", "budget left", *_BURN_HEADS, "budget ends")


def _burn_lines(windows: tuple[BurnWindow, ...]) -> tuple[tuple[str, float], ...]:
    """Return the factors at which pairs of windows alert, as lines."""
    colors = ("orange", "red")
    return tuple(zip(colors, sorted(float(one.factor) for one in windows), strict=True))


def _colored(steps: tuple[tuple[str, float], ...], base: str = NO_DATA_COLOR) -> dict[str, object]:
    return {"mode": "absolute", "steps": build_steps(steps, base)}


def _objectives() -> Plan:
    return plan_table(
        "Objectives",
        24,
        "The worst group of each objective; click one for its own. A long window above its factor "
        "with the short one below means that it recovers.",
        [
            now(ask.TARGETS),
            now(ask.INDICATORS),
            now(ask.LEFT),
            *(now(ask.burn_by_objective(seconds)) for seconds in ask.LONG_SECONDS),
            now(ask.ENDS),
        ],
        Columns(
            order=("objective", *_VALUES),
            names=dict(zip(_VALUES, _HEADS, strict=True)),
            overrides=(
                build_override("target", unit="percentunit", decimals=2),
                build_override("indicator", unit="percentunit", decimals=2),
                build_override(
                    "budget left",
                    unit="percentunit",
                    decimals=1,
                    custom__cellOptions=shared.COLORED_TEXT,
                    thresholds=_colored(BUDGET_STEPS, OVERSPENT_COLOR),
                ),
                *(
                    build_override(
                        head,
                        unit="suffix:x",
                        decimals=1,
                        custom__cellOptions=shared.COLORED_TEXT,
                        thresholds=_colored(BURN_STEPS),
                    )
                    for head in _BURN_HEADS
                ),
                build_override("budget ends", unit="dateTimeFromNow", mappings=[_NO_END]),
            ),
            sort_by="burn 1h",
            links=(build_row_link("Show this objective alone", "aif-slo", slo="objective"),),
        ),
    )


VERDICT: Final = (
    plan_stat(
        "Objectives missed",
        6,
        "Objectives of which some group has spent its whole budget. Stop what is risky there.",
        [now(ask.MISSED, "missed")],
        Field(unit="none", decimals=0, steps=BAD_COUNT_STEPS),
    ),
    plan_stat(
        "Objectives that burn",
        5,
        "Objectives with a page or a ticket now. The table says in which windows.",
        [now(ask.BURNING, "burning")],
        Field(unit="none", decimals=0, steps=BAD_COUNT_STEPS),
    ),
    plan_stat(
        "Least budget left",
        5,
        "Of the worst group; below zero it is overspent.",
        [now(ask.LEAST_LEFT, "left")],
        Field(unit="percentunit", decimals=1, steps=BUDGET_STEPS, base=OVERSPENT_COLOR),
    ),
    plan_stat(
        "Objectives judged",
        5,
        "Objectives that the rules record. One that is missing has no traffic or no data.",
        [now(ask.OBJECTIVES, "judged")],
        Field(unit="none", decimals=0, steps=INFORMATION_STEPS),
    ),
    shared.OLDEST_SOURCE,
    _objectives(),
)

WORST: Final = (
    plan_bars(
        "Least budget left by group",
        12,
        "The ten groups with least. A run of yours in red: see its own board.",
        [now(ask.LEAST_GROUPS, ask.GROUP_NAME)],
        Field(
            unit="percentunit",
            decimals=1,
            steps=BUDGET_STEPS,
            base=OVERSPENT_COLOR,
            links=(build_series_link("Ranks of this run", "aif-job", run="run"),),
        ),
    ),
    plan_bars(
        "Fastest burn by group",
        12,
        "Burn of the last hour; 1 spends the budget in just its period.",
        [now(ask.FASTEST_GROUPS, ask.GROUP_NAME)],
        Field(
            unit="suffix:x",
            decimals=1,
            min_value=0,
            steps=BURN_STEPS,
            links=(build_series_link("Ranks of this run", "aif-job", run="run"),),
        ),
    ),
)


def _burns(title: str, what: str, windows: tuple[BurnWindow, ...]) -> Plan:
    names = [pair for window in windows for pair in ask.window_names(window)]
    return plan_lines(
        title,
        12,
        what,
        [over(ask.fastest(seconds), name) for seconds, name in names],
        Field(unit="none", decimals=1, min_value=0, steps=_burn_lines(windows)),
    )


WHERE_AND_WHEN: Final = (
    _burns(
        "Burn rates that page",
        "Both windows of a pair above its line: it pages. Only the long one: it recovers.",
        ask.PAGES,
    ),
    _burns(
        "Burn rates that open a ticket",
        "Slow burns: they can wait for the morning, and not for the week.",
        ask.TICKETS,
    ),
    plan_lines(
        "Budget left",
        12,
        "What is left of the period's budget, beside an even burn from the start of the range. "
        "Steeper than even: it will not last.",
        [
            over(ask.LEFT_OVER_TIME, "{{objective}}"),
            over(ask.EVEN_BURN, "even burn"),
        ],
        Field(
            unit="percentunit",
            decimals=1,
            steps=(("red", 0.0), ("orange", MIN_CALM_BUDGET_SHARE)),
        ),
    ),
    plan_lanes(
        "Alerts by objective",
        12,
        "A lane an objective and tier. A lane that is gone has not fired in the range.",
        [over(ask.ALERT_STATES, "{{objective}} {{tier}}")],
        Field(unit="none", mappings=_ALERT_STATES),
    ),
)

WHY: Final = (
    plan_events(
        "Events",
        8,
        "Bad and all events of five minutes. Few of all: a single bad one weighs much.",
        [over(ask.BAD_EVENTS, "bad {{objective}}"), over(ask.ALL_EVENTS, "all {{objective}}")],
        Field(unit="short", decimals=0, min_value=0),
    ),
    plan_lines(
        "Bad share by contributor",
        8,
        "The five groups with the largest share of bad events in an hour. Look there first.",
        [over(ask.CONTRIBUTORS, ask.GROUP_NAME)],
        Field(unit="percentunit", decimals=1, min_value=0),
    ),
    plan_lanes(
        "Doubts about the data",
        8,
        "Counts that contradict each other, have stopped or never were. "
        "Mend them before you believe a budget.",
        [over(ask.DATA_ALERTS, "{{alertname}}")],
        Field(unit="none", mappings=_ALERT_STATES),
    ),
)

READING_GUIDE: Final = """\
**Reading order.** *Objectives* has the worst group of each: what was promised, what is kept,
what is left and how fast it goes. Burn 1 spends the budget in its period; each pair of windows
alerts above its line. *Budget ends* follows the longest window, for periods of thirty days.

**Grey is not green.** An objective without a row has no traffic or no data; see the doubts.
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
