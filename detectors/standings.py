"""Where each rank of each group stands: what it entered last, finished last, and waits in.

Source: methods of the NCCL and PyTorch reference, sections 10 and 12. Sequence numbers count inside
a group and are never compared across groups. Point-to-point operations have none in a recorder's
dump, and a watchdog counts them for its own rank: a group that runs them counts by pairs, so its
numbers compare nobody.
"""

from typing import Final

import polars as pl

from collectors.frames import COLLECTIVES, TIME, require, schema_of

WAITING_STATES: Final = ("timed_out", "scheduled", "started")
"""States of a collective that a rank has entered and not finished."""

INIT: Final = "init"
"""The operation that makes a communicator."""

PAIR_CALLS: Final = ("SEND", "RECV")
"""Operations of two ranks; each counts its own."""

_PIPELINE: Final = r"(?i)pipeline|(?:^|_)pp(?:_|$)"
"""Groups whose coalesced calls are sends and receives."""

DEFAULT_GROUP: Final = "0"
"""The group that holds every rank."""

MEMBERS: Final = schema_of(
    {
        "run": pl.String,
        "scope": pl.String,
        "group": pl.String,
        "group_name": pl.String,
        "rank": pl.Int32,
        "enqueued": pl.Int64,
        "completed": pl.Int64,
        "blocked": pl.Int64,
        "operation": pl.String,
        "pairs": pl.Boolean,
        "entered": TIME,
        "time": TIME,
        "source": pl.String,
        "position": pl.Int64,
    }
)
"""One row a rank of a group. `blocked` is the first collective it entered and did not finish, since
`entered`; null when it waits in none. `enqueued` and `completed` are its last ones; null is not
known. `scope` is null where `rank` is global, else the group inside which it counts. `pairs` marks
groups with point-to-point operations. `time` is the first complaint."""

_GROUP: Final = ("run", "group")

_TELLING: Final = ("timed_out", "started", "completed", "reported", "signalled")
"""States of sources that follow a collective to its end; a log of calls does not."""


