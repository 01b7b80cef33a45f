"""Put together the lines that container runtimes cut: docker's JSON pieces and CRI's `P` parts.

Source: Kubernetes CRI log format and docker's json-file driver (formats of NCCL and
PyTorch-distributed logs, section 1.2). Docker cuts at 16 KiB, CRI marks each part.
"""

from typing import Final

import polars as pl

from collectors.texts.ascii_patterns import ascii_pattern
from collectors.texts.file_places import file_number

_CRI: Final = (
    r"^(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"
    r" (?P<stream>stdout|stderr) (?P<tag>[FP])(?::\S*)?(?: (?P<body>.*))?$"
)

_DOCKER: Final = r'^\{"log": ?".*"stream": ?"(?:stdout|stderr)".*\}$'

_WRAPPED: Final = ascii_pattern(rf"{_CRI}|{_DOCKER}")


_OPEN_END: Final = r"^\S+ (?:stdout|stderr) P(?::\S*)? "

MAX_OPEN_LINES: Final = 1000
"""A line in more parts than this is cut where its block ends."""


def whole_lines(lines: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return lines of a block without the parts at its end that go on in the next, and those parts.

    Args:
        lines: `text`, in order.
    """
    last = lines["text"].tail(MAX_OPEN_LINES).str.contains(_OPEN_END)
    count = int((~last).reverse().cast(pl.UInt8).arg_max() or 0) if not last.all() else 0
    return lines.head(lines.height - count), lines.tail(count)


def join_partials(lines: pl.DataFrame) -> pl.DataFrame:
    """Return the lines out of their runtime's wrapping, parts of one line put together.

    Args:
        lines: `position`, `is_torn`, `text`.

    Returns:
        The same with `stamp`, the runtime's UTC time as text, null where no runtime wrapped the
        line; a joined line stands where its first part stood.
    """
    if not lines["text"].str.contains(_WRAPPED).any():
        return lines.with_columns(stamp=pl.lit(None, dtype=pl.String))
    stream = ["file", "stream"]
    head = pl.when("begins").then("at").forward_fill().over(stream)
    return (
        _unwrapped(lines)
        .with_columns(file_number())
        .with_row_index("at")
        .with_columns(begins=pl.col("ends").shift(1, fill_value=True).over(stream))
        .with_columns(head=pl.when(pl.col("stream").is_null()).then("at").otherwise(head))
        .group_by("head", maintain_order=True)
        .agg(
            pl.col("position", "stamp").first(),
            pl.col("is_torn").any(),
            pl.col("text").str.join(""),
        )
        .drop("head")
        .filter(pl.col("text") != "")
    )


def _unwrapped(lines: pl.DataFrame) -> pl.DataFrame:
    """Return `stamp`, `stream`, `text` and whether the text ends its line."""
    text = pl.col("text")
    cri = text.str.extract_groups(_CRI)
    log = text.str.json_path_match("$.log")
    is_docker = text.str.contains(_DOCKER) & log.is_not_null()
    marked = lines.with_columns(cri=cri, log=pl.when(is_docker).then(log))
    tag, stream = (pl.col("cri").struct.field(name) for name in ("tag", "stream"))
    is_log = pl.col("log").is_not_null()
    return marked.select(
        "position",
        "is_torn",
        stamp=pl.when(is_log)
        .then(text.str.json_path_match("$.time"))
        .otherwise(pl.col("cri").struct.field("stamp")),
        stream=pl.when(is_log).then(text.str.json_path_match("$.stream")).otherwise(stream),
        ends=pl.when(is_log).then(pl.col("log").str.ends_with("\n")).otherwise(tag.ne_missing("P")),
        text=pl.when(is_log)
        .then(pl.col("log").str.strip_chars_end("\r\n"))
        .when(tag.is_not_null())
        .then(pl.col("cri").struct.field("body").fill_null(""))
        .otherwise(text),
    )
