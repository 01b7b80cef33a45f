"""Count the rounds of rendezvous of a run over all its agents, and say why each began.

Source: PyTorch issue 108158 (`restart_count` is local to an agent) and `torch/distributed/elastic/
agent/server/api.py`: a failure takes one of an agent's restarts, a change of members takes none.
"""

from datetime import timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import JOBS, PLACEMENTS, TIME, conform, schema_of

MAX_SPREAD: Final = timedelta(seconds=60)
"""Agents print the result of one round within this time, clocks that differ included; ours."""

ROUND_FLAG: Final = "rendezvous"
"""The flag of `JOBS` that are rounds."""

ROUNDS: Final = schema_of(
    {
        "run": pl.String,
        "source": pl.String,
        "position": pl.Int64,
        "time": TIME,
        "host": pl.String,
        "restart_count": pl.Int64,
        "master_addr": pl.String,
        "master_port": pl.String,
        "group_rank": pl.Int32,
        "world": pl.Int32,
        "local_ranks": pl.String,
        "global_ranks": pl.String,
        "round": pl.Int32,
        "reason": pl.String,
    }
)
"""One agent's result of one round. `round` counts from 0 over all agents of a run; `reason` is why
it began: null for the first, `failure` or `membership change`."""


def rounds_of(events: pl.DataFrame) -> pl.DataFrame:
    """Return the results of rendezvous with their rounds.

    Args:
        events: `EVENTS`; those of kind rendezvous count.

    Returns:
        `ROUNDS`, by run and round. Results belong to one round when no agent has two of them, they
        name the same master, and they come together in time; without clocks, an agent's last
        result is the last round's: who is replaced leaves, who replaces stays.
    """
    rows = events.filter(pl.col("kind") == "rendezvous").with_columns(
        **{name: _said(name) for name in ("master_addr", "master_port", "local_ranks")},
        global_ranks=_said("global_ranks"),
        group_rank=_said("group_rank").cast(pl.Int32, strict=False),
        world=_said("global_world_sizes").str.extract(r"(\d+)").cast(pl.Int32, strict=False),
        restart_count=pl.col("code").cast(pl.Int64, strict=False),
        round=pl.lit(None, pl.Int32),
    )
    keyed = rows.with_columns(agent=_agent()).sort(
        "run", "time", "source", "position", nulls_last=True
    )
    parts = [_numbered(part) for part in keyed.partition_by("run", maintain_order=True)]
    whole = pl.concat([keyed.clear(), *parts])
    told = whole.with_columns(failed=_counted()).with_columns(reason=_reason())
    return conform(told.lazy(), ROUNDS).collect()


def _said(name: str) -> pl.Expr:
    """Return an attribute of an event; null if it has none of that name."""
    labels = pl.col("attributes").list.eval(
        pl.when(pl.element().struct.field("key") == name).then(pl.element().struct.field("value"))
    )
    return labels.list.drop_nulls().list.first()


def _agent() -> pl.Expr:
    """Return who printed a result: its host, else its file and place in the group."""
    place = pl.concat_str(
        pl.col("source").fill_null(""),
        pl.lit("#"),
        pl.col("group_rank").cast(pl.String).fill_null(""),
    )
    return pl.coalesce("host", place)


def _numbered(part: pl.DataFrame) -> pl.DataFrame:
    """Return the results of one run with `round`.

    A loop, over the few results of a run: where a round begins depends on who is in the one before.
    """
    if part["time"].has_nulls():
        back = pl.col("position").rank("ordinal", descending=True).over("agent").cast(pl.Int32)
        return part.with_columns(round=(back.max() - back).cast(pl.Int32))
    number, members = -1, dict[str, dict[str, Any]]()
    numbers: list[int] = []
    for row in part.to_dicts():
        if not members or row["agent"] in members or _apart(row, members):
            number, members = number + 1, {}
        members[row["agent"]] = row
        numbers.append(number)
    return part.with_columns(round=pl.Series(numbers, dtype=pl.Int32))


def _apart(row: dict[str, Any], members: dict[str, dict[str, Any]]) -> bool:
    """Return whether a result is of another round than those before it."""
    first, *_, last = [*members.values(), *members.values()]
    master = ("master_addr", "master_port")
    differs = any(
        row[name] is not None and first[name] is not None and row[name] != first[name]
        for name in master
    )
    late: bool = row["time"] - last["time"] > MAX_SPREAD
    return differs or late


def _counted() -> pl.Expr:
    """Return whether an agent counted a restart since its round before."""
    before = pl.col("restart_count").shift(1).over("run", "agent", order_by="round")
    return (pl.col("restart_count") > before).fill_null(value=False)


def _reason() -> pl.Expr:
    """Return why a round began: any agent counted a restart, else the members changed."""
    again = pl.when(pl.col("failed").any().over("run", "round")).then(pl.lit("failure"))
    return pl.when(pl.col("round") > 0).then(again.otherwise(pl.lit("membership change")))


def round_jobs(rounds: pl.DataFrame) -> pl.DataFrame:
    """Return `JOBS`, one row a round of a run; its hosts are those that printed.

    Args:
        rounds: `ROUNDS`.
    """
    jobs = (
        rounds.group_by("run", "round", maintain_order=True)
        .agg(
            pl.col("source").first(),
            start=pl.col("time").min(),
            world=pl.col("world").max(),
            hosts=pl.col("host").drop_nulls().unique().sort(),
            reason=pl.col("reason").first(),
        )
        .with_columns(
            attempt="round",
            hosts=pl.when(pl.col("hosts").list.len() > 0).then("hosts"),
            flags=pl.lit([ROUND_FLAG]),
        )
    )
    return conform(jobs.lazy(), JOBS).collect()


def round_placements(rounds: pl.DataFrame) -> pl.DataFrame:
    """Return `PLACEMENTS` of the ranks of agents whose host is known.

    Args:
        rounds: `ROUNDS`.

    Returns:
        One row a rank and round; `index` is its local rank, which is the number of its GPU unless
        the job hides some.
    """
    numbers = r"\d+"
    ranks = (
        rounds.drop_nulls("host")
        .with_columns(
            rank=pl.col("global_ranks").str.extract_all(numbers),
            index=pl.col("local_ranks").fill_null("").str.extract_all(numbers),
        )
        .drop_nulls("rank")
        .with_columns(
            index=pl.when(pl.col("index").list.len() == pl.col("rank").list.len())
            .then("index")
            .otherwise(pl.int_ranges(pl.col("rank").list.len()).cast(pl.List(pl.String)))
        )
        .explode("rank", "index", empty_as_null=False)
        .with_columns(pl.col("rank", "index").cast(pl.Int32, strict=False), attempt=pl.col("round"))
    )
    return conform(ranks.lazy(), PLACEMENTS).collect().drop_nulls("rank")
