"""The queries of the device board.

`node` and `gpu` narrow the plots. Scores name a device as detectors do, by its UUID where it has
one; the exporter's series are joined with them on it.
"""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.exporters.tables import AT_END, RATE_WINDOW
from dashboards.selectors import select, worst_now, worst_over_time
from dashboards.thresholds import MIN_OFF_PEERS_RATIO, MIN_THROTTLED_SHARE
from slo import metrics

DEVICE: Final = "node, device"
GPU: Final = "node, gpu"
PICKED: Final = 3
"""Series of a query in a plot over time: legends of more cover their plots."""
CHOSEN: Final = {"node": "$node", "gpu": "$gpu"}

_SCORE: Final = select(metrics.DEVICE_PEER_RATIO)
_CHOSEN_SCORE: Final = select(metrics.DEVICE_PEER_RATIO, 'node=~"$node"')

FURTHEST: Final = f"max(abs({_SCORE} - 1))"
OFF_DEVICES: Final = f"sum(max by ({DEVICE}) (abs({_SCORE} - 1)) >= bool {MIN_OFF_PEERS_RATIO})"
# A score against few peers is a guess: the fewest that any signal has.
PEERS: Final = f"min(count by (signal) ({_SCORE}))"

OFF_MOST: Final = worst_now(10, f"max by ({DEVICE}, signal) (abs({_SCORE} - 1))")
_LISTED: Final = f"topk(10, max by ({DEVICE}) (abs({_SCORE} - 1)))"
_ONLY_LISTED: Final = f"and on ({DEVICE}) {_LISTED}"
LISTED: Final = _LISTED
# How many samples of the range a score rests on, of the signal that has most.
LISTED_SAMPLES: Final = f"max by ({DEVICE}) (count_over_time({_SCORE}[$__range])) {_ONLY_LISTED}"
DEVIATIONS: Final = worst_over_time(
    50, DEVICE, lambda at: f"max by ({DEVICE}) (abs({_CHOSEN_SCORE}{at} - 1))"
)
SIGNALS: Final = worst_over_time(
    8, f"{DEVICE}, signal", lambda at: f"max by ({DEVICE}, signal) (abs({_CHOSEN_SCORE}{at} - 1))"
)

CLUSTERS: Final = f"label_values({metrics.DEVICE_PEER_RATIO.name}, cluster)"
NODES: Final = f"label_values({_SCORE}, node)"


def gpus(sources: Sources) -> str:
    """Return what the choice of GPUs offers."""
    return f"label_values({sources.gpus.select('sm_clock', node='$node')}, gpu)"


def listed(sources: Sources, key: str) -> str:
    """Return what the exporter says of the devices of the table, with their GPU."""
    return f"{sources.gpus.value(key, f'{DEVICE}, gpu')} {_ONLY_LISTED}"


def hot_gpus(sources: Sources) -> str:
    """Return how many GPUs heat holds back for a tenth of the time."""
    share = f"{sources.gpus.rate('heat_throttled_ns', GPU)} / 1e9"
    return f"sum({share} >= bool {MIN_THROTTLED_SHARE})"


def pending_rows(sources: Sources) -> str:
    """Return how many GPUs want a reset for a remapped row."""
    return f"sum({sources.gpus.value('rows_pending', GPU)} > bool 0)"


def throttle_states(sources: Sources) -> str:
    """Return 1 for power, plus 2 for heat, plus 4 for another GPU of the group; 0 for none.

    Of the 25 chosen GPUs that heat holds back most at the end.
    """
    gpus = sources.gpus
    power, heat, other = (
        f"(rate({gpus.select(key, **CHOSEN)}[{RATE_WINDOW}]) > bool 0)"
        for key in ("power_throttled_ns", "heat_throttled_ns", "sync_throttled_ns")
    )
    hottest = f"rate({gpus.select('heat_throttled_ns', **CHOSEN)}[{RATE_WINDOW}]{AT_END})"
    states = f"({power} + 2 * {heat} + 4 * {other})"
    return gpus.by("max", GPU, f"{states} and on ({gpus.theirs(GPU)}) topk(25, {hottest})")


def across(sources: Sources, key: str, operator: str) -> str:
    """Return a value across all GPUs of the cluster, by an aggregation such as `quantile(0.5`."""
    return f"{operator}{sources.gpus.value(key, GPU)})"


def lowest(sources: Sources, key: str) -> str:
    """Return a value of the chosen GPUs, of the few that are lowest at the end."""
    return sources.gpus.worst(-PICKED, key, GPU, **CHOSEN)


def highest(sources: Sources, key: str) -> str:
    """Return a value of the chosen GPUs, of the few that are highest at the end."""
    return sources.gpus.worst(PICKED, key, GPU, **CHOSEN)


def grown(sources: Sources, key: str) -> str:
    """Return the growth of a counter of the chosen GPUs, of the few that grew most at the end."""
    return sources.gpus.worst(PICKED, key, GPU, "increase", **CHOSEN)


def power_share(sources: Sources) -> str:
    """Return power over the enforced limit, of the few chosen GPUs that are nearest to it."""
    return worst_over_time(
        PICKED,
        GPU,
        lambda at: (
            f"({sources.gpus.value('power', GPU, at, **CHOSEN)}"
            f" / {sources.gpus.value('power_limit', GPU, at, **CHOSEN)})"
        ),
    )


def last_xids(sources: Sources) -> str:
    """Return the last Xid of each chosen GPU that ever had one."""
    return f"{sources.gpus.value('last_xid', GPU, **CHOSEN)} > 0"


def last_xid_changes(sources: Sources) -> str:
    """Return how often the last Xid changed in the range: fewer than there were, or as many."""
    selector = sources.gpus.select("last_xid", **CHOSEN)
    changes = f"changes({selector}[$__range])"
    return f"{sources.gpus.by('max', GPU, changes)} and on ({GPU}) {last_xids(sources)}"
