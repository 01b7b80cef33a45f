"""Whose fault the end of a job was, as far as it can be told: shares of one failure.

Source: methods reference, section 10. A health check or an Xid that names a node within ten minutes
of the end takes the blame alone; else the nodes of the job share it in proportion to their rates,
which follow from the shares: two rounds of expectation and maximisation, from equal parts on.
Charging every node of a large job in full would put bystanders on top of any list.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of

ENDINGS: Final = schema_of(
    {
        "failure": pl.UInt32,
        "run": pl.String,
        "user": pl.String,
        "time": TIME,
        "host": pl.String,
        "is_named": pl.Boolean,
        "device": pl.String,
        "what": pl.String,
        "source": pl.String,
        "hosts": pl.UInt32,
    }
)
"""One host that may have ended one attempt of a job. `is_named` tells that something names it (or
that no other host was there), `what` says what; `hosts` is how many may have done it."""

FAILURES: Final = schema_of(
    {
        "run": pl.String,
        "user": pl.String,
        "time": TIME,
        "host": pl.String,
        "blame": pl.Float64,
        "is_named": pl.Boolean,
        "device": pl.String,
        "what": pl.String,
        "source": pl.String,
    }
)
"""One failure of one job at one host; `blame` is the host's share of it, 1 where it alone did it.
"""

LOST_STATES: Final = ("NODE_FAIL", "BOOT_FAIL")
"""States that only the loss of a node gives, whether or not anything says which."""

BROKEN_STATES: Final = ("FAILED", "REQUEUED", "LAUNCH_FAILED", "ERROR")
"""States that a fault of the program gives too: infrastructure only where a signal says so."""

_LOST_REASON: Final = r"(?i)^node ?(?:down|fail)"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameParams:
    """When a failure is the infrastructure's, and how its blame is shared.

    Attributes:
        max_gap_seconds: A signal this close to the end of a job names who ended it.
        rounds: Rounds of expectation and maximisation; more let noise feed on itself.
    """

    max_gap_seconds: float = 600.0
    rounds: int = 2

    def __post_init__(self) -> None:
        """Refuse a negative time and no round at all."""
        if self.max_gap_seconds < 0.0 or self.rounds < 1:
            raise ValueError(
                "max_gap_seconds must be 0 or more and rounds 1 or more, got "
                f"{self.max_gap_seconds} and {self.rounds}"
            )

    @property
    def max_gap(self) -> timedelta:
        """Return the time between a signal and the end that it explains."""
        return timedelta(seconds=self.max_gap_seconds)


def broken_attempts(hosts: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of attempts that a fault may have ended, with `failure` and `is_lost`.

    Args:
        hosts: `JOB_HOSTS`.
    """
    state = pl.col("state").fill_null("")
    is_lost = state.is_in(list(LOST_STATES)) | pl.col("reason").fill_null("").str.contains(
        _LOST_REASON
    )
    is_broken = state.is_in(list(BROKEN_STATES))
    broken = hosts.filter("is_over", is_lost | is_broken).with_columns(is_lost=is_lost)
    attempt = ["run", "start", "end"]
    numbers = broken.select(attempt).unique().sort(attempt).with_row_index("failure")
    return broken.join(numbers, on=attempt)


def infrastructure_endings(
    hosts: pl.LazyFrame, signals: pl.LazyFrame, params: BlameParams
) -> pl.LazyFrame:
    """Return `ENDINGS` of the attempts that infrastructure ended.

    Args:
        hosts: What `broken_attempts` returns.
        signals: `NODE_SIGNALS`; one that names a job names its hosts whenever it comes.
        params: How near is near.
    """
    named = _namings(hosts, signals, params)
    told = hosts.sort("failure", "host", "state", "reason", "user", nulls_last=True)
    once = told.unique(["failure", "host"], keep="first").drop("source")
    joined = once.join(named, on=["failure", "host"], how="left").with_columns(
        is_named=pl.col("what").is_not_null()
    )
    is_named = pl.col("is_named").any().over("failure")
    candidates = joined.filter(pl.col("is_lost") | is_named).filter(pl.col("is_named") | ~is_named)
    alone = pl.len().over("failure")
    return candidates.select(
        "failure",
        "run",
        "user",
        pl.col("end").alias("time"),
        "host",
        pl.col("is_named") | (alone == 1),
        "device",
        pl.coalesce("what", pl.format("the job ended as {}", "state")).alias("what"),
        "source",
        alone.alias("hosts"),
    )


def _namings(hosts: pl.LazyFrame, signals: pl.LazyFrame, params: BlameParams) -> pl.LazyFrame:
    """Return who is named in which failure: the signal that is nearest to its end.

    One that names a device comes before one that names the host alone.
    """
    told = signals.rename({"run": "told_run", "time": "told_time"})
    gap = (pl.col("told_time") - pl.col("end")).dt.total_microseconds().abs() / 1e6
    is_near = gap <= params.max_gap_seconds
    is_own = (pl.col("told_run") == pl.col("run")).fill_null(value=False)
    return (
        hosts.select("failure", "run", "end", "host")
        .unique()
        .join(told, on="host")
        .filter(is_near | is_own)
        .with_columns(gap=gap, is_bare=pl.col("device").is_null())
        .sort("failure", "host", "is_bare", "gap", "told_time", "what", "device", "source")
        .group_by("failure", "host", maintain_order=True)
        .agg(pl.col("device", "what", "source").first())
    )


def shared_blame(
    endings: pl.LazyFrame, exposures: pl.LazyFrame, params: BlameParams
) -> pl.LazyFrame:
    """Return `FAILURES`, by host, time and job: one a host for all attempts of one job.

    Args:
        endings: `ENDINGS`.
        exposures: `host` and its `days` in use.
        params: How often the rates are made anew.
    """
    shares = endings.with_columns(blame=1.0 / pl.col("hosts"))
    total_days = exposures.select(pl.col("days").sum()).collect().item()
    count = endings.select(pl.col("failure").n_unique()).collect().item()
    prior_days = total_days / max(count, 1)
    for _ in range(params.rounds):
        shares = _next_shares(shares, exposures, prior_days).collect().lazy()
    once = shares.sort(
        "run", "host", "blame", "time", "what", descending=[False, False, True, False, False]
    )
    return (
        once.unique(["run", "host"], keep="first", maintain_order=True)
        .select(FAILURES.names())
        .sort("host", "time", "run")
    )


def _next_shares(shares: pl.LazyFrame, exposures: pl.LazyFrame, prior_days: float) -> pl.LazyFrame:
    """Return the shares that the rates of the present ones give.

    The rate of a host is pulled to that of all by one failure's worth of days, so that a host that
    has hardly run is not thought to fail at once.
    """
    rates = (
        shares.group_by("host")
        .agg(pl.col("blame").sum())
        .join(exposures, on="host", how="left")
        .select("host", rate=(1.0 + pl.col("blame")) / (prior_days + pl.col("days").fill_null(0.0)))
    )
    rate = pl.col("rate")
    return (
        shares.join(rates, on="host", how="left")
        .with_columns(blame=rate / rate.sum().over("failure"))
        .drop("rate")
    )
