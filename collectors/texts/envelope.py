"""From bytes to logical lines: what launchers, containers and terminals put around a log is off.

Source: formats of NCCL and PyTorch-distributed logs, section 1 (launcher prefixes, ANSI, torn and
glued lines) and of progress streams, section 0. A prefix names the printer, not what is measured.
"""

import codecs
from typing import Final

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


RAW_LINES: Final = schema_of({"position": pl.Int64, "text": pl.String})
"""One line as it stands in the file that is not blank; `position` counts from 1."""

_SPECIAL: Final = r"[\r\x1b]"


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
    plain = data.replace(b"\0", b"") if b"\0" in data else data
    utf8 = plain if plain.isascii() else plain.decode("utf-8", errors="replace").encode()
    whole = utf8 if before else utf8.removeprefix(codecs.BOM_UTF8)
    lines = pl.read_lines(
        whole, name="text", row_index_name="position", row_index_offset=before + 1
    )
    return (
        lines.lazy()
        .filter(pl.col("text").str.contains(r"\S"))
        .select(pl.col("position").cast(pl.Int64), "text")
        .collect()
    )


def open_lines(lines: pl.DataFrame, time_zone: str, bare: pl.Series | None = None) -> pl.DataFrame:
    """Return the logical lines in raw ones.

    Args:
        lines: `RAW_LINES`.
        time_zone: IANA zone of envelope stamps that carry none.
        bare: Which lines are known to have no prefix; null: none.

    Returns:
        `LINES`, in the file's order.
    """
    if bare is None or not bare.any():
        return _opened(lines, time_zone, lines.height)
    plain = bare & ~lines["text"].str.contains(_SPECIAL) & (_length(lines) <= MAX_LINE_BYTES)
    known = lines.lazy().filter(plain).with_columns(pl.col("text").str.strip_chars_end())
    whole = conform(known, LINES).with_columns(is_torn=pl.lit(value=False))
    others = _opened(lines.filter(~plain), time_zone, lines.height)
    both = whole.merge_sorted(others.lazy(), key="position") if others.height else whole
    return both.with_columns(line=pl.int_range(pl.len(), dtype=pl.Int64)).collect()


def _opened(lines: pl.DataFrame, time_zone: str, count: int) -> pl.DataFrame:
    """Return the logical lines in raw ones that may have prefixes, of so many lines of a text."""
    peeled = peel_prefixes(unboxed(join_partials(_pieces(lines))), time_zone, count)
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
