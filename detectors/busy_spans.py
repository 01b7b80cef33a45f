"""When nodes were busy: the exposure in which failures are counted.

Source: methods reference, section 10. A node that nobody uses cannot fail a job, and two jobs that
share a node at once do not expose it twice.
"""

from datetime import datetime
from typing import Final

import polars as pl

from collectors.frames import JOBS, PLACEMENTS, TIME, require, schema_of

JOB_HOSTS: Final = schema_of(
    {
        "run": pl.String,
        "user": pl.String,
        "start": TIME,
        "end": TIME,
        "is_over": pl.Boolean,
        "state": pl.String,
        "reason": pl.String,
        "source": pl.String,
        "host": pl.String,
    }
)
"""One host of one attempt of a job; one that is delivered twice is there twice. Of a job that goes
on, `end` is the end of the data."""

SPANS: Final = schema_of({"host": pl.String, "start": TIME, "end": TIME})
"""One time in which a host was busy without a break."""


def job_hosts(jobs: pl.LazyFrame, placements: pl.LazyFrame, as_of: datetime) -> pl.LazyFrame:
    """Return `JOB_HOSTS` of the attempts that had begun.

    Args:
        jobs: `JOBS`; of null `hosts` the placements tell. An attempt without a start is none yet.
        placements: `PLACEMENTS`.
        as_of: The end of the data; what came later is left out.
    """
    ran = pl.duration(microseconds=pl.col("elapsed_seconds") * 1e6)
    told_end = pl.coalesce("end", pl.col("start") + ran)
    known = (
        jobs.pipe(require, JOBS)
        .drop_nulls(["run", "start"])
        .filter(pl.col("start") < as_of)
        .join(_placed(placements), on=["run", "attempt"], how="left", nulls_equal=True)
        .with_columns(hosts=pl.coalesce("hosts", "placed"))
    )
    is_over = pl.col("end").is_not_null() & (pl.col("end") <= as_of)
    return (
        known.select(
            "run",
            "user",
            "start",
            pl.min_horizontal(told_end, pl.lit(as_of, TIME)).alias("end"),
            is_over.alias("is_over"),
            pl.col("state").str.to_uppercase(),
            "reason",
            "source",
            pl.col("hosts").alias("host"),
        )
        .explode("host", empty_as_null=False, keep_nulls=False)
        .drop_nulls("host")
    )


def _placed(placements: pl.LazyFrame) -> pl.LazyFrame:
    known = placements.pipe(require, PLACEMENTS).drop_nulls(["run", "host"])
    return known.group_by("run", "attempt").agg(placed=pl.col("host").unique().sort())


def busy_spans(hosts: pl.LazyFrame) -> pl.LazyFrame:
    """Return `SPANS`, by host and start: the union of the times of its jobs.

    Args:
        hosts: `JOB_HOSTS`; an attempt that ended before it began adds nothing.
    """
    before = pl.col("end").cum_max().shift(1).over("host")
    return (
        hosts.filter(pl.col("end") > pl.col("start"))
        .select("host", "start", "end")
        .sort("host", "start", "end")
        .with_columns(begins=(pl.col("start") > before).fill_null(value=True))
        .with_columns(span=pl.col("begins").cum_sum().over("host"))
        .group_by("host", "span")
        .agg(pl.col("start").min(), pl.col("end").max())
        .select(SPANS.names())
        .sort("host", "start")
    )
