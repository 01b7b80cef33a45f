"""The inbox: what webhooks were told becomes episodes, however often and in whichever order.

Source: `alerts.alert_episodes`. Messages are folded and closed in one transaction, so that a worker
that dies in between leaves them as they were; folding one twice changes nothing. The transaction is
short: who posts the next message waits for it.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, Engine

from alerts.alert_episodes import Episode, EpisodeParams, fold_alert
from alerts.delivery.backoff import RetryParams
from alerts.intake.episode_rows import read_histories, save_histories
from alerts.intake.messages import Fate, Message, new_messages, waiting_messages, write_fates
from alerts.notifications import Notification, NotificationError, NotifiedAlert
from alerts.storing.databases import reading, writing
from alerts.storing.tables import INBOX

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxParams:
    """How the inbox is worked.

    Attributes:
        episodes: When episodes end without a word.
        retries: How long to wait before an Alertmanager is asked again.
        batch_rows: Messages in one transaction.
        max_asks: How often an Alertmanager is asked for what one message left out.
    """

    episodes: EpisodeParams = field(default_factory=EpisodeParams)
    retries: RetryParams = field(default_factory=RetryParams)
    batch_rows: int = 20
    max_asks: int = 8


USUAL: Final = InboxParams()


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Alerts of one message.

    Attributes:
        alerts: What is said of each.
        received: When.
        group_hash: The group that they came in.
    """

    alerts: tuple[NotifiedAlert, ...]
    received: datetime
    group_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """A message that was read.

    Attributes:
        fate: What becomes of it.
        told: What it tells; null when it is no notification.
    """

    fate: Fate
    told: Told | None = None


def take_messages(engine: Engine, params: InboxParams, *, now: datetime, can_ask: bool) -> int:
    """Fold the messages that are new, and return how many there were.

    One that left alerts out waits until they have been asked for; where nobody can be asked, it is
    closed with how many of how many it showed.
    """
    count = 0
    while batch := _read_batch(engine, params, now=now, can_ask=can_ask):
        # Two that fold one alert at a time would each miss what the other was told.
        with writing(engine) as connection:
            new = new_messages(connection, [one.fate.id for one in batch])
            own = [one for one in batch if one.fate.id in new]
            fold_told(connection, [one.told for one in own if one.told is not None])
            write_fates(connection, [one.fate for one in own])
        count += len(own)
    return count


def fold_told(connection: Connection, told: Iterable[Told]) -> int:
    """Write what messages say of episodes; return how many episodes are new or have changed."""
    messages = list(told)
    names = {alert.fingerprint for one in messages for alert in one.alerts}
    before = read_histories(connection, names)
    after: dict[str, tuple[Episode, ...]] = {name: tuple(before.get(name, ())) for name in names}
    groups: dict[str, str] = {}
    for one in messages:
        for alert in one.alerts:
            name = alert.fingerprint
            after[name] = fold_alert(after[name], alert, received=one.received)
            groups[name] = one.group_hash
    return save_histories(connection, before, after, groups)


def shown_text(notification: Notification) -> str | None:
    """Return how many alerts of how many a message shows; null when it shows all."""
    shown, left_out = len(notification.alerts), notification.truncated_alerts
    return f"{shown} of {shown + left_out}" if left_out else None


def _read_batch(
    engine: Engine, params: InboxParams, *, now: datetime, can_ask: bool
) -> list[_Read]:
    """Return the next messages, read; that takes a while, and nobody has to wait for it."""
    with reading(engine) as connection:
        batch = waiting_messages(connection, INBOX.c.attempts == 0, params.batch_rows)
    return [_read(message, now=now, can_ask=can_ask) for message in batch]


def _read(message: Message, *, now: datetime, can_ask: bool) -> _Read:
    """Return what a message tells, and what becomes of it."""
    try:
        notification = message.notification()
    except NotificationError as error:
        _LOG.warning("a webhook was refused: %s", error)
        dead = Fate(id=message.id, state="dead", attempts=0, due=now, error=str(error))
        return _Read(fate=dead)
    shown = shown_text(notification)
    waits = shown is not None and can_ask
    fate = Fate(
        id=message.id,
        state="waiting" if waits else "done",
        attempts=int(waits),
        due=now,
        error=shown,
    )
    return _Read(fate=fate, told=as_told(notification, notification.alerts, message.received))


def as_told(
    notification: Notification, alerts: tuple[NotifiedAlert, ...], received: datetime
) -> Told:
    """Return what is told of a notification's alerts."""
    return Told(alerts=alerts, received=received, group_hash=notification.group_hash)
