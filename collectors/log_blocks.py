"""Read a log of any size in windows: what a block says, with what stands around it.

A record may go on over the end of a block, and a step is timed by the line before it. So each block
is read together with the end of what came before (the last lines, and of each dialect the last that
it knew), and its own last lines are only told once what follows them is there.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from collectors.communication.c10_lines import year_of
from collectors.frames import PLACEMENTS, REJECTS, conform
from collectors.identity import file_rank
from collectors.line_reading import LineDialect
from collectors.line_sharing import Shared, share_out
from collectors.readings import (
    FRAMES,
    MAX_REJECT_CHARACTERS,
    Reading,
    fold_rejects,
    reading_of,
    reject_file,
)
from collectors.sniffing import ReadOptions
from collectors.taken import taken_on
from collectors.texts.envelope import LINES, RAW_LINES, open_lines, raw_lines
from collectors.texts.partials import whole_lines
from collectors.texts.prefetching import prefetched
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
        state, held = _State(told=seen), _Opened(lines=LINES.to_frame())
        for opened in prefetched(self._opened(blocks)):
            if held.lines.height:
                reading, state = self._window(held, state, is_last=False)
                yield reading
            held = opened
        reading, state = self._window(held, state, is_last=True)
        yield reading
        if state.lines_used:
            yield reading_of(rejects=state.rejects)
        else:
            first, count = state.rejects["text"].first() or "", state.rejects["count"].sum()
            yield reject_file(self.name.source, "no known format", str(first), int(count))

    def _opened(self, blocks: Iterable[bytes]) -> Iterator["_Opened"]:
        """Yield the lines of each block."""
        before, open_end = 0, RAW_LINES.to_frame()
        for block in blocks:
            raw, open_end = whole_lines(pl.concat([open_end, raw_lines(block, before)]))
            before += block.count(b"\n")
            yield self._lines(raw)
        if open_end.height:
            yield self._lines(open_end)

    def _lines(self, raw: pl.DataFrame) -> "_Opened":
        """Return the lines of a block; the name tells rank and host of those that say none."""
        starts = [dialect.start for dialect in self.dialects if dialect.start]
        lines = split_records(open_lines(raw, self.options.time_zone), starts)
        rank, host = pl.lit(self.name.rank, pl.Int32), pl.lit(self.name.host, pl.String)
        placed = lines.with_columns(pl.col("rank").fill_null(rank), pl.col("host").fill_null(host))
        return _Opened(lines=placed, parts=raw.height - _count_changes(lines["position"]))

    def _window(self, opened: "_Opened", state: _State, *, is_last: bool) -> tuple[Reading, _State]:
        """Return what a block says, and what is carried to the next."""
        due = pl.concat([state.ahead, opened.lines])
        ahead = due.clear() if is_last else due.tail(self.lines_ahead)
        stop = _first(ahead) or _after(due) or state.told + 1
        both = pl.concat([state.behind, due])
        lines = both.with_columns(line=pl.int_range(pl.len(), dtype=pl.Int64))
        year = year_of(lines, self.options) or state.year
        first, after = lines["position"].search_sorted(pl.Series([state.told + 1, stop]))
        due_lines = slice(first, after)
        shared = share_out(lines, due_lines, self.dialects, replace(self.options, year=year))
        reading, known = self._told(shared, lines, due_lines, state)
        whole = replace(reading, lines_used=reading.lines_used + opened.parts)
        return whole, replace(
            known,
            behind=_seen_again(shared, lines.head(after), self.lines_behind),
            ahead=ahead,
            told=stop - 1,
            year=year,
        )

    def _told(
        self, shared: Shared, lines: pl.DataFrame, due: slice, state: _State
    ) -> tuple[Reading, _State]:
        """Return the rows of the lines that are due, and what is known after them."""
        mine = pl.col("position").is_null() | pl.col("position").is_between(
            *_span(lines["position"][due]), closed="both"
        )
        frames = {name: shared.reading.frame(name).filter(mine) for name in _PLACED}
        frames["steps"], started = number_attempts(frames["steps"], frames["events"], state.started)
        frames |= {name: shared.reading.frame(name) for name in _STATED}
        frames["placements"] = pl.concat([frames["placements"], _placements(lines)])
        whole: dict[str, Any] = {name: self._quoted(name, rows) for name, rows in frames.items()}
        fresh = {name: _news(whole[name], state.stated.get(name)) for name in _STATED}
        rest = shared.rest[due]
        used = _count_changes(lines["position"][due].filter(~rest))
        rejects = self._rejects(lines[due].filter(rest))
        return replace(Reading(), **whole | fresh, lines_used=used), replace(
            state,
            started=started,
            stated=_known(state.stated, fresh),
            rejects=fold_rejects(pl.concat([state.rejects, rejects])),
            lines_used=state.lines_used + used,
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
        lines: `LINES`.
        parts: How many lines of the file are parts of others, or nothing but a prefix.
    """

    lines: pl.DataFrame
    parts: int = 0


def _span(positions: pl.Series) -> tuple[int, int]:
    """Return the first and the last of sorted positions; nothing is between those of none."""
    return (int(positions[0]), int(positions[-1])) if len(positions) else (0, -1)


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
