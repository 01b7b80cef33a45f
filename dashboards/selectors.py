"""How queries begin: a series of the contract in the chosen cluster, and the pick of the worst.

Where `topk` picks the series of a plot over time, it picks once, at the end of the range: asked
at every step it would show many more series than it says, coming and going.
"""

from collections.abc import Callable

from dashboards.exporters.tables import AT_END, CLUSTER_MATCHER, WHOLE_RANGE
from slo.metrics import Metric


def select(metric: Metric, *matchers: str) -> str:
    """Return the selector of a metric of the contract in the chosen cluster.

    Args:
        metric: One of `slo.metrics`.
        matchers: Further ones, such as `node=~"$node"`.
    """
    return f"{metric.name}{{{', '.join([CLUSTER_MATCHER, *matchers])}}}"


def worst_over_time(count: int, labels: str, query: Callable[[str], str]) -> str:
    """Return the query over the range of the series that are largest at its end.

    Args:
        count: How many.
        labels: What tells them apart, as in `node, device`.
        query: The query by what stands behind each of its selectors.
    """
    return f"{query('')} and on ({labels}) topk({count}, {query(AT_END)})"


def worst_now(count: int, query: str) -> str:
    """Return the instant query of the largest series, the largest first."""
    return f"sort_desc(topk({count}, {query}))"


def last_time(condition: str, labels: str) -> str:
    """Return the query of when a condition last held within the range, in ms since 1970."""
    # As fine as the picture: a minute's steps over a month would be dear, and tell no more.
    steps = f"{WHOLE_RANGE}:$__interval"
    return f"1000 * max by ({labels}) (max_over_time(timestamp({condition})[{steps}]))"
