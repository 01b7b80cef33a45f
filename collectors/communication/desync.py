"""Read PyTorch's desync reports: which ranks of a group joined a collective and which did not.

Source: formats of NCCL and PyTorch-distributed logs, section 9 (`TORCH_NCCL_DESYNC_DEBUG`). The
ranks in a report count inside the group; counts start at 1. Whoever did not join is the suspect,
whoever joined and did not finish is normally a victim.
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import read_c10_lines
from collectors.communication.watchdog import DEFAULT_GROUP
from collectors.line_reading import LineReading
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions

_HEADING: Final = r"^\s*#(\d+) (?:started|finished) ranks:"

_MEMBERS: Final = r"^\s*\[([\d, ]+)\] (started|finished) (\w+)\s*$"

_NEVER: Final = r"ranks \[([\d, ]+)\] are the lagging ranks"

_JOINED: Final = r"\[([\d, ]+)\] joined but didn't finish collective #(\d+)"

_LEFT_OUT: Final = r"\[([\d, ]+)\] finished collective #(\d+), but didn't join"

_PARTS: Final = (
    r"^\s*- \[\d+\] Timeout at collective: (\w+), #(\d+)",
    r"^\s*- To our best knowledge, ",
    r"^\s*(?:- )?\[[\d, ]+\] (?:joined but didn't finish|finished) collective #\d+",
    r"^\s*- Snapshot of ranks' latest states:",
    _HEADING,
    _MEMBERS,
)

_TOLD: Final = (
    "line",
    "position",
    "host",
    "group_rank",
    "sequence",
    "state",
    "operation",
    "enqueued",
    "completed",
)

_REPORT: Final = _PARTS[0]


def read_desync(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return what each rank of a group had reached, by the desync reports of a log.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `COLLECTIVES`, one row a rank of the group and number: `started`, or `completed` for the
        last one that a rank that did not come had finished; -1 for ranks that never joined any.
        `rank` is known in the default group alone, where the group's count is the global one.
        `EVENTS` of kind `desync_report`, one a report.
    """
    parts = lines.filter(pl.col("text").str.contains("|".join(f"(?:{part})" for part in _PARTS)))
    if not parts["text"].str.contains(_REPORT).any():
        return LineReading()
    heads = read_c10_lines(lines, options).select("line", "group", "group_name", "time")
    told = (
        _told(parts)
        .sort("line")
        .join_asof(heads.sort("line"), on="line", strategy="backward", check_sortedness=False)
    )
    is_world = (pl.col("group") == DEFAULT_GROUP) | pl.col("group_name").str.contains("default")
    rows = told.with_columns(rank=pl.when(is_world).then(pl.col("group_rank")))
    key = ("group", "group_rank", "sequence", "state")
    return LineReading(
        reading=reading_of(
            collectives=rows.sort(pl.col("operation").is_null(), maintain_order=True)
            .unique(key, keep="first", maintain_order=True)
            .sort("line", maintain_order=True),
            events=_reports(parts, heads),
        ),
        claimed=parts["line"],
    )


def _told(parts: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each rank and state that the snapshots and sentences name."""
    heading = pl.col("text").str.extract(_HEADING).cast(pl.Int64, strict=False)
    snapshot = parts.with_columns(
        sequence=heading.forward_fill().over("rank"),
        ranks=pl.col("text").str.extract(_MEMBERS, 1),
        state=pl.col("text").str.extract(_MEMBERS, 2).replace("finished", "completed"),
        operation=pl.col("text").str.extract(_MEMBERS, 3),
    )
    never = parts.with_columns(
        sequence=pl.lit(-1, dtype=pl.Int64),
        ranks=pl.col("text").str.extract(_NEVER),
        state=pl.lit("reported"),
        operation=pl.lit(None, dtype=pl.String),
    )
    is_done = pl.col("state") != "started"
    return (
        pl.concat([snapshot, *_sentences(parts), never])
        .drop_nulls("ranks")
        .with_columns(group_rank=pl.col("ranks").str.extract_all(r"\d+"))
        .explode("group_rank", empty_as_null=False)
        .with_columns(
            pl.col("group_rank").cast(pl.Int32, strict=False),
            enqueued="sequence",
            completed=pl.when(is_done).then("sequence").otherwise(pl.col("sequence") - 1),
        )
        .select(*_TOLD)
    )


def _sentences(parts: pl.DataFrame) -> list[pl.DataFrame]:
    """Return what the sentences on suspects say, without the operation's name."""
    text = pl.col("text")
    return [
        parts.with_columns(
            sequence=text.str.extract(pattern, 2).cast(pl.Int64, strict=False),
            ranks=text.str.extract(pattern, 1),
            state=pl.lit(state),
            operation=pl.lit(None, dtype=pl.String),
        )
        for pattern, state in ((_JOINED, "started"), (_LEFT_OUT, "completed"))
    ]


def _reports(parts: pl.DataFrame, heads: pl.DataFrame) -> pl.DataFrame:
    """Return one event a report, with all of its lines as its message."""
    begins = pl.col("text").str.contains(_REPORT)
    times = heads.select("line", own_time="time").sort("line")
    return (
        parts.with_columns(report=begins.cum_sum())
        .group_by("report", maintain_order=True)
        .agg(
            pl.col("line", "position", "rank", "host", "time").first(),
            pl.col("text").str.strip_chars().str.join("\n").alias("message"),
        )
        .join_asof(times, on="line", strategy="backward", check_sortedness=False)
        .with_columns(
            pl.col("time").fill_null(pl.col("own_time")),
            kind=pl.lit("desync_report"),
            severity=pl.lit("error"),
            count=pl.lit(1),
        )
    )
