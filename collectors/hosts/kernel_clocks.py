"""Tell the time of kernel lines: wall clocks of all kinds, and seconds since the host started.

Source: formats of GPU and host streams, sections 0.3 and 5.1. The clock since boot stops while a
host sleeps and says nothing without the moment of the start, which comes from lines that show both
clocks, or from the caller; without it a time is null, never guessed.
"""

from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.frames import TIME, conform, schema_of
from collectors.sniffing import ReadOptions
from collectors.texts.stamps import iso_time
from collectors.texts.yearless_stamps import YearWalk, local_time, walk_years, yearless_times

KERNEL_LINES: Final = schema_of(
    {
        "line": pl.Int64,
        "position": pl.Int64,
        "time": TIME,
        "host": pl.String,
        "uptime": pl.Int64,
        "is_replayed": pl.Boolean,
        "is_continuation": pl.Boolean,
        "message": pl.String,
    }
)
"""One line of a kernel log. `time` is null when not known, `uptime` is microseconds since boot;
`is_replayed` tells a record that the same log has shown before."""

BOOT_BANNER: Final = r"^Linux version \d"
"""What a kernel says first: a new clock since boot."""

MAX_REMEMBERED: Final = 1_000_000
"""Records that are remembered to know a replay: more than the largest ring buffers hold."""


def _no_hashes() -> pl.Series:
    return pl.Series("record", [], dtype=pl.UInt64)


def _no_boots() -> pl.DataFrame:
    return pl.DataFrame(schema={"host": pl.String, "boot_time": pl.Int64})


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """What a log has told of its clocks so far, for reading it by blocks.

    Attributes:
        walk: Where its stamps without a year stand.
        end: Where they stand at the log's end; null if the block at hand reaches it.
        records: Hashes of its last records.
        boots: `host`, `boot_time` (epoch microseconds): the last known start of each host.
    """

    walk: YearWalk = field(default_factory=YearWalk)
    end: YearWalk | None = None
    records: pl.Series = field(default_factory=_no_hashes)
    boots: pl.DataFrame = field(default_factory=_no_boots)


def set_clocks(
    texts: pl.DataFrame, options: ReadOptions, clocks: Clocks
) -> tuple[pl.DataFrame, Clocks]:
    """Return lines with their times, and what the log has told by now.

    Args:
        texts: `KERNEL_TEXTS`, in the order of the log.
        options: Zone and year of stamps that carry none, and the start of the host.
        clocks: What the lines before told.

    Returns:
        `KERNEL_LINES` in the same order. A continuation has the time, host and uptime of the
        record that it goes on with.
    """
    bsd = texts["bsd"]
    walled = texts.with_columns(
        bsd_time=yearless_times(bsd, options, clocks.walk, clocks.end), record=_record()
    ).with_columns(time=_wall(options))
    marked = _marked(walled, clocks.records)
    booted, boots = _booted(marked, options, clocks.boots)
    whose = (~booted["is_continuation"]).cum_sum()
    filled = booted.with_columns(
        pl.col(name).first().over(whose) for name in ("time", "host", "uptime", "is_replayed")
    )
    known = pl.concat([clocks.records, marked["record"].drop_nulls()]).tail(MAX_REMEMBERED)
    after = Clocks(
        walk=walk_years(bsd, clocks.walk), end=clocks.end, records=known.rechunk(), boots=boots
    )
    return conform(filled.lazy(), KERNEL_LINES).collect(), after


def _wall(options: ReadOptions) -> pl.Expr:
    """Return the time that a wall clock in the line tells; microseconds beat whole seconds."""
    date = pl.col("ctime").str.strip_chars()
    local = date.str.replace(r"^\w+ ", "").str.to_datetime(
        "%b %e %H:%M:%S %Y", time_unit="us", strict=False
    )
    return pl.coalesce(
        pl.col("epoch").cast(pl.Int64, strict=False).cast(TIME),
        iso_time(pl.col("iso").str.replace(" ?UTC", "Z"), options.time_zone),
        pl.col("bsd_time"),
        local_time(local, options.time_zone),
        pl.col("given_time"),
    )


def _record() -> pl.Expr:
    """Return a hash of what makes a record one of its own; null without a clock since boot."""
    parts = ("host", "boot", "sequence", "uptime", "message")
    text = pl.concat_str(
        [pl.col(name).cast(pl.String).fill_null("") for name in parts], separator="|"
    )
    return pl.when(pl.col("uptime").is_not_null()).then(text.hash(seed=0))


def _marked(texts: pl.DataFrame, known: pl.Series) -> pl.DataFrame:
    """Return the lines with `is_replayed`: a reader that starts again shows its buffer again."""
    record = pl.col("record")
    again = record.is_in(known.implode()) | ~record.is_first_distinct()
    return texts.with_columns(is_replayed=(record.is_not_null() & again).fill_null(value=False))


def _booted(
    lines: pl.DataFrame, options: ReadOptions, boots: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lines with times told by the clock since boot, and each host's last start.

    A start is told by lines with both clocks, before or after, of the same host since the same
    banner; the caller's start is that of the last banner.
    """
    fresh = pl.col("message").str.contains(BOOT_BANNER) & ~pl.col("is_replayed")
    since = pl.col("time").to_physical() - pl.col("uptime")
    session = ["host", "session"]
    told = lines.with_columns(session=fresh.cum_sum()).with_columns(since=since)
    known = pl.col("since").forward_fill().over(session)
    later = pl.col("since").backward_fill().over(session)
    before = told.join(boots, on="host", how="left", nulls_equal=True, maintain_order="left")
    carried = pl.when(pl.col("session") == 0).then("boot_time")
    given = None if options.boot is None else int(options.boot.timestamp() * 1_000_000)
    is_last = pl.col("session") == pl.col("session").max()
    asked = pl.when(is_last).then(pl.lit(given, dtype=pl.Int64))
    start = pl.coalesce(known, carried, later, asked)
    timed = before.with_columns(since=start).with_columns(
        time=pl.coalesce("time", (pl.col("since") + pl.col("uptime")).cast(TIME))
    )
    last = (
        timed.filter(is_last)
        .drop_nulls("since")
        .group_by("host")
        .agg(boot_time=pl.col("since").last())
    )
    return timed, pl.concat([boots, last]).group_by("host", maintain_order=True).last()
