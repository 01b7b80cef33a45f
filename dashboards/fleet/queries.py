"""The queries of the fleet board. `node` narrows the plots, never the verdict."""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.selectors import last_time, select, worst_now, worst_over_time
from dashboards.thresholds import MIN_OFF_PEERS_RATIO, MIN_SLOW_RATIO, MIN_SUSPECT_LINK_SCORE
from slo import metrics
from slo.records import PERIOD_BURN

CHOSEN_NODE: Final = 'node=~"$node"'
CHOSEN: Final = {"node": "$node"}
PICKED: Final = 3
"""Series of a query in a plot over time: legends of more cover their plots."""

_STATE: Final = f"max by (node) ({select(metrics.NODE_STATE)})"
_SIGNALS: Final = select(metrics.DEVICE_PEER_RATIO)
_WALL: Final = select(metrics.WALL_SECONDS_TOTAL)
_PRODUCTIVE: Final = select(metrics.PRODUCTIVE_SECONDS_TOTAL)
_ALERTS: Final = 'ALERTS{cluster="$cluster", alertstate="firing"'
_BURNS: Final = f'{_ALERTS}, severity=~"page|ticket", objective!=""}}'
_RECORDED: Final = f'{PERIOD_BURN}{{cluster="$cluster"}}'

# Healthy (1) and suspect (2) nodes take jobs; unknown, faulty and maintained ones do not.
FIT_SHARE: Final = f"sum(({_STATE} >= bool 1) * ({_STATE} <= bool 2)) / count({_STATE})"
GOODPUT: Final = (
    f"sum(rate({_PRODUCTIVE}[$__rate_interval])) / sum(rate({_WALL}[$__rate_interval]))"
)
SLOW_RUNS: Final = (
    f"sum(max by (run) ({select(metrics.RANK_SLOWDOWN_RATIO)}) >= bool {MIN_SLOW_RATIO})"
)
OFF_DEVICES: Final = (
    f"sum(max by (node, device) (abs({_SIGNALS} - 1)) >= bool {MIN_OFF_PEERS_RATIO})"
)
BAD_LINKS: Final = (
    f"sum(max by (switch, port) ({select(metrics.LINK_FAULT_SCORE)})"
    f" >= bool {MIN_SUSPECT_LINK_SCORE})"
)
# Zero only where the rules are evaluated, and where the service tells of its sources.
BURNING: Final = f"count(count by (objective) ({_BURNS})) or 0 * count({_RECORDED})"
INCIDENTS: Final = (
    f"sum({select(metrics.INCIDENT_OPEN)}) or 0 * count({select(metrics.SOURCE_AGE_SECONDS)})"
)

# Unknown, suspect and faulty nodes; the worst state stands on top.
NEEDY: Final = f"topk(20, ({_STATE} != 1) != 4)"
_ONLY_NEEDY: Final = f"and on (node) {NEEDY}"
NEEDY_SINCE: Final = f"{last_time(f'{select(metrics.NODE_STATE)} == 1', 'node')} {_ONLY_NEEDY}"
NEEDY_SIGNAL: Final = (
    f"max by (node, signal) (topk by (node) (1, abs({_SIGNALS} - 1))) {_ONLY_NEEDY}"
)
NEEDY_LEMON: Final = f"max by (node) ({select(metrics.LEMON_SCORE)}) {_ONLY_NEEDY}"
LEMONS: Final = worst_now(10, f"max by (node) ({select(metrics.LEMON_SCORE)})")

NODE_STATES: Final = f"max by (node) ({select(metrics.NODE_STATE, CHOSEN_NODE)})"
# A row a node, fifty at most: more are no picture any more, so the worst are picked.
NODE_DEVIATIONS: Final = worst_over_time(
    50,
    "node",
    lambda at: f"max by (node) (abs({select(metrics.DEVICE_PEER_RATIO, CHOSEN_NODE)}{at} - 1))",
)
ALERTS: Final = f'count by (severity) ({_ALERTS}, severity=~"page|ticket|data"}})'

CLUSTERS: Final = f"label_values({metrics.NODE_STATE.name}, cluster)"
NODES: Final = f"label_values({select(metrics.NODE_STATE)}, node)"


def busy(sources: Sources, operator: str) -> str:
    """Return the busy share of GPUs, by an aggregation such as `min`."""
    values = sources.gpus.value("busy_percent", "node, gpu", **CHOSEN)
    return f"{operator}({values}) / 100"


def throttled(sources: Sources, key: str) -> str:
    """Return the largest share of time for which a GPU of a node was held back, worst nodes."""
    return worst_over_time(
        PICKED,
        "node",
        lambda at: f"max by (node) ({sources.gpus.rate(key, 'node, gpu', at, **CHOSEN)}) / 1e9",
    )


def xids(sources: Sources) -> str:
    """Return how many GPUs had each Xid in the exporter's last window."""
    events = sources.gpus.value("xids_in_window", "node, gpu, xid", xid=".+", **CHOSEN)
    return f"count by (xid) ({events} > 0)"


def lost_memory(sources: Sources) -> str:
    """Return uncorrected memory errors, of the nodes that had most."""
    return worst_over_time(
        PICKED, "node", lambda at: sources.gpus.increase("ecc_uncorrected", "node", at, **CHOSEN)
    )


def symbol_errors(sources: Sources) -> str:
    """Return symbol errors of the nodes whose cards had most."""
    return worst_over_time(
        PICKED, "node", lambda at: sources.hosts.increase("symbol_errors", "node", at, **CHOSEN)
    )


def links_downed(sources: Sources) -> str:
    """Return link losses of the nodes whose cards had most."""
    return worst_over_time(
        PICKED, "node", lambda at: sources.hosts.increase("links_downed", "node", at, **CHOSEN)
    )


def storage_waits(sources: Sources, operator: str) -> str:
    """Return the share of time in which something waited for storage, by an aggregation."""
    return f"{operator}({sources.hosts.rate('storage_wait', 'node', **CHOSEN)})"
