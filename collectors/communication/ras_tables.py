"""The table of communicators in a RAS report, and the travel times that prove clocks wrong.

Source: formats of NCCL logs, sections 1.4 and 5.1. A row may hold uninitialised numbers (a size of
0, more ranks than fit): it is kept and marked.
"""

from typing import Final

import polars as pl

from collectors.identity import canonical_host
from collectors.texts.event_labels import event_labels

ROW: Final = (
    r"^ *(?P<index>\d+) +(?P<comms>\d+) +(?P<nodes>\d+) +(?P<per_node>\d+(?:-\d+)?) +"
    r"(?P<size>\d+) +(?P<ranks>\d+) +"
    r"(?P<status>NOCOMM|UNKNOWN|INIT|RUNNING|FINALIZE|ABORT|MISMATCH) +"
    r"(?P<errors>OK|[A-Z]+(?:,[A-Z]+)*) *$"
)

TRAVEL: Final = (
    r"^\s*From node (?P<source>\S+) process (?P<pid>\d+) to node (?P<target>\S+) "
    r"process (?P<peer_pid>\d+): observed travel time of (?P<seconds>-?[\d.]+)s"
)

MAX_RANKS: Final = 2**20
"""No job has more; a larger number is uninitialised memory."""

_COLUMNS: Final = ("index", "comms", "nodes", "per_node", "size", "ranks", "errors")


def read_groups(report: pl.DataFrame) -> pl.DataFrame:
    """Return one event of kind `ras_group` a row of the table, with `index` and `size`.

    Args:
        report: The lines of reports.

    Returns:
        `EVENTS` columns; `code` is the status. The attribute `invalid` says why numbers cannot be.
    """
    rows = report.filter(pl.col("text").str.contains(ROW))
    groups = rows.select(pl.col("text").str.extract_groups(ROW)).unnest("text")
    invalid = _invalid()
    is_good = (pl.col("errors") == "OK") & invalid.is_null()
    labels = {**{name: pl.col(name) for name in _COLUMNS}, "invalid": invalid}
    return rows.hstack(groups).select(
        *("position", "time", "line"),
        _number("index"),
        size=pl.when(invalid.is_null()).then(_number("size")),
        kind=pl.lit("ras_group"),
        code="status",
        severity=pl.when(is_good).then(pl.lit("info")).otherwise(pl.lit("warning")),
        count=pl.lit(1, pl.Int32),
        message="text",
        attributes=event_labels(labels),
    )


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Int64, strict=False)


def _invalid() -> pl.Expr:
    """Return which number of a row cannot be; null where all can."""
    size, ranks, nodes = (_number(name) for name in ("size", "ranks", "nodes"))
    return (
        pl.when(size.is_null() | (size <= 0) | (size > MAX_RANKS))
        .then(pl.lit("size"))
        .when(ranks.is_null() | (ranks > MAX_RANKS) | (nodes > size))
        .then(pl.lit("ranks"))
    )


def read_travel_times(report: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of kind `clock_skew`: a message came before it was sent.

    Args:
        report: The lines of reports.

    Returns:
        `host` sent, `peer` received, `code` is the travel time in seconds: the peer's clock is
        behind the host's by at least that much. Times that are not below 0 prove nothing and give
        no row.
    """
    rows = report.filter(pl.col("text").str.contains(TRAVEL))
    groups = rows.select(pl.col("text").str.extract_groups(TRAVEL)).unnest("text")
    return (
        rows.drop("host")
        .hstack(groups.rename({"source": "sender"}))
        .filter(pl.col("seconds").str.starts_with("-"))
        .select(
            "position",
            "time",
            host=canonical_host(pl.col("sender")),
            peer=canonical_host(pl.col("target")),
            kind=pl.lit("clock_skew"),
            code="seconds",
            severity=pl.lit("warning"),
            count=pl.lit(1, pl.Int32),
            message="text",
            attributes=event_labels({name: pl.col(name) for name in ("pid", "peer_pid")}),
        )
    )
