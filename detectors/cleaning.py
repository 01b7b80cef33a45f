"""Clean series before any statistic: most false alarms die here.

Source: methods reference, section 1. Nothing is filled forward, no negative rate is emitted, and
a gauge that stands still while its siblings move is not known rather than calm.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import SAMPLES, STEPS, require

_ENTITY: Final = ("host", "device_kind", "device", "signal")
_PORT: Final = ("host", "device_kind", "device")
_SIBLINGS: Final = ("host", "device_kind", "signal")

_WRAPS: Final = (2.0**32, 2.0**53, 2.0**64)
"""Widths at which counters start again; 2^53 is where exporters cut 64-bit SNMP counters."""

_LONG_MEANS: Final = ("running_mean_since_start", "cumulative")
"""Kinds of time that hide a late slowdown: no time of a step."""

_SPELL_BUCKET: Final = "5m"
"""Siblings that moved within the same five minutes moved at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningParams:
    """What is kept out of the statistics.

    Attributes:
        warm_up_steps: First steps of an attempt that compile, allocate and fill caches.
        warm_up_seconds: The same as a time; the longer of the two counts.
        max_warm_up_share: But never more than this share of the attempt's steps, so that a short
            run can still be judged.
        max_gap_ratio: A gap longer than this many usual intervals gives no rate.
        stale_ticks: Equal readings after which a noisy gauge is stale while its siblings move.
        wrap_share: A counter wraps only from within this share of the top of its width.
        max_wrapped_rate_ratio: A wrap must be plausible: at most this many times the usual rate;
            where no usual rate is known, it must have moved by `wrap_share` of its width at most.
    """

    warm_up_steps: int = 20
    warm_up_seconds: float = 300.0
    max_warm_up_share: float = 0.1
    max_gap_ratio: float = 3.0
    stale_ticks: int = 10
    wrap_share: float = 0.01
    max_wrapped_rate_ratio: float = 10.0


def clean_steps(steps: pl.LazyFrame, params: CleaningParams) -> pl.LazyFrame:
    """Return the steps that may be compared.

    Args:
        steps: `STEPS`; a null `step` or `step_seconds` is a step not reported.
        params: What is left out.

    Returns:
        `STEPS` without warm-up, duplicates and steps not reported. Of a step that a rank reports
        twice in one attempt the later report counts; equal ends keep the longer. A mean since the
        start is no time of a step, so it is null.
    """
    attempt = ["run", "attempt"]
    start = pl.col("end_time").min().over(attempt)
    first, last = (pl.col("step").min().over(attempt), pl.col("step").max().over(attempt))
    by_time = (pl.col("end_time") - start).dt.total_microseconds() < params.warm_up_seconds * 1e6
    by_count = pl.col("step") - first < params.warm_up_steps
    allowed = pl.col("step") - first < (last - first + 1) * params.max_warm_up_share
    is_long = pl.col("time_kind").is_in(_LONG_MEANS).fill_null(value=False)
    warm = (by_count | by_time.fill_null(value=False)) & allowed
    return (
        steps.pipe(require, STEPS)
        .drop_nulls("step")
        .sort("run", "attempt", "rank", "step", "end_time", "step_seconds")
        .unique(["run", "attempt", "rank", "step"], keep="last", maintain_order=True)
        .filter(~warm)
        .with_columns(step_seconds=pl.when(~is_long).then("step_seconds"))
    )


