"""Name the groups of flight recorder standings that their own dump does not name.

Source: formats of progress streams, section 13.5. Standings count by numbers local to a rank; its
entries tell their names, but a rank that hangs often has none left. Ranks with the same set of
numbers made their groups in the same order, so what one calls a number, the other does too.
"""

import polars as pl

from collectors.frames import COLLECTIVES

_STANDINGS = ("reported", "unmapped")


def name_groups(collectives: pl.DataFrame) -> pl.DataFrame:
    """Return collectives in which every group that can be named is.

    Args:
        collectives: `COLLECTIVES` of all dumps of a job together, and of anything else.

    Returns:
        `COLLECTIVES` without the `configured` rows, which have done their work, and with the
        `unmapped` ones `reported` under the name that peers with the same numbers give; those that
        nobody can name have no group and stay `unmapped`. Other rows are left as they are.
    """
    signed = _signed(collectives)
    named = signed.filter(pl.col("state") == "reported").drop_nulls("group_name")
    alike = _agreed(named, "run", "signature", "position")
    anyone = _agreed(named, "run", "position").rename({"told": "told_by_all"})
    own = (
        collectives.filter(pl.col("state") == "configured")
        .unique(["source", "rank", "group_name"], keep="none", maintain_order=True)
        .select(
            "source",
            "rank",
            "group_name",
            pl.col("group", "group_rank", "group_ranks").name.prefix("own_"),
        )
    )
    found = (
        signed.filter(pl.col("state") == "unmapped")
        .join(
            alike,
            on=["run", "signature", "position"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        .join(anyone, on=["run", "position"], how="left", nulls_equal=True, maintain_order="left")
        .with_columns(group_name=pl.coalesce("told", "told_by_all"))
        .join(
            own,
            on=["source", "rank", "group_name"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        .with_columns(
            pl.col("own_group").alias("group"),
            pl.col("own_group_rank").alias("group_rank"),
            pl.col("own_group_ranks").alias("group_ranks"),
            state=pl.when(pl.col("own_group").is_not_null())
            .then(pl.lit("reported"))
            .otherwise("state"),
        )
    )
    rest = collectives.filter(
        ~pl.col("state").is_in(["unmapped", "configured"]).fill_null(value=False)
    )
    return pl.concat([rest, found.select(COLLECTIVES.names())])


def _signed(collectives: pl.DataFrame) -> pl.DataFrame:
    """Return the standings with the set of their dump's local numbers as one text."""
    numbers = pl.col("position").sort().cast(pl.String).str.join(" ")
    standings = collectives.filter(
        pl.col("state").is_in(_STANDINGS) & pl.col("position").is_not_null()
    )
    return standings.with_columns(signature=numbers.over("source", "rank"))


def _agreed(named: pl.DataFrame, *key: str) -> pl.DataFrame:
    """Return what all who name a number call it; where they differ, nothing."""
    return (
        named.group_by(key, maintain_order=True)
        .agg(told=pl.col("group_name").unique())
        .filter(pl.col("told").list.len() == 1)
        .with_columns(pl.col("told").list.first())
    )
