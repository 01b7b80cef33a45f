"""From bytes to logical lines: what launchers, containers and terminals put around a log is off.

Source: formats of NCCL and PyTorch-distributed logs, section 1 (launcher prefixes, ANSI, torn and
glued lines) and of progress streams, section 0. A prefix names the printer, not what is measured.
"""

import codecs
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import TIME, conform, schema_of
from collectors.identity import canonical_host
from collectors.texts.boxes import unboxed
from collectors.texts.partials import join_partials
from collectors.texts.prefixes import peel_prefixes

LINES: Final = schema_of(
    {
        "line": pl.Int64,
        "position": pl.Int64,
        "time": TIME,
        "host": pl.String,
        "rank": pl.Int32,
        "local_rank": pl.Int32,
        "task": pl.Int32,
        "repeats": pl.Int32,
        "is_torn": pl.Boolean,
        "text": pl.String,
    }
)
"""One logical line, never empty. `line` numbers them from 0; `position` is the line of the file
from 1, shared by the pieces between carriage returns. `time` is the envelope's, null without one.
`rank` is global (`[rankN]:`), `local_rank` counts in its host, `task` is Slurm's or MPI's: none is
read as another. `is_torn` tells a text whose end is missing; `repeats` is how many equal lines of
other printers the launcher left out.
"""

MAX_LINE_BYTES: Final = 65_536
"""A longer line is cut there and marked; no record of ours is as long."""

ANSI: Final = r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]"
"""Escape sequences of terminals: colours, titles, moves."""

_BOX: Final = r"^[│┃] ?(.*?) *[│┃]$"
"""A line inside a box that a terminal library drew."""


RAW_LINES: Final = schema_of({"position": pl.Int64, "is_plain": pl.Boolean, "text": pl.String})
"""One line as it stands in the file that is not blank; `position` counts from 1. `is_plain` tells
that it is not too long, and without carriage returns, escape sequences and blanks at its end.
"""

SURE: Final = "sure"
"""Column beside `LINES`: whose a line surely is."""

OPEN_LINES: Final = pl.Schema({**LINES, SURE: pl.UInt8()})

_SPECIAL: Final = r"[\r\x1b]"

_NOT_PLAIN: Final = rf"{_SPECIAL}|\s$"

_ODD_BYTES: Final = (b"\r", b"\x1b", b"\v", b"\f")
"""Without them, the only blanks in a line of ASCII are spaces and tabs."""

_PIECE_BYTES: Final = 256 * 1024

_BLANK: Final = ord(" ")

_LINE_FEED: Final = ord("\n")

_SEEN: Final = (("!", "\x7f"), (" !", " \x7f"))
"""From where to where texts stand in order whose first character is seen, or the one after a space.
"""


def read_lines(data: bytes, time_zone: str = "UTC") -> pl.DataFrame:
    """Return the logical lines of a log; see `raw_lines` and `open_lines`."""
    return open_lines(raw_lines(data), time_zone)


def raw_lines(data: bytes, before: int = 0) -> pl.DataFrame:
    """Return the lines of a text, or of a block of one, that are not blank.

    Args:
        data: The bytes; what is not UTF-8 becomes replacement characters, NULs go.
        before: How many lines of the file are before them.

    Returns:
        `RAW_LINES`, in the file's order.
    """
    return counted_lines(data, before)[0]


def counted_lines(data: bytes, before: int) -> tuple[pl.DataFrame, int]:
    """Return what `raw_lines` does, and how many lines of the file are before the next bytes."""
    is_clean = _is_clean(data)
    plain = data if is_clean or b"\0" not in data else data.replace(b"\0", b"")
    is_ascii = is_clean or plain.isascii()
    utf8 = plain if is_ascii else plain.decode("utf-8", errors="replace").encode()
    whole = utf8 if before else utf8.removeprefix(codecs.BOM_UTF8)
    lines = pl.read_lines(
        whole, name="text", row_index_name="position", row_index_offset=before + 1
    )
    is_odd = not is_clean and (not is_ascii or any(byte in data for byte in _ODD_BYTES))
    is_plain = _is_plain(_NOT_PLAIN if is_odd else None, " " if is_clean else " \t")
    kept = _not_blank(lines).select(
        pl.col("position").cast(pl.Int64), is_plain.alias("is_plain"), "text"
    )
    ended = lines.height if data.endswith(b"\n") else lines.height - 1
    return kept, before + max(0, ended)


