"""Take failures out of whatever lies below some paths: each log is read once, in bounded memory.

While the readers work on a block of a log, its lines are looked at for words of failures, and those
that say the same are folded into one. What the readers know a line as comes later, by its place.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

import polars as pl

from collectors.dialects import DIALECTS, stream_file
from collectors.lines import LINE_DIALECTS
from collectors.log_batches import SmallLog
from collectors.log_blocks import LogReader, log_name
from collectors.log_shapes import KnownHeads
from collectors.readings import EMPTY_FILE, FRAMES, Reading, join_readings
from collectors.signatures.failure_lines import (
    BLOCK_BYTES,
    FAILURE_LINES,
    BlockWatcher,
    batch_failure_lines,
)
from collectors.signatures.library import any_pattern
from collectors.sniffing import Dialect, ReadOptions, read_head
from collectors.texts.packed_files import open_unpacked
from collectors.texts.text_blocks import line_blocks
from detectors.failure_folds import (
    FOLDS,
    LABELS,
    join_folds,
    join_labels,
    labelled_folds,
    with_folds,
)
from paceline.file_batches import BatchReader, SourceFile, batches_of
from paceline.named_things import name_things
from paceline.undated import undated_sources

WORKERS: Final = 2
"""Batches that are read at once: each holds some blocks in memory."""

_SEVERE: Final = ("critical", "error", "high")

_PLACE: Final = ("source", "position")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureSources:
    """What sources say of failures.

    Attributes:
        rows: `FOLDS`: lines of logs.
        labels: `LABELS`: what readers know some of these lines as.
        events: Severe `EVENTS` that are no line among them, with what names their things.
        is_read: Whether anything was read at all, be it a reject.
    """

    rows: pl.DataFrame = field(default_factory=FOLDS.to_frame)
    labels: pl.DataFrame = field(default_factory=LABELS.to_frame)
    events: Reading = field(default_factory=Reading)
    is_read: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageReader:
    """Reads batches of files for their failures, in any number of threads.

    Attributes:
        signatures: `SIGNATURES`.
        options: What the files cannot say of themselves.
        heads: Which formats were found.
        also: The pattern of lines that a rule knows, whatever their words.
    """

    signatures: pl.DataFrame
    options: ReadOptions
    heads: KnownHeads
    also: str | None

    @classmethod
    def of(cls, signatures: pl.DataFrame, options: ReadOptions) -> "TriageReader":
        """Return a reader of all formats."""
        heads = KnownHeads(dialects=DIALECTS, log=_log_dialect())
        also = any_pattern(signatures)
        return cls(signatures=signatures, options=options, heads=heads, also=also)

    def read(self, files: Sequence[SourceFile]) -> FailureSources:
        """Return what a batch of files says: small ones together, a large log block by block."""
        logs = [file for file in files if self._is_log(file)]
        if len(files) > 1:
            reader = BatchReader(options=self.options, heads=self.heads)
            readings = [one.fold.reading for one in reader.read(files)]
            return self._told(self._small(logs), readings)
        if logs:
            return self._streamed(logs[0])
        parts = stream_file(files[0].path, files[0].name, self.options)
        return self._told(FAILURE_LINES.to_frame(), parts)

    def _is_log(self, file: SourceFile) -> bool:
        try:
            head = read_head(file.path)
            return bool(head.data) and self.heads.choose(head) is self.heads.log
        except OSError:
            return False

    def _small(self, files: Sequence[SourceFile]) -> pl.DataFrame:
        """Return `FAILURE_LINES` of small logs."""
        logs = [
            SmallLog(name=log_name(file.path.name, file.name), data=_unpacked(file))
            for file in files
        ]
        if not logs:
            return FAILURE_LINES.to_frame()
        return batch_failure_lines(logs, self.options, self.also)

    def _told(self, lines: pl.DataFrame, readings: Iterable[Reading]) -> FailureSources:
        """Return what lines and readings of the same files say together."""
        rows = with_folds(lines, self.signatures)
        places = _Places(parts=[rows.select(*_PLACE, "fold")])
        told = [places.told(reading) for reading in readings]
        return join_told([FailureSources(rows=join_folds(rows)), *told])

    def _streamed(self, file: SourceFile) -> FailureSources:
        """Return what a large log says, of which some blocks are in memory at a time."""
        name = log_name(file.path.name, file.name)
        watcher = BlockWatcher(name=name, options=self.options, also=self.also)
        reader = LogReader(name=name, options=self.options, dialects=LINE_DIALECTS)
        places, rows = _Places(parts=[]), list[pl.DataFrame]()

        def watched(blocks: Iterable[bytes]) -> Iterator[bytes]:
            for block in blocks:
                folded = with_folds(watcher.lines_of(block), self.signatures)
                places.parts.append(folded.select(*_PLACE, "fold"))
                rows[:] = [join_folds(pl.concat([*rows, folded]))]
                yield block

        with open_unpacked(file.path) as stream:
            blocks = line_blocks(stream, BLOCK_BYTES)
            told = [places.told(reading) for reading in reader.read(watched(blocks))]
        return join_told([FailureSources(rows=rows[0] if rows else FOLDS.to_frame()), *told])


def _log_dialect() -> Dialect:
    return next(one for one in DIALECTS if one.name == "log")


def _unpacked(file: SourceFile) -> bytes:
    """Return the bytes of a small file; of one that is packed what is in it."""
    with open_unpacked(file.path) as stream:
        return stream.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Where lines of some files stand, and of which fold they are.

    Attributes:
        parts: `source`, `position` and `fold`, in the order of the lines.
    """

    parts: list[pl.DataFrame]

    def told(self, reading: Reading) -> FailureSources:
        """Return what a reading knows of these lines, and what it tells besides."""
        events = reading.events.filter(pl.col("message").is_not_null())
        parts = [part for part in self.parts if _overlap(part, events)]
        places = pl.concat(parts) if parts else _no_places()
        known = events.drop_nulls("position").unique(_PLACE, keep="first", maintain_order=True)
        labels = known.join(places, on=_PLACE, how="inner", maintain_order="left").with_columns(
            count=pl.lit(1, pl.Int64), last=pl.col("time")
        )
        severe = events.filter(pl.col("severity").is_in(_SEVERE))
        others = severe.join(places, on=_PLACE, how="anti", maintain_order="left")
        return FailureSources(
            labels=join_labels(labels.select(LABELS.names())),
            events=Reading(events=others, aliases=reading.aliases, placements=reading.placements),
            is_read=_says_anything(reading),
        )


