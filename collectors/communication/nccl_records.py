"""Take NCCL's lines apart: who printed them, at which level, and what they say.

Source: formats of NCCL logs, section 2 (prefix by release 2.3 to 2.30). The number in brackets is
the CUDA device current on the printing thread, never a rank; a process is known by host and pid.

A log of one job has millions of such lines and few printers: each head is looked at once.
"""

from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.distinct_texts import distinct_texts
from collectors.texts.stamps import iso_time

NCCL_HINT: Final = r"NCCL (?:INFO|WARN|TRACE|CALL|ABORT|version) |\] (?:INFO|WARN) "
"""What each line of NCCL has; before 2.4 without its name."""

_HEAD: Final = (
    r"(?:\[(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?)\] ?)?"
    r"(?P<nccl_host>[A-Za-z0-9][A-Za-z0-9_.-]*):(?P<pid>\d+):(?P<thread>\d+)"
    r"(?: \[(?P<cuda_device>-?\d+)\])?(?: \d+\.\d+)?(?: [A-Za-z0-9_./~:<>,-]+:\d+)?"
    r"(?: \([A-Za-z0-9_:~<>]+\))?"
)
"""Text before the host is a stamp in the user's own format and is passed over."""

_WHOLE: Final = (
    rf"{_HEAD} (?:NCCL (?P<level>INFO|WARN|TRACE|CALL|ABORT)|(?P<bare>INFO|WARN))"
    r"(?: (?P<message>.*))?$"
)

_VERSION: Final = r"^NCCL version \d"

_ODD: Final = r":\d+:\d+ .*\b(?:INFO|WARN|NCCL)|^NCCL version \d"

_NAME: Final = " NCCL "

_PLAIN: Final = " NCCL INFO "
"""What stands behind the head of nearly all records."""

LOCATION: Final = r"^(?:[A-Za-z0-9_./-]+:\d+ \([^()]+\) )?(?:\[Rank \d+\] )?"
"""Where 2.30 puts the place in the source, and 2.29 the communicator's rank, before a message."""

_LOCATED: Final = r"^(?:\[Rank |[A-Za-z0-9_./-]+:\d+ \()"

_STAMP_ALONE: Final = r"^[\[(<]?[0-9][0-9/.:, T+_-]*(?:[A-Z]{1,4})?[\])>]?\s*$"

CUT_BYTES: Final = (1022, 1023)
"""Through 2.28 a longer record ends here; a blank at its end is off."""

_ODD_HEADS: Final = pl.lit(2**31, dtype=pl.UInt32)
"""More than a block has lines: from here on odd records count as heads of their own."""

_KEPT: Final = ("line", "position", "time", "host", "rank", "task", "is_torn")


