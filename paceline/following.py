"""Run a collector once, or round after round until a signal comes; and keep its store in shape."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Final

from rich.console import Console

from paceline.collecting import PASSING, Collector
from paceline.progress import progress_bar
from paceline.stopping import StoppedError

MAX_BACKOFF: Final = 16
"""A round that failed is tried again after twice the time before, up to so many times `every`."""

ROUNDS_BETWEEN_TIDYING: Final = 60
"""Each window is a small file; joining them is no work of every round."""

_LOG: Final = logging.getLogger("paceline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often to look, and how long to keep.

    Attributes:
        every: Time between two rounds.
        keep: Whole days older than this are forgotten; null keeps all.
    """

    every: timedelta
    keep: timedelta | None


def collect_once(collector: Collector, pace: Pace) -> str | None:
    """Take what is new, and return why not all of it could be taken; null if it was."""
    try:
        with progress_bar("Collecting", Console(stderr=True)) as say:
            collector.collect(say, is_first=True)
        if collector.collected.added:
            _tidy(collector, pace)
    except StoppedError:
        return "stopped by a signal; what was stored stays, the same command takes the rest"
    except PASSING as error:
        return str(error)
    return None


def follow_on(collector: Collector, pace: Pace) -> str | None:
    """Take what is new, round after round, until a signal comes; return null.

    A round that fails says so, and the next comes later: after twice the time for each failure.
    """
    failures = 0
    with suppress(StoppedError):
        for number in count():
            failures = 0 if _round(collector, pace, number) else failures + 1
            factor = min(2**failures, MAX_BACKOFF)
            collector.stop.wait(factor * pace.every.total_seconds())
    return None


def _round(collector: Collector, pace: Pace, number: int) -> bool:
    """Return whether a round could take all there was."""
    try:
        with progress_bar("Collecting", Console(stderr=True)) as say:
            collector.collect(say, is_first=number == 0)
        if number % ROUNDS_BETWEEN_TIDYING == 0:
            _tidy(collector, pace)
    except PASSING as error:
        _LOG.warning("%s; trying again", error)
        return False
    return True


def _tidy(collector: Collector, pace: Pace) -> None:
    """Join small files, and forget what is old."""
    collector.stop.check()
    collector.store.compact()
    if pace.keep is not None:
        collector.store.forget_before(collector.reader.clock() - pace.keep)
