"""Join records of kernel lines into events: reports of several lines, losses, storms.

Source: formats of GPU and host streams, sections 5.3 to 5.6; NVIDIA/NVSentinel #1120 (one fault,
hundreds of thousands of lines). Everything here may be done again with more records behind: events
that are not over yet are kept as records, so that a log can be read by blocks.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from collectors.hosts.kernel_records import RECORDS
from collectors.hosts.nvrm_lines import ADVICE, FALLEN, PROBE

BUS_MICROS: Final = 10_000_000
"""A lost GPU is told by an Xid 79 and by lines without a number, within seconds of each other."""

STORM_MICROS: Final = 600_000_000
"""Equal faults with less than 10 minutes between two are one episode. Faults that repeat do so
within minutes (a GSP time-out every 45 s to 5 min, rate limits of the kernel's log); a job that was
restarted after one needs longer to hit it again."""

MAX_PART_LINES: Final = 20
"""Without a clock, lines of one report are no further apart than this."""

MAX_OPEN: Final = 20_000
"""Events that may be waiting for more of theirs; beyond, the oldest are closed."""

_WHOSE: Final = ("host", "thread")

_EQUAL: Final = ("host", "kind", "code", "severity", "device_kind", "device", "peer", "fold")

_START: Final = pl.coalesce(pl.col("time").to_physical(), pl.col("uptime"))

_END: Final = pl.coalesce(pl.col("last").to_physical(), pl.col("end_uptime"))

_BURST_CODE: Final = "13"
"""The Xid of which a burst of lines is one fault."""


def join_records(rows: pl.DataFrame) -> pl.DataFrame:
    """Return records joined as far as they are known: parts, then losses, then equal faults.

    Args:
        rows: `RECORDS`.

    Returns:
        `RECORDS`, by the line they end with.
    """
    return _with_storms(_with_losses(_decided(_with_parts(rows))))


def close_records(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the joined records that are over, and those that may go on.

    Over is what ended an episode's gap before the newest record; a record without a clock never
    is, but by the bound on what may wait.
    """
    is_over = (_END.max() - _END > STORM_MICROS).fill_null(value=False)
    is_old = pl.int_range(pl.len()) < pl.len().cast(pl.Int64) - MAX_OPEN
    marked = rows.sort("end_position").with_columns(is_over=is_over | is_old)
    over, still = (marked.filter(pl.col("is_over") == flag) for flag in (True, False))
    return finish_records(over.drop("is_over")), still.drop("is_over")


def finish_records(rows: pl.DataFrame) -> pl.DataFrame:
    """Return joined records as they stand when no more come.

    A sentence about a GPU that did not come to a loss tells that the driver could not start it.
    """
    failed = pl.when(pl.col("kind") == PROBE).then(pl.lit("gpu_init_failed"))
    return rows.with_columns(kind=failed.otherwise("kind")).sort("position")


def _is_apart(reach: pl.Expr, whose: Sequence[str]) -> pl.Expr:
    """Return whether a record is too far behind those before it; null where no clock tells."""
    return _START - _END.cum_max().shift().over(whose) > reach


def _merged(rows: pl.DataFrame, keys: Sequence[str], count: pl.Expr) -> pl.DataFrame:
    """Return one record for those with the same keys; the lowest grade speaks for them."""
    lonely = pl.len().over(keys) == 1
    single, several = rows.filter(lonely), rows.filter(~lonely)
    ranked = several.sort("grade", "end_position", maintain_order=True)
    sentence = pl.col("message").sort_by("end_position").str.join(" ")
    told = pl.when(pl.col("thread").first() == PROBE).then(sentence)
    whole = ranked.group_by([pl.col(key).alias(f"by_{key}") for key in keys]).agg(
        *(pl.col(name).drop_nulls().first() for name in _EQUAL),
        *(pl.col(name).min() for name in ("line", "position", "time", "uptime")),
        *(pl.col(name).max() for name in ("end_position", "last", "end_uptime")),
        *(pl.col(name).first() for name in ("thread", "reach", "grade", "is_part")),
        message=told.otherwise(pl.col("message").first()),
        attributes=pl.col("attributes").str.join(""),
        count=count,
    )
    columns = RECORDS.names()
    both = pl.concat([single.select(columns), whole.select(columns)])
    return both.with_columns(is_part=pl.lit(value=False)).sort("end_position", "position")


def _with_parts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return records with the lines that only say more of another joined to it."""
    alone = rows.filter(pl.col("thread").is_null())
    ordered = rows.filter(pl.col("thread").is_not_null()).sort("end_position", "position")
    lines = pl.col("position") - pl.col("end_position").shift().over(_WHOSE)
    is_first = lines.is_null()
    apart = _is_apart(pl.col("reach"), _WHOSE).fill_null(lines > MAX_PART_LINES)
    begins = is_first | ~pl.col("is_part") | apart
    numbered = ordered.with_columns(event=begins.cum_sum().over(_WHOSE))
    is_burst = (pl.col("code").first() == _BURST_CODE).fill_null(value=False)
    count = pl.when(is_burst).then(pl.col("count").max()).otherwise(pl.col("count").sum())
    return pl.concat([alone, _merged(numbered, [*_WHOSE, "event"], count)])


def _decided(rows: pl.DataFrame) -> pl.DataFrame:
    """Return records with sentences about a GPU that say that it is lost called a loss."""
    lost = (pl.col("kind") == PROBE) & pl.col("message").str.contains(FALLEN)
    attributes = pl.concat_str("attributes", ADVICE, ignore_nulls=True)
    return rows.with_columns(
        kind=pl.when(lost).then(pl.lit("gpu_lost")).otherwise("kind"),
        fold=pl.when(lost).then(pl.lit(FALLEN)).otherwise("fold"),
        attributes=pl.when(lost).then(attributes).otherwise("attributes"),
    )


def _with_losses(rows: pl.DataFrame) -> pl.DataFrame:
    """Return records with the loss of a GPU and its Xid 79, within seconds, as one: the Xid."""
    is_xid = (pl.col("kind") == "xid") & (pl.col("code") == "79")
    is_loss = (is_xid | (pl.col("kind") == "gpu_lost")).fill_null(value=False)
    gpu = ("host", "device")
    losses = rows.filter(is_loss).sort("end_position", "position")
    if losses.height < 2:  # noqa: PLR2004 -- one has nothing to be joined with
        return rows
    apart = _is_apart(pl.lit(BUS_MICROS), gpu).fill_null(value=False)
    graded = losses.with_columns(
        grade=pl.when(is_xid).then(0).otherwise(1).cast(pl.Int8), event=apart.cum_sum().over(gpu)
    )
    of_xids = pl.col("count").filter(is_xid)
    count = pl.when(is_xid.any()).then(of_xids.sum()).otherwise(pl.col("count").max())
    both = [rows.filter(~is_loss), _merged(graded, [*gpu, "event"], count)]
    return pl.concat(both).sort("end_position", "position")


def _with_storms(rows: pl.DataFrame) -> pl.DataFrame:
    """Return records with equal faults of one episode as one."""
    ordered = rows.sort("end_position", "position")
    apart = _is_apart(pl.lit(STORM_MICROS), _EQUAL).fill_null(value=False)
    numbered = ordered.with_columns(
        event=apart.cum_sum().over(_EQUAL), count=pl.col("count").clip(lower_bound=1)
    )
    whole = numbered.group_by(*_EQUAL, "event").agg(
        *(pl.col(name).min() for name in ("line", "position", "time", "uptime")),
        *(pl.col(name).max() for name in ("end_position", "last", "end_uptime")),
        pl.col("count").sum(),
        pl.col("thread").last(),
        *(pl.col(name).first() for name in ("reach", "grade", "is_part", "message", "attributes")),
    )
    return whole.select(RECORDS.names()).sort("end_position", "position")
