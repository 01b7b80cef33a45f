"""The queries of the fabric board.

`switch` and `port` narrow the plots of switches, never the verdict. Three sources tell of a link:
our score, the switch (SNMP and gNMI), and the card at its other end.
"""

from typing import Final

from dashboards.exporters.choices import Sources
from dashboards.exporters.tables import AT_END
from dashboards.selectors import select, worst_now, worst_over_time
from dashboards.thresholds import MIN_SUSPECT_LINK_SCORE
from slo import metrics

PORT: Final = "switch, port"
CARD: Final = "node, device"
PICKED: Final = 3
"""Series of a query in a plot over time: legends of more cover their plots."""
CHOSEN: Final = {"switch": "$switch", "port": "$port"}

_SCORE: Final = select(metrics.LINK_FAULT_SCORE)
_CHOSEN_SCORE: Final = select(metrics.LINK_FAULT_SCORE, 'switch=~"$switch"', 'port=~"$port"')
_PAUSED: Final = select(metrics.PORT_PAUSED_SECONDS_TOTAL)
_WATCHED: Final = select(metrics.PORT_WATCHED_SECONDS_TOTAL)

BAD_LINKS: Final = f"sum(max by ({PORT}) ({_SCORE}) >= bool {MIN_SUSPECT_LINK_SCORE})"
PAUSED_SHARE: Final = f"sum(increase({_PAUSED}[$__range])) / sum(increase({_WATCHED}[$__range]))"
PAUSED_CARDS: Final = worst_now(
    10,
    f"sum by ({CARD}) (increase({_PAUSED}[$__range]))"
    f" / sum by ({CARD}) (increase({_WATCHED}[$__range]))",
)
LISTED: Final = f"topk(10, max by ({PORT}) ({_SCORE}))"
_ONLY_LISTED: Final = f"and on ({PORT}) {LISTED}"
SCORES: Final = worst_over_time(50, PORT, lambda at: f"max by ({PORT}) ({_CHOSEN_SCORE}{at})")

CLUSTERS: Final = f"label_values({metrics.LINK_FAULT_SCORE.name}, cluster)"
SWITCHES: Final = f"label_values({_SCORE}, switch)"
_OF_SWITCH: Final = select(metrics.LINK_FAULT_SCORE, 'switch=~"$switch"')
PORTS: Final = f"label_values({_OF_SWITCH}, port)"


def total(sources: Sources, key: str) -> str:
    """Return the growth of a counter of all ports over the range."""
    return f"sum({sources.streams.total(key, PORT)})"


def runs_at_risk(sources: Sources) -> str:
    """Return how many runs have ranks on hosts whose cards lost a link in the range."""
    lost = f"{sources.hosts.total('links_downed', 'node')} > 0"
    ranks = select(metrics.RANK_SLOWDOWN_RATIO)
    placed = f"group by (run, node) ({ranks})"
    return f"count(count by (run) ({placed} and on (node) {lost})) or 0 * count({placed})"


def peers(sources: Sources) -> str:
    """Return the listed ports with what their switch says is at the other end; 1 is up."""
    return f"{sources.ports.value('status', f'{PORT}, peer')} {_ONLY_LISTED}"


def error_rates(sources: Sources) -> str:
    """Return packets in error a second of the listed ports."""
    return f"{sources.ports.rate('errors_in', PORT)} {_ONLY_LISTED}"


def uncorrectable(sources: Sources) -> str:
    """Return uncorrectable blocks of the listed ports over the range."""
    return f"{sources.streams.total('fec_uncorrectable', PORT)} {_ONLY_LISTED}"


def cleared_ago(sources: Sources) -> str:
    """Return seconds since the counters of the listed ports were cleared."""
    cleared = sources.streams.value("last_clear_ns", PORT)
    return f"time() - {cleared} / 1e9 {_ONLY_LISTED}"


def states(sources: Sources) -> str:
    """Return the state of the worst chosen ports over the range."""
    worst = f"topk(25, max by ({PORT}) ({_CHOSEN_SCORE}{AT_END}))"
    return f"{sources.ports.value('status', PORT, **CHOSEN)} and on ({PORT}) {worst}"


def grown(sources: Sources, key: str) -> str:
    """Return the growth of a counter of the chosen ports, of the few that grew most at the end."""
    return sources.streams.worst(PICKED, key, PORT, "increase", **CHOSEN)


def discards(sources: Sources) -> str:
    """Return packets dropped by queue, of the chosen ports that dropped most."""
    return sources.streams.worst(PICKED, "queue_drops", f"{PORT}, queue", "rate", **CHOSEN)


def marks(sources: Sources) -> str:
    """Return packets marked for congestion, of the chosen ports that marked most."""
    return sources.streams.worst(PICKED, "ecn_marked", PORT, "rate", **CHOSEN)


def error_ratio(sources: Sources) -> str:
    """Return the bit error ratio before correction of the modules that have the highest."""
    return _modules(sources, "pre_fec_ber")


def hottest(sources: Sources) -> str:
    """Return the temperature of the hottest modules."""
    return _modules(sources, "module_temperature")


def darkest(sources: Sources, key: str) -> str:
    """Return optical power of the few lanes that are darkest at the end."""
    return sources.streams.worst(-PICKED, key, "switch, module, lane", switch="$switch")


def light_limit(sources: Sources) -> str:
    """Return the highest lower limit of received light that the vendors warn from."""
    return f"max({sources.streams.value('rx_power_low', 'switch, module', severity='.*WARNING')})"


def line_share(sources: Sources, key: str) -> str:
    """Return traffic over line rate, of the fullest chosen ports."""
    return worst_over_time(
        PICKED,
        PORT,
        lambda at: (
            f"({sources.ports.rate(key, PORT, at, **CHOSEN)}"
            f" / ({sources.ports.value('speed_mbps', PORT, at, **CHOSEN)} * 125000))"
        ),
    )


def imbalance(sources: Sources) -> str:
    """Return the fullest port over the mean port of the switches that are least in balance."""
    sent = sources.ports.rate
    return worst_over_time(
        PICKED,
        "switch",
        lambda at: (
            f"(max by (switch) ({sent('bytes_out', PORT, at, **CHOSEN)})"
            f" / avg by (switch) ({sent('bytes_out', PORT, at, **CHOSEN)}))"
        ),
    )


def card_rates(sources: Sources, key: str) -> str:
    """Return the growth a second of a counter of cards, of the few that grow most at the end."""
    return sources.hosts.worst(PICKED, key, CARD, "rate")


def card_counts(sources: Sources, key: str) -> str:
    """Return the growth of a counter of cards, of the few that grew most at the end."""
    return sources.hosts.worst(PICKED, key, CARD, "increase")


def paused_time(sources: Sources, key: str) -> str:
    """Return the share of time in pause, from microseconds, of the cards that pause most."""
    return worst_over_time(PICKED, CARD, lambda at: f"({sources.hosts.rate(key, CARD, at)} / 1e6)")


def _modules(sources: Sources, key: str) -> str:
    return sources.streams.worst(PICKED, key, "switch, module", switch="$switch")
