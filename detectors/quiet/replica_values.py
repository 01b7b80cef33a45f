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
from detectors.peers import MAD_TO_SIGMA
from detectors.placing import ROLES

JOB: Final = ("run", "attempt")

STEP: Final = (*JOB, "pp", "step")
"""Where stages are known, ranks of one are compared: each may tell figures of its own weights."""

RANK: Final = ("run", "attempt", "figure", "rank")

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
    rows = _ranked(steps.pipe(require, STEPS), roles.pipe(require, ROLES))
    parts: list[pl.DataFrame] = []
    for figure in FIGURES:
        told = rows.rename({figure: "value"}).drop_nulls("value")
        known = told.filter(pl.col("value").is_finite())
        centres = _centres(known, params)
        odd = [_differing(known, centres, params), _no_numbers(told, centres, params, figure)]
        if figure == "loss":
            odd.append(_drifting(known, centres, params))
        parts += [one.with_columns(figure=pl.lit(figure)).pipe(_firsts).collect() for one in odd]
    found = pl.concat(parts).sort(*RANK, "step").unique(RANK, keep="first", maintain_order=True)
    return _placed(found, roles)


def _ranked(steps: pl.LazyFrame, roles: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows of ranks with their stage, null where nobody tells it."""
    keys = ["run", "attempt", "rank"]
    by_file = pl.col("source").str.extract(_FILE_RANK).cast(pl.Int32, strict=False)
    columns = [*keys, "step", "end_time", "host", "source", *FIGURES]
    ranked = (
        steps.filter(pl.any_horizontal(pl.col(FIGURES).is_not_null()))
        .with_columns(rank=pl.coalesce("rank", by_file))
        .drop_nulls(["rank", "step"])
        .select(columns)
    )
    stages = roles.select(*keys, "pp").drop_nulls("pp").unique(keys).collect()
    if stages.is_empty():
        return ranked.with_columns(pp=pl.lit(None, dtype=pl.Int32)).collect().lazy()
    return ranked.join(stages.lazy(), on=keys, how="left", nulls_equal=True).collect().lazy()


def _centres(known: pl.LazyFrame, params: ReplicaParams) -> pl.LazyFrame:
    """Return one row a step that enough ranks tell: the middle figure, and who agrees with it."""
    value = pl.col("value")
    middle = value.median()
    agrees = (value - middle).abs() <= params.max_difference * middle.abs()
    steps = (
        known.group_by(STEP)
        .agg(
            centre=middle,
            share=agrees.mean(),
            spread=(value - middle).abs().median(),
            ranks=pl.col("rank").n_unique().cast(pl.Int64),
        )
        .filter(pl.col("ranks") >= params.min_ranks)
        .with_columns(together=pl.col("share") >= params.min_agreeing_share)
        .collect()
    )
    centre = pl.col("centre")
    return steps.lazy().with_columns(
        is_shared=pl.col("together").mean().over(JOB) >= params.min_shared_steps,
        moves=centre.min().over(JOB) != centre.max().over(JOB),
        scale=MAD_TO_SIGMA * pl.col("spread").median().over(JOB),
    )


def _rows_at(rows: pl.LazyFrame, centres: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows at the given steps, with what is known of these."""
    return rows.join(centres, on=STEP, how="inner", nulls_equal=True)


def _of_ranks(rows: pl.LazyFrame, odd: pl.LazyFrame) -> pl.LazyFrame:
    """Return all rows of the ranks that are in `odd`, one a step, in order."""
    ranks = odd.select(*JOB, "rank").unique()
    return (
        rows.join(ranks, on=[*JOB, "rank"], how="semi", nulls_equal=True)
        .sort(*JOB, "rank", "step", "end_time", "value")
        .unique([*JOB, "rank", "step"], keep="last", maintain_order=True)
    )


def _few(params: ReplicaParams) -> pl.Expr:
    """Return whether the ranks of an attempt's rows are few of all."""
    suspects = pl.col("rank").n_unique().over(JOB)
    return suspects <= params.max_suspect_share * pl.col("ranks").max().over(JOB)


def _differing(known: pl.LazyFrame, centres: pl.LazyFrame, params: ReplicaParams) -> pl.LazyFrame:
    """Return the rows of ranks that differ in a figure which the others share."""
    shared = centres.filter("is_shared", "moves", "together")
    value, centre = pl.col("value"), pl.col("centre")
    agrees = (value - centre).abs() <= params.max_difference * centre.abs()
    suspects = _rows_at(known, shared.filter(pl.col("share") < 1.0)).filter(~agrees)
    rank = [*JOB, "rank"]
    return (
        _rows_at(_of_ranks(known, suspects), shared)
        .sort(*rank, "step")
        .with_columns(agrees=agrees)
        .with_columns(before=(~pl.col("agrees")).cum_sum().over(rank))
        .with_columns(agreed=(pl.col("before") == 0).sum().over(rank))
        .filter(~pl.col("agrees"), pl.col("agreed") >= params.min_agreed_steps)
        .filter(_few(params))
        .with_columns(why=pl.lit("differs"))
    )


def _drifting(known: pl.LazyFrame, centres: pl.LazyFrame, params: ReplicaParams) -> pl.LazyFrame:
    """Return the rows of ranks whose own loss leaves those of the others and stays away."""
    window, rank = params.drift_window, [*JOB, "rank"]
    own = centres.filter(~pl.col("is_shared"), pl.col("ranks") > params.min_ranks)
    is_bad = pl.col("value") - pl.col("centre") > params.min_scales * pl.col("scale")
    often = (
        _rows_at(known, own).filter(is_bad).filter(pl.len().over(rank) >= params.min_drift_steps)
    )
    is_start = pl.col("bad_steps") >= params.min_drift_steps
    return (
        _rows_at(_of_ranks(known, often), own)
        .sort(*rank, "step")
        .with_columns(bad=is_bad.cast(pl.Int32), turn=pl.int_range(pl.len()).over(rank))
        .with_columns(bad_steps=pl.col("bad").rolling_sum(window).over(rank))
        .with_columns(starts=pl.col("turn").filter(is_start).min().over(rank))
        .with_columns(is_before=pl.col("turn") <= pl.col("starts") - window)
        .filter(
            pl.col("starts") >= 2 * window - 1,
            pl.col("bad").filter("is_before").sum().over(rank) == 0,
            ~pl.col("is_before"),
            pl.col("bad") == 1,
        )
        .filter(_few(params))
        .with_columns(why=pl.lit("drifts"))
    )


def _no_numbers(
    told: pl.LazyFrame, centres: pl.LazyFrame, params: ReplicaParams, figure: str
) -> pl.LazyFrame:
    """Return the ranks whose figure was no number while those of the others still were.

    Infinite gradients are left out: where the loss scale is adapted they are usual.
    """
    value = pl.col("value")
    is_odd = ~value.is_finite() if figure == "loss" else value.is_nan()
    first = pl.col("step") == pl.col("step").min().over(JOB)
    odd = told.filter(is_odd).filter(first)
    numbers = centres.select(*STEP, "centre", "ranks")
    alone = pl.col("rank").n_unique().over(JOB)
    return (
        _rows_at(odd, numbers)
        .filter(alone <= params.max_suspect_share * (pl.col("ranks") + alone))
        .with_columns(ranks=pl.col("ranks") + alone.cast(pl.Int64), why=pl.lit("no_number"))
    )


def _firsts(odd: pl.LazyFrame) -> pl.LazyFrame:
    """Return `ODD_RANKS` of rows that are odd."""
    firsts = ["host", "step", "end_time", "value", "centre", "ranks", "source"]
    return (
        odd.sort(*RANK, "step")
        .group_by([*RANK, "why"])
        .agg(
            pl.col(firsts).first(),
            detected=pl.col("end_time").first(),
            steps=pl.col("step").n_unique().cast(pl.Int64),
            last_step=pl.col("step").last(),
        )
        .rename({"centre": "shared"})
        .select(pl.col(name).cast(kind) for name, kind in ODD_RANKS.items())
    )


def _placed(found: pl.DataFrame, roles: pl.LazyFrame) -> pl.DataFrame:
    """Return the odd ranks with the hosts that the job's placement tells."""
    keys = ["run", "attempt", "rank"]
    hosts = roles.select(*keys, "host").unique(keys, keep="first", maintain_order=True).collect()
    return (
        found.join(hosts, on=keys, how="left", suffix="_role", nulls_equal=True)
        .with_columns(host=pl.coalesce("host", "host_role"))
        .select(ODD_RANKS.names())
        .sort(*RANK, "step")
    )
