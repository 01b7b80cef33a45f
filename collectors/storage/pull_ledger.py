"""Which windows of a source were looked at, and which are due: kept in the store's ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from collectors.frames import conform
from collectors.metrics.spans import Span, floor_to, merged, windows_of, without
from collectors.storage.store import Store, Wanted
from collectors.storage.store_tables import WINDOWS


@dataclass(frozen=True, slots=True, kw_only=True)
class PullParams:
    """How a source is taken, window by window.

    Attributes:
        window: Length of a window; windows start at its multiples since 1970.
        late: How long after a window's end samples may still arrive; it is looked at again then.
        context: Span before a window that is read with it, so that changes at its start are seen.
        tail: Part of the context whose events are told with the window: a device that fell silent
            just before it is only now silent for long enough.
        memory: Span before a window in which only each GPU's presence and last Xid are read.
        first: How far back the first run starts when it is not told.
    """

    window: timedelta = timedelta(minutes=5)
    late: timedelta = timedelta(minutes=10)
    context: timedelta = timedelta(minutes=4)
    tail: timedelta = timedelta(minutes=2)
    memory: timedelta = timedelta(hours=1)
    first: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        """Refuse spans that would take nothing, or see less than they tell."""
        if self.window < timedelta(seconds=1):
            raise ValueError(f"window must be at least a second, got {self.window}")
        if not timedelta(0) <= self.tail <= self.context <= self.memory:
            raise ValueError(
                "wanted 0 <= tail <= context <= memory, "
                f"got {self.tail}, {self.context}, {self.memory}"
            )
        if self.late < timedelta(0) or self.first <= timedelta(0):
            raise ValueError(f"late and first must not be negative: {self.late}, {self.first}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look at a window of a source.

    Attributes:
        span: The window.
        looked: When the source was asked.
    """

    span: Span
    looked: datetime


def read_looks(store: Store, source: str, selector: str) -> list[Look]:
    """Return all looks at a source's series of a selector."""
    rows = store.read(WINDOWS.name, Wanted(sources=[source]))
    mine = rows.filter(pl.col("selector") == selector).select("start", "end", "looked").collect()
    return [
        Look(span=Span(start=start, end=end), looked=looked)
        for start, end, looked in mine.sort("start", "end", "looked").iter_rows()
    ]


def write_look(store: Store, source: str, selector: str, look: Look, added: int) -> None:
    """Note that a window was looked at, after its rows are stored."""
    row = {
        "source": [source],
        "selector": [selector],
        "start": [look.span.start],
        "end": [look.span.end],
        "looked": [look.looked],
        "added": [added],
    }
    rows = conform(pl.LazyFrame(row), WINDOWS.schema).collect()
    store.add_rows(WINDOWS.name, rows, source)


def due_windows(
    asked: Span, looks: Sequence[Look], params: PullParams, now: datetime, *, is_first: bool
) -> list[Span]:
    """Return the windows of a span that are to be looked at now, in order.

    Args:
        asked: The span.
        looks: The looks so far.
        params: The windows' length and how late samples may be.
        now: With a zone; a window that has not ended is not due.
        is_first: Whether this run has not looked at anything yet: then each window is due that was
            not looked at since its late samples could arrive, else only if they had the time to.
    """
    ended = Span.between(asked.start, min(asked.end, now))
    if ended is None:
        return []
    settled = [look.span for look in looks if look.looked >= look.span.end + params.late]
    unsettled = without([ended], settled)
    fresh = without(unsettled, [look.span for look in looks])
    known = list(windows_of(without(unsettled, fresh), params.window))
    again = [one for one in known if is_first or one.end + params.late <= now]
    return sorted([*windows_of(fresh, params.window), *again])


def asked_span(
    bounds: tuple[datetime | None, datetime | None],
    looks: Sequence[Look],
    params: PullParams,
    now: datetime,
) -> Span | None:
    """Return the span to take.

    Args:
        bounds: Its start and end. Without a start it begins where the store left off, less what
            may be late, else `first` before now; without an end it goes to the last window's.
        looks: The looks so far.
        params: See there.
        now: With a zone.

    Returns:
        The span, or null if nothing has ended in it.
    """
    since, until = bounds
    covered = merged(look.span for look in looks)
    if since is None and covered:
        since = max(covered[-1].start, floor_to(covered[-1].end - params.late, params.window))
    start = since or floor_to(now - params.first, params.window)
    return Span.between(start, until or floor_to(now, params.window))
