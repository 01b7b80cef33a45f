"""From bytes to logical lines: what launchers, containers and terminals put around a log is off.

Source: formats of NCCL and PyTorch-distributed logs, section 1 (launcher prefixes, ANSI, torn and
glued lines) and of progress streams, section 0. A prefix names the printer, not what is measured.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.identity import canonical_host
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


def read_lines(data: bytes, time_zone: str = "UTC") -> pl.DataFrame:
    """Return the logical lines of a log.

    Args:
        data: The bytes of a text file; what is not UTF-8 becomes replacement characters, NULs go.
        time_zone: IANA zone of envelope stamps that carry none.

    Returns:
        `LINES`, in the file's order.
    """
    text = data.decode("utf-8", errors="replace").removeprefix("\ufeff").replace("\0", "")
    pieces = (
        pl.DataFrame({"text": text.split("\n")}, schema={"text": pl.String})
        .with_row_index("position", offset=1)
        .with_columns(pl.col("text").str.split("\r"))
        .explode("text", empty_as_null=True)
        .with_columns(
            pl.col("text").str.replace_all(ANSI, "").str.head(MAX_LINE_BYTES),
            is_torn=pl.col("text").str.len_bytes() > MAX_LINE_BYTES,
        )
        .filter(pl.col("text") != "")
    )
    peeled = peel_prefixes(join_partials(pieces), time_zone)
    return (
        peeled.with_columns(
            pl.col("text").str.replace(_BOX, "${1}").str.strip_chars_end(),
            canonical_host(pl.col("host")),
        )
        .filter(pl.col("text").str.strip_chars() != "")
        .with_row_index("line")
        .select(pl.col(name).cast(kind, strict=False) for name, kind in LINES.items())
    )