def _not_blank(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines that are more than blanks: their beginning tells it of most."""
    text = lines["text"]
    seen = [(text >= first) & (text < beyond) for first, beyond in _SEEN]
    doubtful = (~(seen[0] | seen[1])).arg_true()
    blank = doubtful.filter(~text.gather(doubtful).str.contains(r"\S"))
    if blank.is_empty():
        return lines
    return lines.filter(~pl.int_range(pl.len()).is_in(blank.implode()))


def _is_clean(data: bytes) -> bool:
    """Return whether bytes are nothing but line feeds and what is seen in ASCII.

    Bytes beyond ASCII are negative. Pieces stay in the processor's cache for the second look.
    """
    signed = np.frombuffer(data, np.int8)
    pieces = (signed[at : at + _PIECE_BYTES] for at in range(0, len(signed), _PIECE_BYTES))
    return all(bool(((piece < _BLANK) == (piece == _LINE_FEED)).all()) for piece in pieces)


def _is_plain(not_plain: str | None, blanks: str) -> pl.Expr:
    """Return whether lines are plain, see `RAW_LINES`.

    Args:
        not_plain: What no plain line holds; null: the lines have nothing but blanks of that.
        blanks: Blanks at which a line may end.
    """
    text = pl.col("text")
    blank_end = pl.any_horizontal(text.str.ends_with(blank) for blank in blanks)
    is_special = blank_end if not_plain is None else text.str.contains(not_plain)
    return ~is_special & (text.str.len_bytes() <= MAX_LINE_BYTES)


def open_lines(lines: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the logical lines in raw ones.

    Args:
        lines: `RAW_LINES`.
        time_zone: IANA zone of envelope stamps that carry none.

    Returns:
        `LINES`, in the file's order.
    """
    return _opened(lines, time_zone, lines["position"])


def open_known(lines: pl.DataFrame, sure: pl.Series, time_zone: str) -> pl.DataFrame:
    """Return the logical lines in raw ones of which some are known to have no prefix.

    Args:
        lines: `RAW_LINES`.
        sure: Whose each surely is; one that is somebody's has no prefix. 0 is no one's.
        time_zone: IANA zone of envelope stamps that carry none.

    Returns:
        `LINES` and `SURE`, which is null where a text is not the raw line's.
    """
    is_known = (sure > 0) & _is_whole(lines)
    marked = lines.with_columns(sure.alias(SURE))
    known = _known(marked if is_known.all() else marked.filter(is_known))
    if known.height == lines.height:
        return known
    others = _opened(lines.filter(~is_known), time_zone, lines["position"])
    # All pieces of a line are among the others, and a sort by place is quicker than a merge.
    both = pl.concat([known, conform(others.lazy(), OPEN_LINES).collect()])
    numbers = pl.int_range(pl.len(), dtype=pl.Int64)
    return both.sort("position", maintain_order=True).with_columns(line=numbers)


def _is_whole(lines: pl.DataFrame) -> pl.Series:
    """Return which raw lines are one logical line each, but for blanks at their end."""
    is_plain = lines["is_plain"]
    if is_plain.all():
        return is_plain
    is_cut = lines["text"].str.contains(_SPECIAL) | (_length(lines) > MAX_LINE_BYTES)
    return is_plain | ~is_cut


def _known(lines: pl.DataFrame) -> pl.DataFrame:
    """Return `OPEN_LINES` of raw lines with `SURE` that have no prefix."""
    is_plain = lines["is_plain"]
    if not is_plain.all():
        bare = pl.col("text").str.strip_chars_end()
        lines = lines.with_columns(
            pl.when(is_plain).then("text").otherwise(bare).alias("text"),
            pl.when(is_plain).then(SURE).alias(SURE),
        )
    numbered = lines.lazy().with_columns(
        line=pl.int_range(pl.len(), dtype=pl.Int64), is_torn=pl.lit(value=False)
    )
    return conform(numbered, OPEN_LINES).collect()


def _opened(lines: pl.DataFrame, time_zone: str, among: pl.Series) -> pl.DataFrame:
    """Return the logical lines in raw ones that may have prefixes, among all at positions."""
    peeled = peel_prefixes(
        unboxed(join_partials(_pieces(lines.drop("is_plain")))), time_zone, among
    )
    return (
        _unboxed(_inherited(peeled))
        .with_columns(pl.col("text").str.strip_chars_end(), *_hosts(peeled))
        .filter(pl.col("text").str.contains(r"\S"))
        .with_row_index("line")
        .select(pl.col(name).cast(kind, strict=False) for name, kind in LINES.items())
    )


def _length(lines: pl.DataFrame) -> pl.Series:
    return lines["text"].str.len_bytes()


def _pieces(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the pieces between carriage returns, without escape sequences, cut if too long."""
    if lines["text"].str.contains(_SPECIAL).any():
        lines = (
            lines.with_columns(pl.col("text").str.split("\r"))
            .explode("text", empty_as_null=True)
            .with_columns(pl.col("text").str.replace_all(ANSI, ""))
        )
    is_torn = _length(lines) > MAX_LINE_BYTES
    if is_torn.any():
        start = pl.col("text").str.strip_chars_start().str.head(MAX_LINE_BYTES)
        lines = lines.with_columns(pl.when(is_torn).then(start).otherwise("text"))
    return lines.with_columns(is_torn=is_torn).filter(pl.col("text") != "")


def _inherited(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the pieces of a line with what the prefix of its first piece says."""
    if not (lines["position"].diff() == 0).any():
        return lines
    told = pl.col("time", "host", "rank", "local_rank", "task")
    return lines.with_columns(told.forward_fill().over("position"))


def _hosts(lines: pl.DataFrame) -> list[pl.Expr]:
    """Return the canonical host, if any line tells one."""
    return [canonical_host(pl.col("host"))] if lines["host"].null_count() < lines.height else []


def _unboxed(lines: pl.DataFrame) -> pl.DataFrame:
    if not lines["text"].str.contains(_BOX).any():
        return lines
    return lines.with_columns(pl.col("text").str.replace(_BOX, "${1}"))
