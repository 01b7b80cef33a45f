"""What keeps an incident quiet: planned work on what it is about, or another that explains it.

Source: Alertmanager's inhibition, whose rules name a source, a target and what both share. We
differ in two things: what explains must be at least as urgent as what is explained, so that no page
is lost behind a ticket; and what is itself explained explains nothing, so that two cannot silence
each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from alerts.covers import CoverParams, SentAlert, decide_covers
from alerts.policies.matchers import fit_all
from alerts.policies.policies import InhibitionRule, Place, Policy
from alerts.policies.traits import Traits
from alerts.storing.records import IncidentRecord, MaintenanceWindow

MAX_EARLY: Final = timedelta(seconds=600)
"""An effect may be seen before its cause: onsets are estimates, and scatter by some minutes."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """What keeps an incident quiet.

    Attributes:
        maintenance: Id of the planned work; null when none.
        inhibited_by: Id of the incident that explains it; null when none.
    """

    maintenance: str | None = None
    inhibited_by: str | None = None

    @property
    def is_quiet(self) -> bool:
        """Whether nobody is told for now."""
        return self.maintenance is not None or self.inhibited_by is not None


def decide_quiet(
    records: Mapping[str, tuple[IncidentRecord, Traits]],
    windows: Sequence[MaintenanceWindow],
    policy: Policy,
    *,
    now: datetime,
) -> dict[str, Quiet]:
    """Return what keeps each incident quiet now, by id.

    Args:
        records: Incidents, with what they are about, by id; one that is over explains nothing.
        windows: Work that people declared; that of the policy comes on top.
        policy: What explains what.
        now: The time.
    """
    works = [*windows, *(work.window() for work in policy.maintenance)]
    running = sorted(
        (one for one in works if one.starts <= now < one.ends), key=lambda one: (one.starts, one.id)
    )
    explained = _explained(records, policy)
    return {
        name: Quiet(maintenance=_work(traits, running), inhibited_by=explained.get(name))
        for name, (_, traits) in records.items()
    }


def _work(traits: Traits, running: Iterable[MaintenanceWindow]) -> str | None:
    return next((one.id for one in running if fit_all(one.matchers, traits)), None)


def _explained(
    records: Mapping[str, tuple[IncidentRecord, Traits]], policy: Policy
) -> dict[str, str]:
    """Return the incidents that another explains, each with the first that does."""
    ordered = sorted(records.values(), key=lambda pair: _causes_first(pair[0]))
    causes = [
        (record, traits)
        for record, traits in ordered
        if record.state != "resolved" and any(rule.source.fit(traits) for rule in policy.inhibition)
    ]
    found: dict[str, str] = {}
    for target, about in ordered:
        for source, cause in causes:
            if source.id in found or source.id == target.id:
                continue
            if _explains((source, cause), (target, about), policy.inhibition):
                found[target.id] = source.id
                break
    return _covered(records, found) | found


def _causes_first(record: IncidentRecord) -> tuple[bool, datetime, int]:
    return record.severity != "page", record.onset or _BEGINNING, record.number


def _explains(
    source: tuple[IncidentRecord, Traits],
    target: tuple[IncidentRecord, Traits],
    rules: Sequence[InhibitionRule],
) -> bool:
    (cause, causing), (effect, suffering) = source, target
    if effect.severity == "page" and cause.severity != "page":
        return False
    if cause.onset and effect.onset and effect.onset < cause.onset - MAX_EARLY:
        return False
    return any(
        rule.source.fit(causing)
        and rule.target.fit(suffering)
        and not rule.source.fit(suffering)
        and any(_share(place, causing, suffering) for place in rule.share)
        for rule in rules
    )


def _share(place: Place, cause: Traits, effect: Traits) -> bool:
    if place != "victims":
        return bool(_values(cause, place) & _values(effect, place))
    ranks = {rank.rpartition("/")[2] for rank in _values(effect, "rank")}
    same_run = bool(_values(cause, "run") & _values(effect, "run"))
    hit = _values(effect, "host") | {f"host {host}" for host in _values(effect, "host")}
    return bool(cause.victims & hit) or (
        same_run and bool(cause.victims & {f"rank {rank}" for rank in ranks})
    )


def _values(traits: Traits, name: str) -> frozenset[str]:
    return traits.values.get(name, frozenset())


def _covered(
    records: Mapping[str, tuple[IncidentRecord, Traits]], explained: Mapping[str, str]
) -> dict[str, str]:
    """Return the tickets that only say that a budget burns, of which a page says more."""
    sent = {
        name: _as_alerts(record, traits)
        for name, (record, traits) in sorted(records.items())
        if name not in explained and (record.severity == "page" or not traits.has_finding)
    }
    homes = {id(alert): name for name, alerts in sent.items() for alert in alerts}
    alerts = [alert for told in sent.values() for alert in told]
    covers = decide_covers(alerts, CoverParams(max_late_seconds=MAX_EARLY.total_seconds()))
    return {homes[id(ticket)]: homes[id(page)] for ticket, page in covers}


def _as_alerts(record: IncidentRecord, traits: Traits) -> list[SentAlert]:
    received = record.detected or record.first_seen
    return [
        SentAlert(
            labels={"severity": record.severity, "objective": objective, "run": run},
            received=received,
            resolved=record.resolved_at,
        )
        for objective, run in sorted(traits.objectives)
    ]
