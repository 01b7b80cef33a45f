"""Messages: rows of the inbox that wait, and what becomes of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, bindparam, delete, select, update

from alerts.delivery.rests import begin_rest, is_resting
from alerts.notifications import Notification, parse_notification
from alerts.storing.databases import reading
from alerts.storing.tables import INBOX

KEPT: Final = timedelta(days=7)
"""How long a message that was folded is kept, for people who ask what Alertmanager said."""
FORGETTING: Final = "forgetting of messages"
"""Name of the rest between two looks for old ones."""
FORGET_SECONDS: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A row of the inbox that waits.

    Attributes:
        id: The row.
        body: What it holds: JSON, or text of it.
        received: When it came, last of all.
        attempts: How often what it left out was asked for.
    """

    id: int
    body: Any
    received: datetime
    attempts: int

    def notification(self) -> Notification:
        """Return the notification that it holds.

        Raises:
            NotificationError: It holds none.
        """
        body = self.body
        return parse_notification(body.encode() if isinstance(body, str) else orjson.dumps(body))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What becomes of a row.

    Attributes:
        id: The row.
        state: `done`, `dead`, or `waiting` for what it left out.
        attempts: How often what it left out was asked for.
        due: When it is asked for next.
        error: What is missing or wrong; null when nothing is.
    """

    id: int
    state: Literal["done", "dead", "waiting"]
    attempts: int
    due: datetime
    error: str | None = None


def waiting_messages(
    connection: Connection, which: ColumnElement[bool], limit: int
) -> list[Message]:
    """Return messages that wait, in the order they came."""
    query = select(INBOX).where(INBOX.c.state == "waiting", which).order_by(INBOX.c.id).limit(limit)
    return [
        Message(id=row.id, body=row.body, received=row.received, attempts=row.attempts)
        for row in connection.execute(query)
    ]


def new_messages(connection: Connection, ids: Sequence[int]) -> set[int]:
    """Return which messages nobody has looked at in the meantime."""
    is_new = (INBOX.c.state == "waiting") & (INBOX.c.attempts == 0)
    query = select(INBOX.c.id).where(is_new, INBOX.c.id.in_(ids))
    return set(connection.execute(query).scalars())


def write_fates(connection: Connection, fates: Sequence[Fate]) -> None:
    """Write what becomes of rows."""
    if not fates:
        return
    names = ("state", "attempts", "due", "error")
    query = update(INBOX).where(INBOX.c.id == bindparam("row"))
    written = query.values({name: bindparam(f"its_{name}") for name in names})
    rows = [
        {"row": fate.id} | {f"its_{name}": getattr(fate, name) for name in names} for fate in fates
    ]
    connection.execute(written, rows)


def forget_messages(engine: Engine, *, now: datetime) -> int:
    """Delete messages that were folded long ago, once an hour; return how many."""
    with reading(engine) as connection:
        if is_resting(connection, FORGETTING, now=now):
            return 0
    with engine.begin() as connection:
        begin_rest(connection, FORGETTING, FORGET_SECONDS, now=now)
        old = (INBOX.c.state == "done") & (INBOX.c.received < now - KEPT)
        return connection.execute(delete(INBOX).where(old)).rowcount
