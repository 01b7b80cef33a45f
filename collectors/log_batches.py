"""Read many small logs at once, as if each were read alone.

A job of thousands of ranks leaves as many logs of one program each: read one by one, they cost
hundreds of looks at a few lines. Together they are one text whose lines tell their file (see
`collectors.texts.file_places`). A dialect that does not keep files apart is given one after the
other, but only those that it may know.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import polars as pl

from collectors.communication.c10_lines import years_of_files
from collectors.frames import PLACEMENTS, conform
from collectors.line_reading import LineDialect
from collectors.line_sharing import hinted_lines
from collectors.log_batch_rows import Sources, by_file, rejects_of, said_of
from collectors.log_blocks import LogName, LogReader
from collectors.readings import Reading, join_readings, reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import SURE, counted_lines
from collectors.texts.file_places import FILE_LINES, file_number, file_numbers
from collectors.usual_lines import shown_to, without_parts

_NAMELESS: Final = LogName(source="", rank=None, host=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallLog:
    """One whole log.

    Attributes:
        name: What its name tells.
        data: Its bytes, unpacked; none of an empty file.
    """

    name: LogName
    data: bytes


@dataclass(frozen=True, kw_only=True)
class _Lines:
    """Lines of several files, by position.

    Attributes:
        rows: `LINES` with `SURE` and the columns of `usual_lines`, numbered from 0.
        count: How many files there are.
    """

    rows: pl.DataFrame
    count: int

    @cached_property
    def files(self) -> pl.Series:
        """Return the number of the file of each line."""
        return file_numbers(self.rows["position"])

    @cached_property
    def bounds(self) -> list[int]:
        """Return where the lines of each file begin, and at last how many lines there are."""
        ends = self.files.search_sorted(pl.Series(range(self.count + 1), dtype=pl.Int64))
        return ends.to_list()

    def rows_of(self, file: int) -> slice:
        """Return where the lines of a file are."""
        return slice(self.bounds[file], self.bounds[file + 1])

    def positions_by_file(self, flags: pl.Series | None = None) -> pl.Series:
        """Return how many lines of each file those with a flag, all if null, are pieces of."""
        rows = self.rows["position"] if flags is None else self.rows["position"].filter(flags)
        return _counts(rows.unique(), self.count)


def _counts(positions: pl.Series, count: int) -> pl.Series:
    """Return how many of some positions are in each of so many files."""
    found = file_numbers(positions).value_counts()
    return pl.zeros(count, pl.Int64, eager=True).scatter(found["file"], found["count"])


def read_log_batch(
    logs: Sequence[SmallLog], options: ReadOptions, dialects: Sequence[LineDialect]
) -> tuple[Reading, pl.Series]:
    """Return what the dialects find in some logs, log by log, and how many lines of each they use.

    Args:
        logs: Small ones, each whole, whose last line does not go on.
        options: Zone and year of stamps that carry none.
        dialects: Who reads their lines.

    Returns:
        The rows that reading each log alone would give, in the order of the logs; of each log the
        lines that ended as rows or as parts of rows.
    """
    raw = raw_lines_of(logs)
    reader = LogReader(name=_NAMELESS, options=options, dialects=dialects)
    whole = _Lines(rows=_with_names(reader.opened_lines(raw), logs), count=len(logs))
    batch = _Batch(dialects=dialects, options=options, lines=whole)
    return batch.read(
        raw,
        Sources(
            names=[one.name.source for one in logs],
            is_empty=pl.Series([not one.data for one in logs], dtype=pl.Boolean),
        ),
    )


def raw_lines_of(logs: Sequence[SmallLog]) -> pl.DataFrame:
    """Return `RAW_LINES` of all logs; a position tells the file as well."""
    texts = [_plain(one.data) for one in logs]
    firsts = pl.Series([0, *(text.count(b"\n") for text in texts)]).cum_sum()
    # The file has no beginning that might hold a mark of byte order: those of the logs are off.
    rows, _ = counted_lines(b"".join(texts), 1)
    at = rows["position"] - 2
    file = firsts.search_sorted(at, side="right").cast(pl.Int64) - 1
    return rows.with_columns(position=file * FILE_LINES + at - firsts.gather(file) + 1)


def _plain(data: bytes) -> bytes:
    """Return a text that ends in a line feed, as UTF-8 without its mark of byte order and NULs."""
    text = data.replace(b"\0", b"") if b"\0" in data else data
    utf8 = text if text.isascii() else text.decode("utf-8", errors="replace").encode()
    bare = utf8.removeprefix(b"\xef\xbb\xbf")
    return bare if bare.endswith(b"\n") or not bare else bare + b"\n"


def _with_names(lines: pl.DataFrame, logs: Sequence[SmallLog]) -> pl.DataFrame:
    """Return the lines with rank and host of their file's name, where they say none."""
    files = file_numbers(lines["position"])
    ranks = pl.Series([one.name.rank for one in logs], dtype=pl.Int32)
    hosts = pl.Series([one.name.host for one in logs], dtype=pl.String)
    return lines.with_columns(
        pl.col(name).fill_null(named.gather(files))
        for name, named in (("rank", ranks), ("host", hosts))
        if named.null_count() < named.len()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Reads the lines of several logs.

    Attributes:
        dialects: Who reads them.
        options: What the logs cannot say of themselves.
        lines: All of them.
    """

    dialects: Sequence[LineDialect]
    options: ReadOptions
    lines: _Lines

    def read(self, raw: pl.DataFrame, sources: Sources) -> tuple[Reading, pl.Series]:
        """Return what `read_log_batch` does, of `RAW_LINES` and the names to quote."""
        rows, count = self.lines.rows, self.lines.count
        hinted = hinted_lines(rows["text"], rows[SURE], self.dialects)
        places = {name: rows["position"].gather(one) for name, one in hinted.items()}
        alone = [one for one in self.dialects if one.alone and one.name in hinted]
        near, free = self._share(self.lines, alone, places, {self.options.year: range(count)})
        left = without_parts(rows, [one.name for one in alone]).filter(free)
        rest = _Lines(rows=left.with_columns(line=pl.int_range(pl.len())), count=count)
        others = [one for one in self.dialects if not one.alone and one.name in hinted]
        far, unknown = self._share(rest, others, places, self._years())
        known = self.lines.positions_by_file()
        used = known - rest.positions_by_file() + rest.positions_by_file(~unknown)
        told = by_file(join_readings([*near, _placements(rows), *far]), sources.names)
        rejects = rejects_of(rest.rows.filter(unknown), used, sources)
        parts = _counts(raw["position"], count) - known
        return replace(told, rejects=rejects, lines_used=int((used + parts).sum())), used + parts

    def _years(self) -> Mapping[int | None, Sequence[int]]:
        """Return the files by the year of their stamps without one."""
        if self.options.year is not None:
            return {self.options.year: range(self.lines.count)}
        shown = dict(years_of_files(self.lines.rows).iter_rows())
        files = dict[int | None, list[int]]()
        for file in range(self.lines.count):
            files.setdefault(shown.get(file), []).append(file)
        return files

    def _share(
        self,
        shown: _Lines,
        dialects: Sequence[LineDialect],
        places: Mapping[str, pl.Series],
        years: Mapping[int | None, Sequence[int]],
    ) -> tuple[list[Reading], pl.Series]:
        """Return what some dialects make of lines, and which ones none of them knows.

        Args:
            shown: The lines.
            dialects: In order: one sees what those before it have not claimed.
            places: Positions of the lines that each may know.
            years: The files by the year of their stamps without one.
        """
        free = pl.repeat(value=True, n=shown.rows.height, dtype=pl.Boolean, eager=True)
        readings = list[Reading]()
        for one in dialects:
            mine = free & shown.rows[SURE].is_in(self._seen_by(one))
            wanted = _files_to_read(shown, places[one.name])
            for year, files in years.items():
                few = [file for file in files if file in wanted]
                options = replace(self.options, year=year)
                for reading, claimed in _answers(one, shown, mine, few, options):
                    readings.append(reading)
                    free = free.scatter(claimed, values=False) if len(claimed) else free
        return readings, free

    def _seen_by(self, dialect: LineDialect) -> list[int]:
        """Return the numbers of those whose sure lines a dialect sees, 0 for those of nobody."""
        numbers = {one.name: number for number, one in enumerate(self.dialects, start=1)}
        return [0, *(numbers[name] for name in (dialect.name, *dialect.beside))]


def _files_to_read(shown: _Lines, places: pl.Series) -> frozenset[int]:
    """Return the files in which lines that a dialect may know are not all before those shown."""
    last = places.to_frame("position").group_by(file_number()).agg(pl.col("position").max())
    first = shown.rows.group_by(file_number()).agg(first=pl.col("position").min())
    near = last.join(first, on="file").filter(pl.col("position") >= pl.col("first"))
    return frozenset(near["file"])


def _answers(
    dialect: LineDialect,
    shown: _Lines,
    mine: pl.Series,
    files: Sequence[int],
    options: ReadOptions,
) -> Iterator[tuple[Reading, pl.Series]]:
    """Yield what a dialect makes of its lines in some files, and which of them it knows."""
    if not files:
        return
    if dialect.apart:
        theirs = mine if len(files) == shown.count else mine & shown.files.is_in(list(files))
        lines = shown_to(dialect, shown.rows)
        answer = dialect.read(lines if theirs.all() else lines.filter(theirs), options)
        yield answer.reading, answer.claimed.cast(pl.UInt32)
        return
    for file in files:
        part = shown.rows_of(file)
        lines = shown_to(dialect, shown.rows[part]).filter(mine[part])
        own = lines.with_columns(pl.col("line") - part.start, pl.col("position") % FILE_LINES)
        answer = dialect.read(own, options)
        yield said_of(answer.reading, file), answer.claimed.cast(pl.UInt32) + part.start


def _placements(lines: pl.DataFrame) -> Reading:
    """Return where ranks run, by the lines that tell their rank and their host, file by file."""
    if lines.height in {lines["rank"].null_count(), lines["host"].null_count()}:
        return Reading()
    key = ["source", "rank"]
    ranked = lines.filter(pl.col("rank").is_not_null()).with_columns(
        source=file_number().cast(pl.String)
    )
    indexed = ranked.with_columns(index=pl.col("local_rank").drop_nulls().first().over(key))
    placed = indexed.drop_nulls("host").unique([*key, "host"], keep="first", maintain_order=True)
    told = conform(placed.select(*key, "host", "index").lazy(), PLACEMENTS).collect()
    return reading_of(placements=told)
