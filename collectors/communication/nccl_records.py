"""Take NCCL's lines apart: who printed them, at which level, and what they say.

Source: formats of NCCL logs, section 2 (prefix by release 2.3 to 2.30). The number in brackets is
the CUDA device current on the printing thread, never a rank; a process is known by host and pid.

A log of one job has millions of such lines and few printers: each head is looked at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.communication.nccl_halves import PLAIN, halves_of
from collectors.identity import canonical_host
from collectors.line_reading import taken_apart
from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.distinct_texts import distinct_categories
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

LOCATION: Final = r"^(?:[A-Za-z0-9_./-]+:\d+ \([^()]+\) )?(?:\[Rank \d+\] )?"
"""Where 2.30 puts the place in the source, and 2.29 the communicator's rank, before a message."""

_LOCATED: Final = r"^(?:\[Rank |[A-Za-z0-9_./-]+:\d+ \()"

_STAMP_ALONE: Final = r"^[\[(<]?[0-9][0-9/.:, T+_-]*(?:[A-Z]{1,4})?[\])>]?\s*$"

CUT_BYTES: Final = (1022, 1023)
"""Through 2.28 a longer record ends here; a blank at its end is off."""

_KEPT: Final = ("line", "position", "time", "host", "rank", "task", "is_torn")


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """NCCL's lines without their heads.

    Attributes:
        rows: By `line`: `line`, `position`, `time` (the envelope's, else NCCL's own), `ahead`
            (minutes between the two), `host` (NCCL's, else the envelope's), `rank`, `task`,
            `is_torn`, `pid`, `thread`, `cuda_device`, `level`; and numbers: records with the same
            `head` have the same head, `said` is the place of what is said. Only a version's line
            may have no printer.
        texts: The bare messages.
    """

    rows: pl.DataFrame
    texts: pl.Series

    def whole(self, flags: pl.Series) -> "Records":
        """Return the records that are not torn and say one of the texts that have a flag."""
        numbers = flags.cum_sum().cast(pl.UInt32) - 1
        kept = self.rows.filter(~self.rows["is_torn"] & flags.gather(self.rows["said"]))
        rows = kept.with_columns(numbers.gather(kept["said"]).alias("said"))
        return Records(rows=rows, texts=self.texts.filter(flags))

    def with_text(self) -> pl.DataFrame:
        """Return the rows with `text`, their message."""
        return self.rows.with_columns(self.texts.gather(self.rows["said"]).alias("text"))


def read_records(lines: pl.DataFrame, time_zone: str) -> Records:
    """Return NCCL's lines without their heads.

    Args:
        lines: `LINES`, and the parts of those that `usual_records` took apart.
        time_zone: IANA zone of NCCL's own stamps.
    """
    is_cut = pl.col("text").str.len_bytes().is_between(*CUT_BYTES)
    usual, others = taken_apart(lines.with_columns(pl.col("is_torn") | is_cut))
    parts = [_plain_records(usual, time_zone)] if usual.height else []
    if others.height:
        found = others.filter(pl.col("text").str.contains(PLAIN, literal=True))
        parts.append(_plain_records(found.hstack(halves_of(found["text"])), time_zone))
        is_plain = pl.col("line").is_in(parts[-1].rows["line"].implode())
        parts.append(_odd_records(others.filter(~is_plain), time_zone))
    return _joined(parts) if parts else _odd_records(others, time_zone)


def _joined(parts: Sequence[Records]) -> Records:
    """Return the records of all parts, their numbers told apart."""
    if len(parts) == 1:
        return parts[0]
    rows, heads, saids = list[pl.DataFrame](), 0, 0
    for part in parts:
        rows.append(part.rows.with_columns(pl.col("head") + heads, pl.col("said") + saids))
        heads, saids = heads + part.rows.height, saids + len(part.texts)
    return Records(
        rows=pl.concat(rows).sort("line"), texts=pl.concat([part.texts for part in parts])
    )


def _plain_records(lines: pl.DataFrame, time_zone: str) -> Records:
    """Return the records with the usual level behind a head that is NCCL's.

    Args:
        lines: `LINES` with `halves_of` their texts.
        time_zone: IANA zone of NCCL's own stamps.
    """
    heads, saids = (distinct_categories(lines[half]) for half in ("head", "said"))
    printers = heads.spread(_heads(heads.texts, time_zone))
    parts = lines.select(_KEPT).hstack([*printers, saids.numbers.alias("said")])
    known = parts.filter(pl.col("pid").is_not_null()) if printers["pid"].has_nulls() else parts
    return _finished(known.with_columns(level=pl.lit("INFO")), saids.texts)


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


def _odd_records(lines: pl.DataFrame, time_zone: str) -> Records:
    """Return the records of all other levels, and those whose head is not the usual one."""
    hits = lines.filter(pl.col("text").str.contains(_ODD))
    groups = hits["text"].str.extract_groups(_WHOLE).struct.unnest()
    is_version = pl.col("text").str.contains(_VERSION)
    parts = hits.select(*_KEPT, "text").hstack(groups)
    found = parts.filter(pl.col("pid").is_not_null() | is_version)
    message = pl.col("message").fill_null("")
    number = pl.int_range(pl.len(), dtype=pl.UInt32)
    told = found.with_columns(
        *_printer(time_zone),
        head=number,
        said=number,
        level=pl.coalesce("level", "bare"),
        text=pl.when(pl.col("pid").is_null()).then(pl.col("text")).otherwise(message),
    )
    return _finished(told, told["text"])


def _finished(parts: pl.DataFrame, texts: pl.Series) -> Records:
    """Return records of parts, with the place in the source off their messages."""
    is_located = texts.str.contains(_LOCATED).any()
    rows = parts.select(
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
        "head",
        "said",
    )
    return Records(rows=rows, texts=texts.str.replace(LOCATION, "") if is_located else texts)


def stamp_pieces(lines: pl.DataFrame, records: pl.DataFrame) -> pl.Series:
    """Return the `line` numbers of what stands before a record on its line and is but its stamp.

    The format of NCCL's stamps is its user's: what has no words is no record of another program.

    Args:
        lines: `LINES`.
        records: The rows that `read_records` made of them.
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
