"""How long each rank works in a step: the measure that tells ranks of a lockstep job apart.

In a synchronous job every rank's total step time is that of the slowest, so only the part spent
before waiting tells. Source: methods reference, section 8; rank-straggler policy of TraceML.
"""

from typing import Final

import polars as pl

from collectors.frames import OPS, require, schema_of
from detectors.placing import ROLES

PACES: Final = schema_of(
    {
        **{name: ROLES[name] for name in ROLES.names()},
        "step": pl.Int64,
        "end_time": pl.Datetime("us", "UTC"),
        "measure": pl.String,
        "pace_seconds": pl.Float64,
        "compute_seconds": pl.Float64,
        "forward_seconds": pl.Float64,
        "backward_seconds": pl.Float64,
        "data_seconds": pl.Float64,
        "comm_seconds": pl.Float64,
        "step_seconds": pl.Float64,
    }
)
"""One row a rank's step, with its role. `pace_seconds` is the time compared between ranks and
`measure` says what it is: busy (data and compute), not_waiting (step less communication), fed
(data, and the least that anybody needs for the rest), wait (communication alone: the culprit waits
least, so less is worse) or step (total time: tells ranks apart only where they are not in
lockstep); forward (the forward pass alone) is compared beside busy, see `detectors.host_side`."""

MIN_SHARE: Final = 0.5
"""A measure serves when half of the attempt's rank-steps have it."""

MIN_TOKEN_SPREAD: Final = 1e-6
"""Variance of log tokens below which all ranks have the same work."""

MAX_TOKEN_POWER: Final = 2.0
"""Attention costs the square of a sequence's length; nothing costs more."""

MAX_LOCKSTEP_RATIO: Final = 1.05
"""Where the slowest rank of most steps takes no longer than this, all wait for each other."""

_MEASURES: Final = ("busy", "not_waiting", "fed", "step", "wait")


def rank_paces(steps: pl.LazyFrame, roles: pl.LazyFrame) -> pl.LazyFrame:
    """Return the paces of all ranks that report for themselves.

    Args:
        steps: `STEPS`, cleaned; rows without a rank speak for the whole job and are left out.
        roles: `ROLES`; a rank that is not in it keeps the host it reports and null coordinates.

    Returns:
        `PACES`. One measure a run and attempt: the first of the ladder that half of its rank-steps
        have. Tokens per step that differ between ranks are divided out, as far as they explain the
        pace (see `_token_effect`).
    """
    keys = ["run", "attempt"]
    busy = pl.col("compute_seconds") + pl.col("data_seconds").fill_null(0.0)
    values = {
        "busy": busy,
        "not_waiting": pl.col("step_seconds") - pl.col("comm_seconds"),
        "fed": _fed_seconds(),
        "step": pl.col("step_seconds"),
        "wait": pl.col("comm_seconds"),
    }
    rows = steps.drop_nulls("rank").with_columns(
        pl.when(value > 0).then(value).alias(f"_{name}") for name, value in values.items()
    )
    share = {name: pl.col(f"_{name}").is_not_null().mean().over(keys) for name in _MEASURES}
    chosen = pl.coalesce(pl.when(share[name] >= MIN_SHARE).then(pl.lit(name)) for name in _MEASURES)
    value = pl.coalesce(
        pl.when(pl.col("measure") == name).then(pl.col(f"_{name}")) for name in _MEASURES
    )
    return (
        rows.with_columns(measure=chosen)
        .with_columns(pace_seconds=value, relative_tokens=_relative_tokens())
        .with_columns(pace_seconds=pl.col("pace_seconds") / _token_effect())
        .join(roles, on=[*keys, "rank"], how="left", suffix="_role", nulls_equal=True)
        .with_columns(host=pl.coalesce("host_role", "host"))
        .select(PACES.names())
    )


def _fed_seconds() -> pl.Expr:
    """Return a rank's time for its data, and what the quickest rank needs for the rest of the step.

    In lockstep the others wait inside the rest, so only the data tells who is starved. Null where
    ranks are not in lockstep, or nobody tells its data.
    """
    attempt, step = ["run", "attempt"], ["run", "attempt", "step"]
    seconds, data = pl.col("step_seconds"), pl.col("data_seconds")
    apart = (seconds.max() / seconds.min()).over(step).median().over(attempt)
    together = (apart <= MAX_LOCKSTEP_RATIO) & (pl.len().over(step) > 1)
    rest = (seconds - data).min().over(step)
    return pl.when(together & (rest >= 0)).then(data + rest)


