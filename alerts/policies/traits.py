"""What a policy can go by: what an incident is about, as names and values."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from alerts.identities import marks
from alerts.storing.records import IncidentRecord
from detectors.verdicts import Subject

BURN: Final = "burn"
"""Kind of an incident of which only a burn is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What an incident is about.

    Attributes:
        values: Its `run`, `host`, `rack`, `switch`, `rank`, `kind`, `level` and `severity`, each
            with all that it has.
        victims: Names of those that suffer without being at fault.
        objectives: Objectives that burn, each with its run.
        has_finding: Whether anything but a burn is known.
    """

    values: Mapping[str, frozenset[str]]
    victims: frozenset[str]
    objectives: frozenset[tuple[str, str]]
    has_finding: bool


def traits_of(
    record: IncidentRecord, upstream: Mapping[str, frozenset[str]] | None = None
) -> Traits:
    """Return what an incident is about.

    Args:
        record: The incident.
        upstream: Switches and racks above each host, where they are known.
    """
    body = record.body
    verdicts: list[Mapping[str, Any]] = [*body.get("suspects", ()), *body.get("context", ())]
    burns: list[Mapping[str, Any]] = body.get("burns", [])
    found: dict[str, set[str]] = {"severity": {record.severity}}
    for name, value in _named(record, verdicts):
        found.setdefault(name, set()).add(value)
    for above in ((upstream or {}).get(host, ()) for host in found.get("host", ())):
        found.setdefault("switch", set()).update(above)
        found.setdefault("rack", set()).update(above)
    radius: Mapping[str, Any] = body.get("blast_radius", {})
    return Traits(
        values={name: frozenset(values) for name, values in found.items()},
        victims=frozenset(radius.get("victims", ())),
        objectives=frozenset((one["objective"], one["run"] or "") for one in burns),
        has_finding=bool(verdicts),
    )


def _named(record: IncidentRecord, verdicts: list[Mapping[str, Any]]) -> Iterable[tuple[str, str]]:
    """Yield names and values: suspects say what kind it is, findings beside them where."""
    radius: Mapping[str, Any] = record.body.get("blast_radius", {})
    yield from (("run", run) for run in radius.get("jobs", ()))
    if record.run is not None:
        yield ("run", record.run)
    for one in verdicts:
        yield from marks(Subject(**one["subject"]))
    leading = record.body.get("suspects", ()) or verdicts
    for one in leading:
        yield ("kind", one["kind"])
        yield ("level", one["level"])
    if not verdicts:
        yield ("kind", BURN)
