"""The queries of the job board, each with what it means.

`cluster` and `run` hold one value each; `node` and `rank` narrow the plots, never the verdict.
Where `topk` picks the series of a plot over time, it picks once, at the end of the range: asked
at every step it would show many more series than it says, coming and going.
"""

from dashboards.selectors import last_time
from dashboards.thresholds import MAX_CULPRIT_WAIT_RATIO, MIN_SLOW_RATIO
from slo import metrics

_RUN = 'cluster="$cluster", run="$run"'
_NARROWED = f'{_RUN}, node=~"$node", rank=~"$rank"'
_RANK = "(rank, node, gpu)"

_SLOWDOWN = f"{metrics.RANK_SLOWDOWN_RATIO.name}{{{_RUN}}}"
_WAIT = f"{metrics.RANK_COMM_WAIT_RATIO.name}{{{_RUN}}}"
_STEPS = f"{metrics.STEPS_TOTAL.name}{{{_RUN}}}"
_SLOW_STEPS = f"{metrics.SLOW_STEPS_TOTAL.name}{{{_RUN}}}"
_STEP_SECONDS = f"{metrics.STEP_SECONDS.name}{{{_RUN}}}"
_PRODUCTIVE = f"{metrics.PRODUCTIVE_SECONDS_TOTAL.name}{{{_RUN}}}"
_WALL = f"{metrics.WALL_SECONDS_TOTAL.name}{{{_RUN}}}"
_AGE = f'{metrics.SOURCE_AGE_SECONDS.name}{{cluster="$cluster"}}'

# How the run does now. Each answers nothing, not zero, when its source does not report.
WORST_SLOWDOWN = f"max({_SLOWDOWN})"
SLOW_RANKS = f"sum({_SLOWDOWN} >= bool {MIN_SLOW_RATIO})"
PACE = f"sum(rate({_PRODUCTIVE}[$__rate_interval])) / sum(rate({_WALL}[$__rate_interval]))"
OLDEST_SOURCE = f"max({_AGE})"

# How the run did over the whole range.
MEDIAN_STEP_SECONDS = f"max(quantile_over_time(0.5, {_STEP_SECONDS}[$__range]))"
WORST_STEP_SECONDS = f"max(max_over_time({_STEP_SECONDS}[$__range]))"
LOST_SECONDS = f"sum(increase({_WALL}[$__range])) - sum(increase({_PRODUCTIVE}[$__range]))"
SLOW_STEP_SHARE = f"sum(increase({_SLOW_STEPS}[$__range])) / sum(increase({_STEPS}[$__range]))"

# Who is worst. The culprit computes longest and waits least; its peers wait for it.
_BY_SLOWDOWN = f"max by {_RANK} ({_SLOWDOWN})"
_BY_WAIT = f"max by {_RANK} ({_WAIT})"
_LISTED = f"topk(10, {_BY_SLOWDOWN})"
_ONLY_LISTED = f"and on {_RANK} {_LISTED}"
SLOWEST_RANKS = f"sort_desc(topk(5, {_BY_SLOWDOWN}))"
LEAST_WAITING_RANKS = f"sort(bottomk(5, {_BY_WAIT}))"
LISTED_SLOWDOWN = _LISTED
LISTED_WAIT = f"{_BY_WAIT} {_ONLY_LISTED}"
# Milliseconds since 1970; no row for a rank that is not slow, or was slow all through the range.
_HEALTHY = f"{_SLOWDOWN} < {MIN_SLOW_RATIO}"
LISTED_LAST_HEALTHY = (
    f"{last_time(_HEALTHY, _RANK.strip('()'))} and on {_RANK} ({_LISTED} >= {MIN_SLOW_RATIO})"
)
# 1 when slow in compute, plus 2 when its peers wait for it; no row when waiting is not measured.
LISTED_PHASE = (
    f"({_BY_SLOWDOWN} >= bool {MIN_SLOW_RATIO}) + on {_RANK} "
    f"2 * ({_BY_WAIT} < bool {MAX_CULPRIT_WAIT_RATIO} * scalar(quantile(0.5, {_WAIT}))) "
    f"{_ONLY_LISTED}"
)

# Where and when.
SLOWDOWN_BY_RANK = f"max by (rank) ({metrics.RANK_SLOWDOWN_RATIO.name}{{{_NARROWED}}})"
WAIT_BY_RANK = f"max by (rank) ({metrics.RANK_COMM_WAIT_RATIO.name}{{{_NARROWED}}})"
MEDIAN_SLOWDOWN = f"quantile(0.5, {_SLOWDOWN})"
LEAST_WAIT = f"min({_WAIT})"
MEDIAN_WAIT = f"quantile(0.5, {_WAIT})"
MOST_WAIT = f"max({_WAIT})"

# Why.
_SIGNAL = "(node, device, signal)"
_SIGNALS = f'{metrics.DEVICE_PEER_RATIO.name}{{cluster="$cluster"}}'
_NARROWED_SIGNALS = f'{metrics.DEVICE_PEER_RATIO.name}{{cluster="$cluster", node=~"$node"}}'
_PORT = "(switch, port)"
_LINKS = f'{metrics.LINK_FAULT_SCORE.name}{{cluster="$cluster"}}'
_STATES = f'{metrics.NODE_STATE.name}{{cluster="$cluster", node=~"$node"}}'
WORST_NODE_SIGNALS = (
    f"max by {_SIGNAL} ({_SIGNALS}) and on (node) topk(1, max by (node) ({_SLOWDOWN} @ end()))"
)
_RUN_SIGNALS_AT_END = f"({_NARROWED_SIGNALS} @ end() and on (node) {_SLOWDOWN} @ end())"
ODDEST_SIGNALS = (
    f"max by {_SIGNAL} ({_NARROWED_SIGNALS})"
    f" and on {_SIGNAL} topk(8, max by {_SIGNAL} (abs({_RUN_SIGNALS_AT_END} - 1)))"
)
NODE_STATES = (
    f"max by (node) ({_STATES})"
    f" and on (node) group by (node) (last_over_time({_SLOWDOWN}[$__range] @ end()))"
)
WORST_LINKS = f"max by {_PORT} ({_LINKS}) and on {_PORT} topk(5, max by {_PORT} ({_LINKS} @ end()))"

# Evidence.
STEP_SECONDS = f"max({_STEP_SECONDS})"
SOURCE_AGES = f"sort_desc(max by (source) ({_AGE}))"
OPEN_FINDINGS = f'max by (kind, level) ({metrics.VERDICTS.name}{{cluster="$cluster"}}) > 0'
OPEN_INCIDENTS = f'max by (incident) ({metrics.INCIDENT_OPEN.name}{{cluster="$cluster"}}) > 0'

# What the variables offer.
CLUSTERS = f"label_values({metrics.STEPS_TOTAL.name}, cluster)"
RUNS = f'label_values({metrics.STEPS_TOTAL.name}{{cluster="$cluster"}}, run)'
NODES = f"label_values({_SLOWDOWN}, node)"
RANKS = f'label_values({metrics.RANK_SLOWDOWN_RATIO.name}{{{_RUN}, node=~"$node"}}, rank)'
