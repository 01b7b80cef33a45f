"""Find the replica whose numbers differ: a suspect for silent data corruption, or for bad data.

Data-parallel replicas hold the same weights and, once gradients are reduced, report the same
gradient norm; a reduced loss is the same on all ranks too. So of a figure that nearly all ranks
share to the last digit, whoever reports another is a suspect. A loss of each rank's own batch is
shared by nobody: of it only what stays apart from the others for long says anything, and of one
that is no number only who said so while the others still had numbers.

Source: field reference (silent corruption: cross-replica checksums); Llama 3, section 3.3.4 (arXiv
2407.21783, silent corruption among the interruptions); Meta, Silent Data Corruptions at Scale
(arXiv 2102.11245): a sick core computes wrong values quietly and again and again. What all replicas
share, such as a spike of the data, accuses nobody.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import STEPS, TIME, require, schema_of
from detectors.placing import ROLES

STEP: Final = ("run", "attempt", "figure", "step")

SERIES: Final = ("run", "attempt", "figure")

RANK: Final = (*SERIES, "rank")

FIGURES: Final = ("grad_norm", "loss")

_FILE_RANK: Final = r"(?i)^.*(?:rank|dump)[-_]?(\d+)[^/]*$"
"""The rank in the name of a file: of a log with one printer its lines are about the whole job, but
logs of many ranks tell what each of them saw."""

ODD_RANKS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "figure": pl.String,
        "rank": pl.Int32,
        "host": pl.String,
        "why": pl.String,
        "step": pl.Int64,
        "end_time": TIME,
        "detected": TIME,
        "steps": pl.Int64,
        "last_step": pl.Int64,
        "value": pl.Float64,
        "shared": pl.Float64,
        "ranks": pl.Int64,
        "source": pl.String,
    }
)
"""One row a rank that is apart: `why` is differs (of a figure that others share), drifts (its own
loss stays above theirs) or no_number (before the others). `step` is the first, `steps` how many,
`value` and `shared` its figure and the others' there, `ranks` how many told theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaParams:
    """When a replica is apart from the others.

    Attributes:
        min_ranks: Ranks that must tell a figure of a step: of two nobody knows which is right.
        max_difference: Relative difference up to which two figures are the same; what is reduced
            once is equal to the last digit that is printed.
        min_agreeing_share: Of the ranks that agree in a step, where a figure counts as shared.
        min_shared_steps: Share of the steps in which it must be.
        min_agreed_steps: Steps in which a rank agreed before it differs: one that never did tells
            another thing, such as the norm of its own stage, or rounds in its own way.
        min_scales: Of the spread between ranks, beyond which one's own loss is apart.
        min_drift_steps: Of `drift_window` steps in a row, in which it must be.
        drift_window: See above; it must have been with the others for as long before.
        max_suspect_share: Above this share of the ranks nobody is named.
    """

    min_ranks: int = 3
    max_difference: float = 1e-5
    min_agreeing_share: float = 0.6
    min_shared_steps: float = 0.8
    min_agreed_steps: int = 5
    min_scales: float = 5.0
    min_drift_steps: int = 16
    drift_window: int = 20
    max_suspect_share: float = 0.4

    def __post_init__(self) -> None:
        """Refuse to choose between two."""
        if self.min_ranks < 3:  # noqa: PLR2004 -- of two ranks nobody knows which is right
            raise ValueError(f"min_ranks must be 3 at least, found {self.min_ranks}")
        if not 0.5 < self.min_agreeing_share <= 1.0:  # noqa: PLR2004 -- a majority
            raise ValueError(f"min_agreeing_share must be a majority, {self.min_agreeing_share}")


def odd_ranks(steps: pl.LazyFrame, roles: pl.LazyFrame, params: ReplicaParams) -> pl.DataFrame:
    """Return the ranks whose numbers are apart from those of the others at the same step.

    Args:
        steps: `STEPS`; rows of a rank count, and those of files that are each of one rank; a null
            figure was not told.
        roles: `ROLES`; hosts of ranks that do not tell theirs, and stages, whose losses differ.
        params: The thresholds.

    Returns:
        `ODD_RANKS`, at most one row a figure and rank, by run, attempt, figure and rank.

    Raises:
        SchemaError: A frame lacks a column.
    """
    rows = _figures(steps.pipe(require, STEPS), roles.pipe(require, ROLES), params).collect()
    told = rows.lazy()
    shared = _with_centre(told, params)
    parts = [_differing(shared, params), _drifting(shared, params), _no_numbers(told, params)]
    return (
        pl.concat(parts)
        .sort(*RANK, "step")
        .unique(RANK, keep="first", maintain_order=True)
        .collect()
    )


def _figures(steps: pl.LazyFrame, roles: pl.LazyFrame, params: ReplicaParams) -> pl.LazyFrame:
    """Return one row a figure of a rank and step, of steps that enough ranks tell."""
    keys = ["run", "attempt", "rank"]
    named_by_file = pl.col("source").str.extract(_FILE_RANK).cast(pl.Int32, strict=False)
    placed = roles.select(*keys, "host", "pp").unique(keys, keep="first", maintain_order=True)
    named = (
        steps.with_columns(rank=pl.coalesce("rank", named_by_file))
        .drop_nulls(["rank", "step"])
        .select(*keys, "step", "end_time", "host", "source", *FIGURES)
        .join(placed, on=keys, how="left", suffix="_role", nulls_equal=True)
        .with_columns(host=pl.coalesce("host", "host_role"))
    )
    long = named.unpivot(
        FIGURES,
        index=[*keys, "step", "end_time", "host", "source", "pp"],
        variable_name="figure",
        value_name="value",
    ).drop_nulls("value")
    return (
        long.sort(*RANK, "step", "end_time", "value")
        .unique([*RANK, "step"], keep="last", maintain_order=True)
        .with_columns(ranks=pl.len().over(STEP).cast(pl.Int64))
        .filter(pl.col("ranks") >= params.min_ranks)
    )


