"""Give NCCL's communicators one name in all processes, and their operations the rank in them.

Source: formats of NCCL logs, sections 3.1 and 3.3. A pointer means something inside its process
alone, and is used again once it is free; ranks share the communicator's id or, for one that was
split off, its parent, the number of the split and its colour. A log tells this once, long before
its operations, so they are joined when all of it is read.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from collectors.frames import COLLECTIVES
from collectors.texts.event_labels import label_value
from collectors.texts.templates import filled

INIT: Final = "init"

CALLED: Final = "called"
"""State of an operation that a host logged when it called it: nobody follows it to its end."""

MAX_WORLD: Final = 1_000_000
"""A communicator is not larger; a torn number is."""

_PROCESS_GROUP: Final = r"^(?P<pid>\d+):(?P<device>-?\d+|none)/(?P<comm>0x[0-9a-f]+|\(nil\))$"

_KINDS: Final = ("comm_start", "comm_ready", "comm_end")

_SAID: Final = ("pid", "comm_rank", "world", "comm_id", "parent", "child", "color", "what")

_COMM: Final = ("source", "host", "pid", "comm")

_MAX_SPLITS: Final = 4
"""Communicators split off from such as were split off: deeper ones have not been seen."""


def process_group() -> pl.Expr:
    """Return the name of a communicator inside its process, of `pid`, `cuda_device`, `comm`."""
    device = pl.col("cuda_device").cast(pl.String).fill_null("none")
    return filled("{}:{}/{}", "pid", device, "comm")


def is_local_call() -> pl.Expr:
    """Return whether a row of `COLLECTIVES` is a call whose group only its process knows."""
    is_local = pl.col("group").str.contains(_PROCESS_GROUP)
    return ((pl.col("state") == CALLED) & is_local).fill_null(value=False)


def name_communicators(collectives: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return collectives in which NCCL's groups have the name that all members give them.

    Args:
        collectives: `COLLECTIVES` of whole logs.
        events: `EVENTS` of the same logs; `comm_start`, `comm_ready`, `comm_end` tell the lives.

    Returns:
        `COLLECTIVES`. Each communicator of a process adds an `init`, `completed` or `started`.
        Where no line tells a communicator's life, its pointer and host name it, and the CUDA
        device stands for the rank. Doing it twice changes nothing more.
    """
    is_call = is_local_call()
    calls = collectives.filter(is_call)
    lives = communicator_lives(events)
    if calls.is_empty() and lives.is_empty():
        return collectives
    told = lives["source"].unique().implode()
    old = (pl.col("operation") == INIT) & pl.col("source").is_in(told, nulls_equal=True)
    rest = collectives.filter(~(is_call | old).fill_null(value=False))
    inits = _inits(lives)
    named = _named(calls, inits).select(COLLECTIVES.names())
    return pl.concat([inits.select(COLLECTIVES.names()), rest, named])


def communicator_lives(events: pl.DataFrame) -> pl.DataFrame:
    """Return one row a line on a communicator's life: what it says, and the `group` it is of.

    Args:
        events: `EVENTS`.

    Returns:
        The events by position, with `pid`, `comm`, `comm_rank`, `world`, `bus`, `nvml_device`,
        `parent`; `nth` counts the lives of a pointer; a null `group` has no name outside its
        process.
    """
    rows = events.filter(pl.col("kind").is_in(_KINDS)).sort("source", "position", nulls_last=True)
    told = rows.with_columns(
        *(label_value(name).alias(name) for name in (*_SAID, "bus", "nvml_device")),
        comm=pl.col("code"),
    ).with_columns(
        pl.col("comm_rank", "nvml_device").cast(pl.Int32, strict=False),
        pl.col("world").cast(pl.Int64, strict=False),
        nth=_births().over(_COMM),
    )
    return _grouped(told)


def _births() -> pl.Expr:
    """Return how often a pointer has become a communicator, up to each row."""
    kind = pl.col("kind")
    anew = (kind == "comm_start") | (
        (kind == "comm_ready") & (kind.shift().fill_null("comm_end") != "comm_start")
    )
    return anew.cum_sum()


