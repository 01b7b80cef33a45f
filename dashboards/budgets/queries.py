"""The queries of the budget board, over what the generated rules record.

An objective without the label `cluster`, as those of inference servers, shows in every cluster.
The period is the thirty days of the library: records of another period have another name.
"""

from typing import Final

from dashboards.selectors import worst_now, worst_over_time
from slo.records import BUDGET, BUDGET_LEFT, record_name
from slo.windows import RECOMMENDED_WINDOWS, WORKBOOK_PERIOD_SECONDS, BurnWindow, duration

GROUP: Final = "objective, run, model_name"
GROUP_NAME: Final = "{{objective}} {{run}}{{model_name}}"
PAGES: Final = tuple(one for one in RECOMMENDED_WINDOWS if one.severity == "page")
TICKETS: Final = tuple(one for one in RECOMMENDED_WINDOWS if one.severity == "ticket")
LONGEST_SECONDS: Final = max(one.long_seconds for one in RECOMMENDED_WINDOWS)
LONG_SECONDS: Final = tuple(one.long_seconds for one in RECOMMENDED_WINDOWS)

_IN_CLUSTER: Final = 'cluster=~"$cluster|"'
_CHOSEN: Final = f'{_IN_CLUSTER}, objective=~"$slo"'
_ALERTS: Final = 'ALERTS{cluster=~"$cluster|", objective!=""'


def recorded(record: str, at: str = "", *, chosen: bool = False) -> str:
    """Return the selector of a record, of all objectives or of the chosen ones."""
    return f"{record}{{{_CHOSEN if chosen else _IN_CLUSTER}}}{at}"


def bad_share(seconds: int, at: str = "", *, chosen: bool = False) -> str:
    """Return the share of bad events of each group over a window; none without traffic."""
    bad, total = (
        recorded(record_name(events, seconds), at, chosen=chosen) for events in ("bad", "total")
    )
    return f"max by ({GROUP}) ({bad} / ({total} > 0))"


def burn(seconds: int, at: str = "", *, chosen: bool = False) -> str:
    """Return how fast each group burns its budget over a window; 1 is an even burn."""
    budget = f"max by (objective) ({recorded(BUDGET, at, chosen=chosen)})"
    return f"{bad_share(seconds, at, chosen=chosen)} / on (objective) group_left () {budget}"


_LEFT: Final = f"min by ({GROUP}) ({recorded(BUDGET_LEFT)})"
_BURN_LONGEST: Final = burn(LONGEST_SECONDS)
_TO_THE_END: Final = f"({_LEFT} > 0) * {WORKBOOK_PERIOD_SECONDS} / (({_BURN_LONGEST}) > 0)"

MISSED: Final = f"sum(min by (objective) ({recorded(BUDGET_LEFT)}) < bool 0)"
LEAST_LEFT: Final = f"min({recorded(BUDGET_LEFT)})"
# Zero only where the rules record something.
BURNING: Final = (
    f'count(count by (objective) ({_ALERTS}, alertstate="firing", severity=~"page|ticket"}}))'
    f" or 0 * count({recorded(BUDGET_LEFT)})"
)
OBJECTIVES: Final = f"count(count by (objective) ({recorded(BUDGET_LEFT)}))"

TARGETS: Final = f"1 - max by (objective) ({recorded(BUDGET)})"
INDICATORS: Final = f"1 - max by (objective) ({bad_share(WORKBOOK_PERIOD_SECONDS)})"
LEFT: Final = f"min by (objective) ({recorded(BUDGET_LEFT)})"
# Milliseconds since 1970; no row for a budget that is spent, or that nothing burns.
ENDS: Final = f"1000 * min by (objective) (time() + {_TO_THE_END})"

LEAST_GROUPS: Final = f"sort(bottomk(10, {_LEFT}))"
FASTEST_GROUPS: Final = worst_now(10, burn(min(LONG_SECONDS)))

LEFT_OVER_TIME: Final = f"min by (objective) ({recorded(BUDGET_LEFT, chosen=True)})"
EVEN_BURN: Final = f"1 - (time() - $__from / 1000) / {WORKBOOK_PERIOD_SECONDS}"
# 2 fires, 1 is about to.
ALERT_STATES: Final = (
    f'max by (objective, tier) (2 * {_ALERTS}, alertstate="firing", tier!=""}}'
    f' or {_ALERTS}, alertstate="pending", tier!=""}})'
)
DATA_ALERTS: Final = (
    f'max by (alertname) (2 * {_ALERTS}, alertstate="firing", severity="data"}}'
    f' or {_ALERTS}, alertstate="pending", severity="data"}})'
)
BAD_EVENTS: Final = f"sum by (objective) ({recorded(record_name('bad', 300), chosen=True)})"
ALL_EVENTS: Final = f"sum by (objective) ({recorded(record_name('total', 300), chosen=True)})"
CONTRIBUTORS: Final = worst_over_time(
    5, GROUP, lambda at: bad_share(min(LONG_SECONDS), at, chosen=True)
)

CLUSTERS: Final = f"label_values({BUDGET_LEFT}, cluster)"
OBJECTIVE_NAMES: Final = f"label_values({recorded(BUDGET_LEFT)}, objective)"


def fastest(seconds: int) -> str:
    """Return the fastest burn of the chosen objectives' groups over a window."""
    return f"max({burn(seconds, chosen=True)})"


def burn_by_objective(seconds: int) -> str:
    """Return the fastest burn of each objective over a window."""
    return f"max by (objective) ({burn(seconds)})"


def window_names(window: BurnWindow) -> tuple[tuple[int, str], ...]:
    """Return the windows of a pair with what a legend calls them."""
    return (
        (window.long_seconds, f"last {duration(window.long_seconds)}"),
        (window.short_seconds, f"last {duration(window.short_seconds)}, ends it"),
    )
