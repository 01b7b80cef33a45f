"""Clean series before any statistic: most false alarms die here.

Source: methods reference, section 1. Nothing is filled forward, no negative rate is emitted, and
a gauge that stands still while its siblings move is not known rather than calm.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import SAMPLES, STEPS, require

_ENTITY: Final = ("host", "device_kind", "device", "signal")
_WRAPS: Final = (2.0**32, 2.0**64)


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
        max_wrapped_rate_ratio: A wrap must be plausible: at most this many times the usual rate.
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
        twice in one attempt the later report counts; equal ends keep the longer.
    """
    attempt = ["run", "attempt"]
    start = pl.col("end_time").min().over(attempt)
    first, last = (pl.col("step").min().over(attempt), pl.col("step").max().over(attempt))
    by_time = (pl.col("end_time") - start).dt.total_microseconds() < params.warm_up_seconds * 1e6
    by_count = pl.col("step") - first < params.warm_up_steps
    allowed = pl.col("step") - first < (last - first + 1) * params.max_warm_up_share
    warm = (by_count | by_time.fill_null(value=False)) & allowed
    return (
        steps.pipe(require, STEPS)
        .drop_nulls("step")
        .sort("run", "attempt", "rank", "step", "end_time", "step_seconds")
        .unique(["run", "attempt", "rank", "step"], keep="last", maintain_order=True)
        .filter(~warm)
    )


def counter_rates(samples: pl.LazyFrame, params: CleaningParams) -> pl.LazyFrame:
    """Return counters as rates per second between neighbouring samples.

    Args:
        samples: `SAMPLES` of counters alone; a null `value` breaks the series.
        params: Gap and wrap rules.

    Returns:
        `SAMPLES` and `rate`, one row a pair of neighbours, at the later one's time. `rate` is null
        after a reset, over a gap and beside a value that is not known; it is never negative.
    """
    entity = list(_ENTITY)
    value, before = pl.col("value"), pl.col("value").shift(1).over(entity)
    seconds = pl.col("time").diff().over(entity).dt.total_microseconds() / 1e6
    rows = _ordered(samples).with_columns(step=value - before, before=before, seconds=seconds)
    usual = pl.col("seconds").median().over(entity)
    rate = pl.col("step") / pl.col("seconds")
    plain = pl.when(pl.col("step") >= 0).then(rate)
    ceiling = plain.median().over(entity) * params.max_wrapped_rate_ratio
    wrapped = pl.coalesce(
        pl.when(
            pl.col("before") >= top * (1 - params.wrap_share),
            (pl.col("step") + top) / pl.col("seconds") <= ceiling,
        ).then((pl.col("step") + top) / pl.col("seconds"))
        for top in _WRAPS
    )
    near = pl.col("seconds") <= usual * params.max_gap_ratio
    return (
        rows.with_columns(rate=pl.when(near).then(pl.coalesce(plain, wrapped)))
        .drop_nulls("seconds")
        .select(*SAMPLES.names(), "rate")
    )


def fresh_gauges(samples: pl.LazyFrame, params: CleaningParams) -> pl.LazyFrame:
    """Return gauges without what is stale.

    Args:
        samples: `SAMPLES` of noisy gauges alone.
        params: When a gauge is stale.

    Returns:
        `SAMPLES` and `stale`; a value is stale when it has been the same for `stale_ticks` while
        another device of the same host and signal moved. Stale values are null.
    """
    entity = list(_ENTITY)
    rows = _ordered(samples).with_columns(
        moved=(pl.col("value") != pl.col("value").shift(1).over(entity)).fill_null(value=True)
    )
    spell = pl.col("moved").cum_sum().over(entity)
    rows = rows.with_columns(spell=spell).with_columns(
        still=pl.len().over([*entity, "spell"]) >= params.stale_ticks
    )
    others_move = (~pl.col("still")).any().over(["host", "device_kind", "signal"])
    stale = pl.col("still") & others_move
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
        .sort(*_ENTITY, "time", "value", "source", nulls_last=False)
        .unique([*_ENTITY, "time"], keep="last", maintain_order=True)
    )
