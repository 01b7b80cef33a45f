"""Decide and write what leaves because of a change, in the transaction of that change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from alerts.policies.decisions import Surroundings, decide_notifications
from alerts.policies.policies import SILENT, Policy
from alerts.policies.silencing import Quiet, decide_quiet
from alerts.policies.traits import traits_of
from alerts.storing.history_rows import Happening, write_happenings
from alerts.storing.incident_rows import records_where, write_record
from alerts.storing.maintenance_rows import maintenance_after
from alerts.storing.outgoing_rows import sent_of, write_outgoing
from alerts.storing.records import Change, IncidentRecord
from alerts.storing.tables import INCIDENTS

_BY_POLICY: Final = "policy"


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Who is told of what.

    Attributes:
        policy: The policy.
        upstream: Switches and racks above each host, where they are known.
    """

    policy: Policy = SILENT
    upstream: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


def notify(
    connection: Connection, changes: Sequence[Change], telling: Telling, *, now: datetime
) -> list[Change]:
    """Write what is to be sent after changes, and return them with what keeps them quiet."""
    standing = records_where(
        connection, INCIDENTS.c.state != "resolved", INCIDENTS.c.merged_into.is_(None)
    )
    over = [one.after for one in changes if one.before is None and one.after.state == "resolved"]
    quiet = _quiet(connection, [*standing, *over], telling, now)
    marked = {one.id: _mark(connection, one, quiet[one.id], now) for one in standing}
    told = {one.after.id: one for one in changes}
    whole = {
        name: Change(kind="standing", before=record, after=record)
        for name, record in marked.items()
    } | {name: replace(one, after=marked.get(name, one.after)) for name, one in told.items()}
    around = Surroundings(
        sent=sent_of(connection, sorted(whole)), quiet=quiet, upstream=telling.upstream
    )
    outgoing = decide_notifications(list(whole.values()), telling.policy, now=now, around=around)
    write_outgoing(connection, outgoing, now=now)
    return [replace(one, after=marked.get(one.after.id, one.after)) for one in changes]


def _quiet(
    connection: Connection, records: Sequence[IncidentRecord], telling: Telling, now: datetime
) -> dict[str, Quiet]:
    about = {one.id: (one, traits_of(one, telling.upstream)) for one in records}
    windows = maintenance_after(connection, now)
    return decide_quiet(about, windows, telling.policy, now=now)


def _mark(
    connection: Connection, record: IncidentRecord, quiet: Quiet, now: datetime
) -> IncidentRecord:
    """Write what keeps an incident quiet, where that is new."""
    wanted = replace(record, maintenance=quiet.maintenance, inhibited_by=quiet.inhibited_by)
    after = write_record(connection, record, wanted, now=now)
    if after is record:
        return record
    body = {"maintenance": quiet.maintenance, "inhibited_by": quiet.inhibited_by}
    happening = Happening(
        incident=record.id,
        at=now,
        actor=_BY_POLICY,
        kind="quiet" if quiet.is_quiet else "audible",
        body=body,
        key=f"{record.id}:quiet:{after.version}",
    )
    write_happenings(connection, [happening])
    return after