def read_records(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return NCCL's lines without their heads.

    Args:
        lines: `LINES`.
        time_zone: IANA zone of NCCL's own stamps.

    Returns:
        The lines by `line`: `line`, `position`, `time` (the envelope's, else NCCL's own), `ahead`
        (minutes between the two), `host` (NCCL's, else the envelope's), `rank`, `task`, `is_torn`,
        `pid`, `thread`, `cuda_device`, `level`, `text`, the bare message, and `head`: records with
        the same number have the same head. Only a version's line may have no printer.
    """
    is_cut = pl.col("text").str.len_bytes().is_between(*CUT_BYTES)
    lines = lines.with_columns(pl.col("is_torn") | is_cut)
    plain = _plain_records(lines, time_zone)
    if plain.height == lines.height:
        return plain
    others = lines.filter(~pl.col("line").is_in(plain["line"].implode()))
    return pl.concat([plain, _odd_records(others, time_zone)]).sort("line")


def _plain_records(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the records with the usual level behind a head that is NCCL's."""
    found = lines.with_columns(at=lines["text"].str.find(_PLAIN, literal=True))
    named = found.filter(pl.col("at").is_not_null()) if found["at"].has_nulls() else found
    text = pl.col("text").cast(pl.Binary)
    message = text.bin.slice(pl.col("at") + len(_PLAIN)).cast(pl.String)
    few = distinct_texts(named.select(text.bin.head(pl.col("at")).cast(pl.String)).to_series())
    heads = few.spread(_heads(few.texts, time_zone))
    parts = named.select(*_KEPT, message).hstack(heads)
    known = parts.filter(pl.col("pid").is_not_null()) if heads["pid"].has_nulls() else parts
    return _finished(known.with_columns(level=pl.lit("INFO")))


def _heads(texts: pl.Series, time_zone: str) -> pl.DataFrame:
    """Return what heads say of their printer; nothing where they are not NCCL's."""
    own = pl.when(~pl.col("text").str.contains(_NAME, literal=True)).then("text")
    parts = own.str.extract_groups(ascii_pattern(f"{_HEAD}$"))
    groups = texts.to_frame("text").select(parts).unnest("text")
    return groups.with_row_index("head").select("head", *_printer(time_zone))


def _printer(time_zone: str) -> list[pl.Expr]:
    return [
        canonical_host(pl.col("nccl_host")).alias("nccl_host"),
        pl.col("pid", "thread"),
        pl.col("cuda_device").cast(pl.Int32, strict=False),
        iso_time(pl.col("stamp"), time_zone).alias("own_time"),
    ]


def _odd_records(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the records of all other levels, and those whose head is not the usual one."""
    hits = lines.filter(pl.col("text").str.contains(_ODD))
    groups = hits["text"].str.extract_groups(_WHOLE).struct.unnest()
    is_version = pl.col("text").str.contains(_VERSION)
    parts = hits.select(*_KEPT, "text").hstack(groups)
    found = parts.filter(pl.col("pid").is_not_null() | is_version)
    message = pl.col("message").fill_null("")
    return _finished(
        found.with_columns(
            *_printer(time_zone),
            head=_ODD_HEADS + pl.int_range(pl.len(), dtype=pl.UInt32),
            level=pl.coalesce("level", "bare"),
            text=pl.when(pl.col("pid").is_null()).then(pl.col("text")).otherwise(message),
        )
    )


def _finished(parts: pl.DataFrame) -> pl.DataFrame:
    """Return records of parts, with the place in the source off their messages."""
    located = parts["text"].str.contains(_LOCATED)
    bare = pl.col("text").str.replace(LOCATION, "")
    texts = parts.with_columns(bare) if located.any() else parts
    return texts.select(
        "line",
        "position",
        pl.col("time").fill_null(pl.col("own_time")),
        _ahead().alias("ahead"),
        pl.coalesce("nccl_host", "host").alias("host"),
        "rank",
        "task",
        "is_torn",
        "pid",
        "thread",
        "cuda_device",
        "level",
        "text",
        "head",
    )


def stamp_pieces(lines: pl.DataFrame, records: pl.DataFrame) -> pl.Series:
    """Return the `line` numbers of what stands before a record on its line and is but its stamp.

    The format of NCCL's stamps is its user's: what has no words is no record of another program.

    Args:
        lines: `LINES`.
        records: What `read_records` made of them.
    """
    if records.height == lines.height:
        return lines["line"].clear()
    alone = pl.col("text").str.contains(_STAMP_ALONE)
    next_line = pl.col("line") + 1
    pieces = lines.filter(alone).select(pl.col("line").alias("piece"), next_line, "position")
    return pieces.join(records, on=["line", "position"], how="semi")["piece"].alias("line")


def _ahead() -> pl.Expr:
    """Return the minutes by which NCCL's own clock shows more than the envelope's: their zones.

    Offsets of zones are multiples of a quarter; null where a line has not both stamps.
    """
    quarters = (pl.col("own_time") - pl.col("time")).dt.total_seconds() / (15 * 60)
    return (quarters.round() * 15).cast(pl.Int32)
