"""Read a log of any size in windows: what a block says, with what stands around it.

A record may go on over the end of a block, and a step is timed by the line before it. So each block
is read together with the end of what came before (the last lines, and of each dialect the last that
it knew), and its own last lines are only told once what follows them is there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import polars as pl

from collectors.communication.c10_lines import year_of
from collectors.frames import PLACEMENTS, REJECTS, conform
from collectors.identity import file_rank
from collectors.line_reading import LineDialect
from collectors.line_sharing import Shared, is_bare, share_out
from collectors.readings import (
    FRAMES,
    MAX_REJECT_CHARACTERS,
    Reading,
    fold_rejects,
    join_readings,
    reading_of,
    reject_file,
)
from collectors.sniffing import ReadOptions
from collectors.taken import taken_on
from collectors.texts.envelope import LINES, RAW_LINES, open_lines, raw_lines
from collectors.texts.partials import whole_lines
from collectors.texts.prefetching import worked_ahead
from collectors.texts.torn_records import split_records
from collectors.training.attempts import STARTED, number_attempts

LINES_BEHIND: Final = 500
"""Lines that a window repeats from before: longer than any record of several lines."""

LINES_AHEAD: Final = 500
"""Lines of a window that wait for what follows them."""

KNOWN_BEHIND: Final = 50
"""Lines of each dialect that a window repeats, however far before they stand."""

_MIN_HOST_DIGITS: Final = 3
"""Logs are called `exp12.log` after their run as well."""

_PLACED: Final = tuple(name for name, kind in FRAMES.items() if "position" in kind)
"""Frames whose rows tell which line they are of."""

_STATED: Final = tuple(name for name in FRAMES if name not in {*_PLACED, "rejects", "coverage"})
"""Frames whose rows hold for the whole log and are told once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogName:
    """What the name of a log tells.

    Attributes:
        source: The name to quote.
        rank: Rank of the lines that say none.
        host: Host of the lines that say none.
    """

    source: str
    rank: int | None
    host: str | None


