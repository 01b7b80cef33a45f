"""Put what a webhook was told into the inbox: nothing else happens while the sender waits.

Source: Alertmanager, "webhook_config": a sender waits for the answer within its flush, and repeats
what was not answered. The same bytes are one row: told again, they are looked at again, since that
they were told again says that the alert still fires.
"""

import hashlib
from datetime import datetime

import orjson
from sqlalchemy import Engine, or_

from alerts.storing.tables import INBOX
from alerts.storing.upserts import upsert


class BodyError(ValueError):
    """A body is no JSON."""


def queue_notification(engine: Engine, body: bytes, *, now: datetime) -> str:
    """Put a body into the inbox and return its key.

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
    fresh = {"received": now, "state": "waiting", "attempts": 0, "due": now, "error": None}
    query = upsert(engine.dialect, INBOX).values(key=key, body=told, **fresh)
    is_done = or_(INBOX.c.state == "done", INBOX.c.state == "dead")
    with engine.begin() as connection:
        connection.execute(
            query.on_conflict_do_update(index_elements=["key"], set_=fresh, where=is_done)
        )
    return key
