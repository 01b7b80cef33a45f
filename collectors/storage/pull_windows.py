"""Take a Prometheus into the store, window by window: no sample lost and none twice.

A window is fetched with some context before it, stored, and noted in the ledger last. Whoever is
killed before the note fetches the window again, and only rows that are not there are appended; the
same holds for samples that arrive late, and for two collectors of one source.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import polars as pl

from collectors.frames import TIME
from collectors.metric_mappers import read_series
from collectors.metrics.metric_files import reading_of_answer
from collectors.metrics.prometheus import PrometheusServer, selector
from collectors.metrics.prometheus_answers import Answer
from collectors.metrics.series import Series
from collectors.metrics.spans import Span
from collectors.metrics.split_queries import fetch_all
from collectors.readings import Reading, join_readings, reading_of
from collectors.storage.metric_presence import metrics_seen, remember_metrics
from collectors.storage.pull_ledger import (
    Look,
    PullParams,
    asked_span,
    due_windows,
    read_looks,
    write_look,
)
from collectors.storage.store import Store

STATE_METRICS: Final = "(?i:dcgm)_.*(?i:xid|gpu_temp).*"
"""Metrics that tell whether a GPU is there and which Xid it had last, as a pattern of names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The series of one server that are to be taken.

    Attributes:
        server: Where to ask.
        matchers: Labels that the series must have; empty for all that the mappers can read.
    """

    server: PrometheusServer
    matchers: Mapping[str, str]

    @property
    def name(self) -> str:
        """The source's name in evidence: its address without a user's name and password."""
        parts = urlsplit(self.server.url.rstrip("/"))
        return f"prometheus {urlunsplit(parts._replace(netloc=parts.netloc.rpartition('@')[2]))}"

    @property
    def wanted(self) -> str:
        """The selector of its series."""
        return selector(self.matchers)

    @property
    def remembered(self) -> str:
        """The selector of the series that tell a GPU's state."""
        return selector(self.matchers, STATE_METRICS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulled:
    """One window that is stored.

    Attributes:
        span: The window.
        added: How many rows each frame got.
        done: How many windows are done.
        due: How many are due in all.
    """

    span: Span
    added: Mapping[str, int]
    done: int
    due: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Puller:
    """Takes one source into a store.

    Attributes:
        store: Where to.
        source: What.
        params: The windows.
        clock: Says what time it is, with a zone.
        asking: Entered while the server is asked; may break that off.
    """

    store: Store
    source: Source
    params: PullParams
    clock: Callable[[], datetime]
    asking: Callable[[], AbstractContextManager[None]] = nullcontext

    def pull(
        self, since: datetime | None, until: datetime | None, *, is_first: bool = True
    ) -> Iterator[Pulled]:
        """Take the windows that are due, yielding after each one that is stored.

        Args:
            since: Start of what is asked for; null: where the store left off, see `asked_span`.
            until: Its end; null: that of the last window that has ended.
            is_first: Whether windows whose samples may be late are looked at in any case; see
                `due_windows`.

        Raises:
            UnreachablePrometheusError: No answer after all retries; what was yielded is stored.
            RefusedQueryError: The server refused a query for another reason than its size.
            StoreWriteError: The disk is full, or may not be written to.
            StoreBusyError: Other collectors of this source won every time.
        """
        looks, now = read_looks(self.store, self.source.name, self.source.wanted), self.clock()
        asked = asked_span((since, until), looks, self.params, now)
        windows = due_windows(asked, looks, self.params, now, is_first=is_first) if asked else []
        for done, window in enumerate(windows, start=1):
            added = self._take(window)
            yield Pulled(span=window, added=added, done=done, due=len(windows))

    def _take(self, window: Span) -> dict[str, int]:
        """Store what a window says, note it, and return how many rows each frame got."""
        source, looked = self.source, self.clock()
        with self.asking():
            answer = fetch_window(source, window, self.params)
        series = answer.series()
        reading = read_window(series, source.name, window, self.params)
        notes = _notes(answer, source.name, window)
        added = self.store.append_new(join_readings([reading, notes]), source.name)
        remember_metrics(self.store, metrics_seen(_within(series, window), source.name))
        look = Look(span=window, looked=looked)
        write_look(self.store, source.name, source.wanted, look, sum(added.values()))
        return added


def fetch_window(source: Source, window: Span, params: PullParams) -> Answer:
    """Return the samples of a window and its context, and before it the state of the GPUs."""
    start = window.start - params.context
    answer = Answer()
    if params.memory > params.context:
        before = Span(start=window.start - params.memory, end=start)
        answer.absorb(fetch_all(source.server, source.remembered, before), 0)
    whole = Span(start=start, end=window.end)
    answer.absorb(fetch_all(source.server, source.wanted, whole), 0)
    return answer


def read_window(series: Series, source: str, window: Span, params: PullParams) -> Reading:
    """Return what the series say of a window.

    Args:
        series: The series of the window and of what came before it.
        source: The name to quote.
        window: The window.
        params: Which events before the window are told with it.

    Returns:
        Samples of the window, events of it and of the tail before it; the other frames are made of
        the window alone. What set in before the window and again in it is told at its last time.
    """
    whole = read_series(series, source)
    alone = read_series(_within(series, window), source)
    time, last = pl.col("time"), pl.col("last")
    is_told = (time >= window.start - params.tail) & (time < window.end)
    again = whole.events.filter(time < window.start, last >= window.start, last < window.end)
    recurred = again.with_columns(time=last, last=pl.lit(None, TIME), count=pl.lit(1, pl.Int32))
    return replace(
        alone,
        samples=whole.samples.filter((time >= window.start) & (time < window.end)),
        events=pl.concat([whole.events.filter(is_told), recurred]),
    )


def _within(series: Series, window: Span) -> Series:
    time = pl.col("time")
    inside = series.points.filter((time >= window.start) & (time < window.end))
    used = series.identities.join(inside, on="series", how="semi", maintain_order="left")
    return Series(points=inside, identities=used)


def _notes(answer: Answer, source: str, window: Span) -> Reading:
    """Return the server's warnings, as events at the window's start, and the records in error."""
    if not answer.rejects and not answer.warnings:
        return Reading()
    notes = Answer(rejects=answer.rejects, warnings=answer.warnings)
    reading = reading_of_answer(notes, source)
    dated = reading.events.with_columns(time=pl.lit(window.start).cast(TIME))
    return reading_of(rejects=reading.rejects, events=dated)
