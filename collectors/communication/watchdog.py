"""Read what PyTorch's NCCL process groups say when a collective times out or fails.

Source: formats of NCCL and PyTorch-distributed logs, sections 8.2 to 8.4 (ProcessGroupNCCL.cpp of
torch 2.0 to 2.13). The rank in a group's head counts inside that group; the global one stands in
`[rankN]:` only. Whoever reports a timeout first is normally a victim.
"""

from typing import Final

import polars as pl

from collectors.communication.c10_lines import read_c10_lines
from collectors.line_reading import LineReading, printer
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.file_places import file_number
from collectors.texts.phrases import Phrase, match_phrases

_TIMEOUT: Final = (
    r"Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<sequence>\d+), "
    r"OpType=(?P<operation>\w+)(?:, NumelIn=(?P<input_count>\d+), NumelOut=(?P<output_count>\d+))?"
    r"(?:, Timeout\(ms\)=(?P<timeout>\d+)\))?(?: ran for (?P<running>\d+) milliseconds)?"
)

_STATUS: Final = (
    r"(?:Timeout at NCCL work: |detected by watchdog at work(?: sequence id)?: )(?P<sequence>\d+)"
    r"(?: PG status:)?,? ?[Ll]ast enqueued (?:NCCL )?work: (?P<enqueued>-?\d+), "
    r"last completed (?:NCCL )?work: (?P<completed>-?\d+)"
)

_SIGNAL: Final = (
    r"Received a dump signal due to a collective timeout from (?: ?this local rank| ?rank "
    r"(?P<peer>\d+)) .*Last enqueued NCCL work: (?P<enqueued>-?\d+), "
    r"last completed NCCL work: (?P<completed>-?\d+)"
)

MAX_SEQUENCE: Final = 2**40
"""A larger sequence number is memory that torch 2.3 never set."""

_PHRASES: Final = (
    Phrase(kind="oom", pattern=r"CUDA error: (?P<code>out of memory)", severity="critical"),
    Phrase(kind="cuda_error", pattern=r"CUDA error: (?P<code>[^.\n]+)", severity="critical"),
    Phrase(
        kind="comm_error",
        pattern=r"(?:NCCL error|nccl\w+Error)\b.*(?:closed by remote peer|peer:?) "
        r"(?P<peer>[^\s<,]+)",
        severity="warning",
        code="backend",
    ),
    Phrase(
        kind="dump_signal",
        pattern=r"Received a dump signal due to a collective timeout from  ?rank (?P<peer>\d+)",
        code="received",
    ),
    Phrase(kind="dump_signal", pattern=r"First PG on this rank to signal dumping", code="first"),
    Phrase(kind="dump_signal", pattern=r"Observed flight recorder dump signal", code="observed"),
    Phrase(
        kind="dump_signal",
        pattern=r"Received a dump signal due to a collective timeout from this local rank",
        code="local",
    ),
    Phrase(kind="gil_blocked", pattern=r"Could not acquire GIL", severity="error"),
    Phrase(
        kind="heartbeat_stuck",
        pattern=r"watchdog got stuck for (?P<code>\d+) seconds",
        severity="error",
    ),
    Phrase(kind="heartbeat_stuck", pattern=r"Heartbeat monitor timed out", severity="error"),
    Phrase(
        kind="store_lost",
        pattern=r"Failed to check the .should dump. flag on TCPStore",
        severity="warning",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"remote error detected from rank: (?P<peer>\d+)",
        severity="warning",
        code="remote",
    ),
    Phrase(
        kind="comm_error",
        pattern=r"NCCL communicator was aborted on rank (?P<peer>\d+)",
        severity="warning",
        code="aborted",
    ),
    Phrase(kind="comm_error", pattern=r"Future for .* timed out", severity="warning", code="store"),
    Phrase(
        kind="comm_error", pattern=r"NCCL error|nccl\w+Error\b", severity="warning", code="backend"
    ),
    Phrase(
        kind="desync_report",
        pattern=r"Failed to (?:retrieve|rerieve) TORCH_NCCL_DESYNC",
        code="failed",
    ),
    Phrase(
        kind="stack",
        pattern=r"Stack trace of the failed collective.*?: ?#0 (?P<code>\S+) from ",
    ),
    Phrase(kind="stack", pattern=r"Stack trace of the failed collective"),
)

