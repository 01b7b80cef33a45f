"""Where the ranks of a group run different operations, or sizes, at the same sequence number.

Source: methods of the NCCL and PyTorch reference, sections 10.3 and 12.2. The majority is the
yardstick, never the first rank; with as many on one side as on the other nobody is named.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from detectors.standings import INIT
from detectors.waits import normal_operation

MISMATCHES: Final = schema_of(
    {
        "run": pl.String,
        "scope": pl.String,
        "group": pl.String,
        "group_name": pl.String,
        "sequence": pl.Int64,
        "rank": pl.Int32,
        "signature": pl.String,
        "usual": pl.String,
        "votes": pl.UInt32,
        "voters": pl.UInt32,
        "decided": pl.Boolean,
        "time": TIME,
        "source": pl.String,
        "position": pl.Int64,
    }
)
"""One row a rank of a group at the first number where its members differ, if `decided` only the
ranks that differ from the majority. `usual` is what most run, `votes` how many of the `voters` run
what this rank does."""

_UNSIZED: Final = ("ALLTOALL", "ALLTOALLBASE", "ALLTOALLV", "GATHER", "SCATTER", "COALESCED")
"""Operations whose sizes may rightly differ."""

_PAIRED: Final = ("SEND", "RECV", "COALESCED")
"""Calls that share a number and rightly differ."""

_AT: Final = ("run", "scope", "group", "sequence")


def find_mismatches(collectives: pl.LazyFrame) -> pl.DataFrame:
    """Return `MISMATCHES`, by run, group and rank.

    Args:
        collectives: What `ranked` returns. Rows without rank, number or operation say nothing; a
            rank that runs two things at one number (another attempt, a counter that stands still)
            has no vote there.
    """
    votes = pl.concat([_votes(collectives, sized=False), _votes(collectives, sized=True)])
    order = 2 * pl.col("sequence") + pl.col("sized")
    return (
        votes.filter(pl.col("kinds") > 1)
        .filter(order == order.min().over(_AT[:3]))
        .with_columns(decided=2 * pl.col("most") > pl.col("voters"))
        .filter(~pl.col("decided") | (pl.col("votes") < pl.col("most")))
        .select(MISMATCHES.names())
        .sort("run", "group", "rank")
        .collect()
    )


def _votes(collectives: pl.LazyFrame, *, sized: bool) -> pl.LazyFrame:
    """Return one row a rank and number with its signature and how many share it."""
    operation = normal_operation(pl.col("operation"))
    signature = _sizes(operation) if sized else operation
    is_vote = ~operation.is_in(_PAIRED) & (pl.col("operation") != INIT)
    rows = (
        collectives.drop_nulls(["rank", "sequence", "operation"])
        .filter(is_vote)
        .with_columns(signature=signature, sized=pl.lit(sized))
        .drop_nulls("signature")
    )
    return (
        rows.group_by(*_AT, "sized", "rank")
        .agg(
            pl.col("group_name").drop_nulls().min(),
            pl.col("signature").n_unique().alias("said"),
            pl.col("signature").min(),
            pl.col("time").min(),
            pl.col("source", "position").sort_by("source", "position").first(),
        )
        .filter(pl.col("said") == 1)
        .pipe(_counted)
    )


def _counted(votes: pl.LazyFrame) -> pl.LazyFrame:
    """Return votes with how many are alike, of how many kinds, and what most say."""
    counted = votes.with_columns(
        votes=pl.len().over(*_AT, "signature"), voters=pl.len().over(_AT)
    ).with_columns(
        kinds=pl.col("signature").n_unique().over(_AT), most=pl.col("votes").max().over(_AT)
    )
    is_most = pl.col("votes") == pl.col("most")
    return counted.with_columns(usual=pl.col("signature").filter(is_most).min().over(_AT))


def _sizes(operation: pl.Expr) -> pl.Expr:
    """Return an operation with the sizes that all ranks must share; null where none must."""
    gathers = operation.str.starts_with("ALLGATHER")
    scatters = operation.str.starts_with("REDUCESCATTER")
    out = pl.coalesce("output_count", "input_count")
    size = pl.when(gathers).then(out).otherwise("input_count")
    label = (
        pl.when(gathers)
        .then(pl.lit(" out"))
        .when(scatters)
        .then(pl.lit(" in"))
        .otherwise(pl.lit(""))
    )
    shared = ~operation.is_in(_UNSIZED)
    return pl.when(shared).then(
        pl.concat_str(operation, pl.lit(" of "), size.cast(pl.String), label)
    )
