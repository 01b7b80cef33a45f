"""Who waits in which collective, and who has not come: the state of every group at a hang.

Source: methods of the NCCL and PyTorch reference, section 12. Sequence numbers count inside a
group and are never compared across groups; the ranks here are global ones.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from collectors.frames import COLLECTIVES, TIME, require, schema_of

WAITING_STATES: Final = ("timed_out", "scheduled", "started")
"""States of a collective that a rank has entered and not finished."""

UNEVEN_OPERATIONS: Final = ("ALLTOALL", "GATHER", "SCATTER", "COALESCED", "SEND", "RECV")
"""Operations whose sizes may rightly differ between ranks, by the end of their name."""

MEMBERS: Final = schema_of(
    {
        "run": pl.String,
        "group": pl.String,
        "group_name": pl.String,
        "rank": pl.Int32,
        "enqueued": pl.Int64,
        "completed": pl.Int64,
        "blocked": pl.Int64,
        "operation": pl.String,
        "input_count": pl.Int64,
        "output_count": pl.Int64,
        "time": TIME,
    }
)
"""One row a rank of a group. `blocked` is the first collective it entered and did not finish; null
when it waits in none. `enqueued` and `completed` are its last ones; null is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blockage:
    """A group that stands.

    Attributes:
        run: The run; null if not named.
        group: The group, with its name where it has one.
        sequence: First collective that some members entered and did not finish.
        waiting: Ranks that wait in it.
        behind: Members known not to have entered it.
        absent: Members of which nothing was heard in this group.
        odd: Ranks whose operation or size differs from the majority's there.
        signatures: What each side runs there, most common first.
        members: How many members the group has.
        time: When the first of them complained; null if not known.
    """

    run: str | None
    group: str
    sequence: int
    waiting: tuple[int, ...]
    behind: tuple[int, ...]
    absent: tuple[int, ...]
    odd: tuple[int, ...]
    signatures: tuple[str, ...]
    members: int
    time: datetime | None

    @property
    def lacking(self) -> tuple[int, ...]:
        """Return the members that have not come, known or unheard."""
        return tuple(sorted({*self.behind, *self.absent}))


def member_states(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return `MEMBERS`, by run, group and rank.

    Args:
        collectives: `COLLECTIVES`; rows without a rank or group tell nothing here.
    """
    waits = pl.col("state").is_in(WAITING_STATES) & (
        pl.col("sequence") > pl.col("completed").fill_null(-1)
    )
    first = pl.col("sequence").filter(waits).min()
    at_first = waits & (pl.col("sequence") == first)
    return (
        collectives.pipe(require, COLLECTIVES)
        .drop_nulls(["rank", "group"])
        .sort("sequence", "operation", "input_count", "output_count", nulls_last=True)
        .group_by("run", "group", "rank")
        .agg(
            pl.col("group_name").drop_nulls().min(),
            pl.max_horizontal(pl.col("enqueued").max(), pl.col("sequence").filter(waits).max()),
            pl.col("completed").max(),
            first.alias("blocked"),
            *(
                pl.col(name).filter(at_first).drop_nulls().first()
                for name in ("operation", "input_count", "output_count")
            ),
            pl.col("time").min(),
        )
        .select(MEMBERS.names())
        .sort("run", "group", "rank")
    )


def blockages(collectives: pl.LazyFrame, ranks: pl.LazyFrame) -> list[Blockage]:
    """Return the groups that stand, by run and group.

    Args:
        collectives: `COLLECTIVES`.
        ranks: Columns `run` and `rank`: every rank that any source has named; the default group
            holds them all.

    Returns:
        One blockage a group in which some rank waits.
    """
    states = member_states(collectives).collect()
    listed = (
        collectives.select("run", "group", "group_ranks")
        .explode("group_ranks")
        .drop_nulls()
        .unique()
        .collect()
    )
    world = ranks.drop_nulls("rank").unique().collect()
    return [
        _blockage(part, _members(part, listed, world))
        for part in states.partition_by("run", "group", maintain_order=True)
        if part["blocked"].null_count() < part.height
    ]


def _members(part: pl.DataFrame, listed: pl.DataFrame, world: pl.DataFrame) -> set[int]:
    """Return the ranks of a group: as configured, else all for the default group, else as heard."""
    run, group = part["run"][0], part["group"][0]
    same_run = pl.col("run").eq_missing(pl.lit(run, dtype=pl.String))
    named = listed.filter(same_run, pl.col("group") == group)["group_ranks"].to_list()
    heard = set(part["rank"].to_list())
    if named:
        return heard | set(named)
    is_default = group == "0" or part["group_name"].str.contains("default").any()
    return heard | set(world.filter(same_run)["rank"].to_list()) if is_default else heard


def _blockage(part: pl.DataFrame, members: set[int]) -> Blockage:
    sequence = int(str(part["blocked"].min()))
    entered = pl.col("enqueued") >= sequence
    waiting = part.filter(pl.col("blocked") == sequence)
    last = pl.max_horizontal("enqueued", "completed")
    behind = part.filter(~(entered.fill_null(value=False)), last < sequence)
    heard = set(part["rank"].to_list())
    odd, signatures = _odd_ones(waiting)
    name = part["group_name"].drop_nulls()
    return Blockage(
        run=part["run"][0],
        group=f"{name[0]} ({part['group'][0]})" if name.len() else part["group"][0],
        sequence=sequence,
        waiting=tuple(waiting["rank"].sort().to_list()),
        behind=tuple(behind["rank"].sort().to_list()),
        absent=tuple(sorted(members - heard)),
        odd=odd,
        signatures=signatures,
        members=len(members),
        time=part["time"].min(),  # type: ignore[arg-type]  # the column is a time
    )


def _odd_ones(waiting: pl.DataFrame) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the ranks whose operation differs from a clear majority's, and all signatures."""
    uneven = pl.any_horizontal(
        pl.col("operation").str.to_uppercase().str.ends_with(name) for name in UNEVEN_OPERATIONS
    )
    sizes = pl.concat_str(
        [pl.col("input_count").cast(pl.String), pl.col("output_count").cast(pl.String)],
        separator=" in, ",
        ignore_nulls=True,
    )
    signature = (
        pl.when(uneven)
        .then("operation")
        .otherwise(pl.concat_str(["operation", sizes], separator=" ", ignore_nulls=True))
    )
    rows = waiting.drop_nulls("operation").with_columns(signature=signature)
    counts = (
        rows.group_by("signature")
        .agg(pl.len(), pl.col("rank").sort())
        .sort(["len", "signature"], descending=[True, False])
    )
    if counts.height < 2 or 2 * int(counts["len"][0]) <= rows.height:  # noqa: PLR2004 -- two sides make a difference
        return (), tuple(counts["signature"].to_list()) if counts.height > 1 else ()
    minority = counts[1:]["rank"].explode().sort().to_list()
    return tuple(minority), tuple(counts["signature"].to_list())
