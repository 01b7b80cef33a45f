"""How long a name meant what: statements in time as spells, and the names that two things claim.

A name is believed as of the time of its statement, until another statement says otherwise. Two
statements that overlap in time and disagree are a conflict: then the name joins nothing.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of

EVER: Final = 2**62
"""Microseconds since the epoch that stand for the end of time; minus that is its beginning."""

CLAIMS: Final = schema_of(
    {
        "host": pl.String,
        "family": pl.String,
        "name": pl.String,
        "kind": pl.String,
        "other": pl.String,
        "other_kind": pl.String,
        "at": pl.Int64,
        "source": pl.String,
    }
)
"""One statement that `name` means `other`. `host` is empty for names of hosts; `at` is in
microseconds since the epoch, null if the source does not say when. Of each `other_kind`, a name
means one thing at a time."""

SPELLS: Final = schema_of(
    {
        "host": pl.String,
        "family": pl.String,
        "name": pl.String,
        "kind": pl.String,
        "other": pl.String,
        "other_kind": pl.String,
        "since": pl.Int64,
        "until": pl.Int64,
        "source": pl.String,
    }
)
"""A time during which a source always said the same; both ends are statements."""

GROUP: Final = ("host", "family", "name", "other_kind")

_MEANING: Final = (*GROUP, "kind", "other")


def spells_of(claims: pl.DataFrame) -> pl.DataFrame:
    """Return `SPELLS` of each source.

    Args:
        claims: `CLAIMS`. One without a time holds for ever, unless the same is said with a time.
    """
    timed = claims.drop_nulls("at").unique([*_MEANING, "at", "source"])
    untimed = claims.filter(pl.col("at").is_null()).unique([*_MEANING, "source"])
    changes = pl.col("other") != pl.col("other").shift()
    runs = (
        timed.sort(*GROUP, "source", "at", "other")
        .with_columns(run=changes.fill_null(value=True).cum_sum().over(*GROUP, "source"))
        .group_by(*_MEANING, "source", "run")
        .agg(since=pl.col("at").min(), until=pl.col("at").max())
    )
    ever = untimed.join(timed, on=list(_MEANING), how="anti", nulls_equal=True).with_columns(
        since=pl.lit(-EVER, pl.Int64), until=pl.lit(EVER, pl.Int64)
    )
    columns = SPELLS.names()
    return pl.concat([runs.select(columns), ever.select(columns)]).sort(columns)


def clashes_of(spells: pl.DataFrame) -> pl.DataFrame:
    """Return the spells that contradict each other.

    Args:
        spells: `SPELLS`.

    Returns:
        `SPELLS` and `clash`, the first time of which two spells of the name disagree: all spells
        of that name that hold then, by name and meaning.
    """
    before = pl.col("until").cum_max().shift()
    sweep = spells.sort(*GROUP, "since", "until", "other", "source").with_columns(
        any_before=before.over(*GROUP), same_before=before.over(*GROUP, "other")
    )
    disagrees = (pl.col("any_before") >= pl.col("since")) & (
        pl.col("same_before").is_null() | (pl.col("any_before") > pl.col("same_before"))
    )
    first = sweep.filter(disagrees).group_by(GROUP).agg(clash=pl.col("since").min())
    holds = pl.col("clash").is_between("since", "until")
    return spells.join(first, on=list(GROUP)).filter(holds).sort(*GROUP, "other", "source")


def meanings_of(spells: pl.DataFrame, moving: tuple[str, ...] = ()) -> pl.DataFrame:
    """Return from when until when a name means something, over all sources.

    Args:
        spells: `SPELLS` without contradictions.
        moving: Kinds of names that hold only while they are stated, once they have moved.

    Returns:
        `SPELLS` without `source`, `until` being the first moment after. What was said first holds
        before, what was said last holds after.
    """
    order = [*GROUP, "since", "until", "other"]
    changes = (pl.col("other") != pl.col("other").shift()).fill_null(value=True)
    runs = (
        spells.sort(order)
        .with_columns(run=changes.cum_sum().over(*GROUP))
        .group_by(*_MEANING, "run")
        .agg(pl.col("since").min(), pl.col("until").max())
        .sort(*GROUP, "run")
    )
    following = pl.col("since").shift(-1).over(*GROUP)
    is_first = pl.col("run") == pl.col("run").min().over(*GROUP)
    has_moved = pl.len().over(*GROUP) > 1
    is_strict = has_moved & (pl.col("kind").is_in(moving) | pl.col("other_kind").is_in(moving))
    return runs.with_columns(
        since=pl.when(is_strict | ~is_first).then("since").otherwise(-EVER),
        until=pl.when(is_strict).then(pl.col("until") + 1).otherwise(following.fill_null(EVER)),
    ).select(name for name in SPELLS.names() if name != "source")