_ERROR: Final = r"(?:NCCL|CUDA) error\b|nccl\w+Error\b"

_NUMBERS: Final = ("sequence", "input_count", "output_count", "enqueued", "completed")

DEFAULT_GROUP: Final = "0"
"""The GUID of the group that holds every rank."""

_COUNTERS: Final = ("sequence", "enqueued", "completed")

_REASON: Final = r"Original reason for failure was: (.+)$"

_STACK: Final = (
    r"^#\d+ \S+ from |^frame #\d+: |^Exception raised from |^\s*what\(\):  \[|^terminate called"
    r"|^nccl\w+Error: |^Last error:|^socket\w+: "
)
"""Lines that go on with a record: where the rank waits, and what the abort repeats."""


def read_watchdog(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the collectives and events in the lines of PyTorch's process groups.

    Args:
        lines: `LINES`.
        options: The zone and year of stamps that carry none.

    Returns:
        `COLLECTIVES`, one row a rank, group and sequence number, however often the log repeats
        it: `timed_out`, `failed` where its watchdog saw an error instead; and `signalled`, a
        rank's standing in its default group when it was told to dump. -1 is a group that enqueued
        or completed nothing yet; null is not known, as are numbers that no counter reaches.
        `EVENTS` of errors, dump signals, stuck heartbeats and the like; `peer` is the global rank
        that is named, or the host of an error; and `lines_left_out`, of unknown other ranks.
    """
    records = read_c10_lines(lines, options).with_columns(rank=_global_rank())
    records = records.with_columns(printer=printer())
    if records.is_empty():
        return LineReading()
    timeouts, statuses = _matched(records, _TIMEOUT), _matched(records, _STATUS)
    signals = _matched(records, _SIGNAL).with_columns(state=pl.lit("signalled"))
    works = _failed(_works(_with_group(timeouts, statuses), statuses), timeouts, records)
    told = pl.concat([timeouts["line"], statuses["line"]]).implode()
    rest = records.filter(~pl.col("line").is_in(told)).with_columns(text=pl.col("message"))
    stacks = _stacks(lines, records)
    collectives = pl.concat([works, signals], how="diagonal").sort("line", maintain_order=True)
    events = pl.concat([_events_of(rest), _left_out(records)], how="diagonal")
    return LineReading(
        reading=reading_of(events=events, collectives=collectives),
        claimed=pl.concat([records["line"], stacks]),
    )


def _left_out(records: pl.DataFrame) -> pl.DataFrame:
    """Return events of records that a launcher showed once in place of several ranks' own."""
    return records.drop_nulls("repeats").with_columns(
        kind=pl.lit("lines_left_out"),
        severity=pl.lit("info"),
        rank=pl.lit(None, dtype=pl.Int32),
        host=pl.lit(None, dtype=pl.String),
        count=pl.col("repeats"),
        text=pl.col("message"),
    )


def _stacks(lines: pl.DataFrame, records: pl.DataFrame) -> pl.Series:
    """Return the `line` numbers of what goes on with a record, in files that have any."""
    found = lines.filter(pl.col("text").str.contains(_STACK))
    files = records.select(file_number().unique()).to_series()
    return found.filter(file_number().is_in(files.implode()))["line"]


def _global_rank() -> pl.Expr:
    """Return the printer's global rank: the group that holds every rank counts as the job does."""
    is_world = (pl.col("group") == DEFAULT_GROUP) & pl.col("group_name").fill_null(
        "default"
    ).str.contains("default|^$")
    return pl.col("rank").fill_null(pl.when(is_world).then("group_rank"))


def _failed(works: pl.DataFrame, timeouts: pl.DataFrame, records: pl.DataFrame) -> pl.DataFrame:
    """Return the works; of printers whose watchdog saw an error, and no time-out, as failed."""
    errors = records.filter(pl.col("message").str.contains(_ERROR))["printer"].unique()
    waited = timeouts["printer"].unique()
    has_failed = pl.col("printer").is_in(errors.implode()) & ~pl.col("printer").is_in(
        waited.implode()
    )
    return works.with_columns(state=pl.when(has_failed).then(pl.lit("failed")).otherwise("state"))


def _matched(records: pl.DataFrame, pattern: str) -> pl.DataFrame:
    """Return the records that fit, with the pattern's groups as columns and numbers as numbers."""
    hits = records.filter(pl.col("message").str.contains(pattern))
    groups = hits.select(pl.col("message").str.extract_groups(pattern)).unnest("message")
    numbers = groups.with_columns(
        pl.col(name).cast(pl.Int64, strict=False) for name in _NUMBERS if name in groups.columns
    )
    return hits.hstack(
        numbers.with_columns(_sane(name) for name in _COUNTERS if name in groups.columns)
    )


def _sane(name: str) -> pl.Expr:
    return pl.when(pl.col(name) <= MAX_SEQUENCE).then(pl.col(name)).alias(name)


def _with_group(timeouts: pl.DataFrame, statuses: pl.DataFrame) -> pl.DataFrame:
    """Return the time-outs with the group of their printer's next status on the same number.

    Old heads of a time-out bear no group; the status that follows does. Without one it is the
    default group, if all such printers of the file have their global rank in it.
    """
    key = ["printer", "group_rank", "sequence"]
    near = statuses.select(*key, "line", pl.col("group", "group_name").name.prefix("near_"))
    joined = timeouts.sort("line").join_asof(
        near.sort("line"), on="line", by=key, strategy="forward", check_sortedness=False
    )
    has_group = pl.col("group").is_not_null() | pl.col("near_group").is_not_null()
    is_same = (pl.col("rank") == pl.col("group_rank")).fill_null(value=False)
    is_world = (has_group | is_same).all().over(file_number())
    world = pl.when(is_world).then(pl.lit(DEFAULT_GROUP))
    return joined.with_columns(
        pl.coalesce("group", "near_group", world).alias("group"),
        pl.col("group_name").fill_null(pl.col("near_group_name")),
    )


def _works(timeouts: pl.DataFrame, statuses: pl.DataFrame) -> pl.DataFrame:
    """Return one row a printer, group and number from all that the log says of it."""
    told = ["host", "rank", "group_name", *_NUMBERS[1:], "timeout", "running"]
    both = pl.concat([timeouts, statuses], how="diagonal").sort("line", maintain_order=True)
    ahead = pl.col("completed") > pl.col("enqueued")
    return (
        both.with_columns(completed=pl.when(~ahead.fill_null(value=False)).then("completed"))
        .group_by("printer", "group", "group_rank", "sequence", maintain_order=True)
        .agg(
            pl.col(*told, "operation").drop_nulls().first(),
            pl.col("time").min(),
            pl.col("line", "position").first(),
        )
        .with_columns(
            state=pl.lit("timed_out"),
            timeout_seconds=pl.col("timeout").cast(pl.Float64, strict=False) / 1000,
            running_seconds=pl.col("running").cast(pl.Float64, strict=False) / 1000,
        )
    )


def _events_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return `EVENTS` of all other lines; one that no phrase knows is a note."""
    named = match_phrases(records, _PHRASES)
    is_bad = pl.col("level").is_in(["E", "F"])
    plain = records.join(named, on="line", how="anti").with_columns(
        kind=pl.lit("note"),
        severity=pl.when(is_bad).then(pl.lit("warning")).otherwise(pl.lit("info")),
    )
    events = pl.concat([named, plain], how="diagonal").sort("line", maintain_order=True)
    said = {name: pl.col(name) for name in ("group", "group_name", "group_rank")}
    reason = pl.col("text").str.extract(_REASON)
    return events.with_columns(count=pl.lit(1), attributes=event_labels({**said, "reason": reason}))
