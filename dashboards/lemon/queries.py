"""The queries of the lemon board.

Signals are counts of the last 28 days, as detectors make them; what happened within the range is
read from states. A rate needs its hours of use beside it, and few of them make a weak one.
"""

from typing import Final

from dashboards.selectors import last_time, select, worst_now, worst_over_time
from dashboards.thresholds import MIN_LEMON_SCORE
from slo import metrics

CHOSEN_NODE: Final = 'node=~"$node"'

_SCORE: Final = f"max by (node) ({select(metrics.LEMON_SCORE)})"
_STATE: Final = select(metrics.NODE_STATE)
_CHOSEN_STATE: Final = select(metrics.NODE_STATE, CHOSEN_NODE)

LEMONS: Final = f"sum({_SCORE} >= bool {MIN_LEMON_SCORE})"
BLAMED_SHARE: Final = f"sum({_SCORE} * ({_SCORE} >= bool {MIN_LEMON_SCORE})) / sum({_SCORE})"
# Above the limit and still taking jobs: neither faulty (3) nor in maintenance (4).
UNDECIDED: Final = (
    f"sum(({_SCORE} >= bool {MIN_LEMON_SCORE}) * on (node) (max by (node) ({_STATE}) < bool 3))"
)

LISTED: Final = f"topk(20, {_SCORE})"
_ONLY_LISTED: Final = f"and on (node) {LISTED}"
RANKED: Final = worst_now(20, _SCORE)


def signal(name: str) -> str:
    """Return one signal of the listed nodes, by its name in the contract."""
    matcher = f'signal="{name}"'
    return f"max by (node) ({select(metrics.LEMON_SIGNALS, matcher)}) {_ONLY_LISTED}"


FAILURES_BY_1000_HOURS: Final = (
    "1000 * "
    + " / ".join(
        f"sum by (node) ({select(metrics.LEMON_SIGNALS, matcher)})"
        for matcher in ('signal=~"failures_alone|failures_shared"', 'signal="hours"')
    )
    + f" {_ONLY_LISTED}"
)
LAST_FAULTY: Final = f"{last_time(f'{_STATE} == 3', 'node')} {_ONLY_LISTED}"

STATES: Final = (
    f"max by (node) ({_CHOSEN_STATE}) and on (node) topk(25, max by (node)"
    f" ({select(metrics.LEMON_SCORE)} @ end()))"
)
# Windows over raw samples of all nodes would be dear over a month: listed nodes, hour by hour.
_LISTED_STATE: Final = (
    f"({_CHOSEN_STATE} and on (node) topk(25, max by (node)"
    f" ({select(metrics.LEMON_SCORE)} @ end())))"
)
# A node that is faulty now and was in maintenance within the week before: the repair did not hold.
RELAPSES: Final = (
    f"max by (node) (({_LISTED_STATE} == bool 3)"
    f" * max_over_time(({_LISTED_STATE} == bool 4)[7d:1h])) > 0"
)
_COUNTED: Final = select(metrics.LEMON_SIGNALS, CHOSEN_NODE, 'signal!="hours"')
CAUSES: Final = f"sum by (signal) ({_COUNTED})"
SCORES: Final = worst_over_time(
    8,
    "node",
    lambda at: f"max by (node) ({select(metrics.LEMON_SCORE, CHOSEN_NODE)}{at})",
)
FAULTY_SHARE: Final = f"max by (node) (avg_over_time(({_LISTED_STATE} == bool 3)[1d:1h]))"

CLUSTERS: Final = f"label_values({metrics.LEMON_SCORE.name}, cluster)"
NODES: Final = f"label_values({select(metrics.LEMON_SCORE)}, node)"
