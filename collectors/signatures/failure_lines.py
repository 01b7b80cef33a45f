"""Read the lines of a log that may tell of a failure; a traceback is one, with all its lines.

It reads beside the dialects: their rejects are counted and shown by example, and triage wants all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.identity import canonical_host
from collectors.line_reading import printer
from collectors.log_batches import SmallLog, raw_lines_of
from collectors.log_blocks import LogName, log_name
from collectors.signatures.failure_looks import (
    has_failure_words,
    looks_like_failure,
    may_be_failure,
)
from collectors.sniffing import ReadOptions
from collectors.texts.envelope import open_lines, raw_lines
from collectors.texts.file_places import FILE_LINES, file_numbers
from collectors.texts.packed_files import open_unpacked
from collectors.texts.stamps import iso_time
from collectors.texts.text_blocks import line_blocks
from collectors.training.tracebacks import TRACEBACK_START

FAILURE_LINES: Final = schema_of(
    {
        "time": TIME,
        "last": TIME,
        "host": pl.String,
        "rank": pl.Int32,
        "kind": pl.String,
        "code": pl.String,
        "text": pl.String,
        "block": pl.String,
        "is_failure": pl.Boolean,
        "count": pl.Int64,
        "source": pl.String,
        "position": pl.Int64,
    }
)
"""A line that may tell of a failure. `text` is what it says, of a traceback its last line; `block`
is all lines of one without their prefixes, null of others. `kind` and `code` are what our readers
know it as (see `EVENTS`), null if they do not. `is_failure`: its own words say so.
`count` is how many equal ones it stands for, `last` the time of the last; null where no time is
known."""

BLOCK_BYTES: Final = 16 * 1024 * 1024

MAX_BLOCK_LINES: Final = 200
"""Lines after the start of a traceback that may belong to it: other printers talk in between."""

MAX_BLOCK_CHARACTERS: Final = 4_000

_STAMPED: Final = r"^\W{0,2}\d{4}-\d\d-\d\d[T ]\d\d:\d\d"

_SYSLOG: Final = (
    r"^(?:[A-Z][a-z]{2} +\d{1,2} [\d:.]+ )?([A-Za-z][\w.-]*\d[\w.-]*)"
    r" [\w./-]+(?:\[\d+\])?: "
)

_HOSTS: Final = (
    _SYSLOG,
    r"^([A-Za-z][\w.-]*):\d+:\d+ \[\d+\] ",
    r"^\[([A-Za-z][\w.-]*\d):\d+",
)
"""Where lines name their host besides in a prefix: syslog's form, NCCL's, MPI's."""

_LINK: Final = r"^(?:During handling of the above exception|The above exception was the direct)"


def read_failure_lines(
    path: Path, source: str, options: ReadOptions, also: str | None = None
) -> Iterator[pl.DataFrame]:
    """Yield the lines of a log that may tell of a failure, a part of the log at a time.

    Args:
        path: The log, plain or packed.
        source: The name to quote.
        options: Zone of stamps that carry none.
        also: A pattern of lines that count whatever their words, see `may_be_failure`.

    Yields:
        `FAILURE_LINES`, in the log's order; see `BlockWatcher`.

    Raises:
        OSError: The file cannot be read.
    """
    watcher = BlockWatcher(name=log_name(path.name, source), options=options, also=also)
    with open_unpacked(path) as stream:
        for block in line_blocks(stream, BLOCK_BYTES):
            yield watcher.lines_of(block)


@dataclass(slots=True, kw_only=True)
class BlockWatcher:
    """Looks at the blocks of one log, whoever reads them besides.

    Attributes:
        name: What its name tells.
        options: Zone of stamps that carry none.
        also: A pattern of lines that count whatever their words, see `may_be_failure`.
        seen: Lines of the blocks so far.
    """

    name: LogName
    options: ReadOptions
    also: str | None = None
    seen: int = 0

    def lines_of(self, block: bytes) -> pl.DataFrame:
        """Return the lines of the next block that may tell of a failure.

        Args:
            block: Whole lines.

        Returns:
            `FAILURE_LINES`, in the log's order; `host` and `rank` that a line does not tell are
            those of the file's name. A traceback that two blocks share is told by its last line
            alone.
        """
        raw = raw_lines(block, self.seen)
        self.seen += block.count(b"\n")
        return _lines_of(raw, [self.name], self.options, self.also)


