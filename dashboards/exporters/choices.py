"""Which version of each source boards are built for, and every series that a board may name."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dashboards.exporters.gpus import GPUS
from dashboards.exporters.hosts import HOSTS
from dashboards.exporters.switches import PORTS, STREAMS
from dashboards.exporters.tables import Source
from slo.metrics import METRICS
from slo.records import BUDGET, BUDGET_LEFT, PERIOD_BURN, record_name
from slo.windows import RECOMMENDED_WINDOWS, WORKBOOK_PERIOD_SECONDS

EXPORTERS: Final = (GPUS, HOSTS, PORTS, STREAMS)

GROUP_LABELS: Final = ("cluster", "run", "model_name")
"""Labels that the objectives of the library judge apart."""

WINDOW_SECONDS: Final = tuple(
    sorted(
        {
            seconds
            for window in RECOMMENDED_WINDOWS
            for seconds in (window.long_seconds, window.short_seconds)
        }
        | {WORKBOOK_PERIOD_SECONDS}
    )
)
"""Windows for which the rules record bad and total events, with the period of the library."""

_ALERT_LABELS: Final = frozenset(
    {
        *("alertname", "alertstate", "severity", "tier", "long", "short", "objective", "node"),
        *GROUP_LABELS,
    }
)
_RECORDS: Final = (
    BUDGET,
    BUDGET_LEFT,
    PERIOD_BURN,
    *(record_name(events, seconds) for events in ("bad", "total") for seconds in WINDOW_SECONDS),
)

KNOWN_SERIES: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        **{metric.name: frozenset(metric.labels) for metric in METRICS},
        **{record: frozenset({"objective", *GROUP_LABELS}) for record in _RECORDS},
        "ALERTS": _ALERT_LABELS,
        **{name: one.known_labels() for one in EXPORTERS for name in one.known_names()},
    }
)
"""Labels by name of every series that a board may ask: the contract of `/metrics`, what the rules
record, alerts, and the tables of exporters in every version."""


class UnknownSourceError(ValueError):
    """A version was chosen of a source that no table is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The exporters in the versions that a board is built for.

    Attributes:
        gpus: Who tells of GPUs.
        hosts: Who tells of hosts and their network cards.
        ports: Who tells of the state and traffic of switch ports.
        streams: Who tells of error correction, queues and optics of switch ports.
    """

    gpus: Source
    hosts: Source
    ports: Source
    streams: Source


def build_sources(versions: Mapping[str, str] | None = None) -> Sources:
    """Return the exporters in chosen versions, and in the default ones where none is chosen.

    Args:
        versions: Version by name of the exporter, such as `{"dcgm": "4.6"}`.

    Raises:
        UnknownSourceError: No table is for one of the names.
        UnknownVersionError: A table does not have the version.
    """
    chosen = versions or {}
    known = [exporter.name for exporter in EXPORTERS]
    if unknown := sorted(set(chosen) - set(known)):
        raise UnknownSourceError(f"no source {unknown[0]!r}; known: {', '.join(known)}")
    gpus, hosts, ports, streams = (
        Source(exporter=one, version=chosen.get(one.name, one.default)) for one in EXPORTERS
    )
    return Sources(gpus=gpus, hosts=hosts, ports=ports, streams=streams)