def log_name(name: str, source: str) -> LogName:
    """Return what the file name `name` tells of a log that is quoted as `source`."""
    host = taken_on(name, ReadOptions(), _MIN_HOST_DIGITS)
    return LogName(source=source, rank=file_rank(name), host=host)


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """What is carried from window to window.

    Attributes:
        behind: `LINES` that were told, to be seen again.
        ahead: `LINES` that are still to be told.
        told: Position up to which all is told.
        year: Year of stamps without one, as the last block that showed a year had it.
        started: Where each rank's attempts stand.
        stated: Rows of `_STATED` that were told.
        rejects: Lines that became nothing else, folded.
        lines_used: How many lines became something.
    """

    behind: pl.DataFrame = field(default_factory=LINES.to_frame)
    ahead: pl.DataFrame = field(default_factory=LINES.to_frame)
    told: int = 0
    year: int | None = None
    started: pl.DataFrame = field(default_factory=STARTED.to_frame)
    stated: dict[str, pl.DataFrame] = field(default_factory=dict[str, pl.DataFrame])
    rejects: pl.DataFrame = field(default_factory=REJECTS.to_frame)
    lines_used: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """Reads the blocks of one log.

    Attributes:
        name: What its name tells.
        options: What the log cannot say of itself.
        dialects: Who reads its lines.
        lines_behind: Lines that a window repeats from before.
        lines_ahead: Lines of a window that wait for what follows them.
    """

    name: LogName
    options: ReadOptions
    dialects: Sequence[LineDialect]
    lines_behind: int = LINES_BEHIND
    lines_ahead: int = LINES_AHEAD

    def read(self, blocks: Iterable[bytes], seen: int = 0) -> Iterator[Reading]:
        """Yield what the blocks say, one after the other, and at the end all rejects.

        Args:
            blocks: Whole lines each, but for the last.
            seen: How many of the first lines were told before, and only stand in front.
        """
        opened = worked_ahead(partial(self._open, seen=seen), _raw_blocks(blocks))
        state, held = _State(told=seen), _Opened(lines=LINES.to_frame())
        for block in opened:
            if held.lines.height or held.used or held.parts:
                reading, state = self._window(held, state, is_last=False)
                yield reading
            held = block
        reading, state = self._window(held, state, is_last=True)
        yield reading
        if state.lines_used:
            yield reading_of(rejects=state.rejects)
        else:
            first, count = state.rejects["text"].first() or "", state.rejects["count"].sum()
            yield reject_file(self.name.source, "no known format", str(first), int(count))

    def _open(self, raw: pl.DataFrame, seen: int) -> "_Opened":
        """Return the lines of a block, without those of dialects that need none around theirs."""
        starts = [dialect.start for dialect in self.dialects if dialect.start]
        bare = is_bare(raw["text"], self.dialects)
        lines = split_records(open_lines(raw, self.options.time_zone, bare), starts)
        rank, host = pl.lit(self.name.rank, pl.Int32), pl.lit(self.name.host, pl.String)
        placed = lines.with_columns(pl.col("rank").fill_null(rank), pl.col("host").fill_null(host))
        first = int((placed["position"] <= seen).sum())
        alone = [dialect for dialect in self.dialects if dialect.alone]
        shared = share_out(placed, slice(first, placed.height), alone, self.options)
        rest = placed.filter(shared.rest)
        known, left = (_count_changes(one["position"]) for one in (placed[first:], rest[first:]))
        return _Opened(
            lines=rest,
            reading=replace(
                shared.reading,
                placements=pl.concat([shared.reading.placements, _placements(placed)]),
            ),
            year=year_of(placed, self.options),
            used=known - left,
            parts=int((raw["position"] > seen).sum()) - known,
        )

    def _window(self, opened: "_Opened", state: _State, *, is_last: bool) -> tuple[Reading, _State]:
        """Return what a block says, and what is carried to the next."""
        due = pl.concat([state.ahead, opened.lines])
        ahead = due.clear() if is_last else due.tail(self.lines_ahead)
        stop = _first(ahead) or _after(due) or state.told + 1
        both = pl.concat([state.behind, due])
        lines = both.with_columns(line=pl.int_range(pl.len(), dtype=pl.Int64))
        year = opened.year or state.year
        first, after = lines["position"].search_sorted(pl.Series([state.told + 1, stop]))
        mine = slice(first, after)
        options = replace(self.options, year=self.options.year or year)
        others = [dialect for dialect in self.dialects if not dialect.alone]
        shared = share_out(lines, mine, others, options)
        told = _rows_of(shared.reading, lines["position"][mine])
        rest = shared.rest[mine]
        used = opened.used + _count_changes(lines["position"][mine].filter(~rest))
        whole = replace(join_readings([opened.reading, told]), lines_used=used)
        reading, known = self._closed(whole, lines[mine].filter(rest), state)
        return replace(reading, lines_used=used + opened.parts), replace(
            known,
            behind=_seen_again(shared, lines.head(after), self.lines_behind),
            ahead=ahead,
            told=stop - 1,
            year=year,
        )

    def _closed(
        self, reading: Reading, rest: pl.DataFrame, state: _State
    ) -> tuple[Reading, _State]:
        """Return what a block says as one log's part, and what is known after it.

        Args:
            reading: The rows of the block.
            rest: `LINES` that nobody knows.
            state: What is known before it.
        """
        steps, started = number_attempts(reading.steps, reading.events, state.started)
        frames = {name: reading.frame(name) for name in FRAMES} | {"steps": steps}
        whole: dict[str, Any] = {name: self._quoted(name, rows) for name, rows in frames.items()}
        fresh = {name: _news(whole[name], state.stated.get(name)) for name in _STATED}
        return replace(reading, **whole | fresh), replace(
            state,
            started=started,
            stated=_known(state.stated, fresh),
            rejects=fold_rejects(pl.concat([state.rejects, self._rejects(rest)])),
            lines_used=state.lines_used + reading.lines_used,
        )

    def _quoted(self, name: str, rows: pl.DataFrame) -> pl.DataFrame:
        """Return rows with their source, for frames that tell it."""
        is_sourced = "source" in FRAMES[name] and rows.height
        return rows.with_columns(source=pl.lit(self.name.source)) if is_sourced else rows

    def _rejects(self, lines: pl.DataFrame) -> pl.DataFrame:
        rejects = lines.lazy().select(
            "position",
            pl.col("text").str.head(MAX_REJECT_CHARACTERS),
            source=pl.lit(self.name.source),
            reason=pl.lit("unrecognised line"),
        )
        return conform(rejects, REJECTS).collect()