def ranked(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return `COLLECTIVES` with `scope`, and a rank in every row whose rank can be told.

    Args:
        collectives: `COLLECTIVES`.

    Returns:
        The rows with the global rank as said, as another row says it for the same place in the
        group, or as the group is configured. Where no row of a group has one, its own count is
        global if it is the largest group of the run, else the group is a scope of its own. One
        number that several groups share is split into one group a rank.
    """
    place = [*_GROUP, "group_rank"]
    is_init = (pl.col("operation") == INIT).fill_null(value=False)
    others = pl.col("rank").drop_nulls().min().over(place)
    member = pl.col("group_ranks").list.get(pl.col("group_rank"), null_on_oob=True)
    listed = member.drop_nulls().min().over(place)
    told = pl.coalesce("rank", others, pl.when(~is_init).then(listed))
    shared = (told.drop_nulls().n_unique().over(place) > 1) & pl.col("group_rank").is_not_null()
    own = pl.concat_str(pl.col("group"), pl.lit(" of rank "), told.cast(pl.String))
    size = pl.max_horizontal(
        pl.col("group_ranks").list.len().max().over(_GROUP),
        pl.col("group_rank").max().over(_GROUP) + 1,
    )
    return (
        collectives.pipe(require, COLLECTIVES)
        .with_columns(pl.col("group").fill_null(DEFAULT_GROUP))
        .with_columns(rank=told, group=pl.when(shared).then(own).otherwise("group"), size=size)
        .with_columns(nameless=pl.col("rank").is_null().all().over(_GROUP))
        .pipe(_scoped)
    )


def _scoped(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows with `scope`; ranks of a group that nobody names are its own count.

    A group that is called something else than the default one counts for itself, however large.
    """
    named = pl.col("group_name").drop_nulls().first().over(_GROUP)
    part = ~named.str.contains("default").fill_null(value=True)
    largest = pl.col("size") == pl.col("size").max().over("run")
    rivals = pl.col("group").filter(largest).n_unique().over("run")
    is_world = (pl.col("group") == DEFAULT_GROUP) | (largest & (rivals == 1) & ~part)
    local = pl.col("nameless") & ~is_world.fill_null(value=False)
    return rows.with_columns(
        scope=pl.when(local).then(pl.col("group")),
        rank=pl.when("nameless").then(pl.col("group_rank")).otherwise("rank"),
    ).select(*COLLECTIVES.names(), "scope")


def member_states(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return `MEMBERS`, by run, group and rank.

    Args:
        collectives: What `ranked` returns; rows without a rank tell nothing here, nor do logs of
            calls, which follow none to its end.
    """
    member = ["run", "scope", "group", "rank"]
    follows = pl.col("state").is_in(_TELLING) | pl.any_horizontal(
        pl.col("enqueued", "completed").is_not_null()
    )
    finished = pl.max_horizontal(
        "completed", pl.when(pl.col("state") == "completed").then(pl.col("sequence"))
    )
    return (
        collectives.drop_nulls("rank")
        .filter(follows.any().over(_GROUP))
        .pipe(_without_pair_counts)
        .with_columns(_numbered())
        .with_columns(finished=finished.max().over(member))
        .with_columns(waits=_waits())
        .group_by(member)
        .agg(*_standing())
        .with_columns(
            completed=pl.min_horizontal("finished", pl.col("blocked") - 1).fill_null(
                pl.col("blocked") - 1
            ),
            pairs=pl.col("pairs").any().over(_GROUP),
        )
        .select(MEMBERS.names())
        .sort("run", "group", "rank")
    )


def _without_pair_counts(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows; in groups whose watchdogs count sends and receives, each is number 0.

    Who waits in one waits for a peer that no watchdog names; nobody is before or behind another.
    """
    name = pl.col("operation").str.to_uppercase()
    in_line = pl.col("group_name").str.contains(_PIPELINE).fill_null(value=False)
    is_call = name.is_in(PAIR_CALLS) | ((name == "COALESCED") & in_line)
    by_pair = (is_call & (pl.col("state") == "timed_out")).fill_null(value=False)
    paired = by_pair.any().over(_GROUP)
    waits = pl.col("state") == "timed_out"
    return collectives.with_columns(
        pl.when(~paired).then(name_).otherwise(pl.when(waits).then(number)).alias(name_)
        for name_, number in (("sequence", 0), ("enqueued", 0), ("completed", -1))
    )


def _numbered() -> list[pl.Expr]:
    """Return columns in which making a communicator is its collective number 0."""
    is_init = (pl.col("operation") == INIT).fill_null(value=False)
    return [
        pl.when(is_init).then(0).otherwise("sequence").alias("sequence"),
        (pl.col("operation").is_not_null() & pl.col("sequence").is_null() & ~is_init).alias(
            "is_pair"
        ),
    ]


def _waits() -> pl.Expr:
    """Return whether a row is a wait: what timed out is, whatever an abort wrote afterwards."""
    open_still = pl.col("sequence") > pl.col("finished").fill_null(-1)
    is_waiting = pl.col("state").is_in(WAITING_STATES) & pl.col("sequence").is_not_null()
    return (is_waiting & ((pl.col("state") == "timed_out") | open_still)).fill_null(value=False)


def _standing() -> list[pl.Expr]:
    first = pl.col("sequence").filter("waits").min()
    at_first = pl.col("waits") & (pl.col("sequence") == first)
    running = pl.duration(microseconds=(pl.col("running_seconds").fill_null(0.0) * 1e6).round())
    entered = (pl.col("time") - running).dt.cast_time_unit("us")
    return [
        pl.col("group_name").drop_nulls().min(),
        pl.max_horizontal(pl.col("enqueued").max(), pl.col("sequence").max()).alias("enqueued"),
        pl.col("finished").max(),
        first.alias("blocked"),
        pl.col("operation").filter(at_first).drop_nulls().sort().first(),
        pl.col("is_pair").any().alias("pairs"),
        entered.filter(at_first).min().alias("entered"),
        pl.col("time").filter(at_first).min(),
        pl.col("source").sort_by(~at_first, "source", "position").first(),
        pl.col("position").sort_by(~at_first, "source", "position").first(),
    ]
