"""The panels of the device board, from the verdict down to the evidence."""

from typing import Final

from dashboards import shared
from dashboards.device import queries as ask
from dashboards.exporters.choices import Sources
from dashboards.fields import Field, build_override, build_states
from dashboards.links import build_row_link, build_series_link
from dashboards.panels import Columns, Plan
from dashboards.plans import (
    NOTE_HEIGHT,
    now,
    over,
    plan_bars,
    plan_heatmap,
    plan_lanes,
    plan_many_lines,
    plan_note,
    plan_stat,
    plan_table,
    taller,
)
from dashboards.thresholds import (
    BAD_COUNT_STEPS,
    COUNT_STEPS,
    INFORMATION_STEPS,
    MIN_FAR_OFF_PEERS_RATIO,
    OFF_PEERS_STEPS,
)

GPU_NAME: Final = "{{node}} gpu {{gpu}}"
_DEVIATION: Final = Field(unit="percentunit", decimals=1, steps=OFF_PEERS_STEPS)

_THROTTLES: Final = build_states(
    {
        0: ("full clocks", "green"),
        1: ("power", "yellow"),
        2: ("heat", "red"),
        3: ("power and heat", "red"),
        4: ("another GPU", "blue"),
        5: ("power, another GPU", "yellow"),
        6: ("heat, another GPU", "red"),
        7: ("power, heat, another GPU", "red"),
    }
)


def build_verdict(sources: Sources) -> tuple[Plan, ...]:
    """Return how many devices are off their peers, and what that rests on."""
    return (
        plan_stat(
            "Furthest from its peers",
            5,
            "How far the worst device is off the median of its peers, up or down. "
            "From a tenth on, look below for who it is.",
            [now(ask.FURTHEST, "off peers")],
            _DEVIATION,
        ),
        plan_stat(
            "Devices off their peers",
            4,
            "Devices with a signal a tenth or more off. One: suspect it; "
            "all of a node: suspect what they share.",
            [now(ask.OFF_DEVICES, "devices")],
            Field(unit="none", decimals=0, steps=COUNT_STEPS),
        ),
        plan_stat(
            "Peers of the least watched signal",
            4,
            "Devices that have it. A score against a handful of peers is a guess.",
            [now(ask.PEERS, "peers")],
            Field(unit="none", decimals=0, steps=INFORMATION_STEPS),
        ),
        plan_stat(
            "GPUs held back by heat",
            4,
            "GPUs that heat slows for a tenth of the time or more. Look at fans, paste and air.",
            [now(ask.hot_gpus(sources), "GPUs")],
            Field(unit="none", decimals=0, steps=BAD_COUNT_STEPS),
        ),
        plan_stat(
            "GPUs that want a reset",
            4,
            "GPUs with a memory row that is remapped at the next reset. "
            "Reset them when the job ends.",
            [now(ask.pending_rows(sources), "GPUs")],
            Field(unit="none", decimals=0, steps=COUNT_STEPS),
        ),
        shared.OLDEST_SOURCE,
    )


def build_worst(sources: Sources) -> tuple[Plan, ...]:
    """Return who is furthest off, and how it is doing."""
    return (
        plan_bars(
            "Furthest from their peers",
            8,
            "The ten devices and signals furthest off. Click one to narrow the plots to its node.",
            [now(ask.OFF_MOST, "{{node}} {{device}} {{signal}}")],
            Field(
                unit="percentunit",
                decimals=1,
                min_value=0,
                steps=OFF_PEERS_STEPS,
                links=(build_series_link("Narrow to this node", "aif-device", node="node"),),
            ),
        ),
        plan_table(
            "Suspects",
            16,
            "A low clock with heat or power beside it has its cause; one without wants a look "
            "inside. Few samples make a weak score.",
            [
                now(ask.LISTED),
                now(ask.LISTED_SAMPLES),
                now(ask.listed(sources, "sm_clock")),
                now(ask.listed(sources, "power")),
                now(ask.listed(sources, "temperature")),
                now(ask.listed(sources, "throttle_mask")),
            ],
            Columns(
                order=(
                    *("node", "gpu", "device", "Value #A", "Value #B"),
                    *("Value #C", "Value #D", "Value #E", "Value #F"),
                ),
                names={
                    "Value #A": "off peers",
                    "Value #B": "samples",
                    "Value #C": "SM clock",
                    "Value #D": "power",
                    "Value #E": "temperature",
                    "Value #F": "throttle bits",
                },
                overrides=(
                    build_override(
                        "off peers",
                        unit="percentunit",
                        decimals=1,
                        custom__cellOptions=shared.COLORED_TEXT,
                        thresholds={"mode": "absolute", "steps": _colored(OFF_PEERS_STEPS)},
                    ),
                    build_override("samples", unit="short", decimals=0),
                    build_override("SM clock", unit="rotmhz", decimals=2),
                    build_override("power", unit="watt", decimals=0),
                    build_override("temperature", unit="celsius", decimals=0),
                    build_override("throttle bits", unit="none", decimals=0),
                ),
                sort_by="off peers",
                hidden=("device",),
                links=(
                    build_row_link("Narrow to this GPU", "aif-device", node="node", gpu="gpu"),
                    build_row_link("Failures of this node", "aif-lemon", node="node"),
                ),
            ),
        ),
    )


def build_where(sources: Sources) -> tuple[Plan, ...]:
    """Return since when, and what held the clocks back."""
    return (
        plan_heatmap(
            "Deviation by device and time",
            12,
            "Strong colour is far from the peers, on one scale in every range. "
            "A row is a device, a block of rows a node.",
            [over(ask.DEVIATIONS, "{{node}} {{device}}")],
            Field(unit="percentunit", decimals=0, min_value=0, max_value=MIN_FAR_OFF_PEERS_RATIO),
        ),
        plan_lanes(
            "What held clocks back",
            12,
            "Power at full load is usual, heat is not. A gap means that nobody counted.",
            [over(ask.throttle_states(sources), GPU_NAME)],
            Field(unit="none", mappings=_THROTTLES),
        ),
    )


READING_GUIDE: Final = """\
**Reading order.** A device is judged against peers that do the same work. *Verdict* says how
far off the worst one is and how many peers that rests on. *Suspects* puts clocks, power and
heat beside it. *Where and when* dates it; *Why* has each signal next to its peers.

**Grey is not green**, and a device that nobody samples is not well: see the ages of sources.
"""

EVIDENCE: Final = (
    plan_many_lines(
        "Signals furthest from their peers",
        16,
        "The eight signals furthest off now, over the range. "
        "The one that leaves zero first is the lead.",
        [over(ask.SIGNALS, "{{node}} {{device}} {{signal}}")],
        Field(unit="percentunit", decimals=1),
    ),
    shared.SOURCE_AGES,
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


def _colored(steps: tuple[tuple[str, float], ...]) -> list[dict[str, object]]:
    return [
        {"color": "text", "value": None},
        *({"color": color, "value": value} for color, value in steps),
    ]
