"""The inbox: what webhooks were told becomes episodes, however often and in whichever order.

Source: `alerts.alert_episodes`. Messages are read, folded and closed in one transaction, so that a
worker that dies in between leaves them as they were; folding one twice changes nothing.
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
from alerts.intake.messages import Fate, Message, waiting_messages, write_fates
from alerts.notifications import Notification, NotificationError, NotifiedAlert
from alerts.storing.databases import writing
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
    batch_rows: int = 50
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


def take_messages(engine: Engine, params: InboxParams, *, now: datetime, can_ask: bool) -> int:
    """Fold the messages that are new, and return how many there were.

    One that left alerts out waits until they have been asked for; where nobody can be asked, it is
    closed with how many of how many it showed.
    """
    count = 0
    while True:
        # Two that fold one alert at a time would each miss what the other was told.
        with writing(engine) as connection:
            batch = waiting_messages(connection, INBOX.c.attempts == 0, params.batch_rows)
            fates = list(_fold_batch(connection, batch, now=now, can_ask=can_ask))
            write_fates(connection, fates)
        count += len(batch)
        if len(batch) < params.batch_rows:
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


def _fold_batch(
    connection: Connection, batch: list[Message], *, now: datetime, can_ask: bool
) -> Iterable[Fate]:
    """Fold what a batch tells; yield what becomes of each row."""
    told: list[Told] = []
    for message in batch:
        try:
            notification = message.notification()
        except NotificationError as error:
            _LOG.warning("a webhook was refused: %s", error)
            yield Fate(id=message.id, state="dead", attempts=0, due=now, error=str(error))
            continue
        told.append(as_told(notification, notification.alerts, message.received))
        shown = shown_text(notification)
        waits = shown is not None and can_ask
        yield Fate(
            id=message.id,
            state="waiting" if waits else "done",
            attempts=int(waits),
            due=now,
            error=shown,
        )
    fold_told(connection, told)


def as_told(
    notification: Notification, alerts: tuple[NotifiedAlert, ...], received: datetime
) -> Told:
    """Return what is told of a notification's alerts."""
    return Told(alerts=alerts, received=received, group_hash=notification.group_hash)
