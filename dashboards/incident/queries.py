"""The queries of the incident board: one incident, over the hours that its link carries.

What the incident was is read over the whole range, since its series end when it is closed.
"""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.exporters.tables import AT_END
from dashboards.selectors import select, worst_now, worst_over_time
from dashboards.thresholds import MIN_SLOW_RATIO
from slo import metrics
from slo.records import BUDGET_LEFT

RANK: Final = "run, rank, node, gpu"
_INCIDENT: Final = 'incident="$incident"'
_SLOWDOWN: Final = select(metrics.RANK_SLOWDOWN_RATIO)
_STATE: Final = select(metrics.NODE_STATE)
_LEFT: Final = f'{BUDGET_LEFT}{{cluster=~"$cluster|"}}'
_BAD_STATE: Final = f"({_STATE} > 1) < 4"


def _mark(name: str) -> str:
    matcher = f'mark="{name}"'
    marked = select(metrics.INCIDENT_TIMESTAMP_SECONDS, _INCIDENT, matcher)
    return f"max(max_over_time({marked}[$__range]))"


def since_onset(mark: str) -> str:
    """Return the seconds from the onset to a mark; nothing when either is not known."""
    return f"{_mark(mark)} - {_mark('onset')}"


ONSET: Final = f"1000 * {_mark('onset')}"
LOST_GPU_HOURS: Final = (
    f"max(max_over_time({select(metrics.INCIDENT_LOST_GPU_SECONDS, _INCIDENT)}[$__range])) / 3600"
)
_PEAKS: Final = f"max by (run) (max_over_time({_SLOWDOWN}[$__range]))"
RUNS_HIT: Final = f"sum({_PEAKS} >= bool {MIN_SLOW_RATIO})"
BUDGET_SPENT: Final = f"max(max_over_time({_LEFT}[$__range]) - min_over_time({_LEFT}[$__range]))"

SLOWEST: Final = worst_now(10, f"max by ({RANK}) (max_over_time({_SLOWDOWN}[$__range]))")
FURTHEST: Final = worst_now(
    10,
    "max by (node, device, signal)"
    f" (max_over_time(abs({select(metrics.DEVICE_PEER_RATIO)} - 1)[$__range:$__interval]))",
)
WORST_LINKS: Final = worst_now(
    10, f"max by (switch, port) (max_over_time({select(metrics.LINK_FAULT_SCORE)}[$__range]))"
)

ALERTS: Final = (
    "max by (alertname, severity)"
    ' (ALERTS{cluster="$cluster", alertstate="firing", severity=~"page|ticket|data"})'
)
NODES: Final = (
    f"max by (node) ({_STATE}) and on (node)"
    f" group by (node) (max_over_time(({_BAD_STATE})[$__range:$__interval]{AT_END}))"
)
MAINTAINED: Final = f"sum({_STATE} == bool 4)"
FINDINGS: Final = f"sum by (kind, level) ({select(metrics.VERDICTS)})"
WORST_RANK: Final = f"max by (run) ({_SLOWDOWN})"
OPEN: Final = f"max({select(metrics.INCIDENT_OPEN, _INCIDENT)})"
PACE: Final = (
    f"sum by (run) (rate({select(metrics.PRODUCTIVE_SECONDS_TOTAL)}[$__rate_interval]))"
    f" / sum by (run) (rate({select(metrics.WALL_SECONDS_TOTAL)}[$__rate_interval]))"
)
SIGNALS: Final = worst_over_time(
    8,
    "node, device, signal",
    lambda at: f"max by (node, device, signal) (abs({select(metrics.DEVICE_PEER_RATIO)}{at} - 1))",
)
LINKS: Final = worst_over_time(
    5, "switch, port", lambda at: f"max by (switch, port) ({select(metrics.LINK_FAULT_SCORE)}{at})"
)

CLUSTERS: Final = f"label_values({metrics.INCIDENT_OPEN.name}, cluster)"
INCIDENTS: Final = f"label_values({select(metrics.INCIDENT_OPEN)}, incident)"


def flaps(sources: Sources) -> str:
    """Return changes of state of the ports that had most at the end of the range."""
    return worst_over_time(
        5,
        "switch, port",
        lambda at: sources.streams.increase("transitions", "switch, port", at),
    )