def _grouped(told: pl.DataFrame) -> pl.DataFrame:
    """Return lives with `group`: the id, else that of the parent with the split's number."""
    life = [*_COMM, "nth"]
    ordinal = pl.col("parent").is_not_null() & (pl.col("kind") == "comm_start")
    nth_split = ordinal.cum_sum().over("source", "host", "pid", "parent").cast(pl.String)
    rows = told.with_columns(
        group=pl.col("comm_id").drop_nulls().first().over(life),
        parent=pl.col("parent").drop_nulls().first().over(life),
        split=filled("{}/{}", pl.col("child").fill_null(nth_split), pl.col("color").fill_null("")),
    )
    rows = rows.with_columns(pl.col("split").first().over(life))
    for _ in range(_MAX_SPLITS):
        if rows.filter(pl.col("group").is_null(), pl.col("parent").is_not_null()).is_empty():
            break
        rows = _named_after_parents(rows)
    return rows


def _named_after_parents(rows: pl.DataFrame) -> pl.DataFrame:
    """Return lives with `group` where that of the parent is known by now."""
    known = rows.drop_nulls("group").select(
        "position", *_COMM[:3], parent="comm", parent_group="group"
    )
    joined = rows.sort("position").join_asof(
        known.sort("position"),
        on="position",
        by=[*_COMM[:3], "parent"],
        check_sortedness=False,
    )
    group = pl.col("group").fill_null(filled("{}/{}", "parent_group", "split"))
    return joined.with_columns(group).drop("parent_group")


def _inits(lives: pl.DataFrame) -> pl.DataFrame:
    """Return one `init` for each communicator of a process: completed, or started and no more."""
    begun = lives.filter(pl.col("kind") != "comm_end")
    done = (pl.col("kind") == "comm_ready").any()
    ranks = pl.int_ranges(pl.col("world").clip(0, MAX_WORLD), dtype=pl.Int32)
    shared = pl.col("group").is_not_null() & (pl.col("world") <= MAX_WORLD)
    own = filled("{} of {}:{}", "comm", "host", "pid")
    return (
        begun.group_by(*_COMM, "nth", maintain_order=True)
        .agg(
            pl.col("position", "time").last(),
            pl.col("position").first().alias("since"),
            pl.col("run", "rank", "group", "comm_rank", "world").drop_nulls().first(),
            state=pl.when(done).then(pl.lit("completed")).otherwise(pl.lit("started")),
        )
        .with_columns(
            *_not_told(lives.columns),
            operation=pl.lit(INIT),
            group_rank="comm_rank",
            group_ranks=pl.when(shared).then(ranks),
            group=pl.col("group").fill_null(own),
        )
    )


def _not_told(columns: Sequence[str]) -> list[pl.Expr]:
    """Return the columns of `COLLECTIVES` that no line on a communicator's life tells, as null."""
    told = {*columns, "operation", "group_rank", "group_ranks", "state"}
    return [
        pl.lit(None, dtype=kind).alias(name)
        for name, kind in COLLECTIVES.items()
        if name not in told
    ]


def _named(calls: pl.DataFrame, inits: pl.DataFrame) -> pl.DataFrame:
    """Return logged operations with the group and rank of their communicator."""
    local = ["source", "host", "group"]
    parts = calls.select(local).unique(maintain_order=True)
    split = parts.hstack(parts["group"].str.extract_groups(_PROCESS_GROUP).struct.unnest())
    members = inits.with_row_index("life").select("life", group_ranks="group_ranks")
    lives = inits.with_row_index("life").select(
        *_COMM, "life", position="since", own_group="group", own_rank="group_rank"
    )
    pointer = filled("{} of {}", "comm", "host")
    return (
        calls.drop("group_ranks")
        .join(split, on=local, how="left", nulls_equal=True, maintain_order="left")
        .sort("position", maintain_order=True)
        .join_asof(lives.sort("position"), on="position", by=list(_COMM), check_sortedness=False)
        .with_columns(
            group=pl.col("own_group").fill_null(pointer),
            group_rank=pl.when(pl.col("own_group").is_null())
            .then(pl.col("device").cast(pl.Int32, strict=False))
            .otherwise("own_rank"),
            # A list of all members in each of millions of rows is more than memory holds.
            life=pl.when(pl.int_range(pl.len()).over(local) == 0).then("life"),
        )
        .join(members, on="life", how="left", maintain_order="left")
        .with_columns(sequence=_ordinal())
    )


def _ordinal() -> pl.Expr:
    """Return the operation's number; where the counter stands still, its place in the log."""
    communicator = ["source", "host", "pid", "comm"]
    still = (pl.col("sequence").max() == 0) & (pl.col("sequence").count() > 1)
    place = pl.col("sequence").is_not_null().cum_sum() - 1
    return (
        pl.when(still.over(communicator) & pl.col("sequence").is_not_null())
        .then(place.over(communicator).cast(pl.Int64))
        .otherwise("sequence")
    )
