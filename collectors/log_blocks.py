"""Read a log of any size: block by block, several at once, as if it were read whole.

Blocks are opened and shared out among the dialects in other threads; what depends on all that came
before (attempts, what was told already) is added one block after the other.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import polars as pl

from collectors.communication.c10_lines import year_of
from collectors.frames import PLACEMENTS, REJECTS, conform
from collectors.identity import file_rank
from collectors.line_reading import LineDialect
from collectors.line_sharing import Shown, hinted_lines, share_out, sure_of
from collectors.log_windows import (
    LINES_AROUND,
    OpenBlock,
    Window,
    windows_of,
)
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
from collectors.texts.envelope import LINES, RAW_LINES, SURE, counted_lines, open_known
from collectors.texts.partials import whole_lines
from collectors.texts.prefetching import worked_ahead
from collectors.texts.torn_records import signs_of, split_records
from collectors.training.attempts import STARTED, number_attempts
from collectors.usual_lines import usual_lines, without_parts

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
class _Told:
    """What is known of all blocks so far.

    Attributes:
        started: Where each rank's attempts stand.
        stated: Rows of `_STATED` that were told.
        rejects: Lines that became nothing else, folded.
        lines_used: How many lines became something.
    """

    started: pl.DataFrame = field(default_factory=STARTED.to_frame)
    stated: Mapping[str, pl.DataFrame] = field(default_factory=dict[str, pl.DataFrame])
    rejects: pl.DataFrame = field(default_factory=REJECTS.to_frame)
    lines_used: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What one window says.

    Attributes:
        reading: Its rows; `lines_used` counts lines that a dialect knows.
        rest: `LINES` that nobody knows.
        parts: How many lines are parts of others, or nothing but a prefix.
    """

    reading: Reading
    rest: pl.DataFrame
    parts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LogReader:
    """Reads the blocks of one log.

    Attributes:
        name: What its name tells.
        options: What the log cannot say of itself.
        dialects: Who reads its lines.
        around: Lines that a window repeats from before, and that wait for what follows them.
    """

    name: LogName
    options: ReadOptions
    dialects: Sequence[LineDialect]
    around: int = LINES_AROUND

    def read(self, blocks: Iterable[bytes], seen: int = 0) -> Iterator[Reading]:
        """Yield what the blocks say, one after the other, and at the end all rejects.

        Args:
            blocks: Whole lines each, but for the last.
            seen: How many of the first lines were told before, and only stand in front.
        """
        opened = worked_ahead(partial(self._open, seen=seen), _raw_blocks(blocks))
        told = _Told()
        for part in worked_ahead(self._share, windows_of(opened, self.around, seen)):
            reading, told = self._close(part, told)
            yield reading
        if told.lines_used:
            yield reading_of(rejects=told.rejects)
        else:
            first, count = told.rejects["text"].first() or "", told.rejects["count"].sum()
            yield reject_file(self.name.source, "no known format", str(first), int(count))

    def _open(self, raw: pl.DataFrame, seen: int) -> OpenBlock:
        """Return the lines of a block, without those of dialects that need none around theirs."""
        lines = self.opened_lines(raw)
        first = int((lines["position"] <= seen).sum())
        sure = lines[SURE]
        hinted = hinted_lines(lines["text"], sure, self.dialects)
        alone = frozenset(one.name for one in self.dialects if one.alone) & set(hinted)
        shown = Shown(lines=lines, sure=sure, due=slice(first, lines.height), wanted=alone)
        shared = share_out(shown, self.dialects, self.options)
        bare = without_parts(lines, alone)
        rest = bare if shared.rest.all() else bare.filter(shared.rest)
        due = (lines["position"], rest["position"])
        known, left = (_count_changes(one.filter(one > seen)) for one in due)
        return OpenBlock(
            lines=rest,
            hinted={
                name: lines["position"].gather(places)
                for name, places in hinted.items()
                if name not in alone
            },
            reading=_with_placements(shared.reading, lines),
            used=known - left,
            parts=int((raw["position"] > seen).sum()) - known,
            year=year_of(lines, self.options),
        )

    def opened_lines(self, raw: pl.DataFrame) -> pl.DataFrame:
        """Return `OPEN_LINES` with what is usual in them; see `usual_lines`.

        The log's name tells rank and host of lines that say none.
        """
        starts = [dialect.start for dialect in self.dialects if dialect.start]
        usual = usual_lines(raw, self.dialects, signs_of(starts), self.options)
        sure = self._sure(raw["text"], usual[SURE])
        opened = open_known(raw, sure, self.options.time_zone)
        known = _at(usual, raw["position"], opened["position"])
        lines = split_records(opened.hstack(known.drop(SURE)), starts, known[SURE] > 0)
        rank, host = pl.lit(self.name.rank, pl.Int32), pl.lit(self.name.host, pl.String)
        return lines.with_columns(
            pl.col("rank").fill_null(rank),
            pl.col("host").fill_null(host),
            self._sure_again(lines).alias(SURE),
        )

    def _sure(self, text: pl.Series, usual: pl.Series) -> pl.Series:
        """Return whose lines surely are; the usual ones are known."""
        left = (usual == 0).arg_true()
        if len(left) == len(text):
            return sure_of(text, self.dialects)
        return usual.scatter(left, sure_of(text.gather(left), self.dialects))

    def _sure_again(self, lines: pl.DataFrame) -> pl.Series:
        """Return whose lines surely are, also of those whose text is not that of the file."""
        unsure = lines[SURE].is_null().arg_true()
        found = sure_of(lines["text"].gather(unsure), self.dialects)
        return lines[SURE].scatter(unsure, found) if len(unsure) else lines[SURE]

    def _share(self, window: Window) -> _Part:
        """Return what the dialects that look around make of a window's lines that are due."""
        lines, due = window.lines, window.due
        shown = Shown(lines=lines, sure=window.lines[SURE], due=due, wanted=window.wanted)
        options = replace(self.options, year=self.options.year or window.year)
        shared = share_out(shown, self.dialects, options)
        positions, rest = lines["position"][due], shared.rest[due]
        told = join_readings([window.block.reading, _rows_of(shared.reading, positions)])
        used = window.block.used + _count_changes(positions.filter(~rest))
        return _Part(
            reading=replace(told, lines_used=used),
            rest=lines[due].select(LINES.names()).filter(rest),
            parts=window.block.parts,
        )

    def _close(self, part: _Part, told: _Told) -> tuple[Reading, _Told]:
        """Return what a window says as one log's part, and what is known after it."""
        steps, started = number_attempts(part.reading.steps, part.reading.events, told.started)
        frames = {name: part.reading.frame(name) for name in FRAMES} | {"steps": steps}
        whole: dict[str, Any] = {name: self._quoted(name, rows) for name, rows in frames.items()}
        fresh = {name: _news(whole[name], told.stated.get(name)) for name in _STATED}
        used = part.reading.lines_used
        return replace(part.reading, **whole | fresh, lines_used=used + part.parts), _Told(
            started=started,
            stated=_known(told.stated, fresh),
            rejects=fold_rejects(pl.concat([told.rejects, self._rejects(part.rest)])),
            lines_used=told.lines_used + used,
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


def _raw_blocks(blocks: Iterable[bytes]) -> Iterator[pl.DataFrame]:
    """Yield `RAW_LINES` of each block; a line that a runtime parted is whole in one of them."""
    before, open_end = 0, RAW_LINES.to_frame()
    for block in blocks:
        lines, before = counted_lines(block, before)
        raw, open_end = whole_lines(pl.concat([open_end, lines]))
        del block, lines
        yield raw
    if open_end.height:
        yield open_end


def _rows_of(reading: Reading, positions: pl.Series) -> Reading:
    """Return the rows of a reading that are of lines at some sorted positions, or of no line."""
    first, last = (positions[0], positions[-1]) if len(positions) else (0, -1)
    mine = pl.col("position").is_null() | pl.col("position").is_between(first, last)
    frames: dict[str, Any] = {name: reading.frame(name).filter(mine) for name in _PLACED}
    return replace(reading, **frames)


def _at(rows: pl.DataFrame, positions: pl.Series, wanted: pl.Series) -> pl.DataFrame:
    """Return the rows, which are those of sorted positions, at the positions that are wanted."""
    is_same = len(wanted) == len(positions) and bool((wanted == positions).all())
    return rows if is_same else rows[positions.search_sorted(wanted)]


def _count_changes(positions: pl.Series) -> int:
    """Return how many different positions there are among sorted ones."""
    return int((positions != positions.shift(1)).sum()) + 1 if len(positions) else 0


def _with_placements(reading: Reading, lines: pl.DataFrame) -> Reading:
    """Return a reading with where ranks run, by the lines that tell their rank and their host."""
    if lines.height in {lines["rank"].null_count(), lines["host"].null_count()}:
        return reading
    ranked = lines.filter(pl.col("rank").is_not_null()).with_columns(
        index=pl.col("local_rank").drop_nulls().first().over("rank")
    )
    placed = ranked.drop_nulls("host").unique(["rank", "host"], keep="first", maintain_order=True)
    told = conform(placed.select("rank", "host", "index").lazy(), PLACEMENTS).collect()
    return replace(reading, placements=pl.concat([reading.placements, told]))


def _news(rows: pl.DataFrame, known: pl.DataFrame | None) -> pl.DataFrame:
    """Return the rows that were not told yet."""
    if known is None or rows.is_empty():
        return rows
    return rows.join(known, on=rows.columns, how="anti", nulls_equal=True)


def _known(
    stated: Mapping[str, pl.DataFrame], fresh: Mapping[str, pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """Return all rows told so far."""
    return {
        name: pl.concat([stated[name], rows]) if name in stated else rows
        for name, rows in fresh.items()
    }
