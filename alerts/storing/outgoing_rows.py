"""The outbox: what the policy wants sent, written with what it is about."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, case, func, insert, select

from alerts.policies.decisions import Sent
from alerts.policies.outgoing import Outgoing
from alerts.storing.tables import OUTBOX


def write_outgoing(connection: Connection, outgoing: Sequence[Outgoing], *, now: datetime) -> None:
    """Write messages into the outbox, in the order in which they are to be sent."""
    keys = [one.key for one in outgoing]
    query = select(OUTBOX.c.key).where(OUTBOX.c.key.in_(keys))
    known = set(connection.execute(query).scalars()) if keys else set[str]()
    rows = [
        {
            "key": one.key,
            "incident": one.incident,
            "receiver": one.receiver,
            "dedup_key": one.dedup_key,
            "action": one.action,
            "body": {**one.body, "why": one.why},
            "due": one.due,
            "attempts": 0,
            "state": "waiting",
            "created": now,
        }
        for one in outgoing
        if one.key not in known
    ]
    for row in rows:
        # One by one: the order of the numbers is the order of sending.
        connection.execute(insert(OUTBOX).values(**row))


def sent_of(connection: Connection, incidents: Sequence[str]) -> Mapping[str, Sequence[Sent]]:
    """Return what each receiver was told last of incidents, by incident.

    What the delivery repeats by itself, under a key that ends in `:renew`, is no decision.
    """
    ours = OUTBOX.c.incident.in_(incidents) & ~OUTBOX.c.key.like("%:renew")
    acknowledged = func.max(case((OUTBOX.c.action == "acknowledge", OUTBOX.c.id), else_=0))
    triggered = func.max(case((OUTBOX.c.action == "trigger", OUTBOX.c.id), else_=0))
    summary = (
        select(
            func.max(OUTBOX.c.id).label("last"),
            func.count().label("count"),
            func.max(OUTBOX.c.due).label("due"),
            (acknowledged > triggered).label("acknowledged"),
            func.max(case((OUTBOX.c.action == "trigger", OUTBOX.c.created))).label("triggered"),
        )
        .where(ours)
        .group_by(OUTBOX.c.incident, OUTBOX.c.receiver, OUTBOX.c.dedup_key)
        .subquery()
    )
    query = select(
        OUTBOX.c.incident,
        OUTBOX.c.receiver,
        OUTBOX.c.dedup_key,
        OUTBOX.c.action,
        OUTBOX.c.created,
        summary,
    ).join(summary, OUTBOX.c.id == summary.c.last)
    found: dict[str, list[Sent]] = {}
    for row in connection.execute(query.order_by(OUTBOX.c.id)).mappings():
        found.setdefault(row["incident"], []).append(
            Sent(
                receiver=row["receiver"],
                dedup_key=row["dedup_key"],
                action=row["action"],
                at=row["created"],
                due=row["due"],
                triggered=row["triggered"] or row["created"],
                count=row["count"],
                acknowledged=bool(row["acknowledged"]),
            )
        )
    return found