def _first(lines: pl.DataFrame) -> int | None:
    """Return the position of the first line; null of none."""
    return None if lines.is_empty() else int(lines["position"][0])


def _after(lines: pl.DataFrame) -> int | None:
    """Return the position after the last line; null of none."""
    return None if lines.is_empty() else int(lines["position"][-1]) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A block without what is around its lines.

    Attributes:
        lines: `LINES` that are left for dialects that look around.
        reading: What the other dialects made of theirs, and where ranks run.
        used: How many lines became part of that.
        parts: How many lines of the file are parts of others, or nothing but a prefix.
        year: The year that its lines show; null if they show none.
    """

    lines: pl.DataFrame
    reading: Reading = field(default_factory=Reading)
    used: int = 0
    parts: int = 0
    year: int | None = None


def _raw_blocks(blocks: Iterable[bytes]) -> Iterator[pl.DataFrame]:
    """Yield `RAW_LINES` of each block; a line that a runtime parted is whole in one of them."""
    before, open_end = 0, RAW_LINES.to_frame()
    for block in blocks:
        raw, open_end = whole_lines(pl.concat([open_end, raw_lines(block, before)]))
        before += block.count(b"\n")
        yield raw
    if open_end.height:
        yield open_end


def _rows_of(reading: Reading, positions: pl.Series) -> Reading:
    """Return the rows of a reading that are of lines at some sorted positions, or of no line."""
    first, last = (positions[0], positions[-1]) if len(positions) else (0, -1)
    mine = pl.col("position").is_null() | pl.col("position").is_between(first, last)
    frames: dict[str, Any] = {name: reading.frame(name).filter(mine) for name in _PLACED}
    return replace(reading, **frames)


def _count_changes(positions: pl.Series) -> int:
    """Return how many different positions there are among sorted ones."""
    return int((positions != positions.shift(1)).sum()) + 1 if len(positions) else 0


def _placements(lines: pl.DataFrame) -> pl.DataFrame:
    """Return where ranks run, by the lines that tell their rank and their host."""
    if lines.height in {lines["rank"].null_count(), lines["host"].null_count()}:
        return PLACEMENTS.to_frame()
    ranked = lines.filter(pl.col("rank").is_not_null()).with_columns(
        index=pl.col("local_rank").drop_nulls().first().over("rank")
    )
    placed = ranked.drop_nulls("host").unique(["rank", "host"], keep="first", maintain_order=True)
    return conform(placed.select("rank", "host", "index").lazy(), PLACEMENTS).collect()


def _news(rows: pl.DataFrame, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return the rows that were not told yet."""
    if known is None or rows.is_empty():
        return rows
    return rows.join(known, on=rows.columns, how="anti", nulls_equal=True)


def _known(
    stated: dict[str, pl.DataFrame], fresh: dict[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Return all rows told so far."""
    return {
        name: pl.concat([stated[name], rows]) if name in stated else rows
        for name, rows in fresh.items()
    }


def _seen_again(shared: Shared, told: pl.DataFrame, behind: int) -> pl.DataFrame:
    """Return the lines that the next window sees again: of each dialect some, and the last."""
    known = [
        claimed.filter(claimed < told.height).top_k(KNOWN_BEHIND)
        for claimed in shared.known.values()
    ]
    last = pl.int_range(max(0, told.height - behind), told.height, eager=True)
    return told[pl.concat([last, *known]).unique().sort()]
