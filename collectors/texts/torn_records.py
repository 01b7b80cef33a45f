"""Take apart what processes that share a pipe tore and glued together.

Source: formats of NCCL and PyTorch-distributed logs, section 1.3: a block flush cuts a record
anywhere, a progress bar leaves no newline before the next one. A second record on a line ends the
first, whose end is then missing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.envelope import SURE
from collectors.texts.few_texts import matches
from collectors.texts.file_places import are_of_one_file, file_number, file_numbers

MAX_KNOWN_HOSTS: Final = 4096
"""Hosts that may be told apart from text glued to their front."""

NCCL_STAMP: Final = r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?\] ?)?"

_PROCESS: Final = r":\d+:\d+ \[-?\d+\] (?:\S+:\d+ )?(?:\(\S+\) )?(?:NCCL )?"


_RANK: Final = r"^\[rank(\d+)\]:? ?"

_HOST: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]*"

_ALONE: Final = rf"(^|[\s|>])({NCCL_STAMP}{_HOST}{_PROCESS})"
"""The start of an NCCL record of a host not known otherwise: it must not be glued to a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStart:
    """How a record begins that may stand anywhere in a line.

    Attributes:
        pattern: Its first characters.
        mark: Something that each start holds once, for a quick look: best a pattern that begins
            with plain characters.
    """

    pattern: str
    mark: str


_NCCL: Final = RecordStart(
    pattern=rf"{NCCL_STAMP}{_HOST}{_PROCESS}", mark=r" NCCL |\] INFO |\] WARN "
)

NCCL_RECORD: Final = (
    rf"^{NCCL_STAMP}{_HOST}:[0-9]+:[0-9]+ \[-?[0-9]+\] (?:[^ ]+:[0-9]+ )?(?:\([^ ]+\) )?"
    r"NCCL (?:INFO|WARN|TRACE) "
)
"""A line that is surely NCCL's, told at its beginning."""


def signs_of(starts: Sequence[RecordStart]) -> str:
    """Return what each record holds once, of NCCL's and of all that begin in some way."""
    return ascii_pattern("|".join(one.mark for one in (_NCCL, *starts)))


def split_records(
    lines: pl.DataFrame, starts: Sequence[RecordStart], single: pl.Series | None = None
) -> pl.DataFrame:
    """Return the lines with each record on a line of its own, numbered anew.

    Args:
        lines: `LINES`; with `SURE` or without, and whatever else there is.
        starts: How records begin that may stand anywhere in a line.
        single: Which lines are known to hold one record; null: none are.

    Returns:
        `LINES`, and `SURE` if it was given, null for what was cut; the piece before another record
        is torn. A later piece keeps what the line's prefix says, unless it has a prefix of its own.
    """
    glued = _glued(lines, starts) if single is None else _some_glued(lines, starts, single)
    if not glued.any():
        return lines
    whole, torn = lines.filter(~glued), _cut_by_file(lines, glued, starts)
    return (
        pl.concat([whole.with_columns(piece=pl.lit(0, dtype=pl.Int64)), torn])
        .sort("line", "piece")
        .drop("piece")
        .with_columns(line=pl.int_range(pl.len(), dtype=pl.Int64))
    )


def _glued(lines: pl.DataFrame, starts: Sequence[RecordStart]) -> pl.Series:
    """Return which lines may hold a record that does not begin where the line does.

    Most lines hold one record or none, and a look at the signs of all kinds at once tells. Those
    that are surely somebody's begin with a record.
    """
    kinds = (_NCCL, *starts)
    signs = lines["text"].str.count_matches(signs_of(starts))
    is_known = lines[SURE].fill_null(0) > 0 if SURE in lines.columns else signs < 0
    doubtful = ((signs > 0) & ~is_known).arg_true()
    begin = "|".join(one.pattern for one in kinds)
    begins = matches(lines["text"].gather(doubtful), rf"^\s*(?:{begin})")
    is_one = is_known.scatter(doubtful, begins) if len(doubtful) else is_known
    return signs > is_one.cast(pl.UInt32)


def _some_glued(lines: pl.DataFrame, starts: Sequence[RecordStart], single: pl.Series) -> pl.Series:
    """Return which lines may hold more than their record, of which some are known not to."""
    if not single.any():
        return _glued(lines, starts)
    left = (~single).arg_true()
    glued = _glued(lines[left], starts)
    return pl.repeat(value=False, n=lines.height, dtype=pl.Boolean, eager=True).scatter(left, glued)


def _cut_by_file(
    lines: pl.DataFrame, glued: pl.Series, starts: Sequence[RecordStart]
) -> pl.DataFrame:
    """Return the records of glued lines: hosts are known that begin a line of the same file."""
    torn = lines.filter(glued)
    if are_of_one_file(lines["position"]):
        return _cut(torn, starts, _hosts_of(lines["text"]))
    numbers, files = file_numbers(lines["position"]), dict[str, list[int]]()
    for file in file_numbers(torn["position"]).unique(maintain_order=True):
        first, after = numbers.search_sorted(pl.Series([file, file + 1]))
        files.setdefault(_hosts_of(lines["text"][first:after]), []).append(file)
    return pl.concat(
        _cut(torn.filter(file_number().is_in(few)), starts, known) for known, few in files.items()
    )


def _cut(lines: pl.DataFrame, starts: Sequence[RecordStart], known: str) -> pl.DataFrame:
    """Return the records of glued lines, with the number of each in its line as `piece`."""
    cut = pl.col("text").str.replace_all(known, "\n${1}")
    cut = cut.str.replace_all(_ALONE, "${1}\n${2}")
    any_start = "|".join(one.pattern for one in starts)
    cut = cut.str.replace_all(f"({any_start})", "\n${1}") if starts else cut
    cut = cut.str.replace_all(r"\n{2,}", "\n").str.strip_chars_start("\n")
    pieces = lines.with_columns(cut.str.split("\n")).explode("text", empty_as_null=True)
    own_rank = pl.col("text").str.extract(_RANK).cast(pl.Int32, strict=False)
    kept = pieces.filter(pl.col("text").str.strip_chars() != "")
    piece = pl.int_range(pl.len(), dtype=pl.Int64).over("line")
    unsure = [pl.lit(None, dtype=pl.UInt8).alias(SURE)] if SURE in lines.columns else []
    return kept.with_columns(
        *unsure,
        own_rank.fill_null(pl.col("rank")).alias("rank"),
        pl.col("text").str.replace(_RANK, ""),
        is_torn=pl.col("is_torn") | (piece < pl.len().over("line") - 1),
        piece=piece,
    )


def _hosts_of(text: pl.Series) -> str:
    """Return the pattern of an NCCL record's start, which may be glued to any text.

    A host name would swallow the text before it, so only hosts that begin some line are looked
    for inside words.
    """
    anchored = text.str.extract(f"^{NCCL_STAMP}({_HOST}){_PROCESS}").drop_nulls().unique().sort()
    known = sorted(anchored.head(MAX_KNOWN_HOSTS), key=lambda host: (-len(host), host))
    names = "|".join(re.escape(host) for host in known)
    return f"({NCCL_STAMP}(?:{names}){_PROCESS})" if known else r"(\n)"
