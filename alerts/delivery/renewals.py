"""Renewals: a receiver that forgets is told again what it was told last.

Source: Alertmanager, API v2: an alert ends unless it is renewed, and the end of one is told for a
few minutes more. Each receiver and thing has one row for that, whose body says what is repeated;
a later letter about the same thing writes over it. Ends are counted and not timed, so that a clock
that is set back neither lengthens nor forgets them.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, insert, select, update

from alerts.delivery.claims import RENEW
from alerts.delivery.letters import Renewal
from alerts.storing.tables import OUTBOX

_REPEATED: Final = "repeated"
_LEFT: Final = "left_count"
_STANDING: Final = "standing"


def repeated_action(body: Mapping[str, Any]) -> str:
    """Return what the body of a renewal repeats: that it fires, unless it says otherwise."""
    return str(body.get(_REPEATED, "trigger"))


def standing_body(connection: Connection, row: Mapping[str, Any]) -> Mapping[str, object] | None:
    """Return the incident as a receiver was told of it before a row; null when it was not.

    A trigger begins anew.
    """
    if row["action"] == "trigger":
        return None
    query = select(OUTBOX.c.body).where(OUTBOX.c.key == _key(row))
    body = connection.execute(query).scalar()
    return None if body is None else body.get(_STANDING)


def plan_renewal(
    connection: Connection, row: Mapping[str, Any], renewal: Renewal, *, now: datetime
) -> None:
    """Write what a receiver is told again from now on, after a letter that it took."""
    body = {
        **row["body"],
        _STANDING: standing_body(connection, row) or row["body"],
        _REPEATED: row["action"],
        _LEFT: renewal.resolve_count if row["action"] == "resolve" else None,
    }
    fresh = {"state": "waiting", "attempts": 0, "last_error": None}
    values = {**fresh, "body": body, "due": _next(renewal, now)}
    known = connection.execute(update(OUTBOX).where(OUTBOX.c.key == _key(row)).values(**values))
    if not known.rowcount:
        same = {name: row[name] for name in ("incident", "receiver", "dedup_key", "created")}
        row_values = {"key": _key(row), "action": RENEW, **same, **values}
        connection.execute(insert(OUTBOX).values(**row_values))


def drop_reminders(connection: Connection, row: Mapping[str, Any]) -> None:
    """Close what waits to remind a receiver of a thing that has ended: it would begin it anew."""
    same = [OUTBOX.c[name] == row[name] for name in ("receiver", "dedup_key")]
    waits = (OUTBOX.c.action == RENEW, OUTBOX.c.state == "waiting")
    done = {"state": "delivered", "last_error": "the end came first"}
    connection.execute(update(OUTBOX).where(*same, *waits).values(**done))


def go_on(body: Mapping[str, Any], renewal: Renewal | None, *, now: datetime) -> dict[str, object]:
    """Return what becomes of a renewal that was taken: it waits for the next time, or is over."""
    left = body.get(_LEFT)
    if renewal is None or (left is not None and left <= 1):
        return {"state": "delivered", "delivered_at": now, "last_error": None}
    counted = {**body, _LEFT: None if left is None else left - 1}
    due = _next(renewal, now)
    return {"state": "waiting", "attempts": 0, "due": due, "body": counted, "last_error": None}


def _next(renewal: Renewal, now: datetime) -> datetime:
    return now + timedelta(seconds=renewal.every_seconds)


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['receiver']}:{row['dedup_key']}:{RENEW}"
