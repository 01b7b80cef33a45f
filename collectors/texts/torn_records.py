"""Take apart what processes that share a pipe tore and glued together.

Source: formats of NCCL and PyTorch-distributed logs, section 1.3: a block flush cuts a record
anywhere, a progress bar leaves no newline before the next one. A second record on a line ends the
first, whose end is then missing.
"""

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

MAX_KNOWN_HOSTS: Final = 4096
"""Hosts that may be told apart from text glued to their front."""

NCCL_STAMP: Final = r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?\] ?)?"

_PROCESS: Final = r":\d+:\d+ \[-?\d+\] (?:\S+:\d+ )?(?:\(\S+\) )?(?:NCCL )?"

_RANK: Final = r"^\[rank(\d+)\]:? ?"

_HOST: Final = r"[A-Za-z0-9][A-Za-z0-9_.-]*"

_ALONE: Final = rf"(^|[\s|>])({NCCL_STAMP}{_HOST}{_PROCESS})"
"""The start of an NCCL record of a host not known otherwise: it must not be glued to a word."""


def split_records(lines: pl.DataFrame, starts: Sequence[str]) -> pl.DataFrame:
    """Return the lines with each record on a line of its own, numbered anew.

    Args:
        lines: `LINES`.
        starts: Patterns of the first characters of records.

    Returns:
        `LINES`; the piece before another record is torn. A later piece keeps what the line's
        prefix says, unless it has a prefix of its own.
    """
    cut = pl.col("text").str.replace_all(_known_start(lines["text"]), "\n${1}")
    cut = cut.str.replace_all(_ALONE, "${1}\n${2}")
    cut = cut.str.replace_all(f"({'|'.join(starts)})", "\n${1}") if starts else cut
    cut = cut.str.replace_all(r"\n{2,}", "\n").str.strip_chars_start("\n")
    pieces = lines.with_columns(cut.str.split("\n")).explode("text", empty_as_null=True)
    if pieces.height == lines.height:
        return lines
    own_rank = pl.col("text").str.extract(_RANK).cast(pl.Int32, strict=False)
    is_last = pl.int_range(pl.len()).over("line") == pl.len().over("line") - 1
    return (
        pieces.filter(pl.col("text").str.strip_chars() != "")
        .with_columns(
            own_rank.fill_null(pl.col("rank")).alias("rank"),
            pl.col("text").str.replace(_RANK, ""),
            is_torn=pl.col("is_torn") | ~is_last,
        )
        .with_columns(line=pl.int_range(pl.len(), dtype=pl.Int64))
    )


def _known_start(text: pl.Series) -> str:
    """Return the pattern of an NCCL record's start, which may be glued to any text.

    A host name would swallow the text before it, so only hosts that begin some line are looked
    for inside words.
    """
    anchored = text.str.extract(f"^{NCCL_STAMP}({_HOST}){_PROCESS}").drop_nulls().unique().sort()
    known = sorted(anchored.head(MAX_KNOWN_HOSTS), key=lambda host: (-len(host), host))
    names = "|".join(re.escape(host) for host in known)
    return f"({NCCL_STAMP}(?:{names}){_PROCESS})" if known else r"(\n)"