def counter_rates(samples: pl.LazyFrame, params: CleaningParams) -> pl.LazyFrame:
    """Return counters as rates per second between neighbouring samples.

    Args:
        samples: `SAMPLES` of counters alone; a null `value` breaks the series.
        params: Gap and wrap rules.

    Returns:
        `SAMPLES`, `rate` and `seconds`, one row a pair of neighbours, at the later one's time.
        `rate` is null after a reset of any counter of the same device, over a gap and beside a
        value that is not known; it is never negative. A single zero among larger values is a bad
        read and is left out.
    """
    entity = list(_ENTITY)
    rows = _without_bad_zeros(_ordered(samples)).with_columns(
        before=pl.col("value").shift(1).over(entity),
        seconds=pl.col("time").diff().over(entity).dt.total_microseconds() / 1e6,
    )
    step = pl.col("value") - pl.col("before")
    plain = pl.when(step >= 0).then(step / pl.col("seconds"))
    near = pl.col("seconds") <= pl.col("seconds").median().over(entity) * params.max_gap_ratio
    return (
        rows.with_columns(rate=pl.coalesce(plain, _wrapped_rate(step, plain, params)))
        .with_columns(reset=(step < 0) & pl.col("rate").is_null())
        .with_columns(reset=pl.col("reset").any().over([*_PORT, "time"]))
        .with_columns(rate=pl.when(near, ~pl.col("reset")).then(pl.col("rate")))
        .drop_nulls("seconds")
        .select(*SAMPLES.names(), "rate", "seconds")
    )


def _without_bad_zeros(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return samples without a zero that stands alone between growing values."""
    entity = list(_ENTITY)
    before, after = (pl.col("value").shift(by).over(entity) for by in (1, -1))
    bad = (pl.col("value") == 0) & (before > 0) & (after >= before)
    return rows.filter(~bad.fill_null(value=False))


def _wrapped_rate(step: pl.Expr, plain: pl.Expr, params: CleaningParams) -> pl.Expr:
    """Return the rate over a wrap, null where the step back is no plausible wrap."""
    usual = plain.median().over(list(_ENTITY))
    candidates = (
        pl.when(
            step < 0,
            pl.col("before").is_between(top * (1 - params.wrap_share), top),
            pl.when(usual > 0)
            .then((step + top) / pl.col("seconds") <= usual * params.max_wrapped_rate_ratio)
            .otherwise(step + top <= top * params.wrap_share),
        ).then((step + top) / pl.col("seconds"))
        for top in _WRAPS
    )
    return pl.coalesce(candidates)


def fresh_gauges(samples: pl.LazyFrame, params: CleaningParams) -> pl.LazyFrame:
    """Return gauges without what is stale.

    Args:
        samples: `SAMPLES` of noisy gauges alone.
        params: When a gauge is stale.

    Returns:
        `SAMPLES` and `stale`; a value is stale when it has been the same for `stale_ticks` while
        another device of the same host and signal moved at that time. Stale values are null.
    """
    entity = list(_ENTITY)
    moved = (pl.col("value") != pl.col("value").shift(1).over(entity)).fill_null(value=True)
    spell = pl.col("moved").cum_sum().over(entity)
    rows = (
        _ordered(samples)
        .with_columns(moved=moved, bucket=pl.col("time").dt.truncate(_SPELL_BUCKET))
        .with_columns(spell=spell)
        .with_columns(still=pl.len().over([*entity, "spell"]) >= params.stale_ticks)
    )
    moving = (~pl.col("still")).sum()
    others = moving.over([*_SIBLINGS, "bucket"]) - moving.over([*entity, "bucket"])
    stale = pl.col("still") & (others > 0)
    return rows.with_columns(stale=stale, value=pl.when(~stale).then(pl.col("value"))).select(
        *SAMPLES.names(), "stale"
    )


def _ordered(samples: pl.LazyFrame) -> pl.LazyFrame:
    """Return samples by entity and time; of two at one time the larger stands, whatever the order.

    A sample without a value stays: it breaks a counter's series instead of being bridged.
    """
    return (
        samples.pipe(require, SAMPLES)
        .drop_nulls("time")
        .with_columns(pl.col("value").fill_nan(None))
        .sort(*_ENTITY, "time", "value", "source", nulls_last=False)
        .unique([*_ENTITY, "time"], keep="last", maintain_order=True)
    )
