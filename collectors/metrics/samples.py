"""From points and understood label sets to samples: the steps all mappers of metrics share."""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, SAMPLES, TIME, conform, schema_of
from collectors.texts.blanks import sentinel_reason

MEANINGS: Final = schema_of(
    {
        "series": pl.UInt32,
        "signal": pl.String,
        "factor": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "top": pl.Float64,
        "wraps_at": pl.Float64,
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "index": pl.Int32,
        "model": pl.String,
        "run": pl.String,
        "target": pl.String,
    }
)
"""What a label set measures. `low` and `high` bound the value before `factor` is applied, `top` is
where a counter stops counting; a null or infinite one is none. `wraps_at` is where it starts again
from 0, null if not known; a counter with a top never does. `target` is the scrape that it came
from, null if that does not matter."""

ENTITY: Final = ("host", "device_kind", "device", "signal")

MEASURED: Final = schema_of(
    {
        "entity": pl.UInt32,
        **MEANINGS,
        "time": TIME,
        "page": pl.UInt32,
        "value": pl.Float64,
        "exact": pl.UInt64,
        "reason": pl.String,
        "position": pl.Int64,
    }
)
"""A sample that still knows its series; `entity` numbers a signal of a device of a host."""

_NEVER: Final = pl.lit(float("inf"))

_TOP_64: Final = pl.lit(2**64 - 1, dtype=pl.UInt64)

_HIGHEST_WINS: Final = ("xid_last", "xid_window_count", "clock_event_window_count", "health_status")


def measure(points: pl.DataFrame, meanings: pl.DataFrame) -> pl.DataFrame:
    """Return the points in our units, with a reason where there is no value.

    Args:
        points: `POINTS`.
        meanings: `MEANINGS`; points of other series are left out.

    Returns:
        `MEASURED`, in the points' order. Sentinels are told before any unit is changed, since
        afterwards they look like numbers; a value outside its range is `out_of_range`, a counter
        at its top `saturated`: it says "at least", so it is blind. A null factor is a unit that
        nothing in the source told.
    """
    numbered = meanings.with_columns(
        entity=pl.struct(ENTITY).rank("dense").cast(pl.UInt32), series=pl.col("series")
    )
    raw = pl.col("value")
    is_bounded = pl.col("high").is_finite().fill_null(value=False)
    outside = (raw < pl.col("low")) | (raw > pl.col("high"))
    reason = pl.coalesce(
        pl.col("reason"),
        sentinel_reason(raw, pl.col("text"), is_bounded=is_bounded),
        pl.when(outside).then(pl.lit("out_of_range")),
        pl.when(raw == pl.col("top")).then(pl.lit("saturated")),
        pl.when(pl.col("factor").is_null()).then(pl.lit("unit_unknown")),
    )
    return (
        points.lazy()
        .join(numbered.lazy(), on="series", how="inner", maintain_order="left")
        .with_columns(reason=reason)
        .with_columns(
            value=pl.when(pl.col("reason").is_null()).then(raw * pl.col("factor")),
            exact=_exact(),
            wraps_at=pl.coalesce("wraps_at", pl.when(pl.col("top").is_finite()).then(_NEVER)),
        )
        .select(MEASURED.names())
        .collect()
    )


def _exact() -> pl.Expr:
    """Return the count in our unit where float64 would lose its last digits; else null."""
    count = pl.col("text").cast(pl.UInt64, strict=False)
    factor = pl.col("factor").cast(pl.UInt64, strict=False)
    whole = (factor == pl.col("factor")) & (count <= _TOP_64 // factor)
    return pl.when(whole, pl.col("reason").is_null()).then(count * factor)


def settle_duplicates(measured: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return one sample for each signal of a device at each time, and the conflicts.

    The same GPU comes several times on a page: once for each job or container that shares it,
    each MIG instance, each code of a last error, or by a mistake of the exporter. It was measured
    once. The last line with a value stays (of error states the highest; a line of the device itself
    before those of its pods) and the jobs are joined.

    Args:
        measured: `MEASURED`.

    Returns:
        `MEASURED` in order of position, `run` being the jobs in alphabetical order with commas;
        and `signal`, `count`, `position`, `time` of what came with different values.
    """
    keys = ("entity", "time", "page")
    repeated = measured.select(keys).is_duplicated()
    groups = measured.filter(repeated).group_by(keys, maintain_order=True)
    value = pl.col("value")
    chosen = (
        pl.when(pl.col("signal").first().is_in(_HIGHEST_WINS))
        .then(value.max())
        .otherwise(_device_value())
    )
    settled = groups.agg(
        pl.exclude("value", "reason", "run").last(),
        value=chosen,
        reason=pl.when(value.count() == 0).then(pl.col("reason").last()),
        run=pl.col("run").drop_nulls().unique().sort().str.join(","),
        conflict=value.drop_nulls().n_unique() > 1,
    ).with_columns(run=pl.when(pl.col("run") != "").then("run"))
    conflicts = (
        settled.filter(pl.col("conflict") & ~pl.col("signal").is_in(_HIGHEST_WINS))
        .group_by("signal", maintain_order=True)
        .agg(pl.len().alias("count"), pl.col("position").min(), pl.col("time").min())
    )
    kept = pl.concat([measured.filter(~repeated), settled.select(MEASURED.names())])
    return kept.sort("position", maintain_order=True), conflicts


def _device_value() -> pl.Expr:
    """Return the device's own value among its rows at a time.

    An exporter that counts by process gives each pod a row beside the device's, and idle pods 0.
    """
    value, run = pl.col("value").drop_nulls(), pl.col("run").filter(pl.col("value").is_not_null())
    of_device = value.filter(run.is_null()).last()
    busy = pl.when(run.n_unique() > 1).then(value.filter(value != 0).last())
    return pl.coalesce(of_device, busy, value.last())


def samples_of(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return `MEASURED` as `SAMPLES` of `source`."""
    named = measured.lazy().with_columns(source=pl.lit(source))
    return conform(named, SAMPLES).collect()


def conflict_events(conflicts: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one warning for each signal that came twice at a time with different values."""
    rows = conflicts.lazy().with_columns(
        kind=pl.lit("warning"),
        code=pl.lit("conflicting_duplicates"),
        severity=pl.lit("low"),
        message=pl.format("{} came more than once at a time with different values", "signal"),
        source=pl.lit(source),
    )
    return conform(rows, EVENTS).collect()
