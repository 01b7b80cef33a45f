"""Claims: which letter a worker takes from the outbox, so that no two hold one.

Source: PostgreSQL, "SELECT", FOR UPDATE SKIP LOCKED, for queues; in SQLite a writer is alone. A
claim is a lease: what a worker that died held is free again when the lease is over. The number of
tries is part of a claim, so that a worker that slept through its lease cannot finish what another
one holds.

Clocks are set back now and then. A time that lies further ahead than we ever wait comes from such a
clock, and counts as over: nothing waits for the hour that is lived again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, exists, or_, select, update

from alerts.storing.tables import OUTBOX

RENEW: Final = "renew"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimParams:
    """How claims are made.

    Attributes:
        lease_seconds: How long a worker may hold a letter; far longer than any call takes.
        max_wait_seconds: Longest time that a letter waits after a try or for a renewal.
    """

    lease_seconds: float = 45.0
    max_wait_seconds: float = 150.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A letter that a worker holds.

    Attributes:
        id: Its row.
        by: Who holds it.
        attempts: Tries, with the one that the claim is for.
        row: Its columns when it was claimed.
    """

    id: int
    by: str
    attempts: int
    row: Mapping[str, Any]

    @property
    def is_ours(self) -> ColumnElement[bool]:
        """The condition under which the claim still holds."""
        return and_(
            OUTBOX.c.id == self.id,
            OUTBOX.c.state == "claimed",
            OUTBOX.c.claimed_by == self.by,
            OUTBOX.c.attempts == self.attempts,
        )


def claim_letter(
    connection: Connection, receiver: str, params: ClaimParams, *, now: datetime, claim_as: str
) -> Claim | None:
    """Claim the next letter to a receiver; null when none is due and free.

    Of letters about one thing only the first unfinished one is free, so that a resolve never comes
    before its trigger; a renewal waits for all of them.
    """
    free = and_(OUTBOX.c.receiver == receiver, _is_takeable(params, now), ~_is_blocked(params, now))
    query = select(OUTBOX).where(free).order_by(OUTBOX.c.due, OUTBOX.c.id).limit(1)
    row: RowMapping | None = (
        connection.execute(query.with_for_update(skip_locked=True)).mappings().first()
    )
    if row is None:
        return None
    claim = Claim(id=row["id"], by=claim_as, attempts=row["attempts"] + 1, row=dict(row))
    connection.execute(
        update(OUTBOX)
        .where(OUTBOX.c.id == claim.id)
        .values(
            state="claimed",
            attempts=claim.attempts,
            claimed_by=claim_as,
            claimed_until=now + timedelta(seconds=params.lease_seconds),
        )
    )
    return claim


def has_letter(
    connection: Connection, receiver: str, params: ClaimParams, *, now: datetime
) -> bool:
    """Return whether a letter to a receiver may be free: who only looks keeps no writer waiting."""
    query = exists().where(OUTBOX.c.receiver == receiver, _is_takeable(params, now))
    return bool(connection.execute(select(query)).scalar())


def _is_takeable(params: ClaimParams, now: datetime) -> ColumnElement[bool]:
    """Return whether a letter is due, or its holder's lease is over."""
    ahead = OUTBOX.c.due > now + timedelta(seconds=params.max_wait_seconds)
    was_tried = or_(OUTBOX.c.attempts > 0, OUTBOX.c.action == RENEW)
    at_once = and_(~was_tried, OUTBOX.c.due <= OUTBOX.c.created)
    is_due = or_(OUTBOX.c.due <= now, at_once, and_(was_tried, ahead))
    too_far = OUTBOX.c.claimed_until > now + timedelta(seconds=params.lease_seconds)
    is_over = or_(OUTBOX.c.claimed_until <= now, too_far)
    return or_(
        and_(OUTBOX.c.state == "waiting", is_due), and_(OUTBOX.c.state == "claimed", is_over)
    )


def _is_blocked(params: ClaimParams, now: datetime) -> ColumnElement[bool]:
    """Return whether another letter about the same thing comes first."""
    other = OUTBOX.alias("other")
    is_earlier = and_(other.c.action != RENEW, other.c.id < OUTBOX.c.id)
    lease = now + timedelta(seconds=params.lease_seconds)
    is_held = and_(other.c.claimed_until > now, other.c.claimed_until <= lease)
    is_renewing = and_(other.c.action == RENEW, other.c.state == "claimed", is_held)
    first = or_(
        and_(OUTBOX.c.action != RENEW, or_(is_earlier, is_renewing)),
        and_(OUTBOX.c.action == RENEW, other.c.action != RENEW),
    )
    return exists().where(
        other.c.receiver == OUTBOX.c.receiver,
        other.c.dedup_key == OUTBOX.c.dedup_key,
        other.c.state.in_(("waiting", "claimed")),
        first,
    )
