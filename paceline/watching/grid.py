"""When ticks are due: at whole multiples of their distance, and never two at once.

A tick that takes longer than the distance does not make the next ones pile up: those that are
missed are counted, and the next one is at the next multiple.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LOG: Final = logging.getLogger("paceline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A tick that is due.

    Attributes:
        at: Its time.
        skipped: How many before it were missed.
    """

    at: datetime
    skipped: int


def next_due(last: datetime | None, now: datetime, every: timedelta) -> Due:
    """Return the tick that is due next.

    Args:
        last: Time of the last tick; null before the first, which is due at once.
        now: What time it is. A clock that was set back by more than a tick is believed: what is
            then done again is known by its time.
        every: Their distance.
    """
    here = _EPOCH + (now - _EPOCH) // every * every
    if last is None or now < last - every:
        return Due(at=here, skipped=0)
    following = last + every
    if here <= following:
        return Due(at=following, skipped=0)
    return Due(at=here, skipped=int((here - following) / every))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How ticks follow each other.

    Attributes:
        every: Their distance.
        clock: Says what time it is.
        stop: Set when no more is wanted.
    """

    every: timedelta
    clock: Callable[[], datetime]
    stop: threading.Event

    def run(self, tick: Callable[[Due], object]) -> None:
        """Do tick after tick until it is enough; the one that is under way is finished."""
        last: datetime | None = None
        while not self.stop.is_set():
            due = next_due(last, self.clock(), self.every)
            if self.stop.wait(max(0.0, (due.at - self.clock()).total_seconds())):
                return
            try:
                tick(due)
            except Exception:  # noqa: BLE001 -- the edge of the loop: the next tick may do
                _LOG.exception("the tick of %s failed", due.at.isoformat())
            last = due.at
