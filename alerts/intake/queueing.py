"""Put what a webhook was told into the inbox: nothing else happens while the sender waits.

Source: Alertmanager, "webhook_config": a sender waits for the answer within its flush, and repeats
what was not answered. The same bytes are one row: told again, they are looked at again, since that
they were told again says that the alert still fires. Senders that come at one time share a
transaction ("group commit"): one of them writes for all, so that a hundred wait for one disk write
and not for a hundred.
"""

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache, partial
from typing import Any, Final
from weakref import WeakKeyDictionary

import orjson
from sqlalchemy import Engine, Insert, or_

from alerts.storing.tables import INBOX
from alerts.storing.upserts import upsert


class BodyError(ValueError):
    """A body is no JSON."""


@dataclass(slots=True, eq=False)
class _Row:
    """A row that somebody waits for.

    Attributes:
        values: What is written.
        is_written: Whether it is kept.
    """

    values: dict[str, Any]
    is_written: bool = False


@dataclass(slots=True)
class _Door:
    """Who waits at the door of one inbox.

    Attributes:
        writing: Held by whoever writes for all.
        waiting: Rows that nobody has taken yet; a deque is added to and taken from in one step.
    """

    writing: threading.Lock = field(default_factory=threading.Lock)
    waiting: deque[_Row] = field(default_factory=deque[_Row])

    def pass_in(self, row: _Row, write: Callable[[Sequence[_Row]], None]) -> None:
        """Write a row, and all that wait with it; return when it is written, by whomever."""
        self.waiting.append(row)
        with self.writing:
            if not row.is_written:
                taken = [self.waiting.popleft() for _ in range(len(self.waiting))]
                # Whoever took it before us and failed raised that to its own sender only.
                write(taken if row in taken else [row, *taken])


_FRESH: Final = {"state": "waiting", "attempts": 0, "error": None}
"""A message that nobody has looked at yet."""

_DOORS: Final[WeakKeyDictionary[Engine, _Door]] = WeakKeyDictionary()
_OPENING: Final = threading.Lock()


def queue_notification(engine: Engine, body: bytes, *, now: datetime) -> str:
    """Put a body into the inbox and return its key; it is kept when this returns.

    Args:
        engine: The incident database.
        body: What was posted; see `alerts.notifications.parse_notification` for what it should be.
        now: When it came.

    Raises:
        BodyError: It is no JSON.
    """
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BodyError("wanted JSON, found something else") from error
    key = hashlib.sha256(body).hexdigest()
    row = _Row(values={"key": key, "body": told, "received": now, "due": now})
    _door_of(engine).pass_in(row, partial(_write, engine))
    return key


def _door_of(engine: Engine) -> _Door:
    with _OPENING:
        return _DOORS.setdefault(engine, _Door())


@cache
def _written(dialect: str) -> Insert:
    """Return what writes a message; put together once, as that takes as long as the write."""
    query = upsert(dialect, INBOX)
    told = {name: query.excluded[name] for name in ("received", "due", *_FRESH)}
    is_done = or_(INBOX.c.state == "done", INBOX.c.state == "dead")
    return query.on_conflict_do_update(index_elements=["key"], set_=told, where=is_done)


def _write(engine: Engine, rows: Sequence[_Row]) -> None:
    """Write rows, each key once."""
    values = {row.values["key"]: row.values | _FRESH for row in rows}
    with engine.begin() as connection:
        connection.execute(_written(engine.dialect.name), list(values.values()))
    for row in rows:
        row.is_written = True
