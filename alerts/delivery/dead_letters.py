"""What the outbox holds, for people and for metrics: what waits, for how long, and what is dead."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, and_, func, select, update

from alerts.delivery.claims import RENEW
from alerts.storing.databases import reading
from alerts.storing.tables import OUTBOX


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A letter that its receiver will never take as it is.

    Attributes:
        key: Its name.
        receiver: Whom it was for.
        incident: What it was about; null when that is not known.
        action: What it was to say.
        reason: What the receiver said.
        created: When it was written.
    """

    key: str
    receiver: str
    incident: str | None
    action: str
    reason: str
    created: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What one receiver has not been told; renewals are not counted.

    Attributes:
        receiver: Whose it is.
        waiting_count: Letters that wait or are being sent.
        dead_count: Letters that are dead.
        oldest: When the oldest of those that wait was written; null when none does.
        last_error: Why the newest of those that were tried has to wait; null when none has.
    """

    receiver: str
    waiting_count: int
    dead_count: int
    oldest: datetime | None
    last_error: str | None


def dead_letters(engine: Engine) -> list[DeadLetter]:
    """Return the letters that are dead, oldest first."""
    query = select(OUTBOX).where(OUTBOX.c.state == "dead").order_by(OUTBOX.c.id)
    with reading(engine) as connection:
        rows = connection.execute(query).all()
    return [
        DeadLetter(
            key=row.key,
            receiver=row.receiver,
            incident=row.incident,
            action=row.action,
            reason=row.last_error or "",
            created=row.created,
        )
        for row in rows
    ]


def revive_letters(engine: Engine, keys: Collection[str], *, now: datetime) -> int:
    """Let dead letters be tried again, after what was wrong has been mended; return how many."""
    which = and_(OUTBOX.c.state == "dead", OUTBOX.c.key.in_(keys))
    with engine.begin() as connection:
        done = connection.execute(update(OUTBOX).where(which).values(state="waiting", due=now))
    return done.rowcount


def backlogs(engine: Engine) -> list[Backlog]:
    """Return what each receiver has not been told, by name."""
    unsent, dead = OUTBOX.c.state.in_(("waiting", "claimed")), OUTBOX.c.state == "dead"
    query = (
        select(
            OUTBOX.c.receiver,
            func.count().filter(unsent).label("waiting"),
            func.count().filter(dead).label("dead"),
            func.min(OUTBOX.c.created).filter(unsent).label("oldest"),
        )
        .where(OUTBOX.c.action != RENEW, unsent | dead)
        .group_by(OUTBOX.c.receiver)
        .order_by(OUTBOX.c.receiver)
    )
    errors = (
        select(OUTBOX.c.receiver, OUTBOX.c.last_error)
        .where(OUTBOX.c.action != RENEW, unsent, OUTBOX.c.last_error.is_not(None))
        .order_by(OUTBOX.c.id)
    )
    with reading(engine) as connection:
        newest = {row.receiver: row.last_error for row in connection.execute(errors)}
        rows = connection.execute(query).all()
    return [
        Backlog(
            receiver=row.receiver,
            waiting_count=row.waiting,
            dead_count=row.dead,
            oldest=row.oldest,
            last_error=newest.get(row.receiver),
        )
        for row in rows
    ]