def _with_centre(told: pl.LazyFrame, params: ReplicaParams) -> pl.LazyFrame:
    """Return the figures that are numbers, with the middle one and whether a series is shared."""
    known = told.filter(pl.col("value").is_finite())
    value, centre = pl.col("value"), pl.col("centre")
    nearest = (value - centre).abs() <= params.max_difference * centre.abs()
    return (
        known.with_columns(centre=value.median().over(STEP))
        .with_columns(agrees=nearest)
        .with_columns(together=pl.col("agrees").mean().over(STEP) >= params.min_agreeing_share)
        .with_columns(
            is_shared=pl.col("together").mean().over(SERIES) >= params.min_shared_steps,
            moves=(centre.min().over(SERIES) != centre.max().over(SERIES)),
        )
    )


def _differing(shared: pl.LazyFrame, params: ReplicaParams) -> pl.LazyFrame:
    """Return the ranks that differ in a figure which the others share."""
    agreed = pl.col("agrees").cast(pl.Int32).cum_sum().over(RANK, order_by="step")
    odd = shared.with_columns(agreed=agreed).filter(
        pl.col("is_shared", "together", "moves"),
        ~pl.col("agrees"),
        pl.col("agreed") >= params.min_agreed_steps,
    )
    few = pl.col("rank").n_unique().over(SERIES) <= params.max_suspect_share * pl.col(
        "ranks"
    ).max().over(SERIES)
    return _rows(odd.filter(few), "differs")


def _drifting(shared: pl.LazyFrame, params: ReplicaParams) -> pl.LazyFrame:
    """Return the ranks whose own loss leaves those of the others and stays away."""
    window = params.drift_window
    peers = [*STEP, "pp"]
    offset = pl.col("value") - pl.col("value").median().over(peers)
    own = shared.filter(pl.col("figure") == "loss", ~pl.col("is_shared")).filter(
        pl.len().over(peers) > params.min_ranks
    )
    bad = (pl.col("offset") > params.min_scales * pl.col("scale")).cast(pl.Int32)
    count = bad.rolling_sum(window).over(RANK)
    is_first = pl.col("bad_steps") >= params.min_drift_steps
    before = pl.col("bad").cum_sum().over(RANK) - pl.col("bad_steps")
    turn = pl.int_range(pl.len()).over(RANK)
    found = (
        own.with_columns(offset=offset)
        .with_columns(scale=1.4826 * pl.col("offset").abs().median().over(SERIES))
        .sort(*RANK, "step")
        .with_columns(bad=bad, bad_steps=count)
        .with_columns(before=before, turn=turn)
        .with_columns(starts=(pl.col("turn").filter(is_first).min()).over(RANK))
        .filter(
            pl.col("turn") > pl.col("starts") - window,
            pl.col("starts") >= 2 * window - 1,
            pl.col("before").filter(pl.col("turn") == pl.col("starts")).first().over(RANK) == 0,
            pl.col("bad") == 1,
        )
        .with_columns(centre=pl.col("value") - pl.col("offset"))
    )
    few = pl.col("rank").n_unique().over(SERIES) <= params.max_suspect_share * pl.col(
        "ranks"
    ).max().over(SERIES)
    return _rows(found.filter(few), "drifts")


def _no_numbers(told: pl.LazyFrame, params: ReplicaParams) -> pl.LazyFrame:
    """Return the ranks whose figure was no number while those of the others still were.

    Infinite gradients are left out: where the loss scale is adapted they are usual.
    """
    is_odd = pl.when(pl.col("figure") == "loss").then(~pl.col("value").is_finite())
    rows = told.with_columns(odd=is_odd.otherwise(pl.col("value").is_nan()))
    first = pl.col("step").filter("odd").min().over(SERIES)
    few = pl.col("odd").mean().over(STEP) <= params.max_suspect_share
    centre = pl.col("value").filter(~pl.col("odd")).median().over(STEP)
    found = rows.filter((pl.col("step") == first).fill_null(value=False)).with_columns(
        centre=centre
    )
    return _rows(found.filter(few, "odd"), "no_number")


def _rows(odd: pl.LazyFrame, why: str) -> pl.LazyFrame:
    """Return `ODD_RANKS` of rows that are odd."""
    firsts = ["host", "step", "end_time", "value", "centre", "ranks", "source"]
    return (
        odd.sort(*RANK, "step")
        .group_by(RANK)
        .agg(
            pl.col(firsts).first(),
            why=pl.lit(why),
            detected=pl.col("end_time").first(),
            steps=pl.len().cast(pl.Int64),
            last_step=pl.col("step").last(),
        )
        .rename({"centre": "shared"})
        .select(pl.col(name).cast(kind) for name, kind in ODD_RANKS.items())
    )
