"""What the page of the fleet shows: nodes, sources, objectives and open findings, worst first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from alerts.service.live import NodeCondition, NodeState, SourceState
from alerts.service.pages.told_incidents import told_verdict
from alerts.service.parts import ServiceParts
from alerts.storing.records import VerdictRecord
from alerts.storing.verdict_lists import VerdictFilters, find_verdicts
from detectors.verdicts import Verdict

MAX_VERDICTS: Final = 100

_NODE_ORDER: Final[tuple[NodeCondition, ...]] = ("suspect", "silent", "unknown", "watched")
_NODE_WORDS: Final[dict[NodeCondition, str]] = {
    "suspect": "suspect",
    "silent": "silent",
    "unknown": "unknown",
    "watched": "without a finding",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownVerdict:
    """An open finding and its incident."""

    verdict: Verdict
    incident: str


def fleet_page(parts: ServiceParts) -> dict[str, object]:
    """Return what the template of the fleet's page shows."""
    nodes, sources = parts.live.nodes(), parts.live.sources()
    found = find_verdicts(parts.store.engine, VerdictFilters(lasting=True), limit=MAX_VERDICTS)
    return {
        "nodes": sorted_nodes(nodes),
        "node_words": node_words(nodes),
        "sources": sorted_sources(sources),
        "slos": parts.live.slo_state(),
        "verdicts": [_shown(record) for record in found.records],
        "has_more_verdicts": found.next_after is not None,
    }


def sorted_nodes(nodes: Sequence[NodeState]) -> list[NodeState]:
    """Return nodes with suspects first, then those that nobody can judge."""
    return sorted(nodes, key=lambda node: (_NODE_ORDER.index(node.state), node.host))


def sorted_sources(sources: Sequence[SourceState]) -> list[SourceState]:
    """Return sources with those first that say nothing."""
    return sorted(sources, key=lambda source: (source.state == "current", source.name))


def node_words(nodes: Sequence[NodeState]) -> str:
    """Return how many nodes are in which state, as in `1 suspect, 31 without a finding`."""
    counts = Counter(node.state for node in nodes)
    return ", ".join(
        f"{counts[state]} {_NODE_WORDS[state]}" for state in _NODE_ORDER if counts[state]
    )


def _shown(record: VerdictRecord) -> ShownVerdict:
    return ShownVerdict(verdict=told_verdict(record.body), incident=record.incident)