def _no_places() -> pl.DataFrame:
    return FOLDS.to_frame().select(*_PLACE, "fold")


def _overlap(places: pl.DataFrame, events: pl.DataFrame) -> bool:
    """Return whether events may be of lines among these."""
    if places.is_empty() or events.is_empty():
        return False
    first, last = events["position"].min(), events["position"].max()
    return first is not None and bool(places["position"].is_between(first, last).any())


def _says_anything(reading: Reading) -> bool:
    known = reading.rejects.filter(pl.col("reason") != EMPTY_FILE)
    return known.height > 0 or any(
        reading.frame(name).height for name in FRAMES if name != "rejects"
    )


def join_told(parts: Sequence[FailureSources]) -> FailureSources:
    """Return what several parts say, lines that say the same folded."""
    return FailureSources(
        rows=join_folds(pl.concat([part.rows for part in parts])),
        labels=join_labels(pl.concat([part.labels for part in parts])),
        events=join_readings([part.events for part in parts]),
        is_read=any(part.is_read for part in parts),
    )


def read_failures(
    files: Sequence[SourceFile], reader: TriageReader, say: Callable[[str, int, int], None]
) -> FailureSources:
    """Return what files say of failures.

    Args:
        files: What to read.
        reader: How they are read.
        say: Told after each file: its name, how many are done, how many there are.
    """
    whole, done = FailureSources(), 0
    batches = batches_of(files)
    with ThreadPoolExecutor(WORKERS) as pool:
        for batch, told in zip(batches, pool.map(reader.read, batches), strict=True):
            whole = join_told([whole, told])
            for file in batch:
                done += 1
                say(file.name, done, len(files))
    origins = {file.name: file.origin for file in files}
    dated = _dated(whole, files, reader)
    return replace(dated, events=name_things(dated.events, origins))


def _dated(
    whole: FailureSources, files: Sequence[SourceFile], reader: TriageReader
) -> FailureSources:
    """Return what files say, with the events that have a time once a year is known read anew.

    The newest year that any line shows stands in for stamps that carry none.
    """
    events = whole.events.events
    newest = pl.concat([events["time"], whole.rows["last"]]).max()
    undated = undated_sources({file.name: file.path for file in files}, whole.events)
    if reader.options.year is not None or not isinstance(newest, datetime) or not undated:
        return whole
    dated = replace(reader, options=replace(reader.options, year=newest.year))
    again = [dated.read([file]).events for file in files if file.name in undated]
    kept = events.filter(~pl.col("source").is_in(list(undated)))
    return replace(whole, events=join_readings([replace(whole.events, events=kept), *again]))


def failure_lines(told: FailureSources, stored: pl.DataFrame) -> pl.DataFrame:
    """Return all that tells of a failure.

    Args:
        told: What files say.
        stored: `EVENTS` of stores, of which the severe ones count.

    Returns:
        `FAILURE_LINES`.
    """
    severe = stored.filter(pl.col("message").is_not_null(), pl.col("severity").is_in(_SEVERE))
    events = pl.concat([told.events.events, severe])
    own = events.with_columns(
        text="message",
        block=pl.lit(None, dtype=pl.String),
        is_failure=pl.lit(value=True),
        count=pl.col("count").fill_null(1).cast(pl.Int64),
    )
    lines = labelled_folds(told.rows, told.labels)
    return pl.concat([lines, own.select(FAILURE_LINES.names())])
