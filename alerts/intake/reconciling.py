"""What no message tells: alerts that one left out, and alerts that went quiet.

Source: Alertmanager: what exceeds `max_alerts` is never delivered, and a firing alert of a webhook
carries no end, so that silence alone proves nothing. Both are asked for. Alertmanager keeps alerts
in memory: one that it no longer lists has ended, or comes again soon, and then its episode goes on.
"""

import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Engine, or_, select

from alerts.alert_episodes import Episode, EpisodeParams, expire_episodes, fold_alert
from alerts.delivery.backoff import retry_seconds
from alerts.delivery.http_calls import NoAnswerError
from alerts.delivery.rests import begin_rest, is_resting
from alerts.groups import group_view
from alerts.intake.alertmanager_api import AlertList
from alerts.intake.episode_rows import read_histories, save_histories
from alerts.intake.inbox import InboxParams, Told, as_told, fold_told, shown_text
from alerts.intake.messages import Fate, Message, waiting_messages, write_fates
from alerts.notifications import NotificationError, NotifiedAlert
from alerts.storing.databases import reading, writing
from alerts.storing.tables import ALERT_EPISODES, INBOX

_LOG: Final = logging.getLogger(__name__)

ASKING: Final = "alerts that went quiet"
"""Name of the rest between two questions about those."""
MIN_ASK_SECONDS: Final = 60.0


def ask_for_truncated(
    engine: Engine,
    source: AlertList,
    params: InboxParams,
    *,
    now: datetime,
    draw: Callable[[], float] = random.random,
) -> int:
    """Ask for what messages left out, and return how many were made whole.

    Args:
        engine: The incident database.
        source: Whom to ask.
        params: How often, and how long to wait.
        now: The time.
        draw: Draws a number from 0 to 1 for each wait.
    """
    too_far = now + timedelta(seconds=params.retries.max_seconds)
    is_due = or_(INBOX.c.due <= now, INBOX.c.due > too_far)
    with reading(engine) as connection:
        waiting = waiting_messages(connection, (INBOX.c.attempts > 0) & is_due, params.batch_rows)
    whole = 0
    for message in waiting:
        listed = _listed(source, message, now)
        wait = retry_seconds(message.attempts, params.retries, draw=draw())
        fate = _fate(message, params, due=now + timedelta(seconds=wait), is_whole=bool(listed))
        with writing(engine) as connection:
            if listed:
                fold_told(connection, [listed])
            write_fates(connection, [fate])
        whole += listed is not None
    return whole


def _listed(source: AlertList, message: Message, now: datetime) -> Told | None:
    """Return a group as the message and the list tell of it; null when nobody answers."""
    notification = message.notification()
    try:
        view = group_view(notification, source.group(notification, now=now))
    except (NoAnswerError, NotificationError) as error:
        _LOG.warning("a truncated group stays at %s: %s", shown_text(notification), error)
        return None
    return as_told(notification, view.alerts, message.received)


def _fate(message: Message, params: InboxParams, *, due: datetime, is_whole: bool) -> Fate:
    if is_whole:
        return Fate(id=message.id, state="done", attempts=message.attempts, due=due)
    gives_up = message.attempts >= params.max_asks
    return Fate(
        id=message.id,
        state="done" if gives_up else "waiting",
        attempts=message.attempts + 1,
        due=due,
        error=shown_text(message.notification()),
    )


def settle_quiet(
    engine: Engine, source: AlertList | None, params: InboxParams, *, now: datetime
) -> int:
    """End the episodes that nobody renews any more; return how many episodes changed.

    An Alertmanager is asked, where there is one: what it still lists has been seen, what it does
    not list any more ended at most a silence after it was seen last. Where nobody can be asked, an
    episode ends only when the end that it was sent with has passed.
    """
    quiet = _quiet_alerts(engine, params.episodes, now, can_ask=source is not None)
    if not quiet:
        return 0
    listed = None if source is None else _asked(engine, source, now)
    if source is not None and listed is None:
        return 0
    with writing(engine) as connection:
        before = read_histories(connection, quiet)
        after = {
            name: _settled(tuple(history), listed, params.episodes, now)
            for name, history in before.items()
        }
        return save_histories(connection, before, after, {})


def _quiet_alerts(
    engine: Engine, params: EpisodeParams, now: datetime, *, can_ask: bool
) -> set[str]:
    """Return the fingerprints of alerts that fire and that nothing was heard of for long.

    Where nobody can be asked, only those whose announced end has passed.
    """
    is_quiet = ALERT_EPISODES.c.last_seen < now - params.silence
    if not can_ask:
        is_quiet &= ALERT_EPISODES.c.due_at < now
    query = select(ALERT_EPISODES.c.fingerprint).where(
        ALERT_EPISODES.c.status == "firing", is_quiet
    )
    with reading(engine) as connection:
        return set(connection.execute(query).scalars())


def _asked(engine: Engine, source: AlertList, now: datetime) -> Mapping[str, NotifiedAlert] | None:
    """Return the alerts that are listed, by fingerprint; null when it is too soon, or nobody says.

    A question that is answered is asked again when the next alert goes quiet.
    """
    with reading(engine) as connection:
        if is_resting(connection, ASKING, now=now):
            return None
    with engine.begin() as connection:
        begin_rest(connection, ASKING, MIN_ASK_SECONDS, now=now)
    try:
        return {alert.fingerprint: alert for alert in source.everything(now=now)}
    except (NoAnswerError, NotificationError) as error:
        _LOG.warning("nobody says whether quiet alerts still fire: %s", error)
        return None


def _settled(
    history: tuple[Episode, ...],
    listed: Mapping[str, NotifiedAlert] | None,
    params: EpisodeParams,
    now: datetime,
) -> tuple[Episode, ...]:
    """Return the episodes of a quiet alert after it was looked for."""
    if listed is None:
        return expire_episodes(history, params, now=now)
    found = listed.get(history[0].fingerprint)
    if found is not None:
        return fold_alert(history, found, received=now)
    due = tuple(
        replace(one, due_at=one.due_at or one.seen_at + params.silence) if one.is_open else one
        for one in history
    )
    return expire_episodes(due, params, now=now)