def batch_failure_lines(
    logs: Sequence[SmallLog], options: ReadOptions, also: str | None = None
) -> pl.DataFrame:
    """Return the lines of small logs that may tell of a failure, all looked at once.

    Args:
        logs: Whole logs.
        options: Zone of stamps that carry none.
        also: A pattern of lines that count whatever their words, see `may_be_failure`.

    Returns:
        `FAILURE_LINES`, as `read_failure_lines` gives them log by log.
    """
    return _lines_of(raw_lines_of(logs), [one.name for one in logs], options, also)


def _lines_of(
    raw: pl.DataFrame, names: Sequence[LogName], options: ReadOptions, also: str | None
) -> pl.DataFrame:
    """Return `FAILURE_LINES` of `RAW_LINES`, whose positions tell the file."""
    lines = open_lines(_worth_opening(raw, also), options.time_zone)
    told = _told(_placed(lines, options.time_zone), also)
    files = file_numbers(told["position"])
    hosts = pl.Series([one.host for one in names], dtype=pl.String).gather(files)
    ranks = pl.Series([one.rank for one in names], dtype=pl.Int32).gather(files)
    sources = pl.Series([one.source for one in names], dtype=pl.String).gather(files)
    return told.with_columns(
        pl.col("host").fill_null(hosts),
        pl.col("rank").fill_null(ranks),
        pl.col("position") % FILE_LINES,
        source=sources,
    ).select(pl.col(column).cast(kind) for column, kind in FAILURE_LINES.items())


def _worth_opening(raw: pl.DataFrame, also: str | None) -> pl.DataFrame:
    """Return the raw lines that may tell of a failure, and those after the start of a traceback."""
    text = raw["text"]
    at = pl.int_range(pl.len())
    start = pl.when(text.str.contains(TRACEBACK_START)).then(at).forward_fill()
    is_near = (at - start).fill_null(MAX_BLOCK_LINES + 1) <= MAX_BLOCK_LINES
    return raw.filter(is_near | has_failure_words(pl.col("text"), also))


def _placed(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the lines with the time and the host that their texts begin with."""
    text = pl.col("text")
    hosts = [canonical_host(text.str.extract(pattern)) for pattern in _HOSTS]
    time = pl.when(text.str.contains(_STAMPED)).then(iso_time(text, time_zone))
    return lines.with_columns(
        pl.coalesce("time", time).alias("time"), pl.coalesce("host", *hosts).alias("host")
    )


def _told(lines: pl.DataFrame, also: str | None) -> pl.DataFrame:
    """Return one row for each block and each line besides that may tell of a failure."""
    marked = _marked(lines)
    blocks = (
        marked.filter("in_block")
        .group_by("printer", "stretch", maintain_order=True)
        .agg(
            pl.col("line", "position", "time", "host", "rank").first(),
            pl.col("text").last().str.strip_chars(),
            pl.col("text").str.join("\n").str.head(MAX_BLOCK_CHARACTERS).alias("block"),
        )
        .drop("printer", "stretch")
    )
    alone = marked.filter(
        ~pl.col("in_block"),
        may_be_failure(pl.col("text"), also),
        ~pl.col("text").str.contains(_LINK),
    )
    both = pl.concat([blocks, alone.select(*blocks.columns[:-1])], how="diagonal").sort("line")
    is_block = pl.col("block").is_not_null()
    return both.with_columns(
        pl.lit(None).alias("kind"),
        pl.lit(None).alias("code"),
        pl.lit(1).alias("count"),
        last=pl.col("time"),
        is_failure=is_block | looks_like_failure(pl.col("text")),
    )


def _marked(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines with their printer, its stretch, and whether they are of its traceback.

    A block runs from its start over deeper lines to the first that is not: the exception.
    """
    starts = pl.col("text").str.contains(TRACEBACK_START)
    depth = pl.col("text").str.extract(r"^(\s*)").str.len_chars()
    keyed = lines.with_columns(printer=printer(), starts=starts, depth=depth)
    parted = keyed.with_columns(stretch=pl.col("starts").cum_sum().over("printer"))
    own = ("printer", "stretch")
    shallow = ~pl.col("starts") & (pl.col("depth") <= pl.col("depth").first().over(own))
    ended = shallow.cum_sum().over(own)
    in_block = (pl.col("stretch") > 0) & ((ended == 0) | (shallow & (ended == 1)))
    return parted.with_columns(in_block=in_block)
