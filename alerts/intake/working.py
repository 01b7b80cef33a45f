"""The worker of the inbox: one pass, and passes until told to stop."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import Final

from sqlalchemy import Engine

from alerts.intake.alertmanager_api import AlertList
from alerts.intake.inbox import USUAL, InboxParams, take_messages
from alerts.intake.messages import forget_messages
from alerts.intake.reconciling import ask_for_truncated, settle_quiet

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPass:
    """What one pass did.

    Attributes:
        taken_count: Messages that were new.
        whole_count: Truncated groups that were made whole.
        settled_count: Episodes of alerts that had gone quiet and changed.
    """

    taken_count: int
    whole_count: int
    settled_count: int


def work_inbox(
    engine: Engine,
    *,
    now: datetime,
    source: AlertList | None = None,
    params: InboxParams = USUAL,
) -> InboxPass:
    """Fold what came, ask for what was left out, end what nobody renews, forget what is old.

    Args:
        engine: The incident database.
        now: The time.
        source: The Alertmanager to ask; null when there is none that answers.
        params: How to work.
    """
    taken = take_messages(engine, params, now=now, can_ask=source is not None)
    whole = 0 if source is None else ask_for_truncated(engine, source, params, now=now)
    settled = settle_quiet(engine, source, params, now=now)
    forget_messages(engine, now=now)
    return InboxPass(taken_count=taken, whole_count=whole, settled_count=settled)


def run_inbox(
    engine: Engine,
    *,
    stop: Event,
    now: Callable[[], datetime],
    source: AlertList | None = None,
    poll_seconds: float = 0.5,
) -> None:
    """Work the inbox until told to stop."""
    while not stop.is_set():
        try:
            work_inbox(engine, now=now(), source=source)
        except Exception as error:  # noqa: BLE001 -- the edge of a loop: the next pass may do
            _LOG.warning("a pass over the inbox failed: %s", type(error).__name__)
        stop.wait(poll_seconds)