def _relative_tokens() -> pl.Expr:
    """Return a rank's tokens over the median rank's in the same step; 1 where not known."""
    tokens = pl.col("tokens") / pl.col("tokens").median().over(["run", "attempt", "step"])
    return pl.when(tokens > 0, tokens.is_finite()).then(tokens).otherwise(1.0)


def _token_effect() -> pl.Expr:
    """Return the factor by which a rank's tokens lengthen its step.

    That is tokens to a power fitted over the attempt: below 1 where a step has fixed work, up to 2
    for attention over long sequences. Plain division would make ranks with few tokens look slow.
    """
    attempt = ["run", "attempt"]
    tokens = pl.col("relative_tokens").log()
    pace = (pl.col("pace_seconds") / pl.col("pace_seconds").median().over([*attempt, "step"])).log()
    known = pl.when(pace.is_finite())
    here, there = known.then(tokens), known.then(pace)
    spread = here.var(ddof=0).over(attempt)
    shared = (here * there).mean().over(attempt) - here.mean().over(attempt) * there.mean().over(
        attempt
    )
    power = pl.when(spread > MIN_TOKEN_SPREAD).then((shared / spread).clip(0.0, MAX_TOKEN_POWER))
    return (tokens * power.fill_null(0.0)).exp()


def traced_paces(ops: pl.LazyFrame) -> pl.LazyFrame:
    """Return the paces of the workers of operation traces.

    Args:
        ops: `OPS`; compute operations are added up, communication counts from a worker's first to
            its last moment in it.

    Returns:
        `PACES` with measure busy; `rank` is the traced worker. Traces sample steps, so there is no
        warm-up to leave out and no clock.
    """
    seconds = pl.col("end_seconds") - pl.col("start_seconds")
    worker = ["run", "attempt", "rank", "dp", "pp", "step"]
    sums = (
        ops.pipe(require, OPS)
        .group_by(worker)
        .agg(
            seconds.filter(pl.col("family") == "compute").sum().alias("compute_seconds"),
            _pass(seconds, "forward").alias("forward_seconds"),
            _pass(seconds, "backward").alias("backward_seconds"),
            seconds.filter(pl.col("family") == "comm").sum().alias("comm_seconds"),
            pl.col("end_seconds").max().alias("step_seconds"),
        )
        .filter(pl.col("compute_seconds") > 0)
    )
    return sums.select(
        (pl.col(name) if name in worker else _traced(name)).cast(kind).alias(name)
        for name, kind in PACES.items()
    )


def traced_waits(ops: pl.LazyFrame) -> pl.LazyFrame:
    """Return the waits of the workers of traces that tell communication alone.

    Args:
        ops: `OPS`; attempts of which any compute is told are left out.

    Returns:
        `PACES` with measure wait: the seconds of one of each of a worker's operations in a step, of
        which whoever comes last has the least. Operations that are lost now and then do no harm.
    """
    seconds = pl.col("end_seconds") - pl.col("start_seconds")
    worker = ["run", "attempt", "rank", "dp", "pp", "step"]
    computes = (pl.col("family") == "compute").any().over("run", "attempt")
    return (
        ops.pipe(require, OPS)
        .filter(~computes.fill_null(value=False), pl.col("family") == "comm", seconds > 0)
        .group_by(*worker, "operation")
        .agg(comm_seconds=seconds.mean())
        .group_by(worker)
        .agg(pl.col("comm_seconds").sum())
        .select(
            (pl.col(name) if name in {*worker, "comm_seconds"} else _waited(name))
            .cast(kind)
            .alias(name)
            for name, kind in PACES.items()
        )
    )


def _waited(name: str) -> pl.Expr:
    if name == "pace_seconds":
        return pl.col("comm_seconds")
    return pl.lit("wait" if name == "measure" else None)


_TRACED: Final = (
    *("compute_seconds", "forward_seconds", "backward_seconds"),
    *("comm_seconds", "step_seconds"),
)


def _pass(seconds: pl.Expr, name: str) -> pl.Expr:
    """Return the seconds of a pass; null where its operations are not told."""
    is_part = (pl.col("family") == "compute") & pl.col("operation").str.starts_with(name)
    return pl.when(is_part.any()).then(seconds.filter(is_part).sum())


def _traced(name: str) -> pl.Expr:
    if name in _TRACED:
        return pl.col(name)
    if name == "pace_seconds":
        return pl.col("compute_seconds")
    return pl.lit("busy" if name == "measure" else None)
