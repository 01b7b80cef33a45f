"""Know who made logged calls without a look at the texts of each: the same caller calls in runs.

A log has hundreds of thousands of calls and a few callers: ranks in communicators. Most calls stand
beside one of the same caller, so that comparing neighbours leaves few texts to look up.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from collectors.communication.communicators import CALLED, is_local_call, name_communicators
from collectors.communication.source_rows import is_of, placed_by_source
from collectors.texts.event_labels import label_value
from collectors.texts.file_places import FILE_LINES


@dataclass(frozen=True, slots=True, kw_only=True)
class Callers:
    """Who made some calls.

    Attributes:
        members: One row a caller, in the order of their first calls, with `communicator`.
        numbers: Of each call the row of its caller.
    """

    members: pl.DataFrame
    numbers: pl.Series


def values_of(rows: pl.DataFrame, names: Sequence[str]) -> tuple[pl.DataFrame, pl.Series]:
    """Return the different values of some columns, and of each row which of them it has.

    Args:
        rows: Any.
        names: Of the columns.

    Returns:
        A row a value, in the order in which they come; and for each of the rows its number.
    """
    begins = pl.repeat(value=False, n=rows.height, dtype=pl.Boolean, eager=True)
    for name in names:
        begins |= rows[name].ne_missing(rows[name].shift())
    if rows.height:
        begins = begins.scatter(0, values=True)
    heads = rows.select(names).filter(begins)
    table = heads.unique(maintain_order=True)
    numbers = heads.join(
        table.with_row_index("value"), on=names, how="left", nulls_equal=True, maintain_order="left"
    )["value"]
    return table, numbers.gather(begins.cum_sum() - 1)


def are_local(rows: pl.DataFrame) -> pl.Series:
    """Return whether rows of `COLLECTIVES` are calls whose group only its process knows."""
    groups, numbers = values_of(rows, ("state", "group"))
    return groups.select(is_local_call()).to_series().gather(numbers)


def are_of(rows: pl.DataFrame, members: pl.DataFrame) -> pl.Series:
    """Return whether rows are of the source of some member."""
    sources, numbers = values_of(rows, ("source",))
    return sources.with_columns(mine=is_of(members))["mine"].gather(numbers)


def callers_of(calls: pl.DataFrame, events: pl.DataFrame, names: Sequence[str]) -> Callers | None:
    """Return who made some calls, where each communicator keeps its name for all of them.

    Args:
        calls: `COLLECTIVES` of state `called`, of whole sources.
        events: `EVENTS` of the same sources.
        names: Columns of which a caller has one value each, `source` and `group` among them.

    Returns:
        The callers; null where calls are in no order, a pointer was several communicators or none
        at first, or a counter stands still: then each call has to be looked at.
    """
    table, numbers = values_of(calls, names)
    sources = table["source"].unique(maintain_order=True)
    first = sources.to_frame().with_row_index("file")
    files = table.join(first, on="source", how="left", nulls_equal=True, maintain_order="left")
    at = files["file"].cast(pl.Int64).gather(numbers) * FILE_LINES + calls["position"]
    if not at.is_sorted() or _are_reborn(events):
        return None
    counts = pl.DataFrame({"caller": numbers, "number": calls["sequence"]}).with_row_index("row")
    ends = counts.group_by("caller").agg(
        pl.col("row").first(), pl.col("row").last().alias("end"), pl.col("number").max()
    )
    if not (ends["number"].fill_null(1) > 0).all():
        return None
    ordered = ends.sort("caller")
    rows = pl.concat([ordered["row"], ordered["end"]])
    at_ends = calls[rows].with_columns(at.gather(rows).alias("position"))
    both = _names(at_ends, placed_by_source(events, sources))
    named, last = both.head(table.height), both.tail(table.height)
    if not named.equals(last, null_equal=True):
        return None
    return Callers(members=table.with_columns(named.alias("communicator")), numbers=numbers)


def _are_reborn(events: pl.DataFrame) -> bool:
    """Return whether a pointer may have become a communicator more than once."""
    lives = events.filter(pl.col("kind").is_in(["comm_start", "comm_ready"]))
    whose = lives.select("source", "host", "code", "kind", pid=label_value("pid"))
    return bool(whose.is_duplicated().any())


def _names(calls: pl.DataFrame, events: pl.DataFrame) -> pl.Series:
    """Return the name of the communicator of each call, in their order."""
    named = name_communicators(calls, events).filter(pl.col("state") == CALLED)
    told = named.sort("position", maintain_order=True)["group"]
    return told.gather(calls["position"].arg_sort().arg_sort())
