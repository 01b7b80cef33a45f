"""Tell silence from what was not read, and find the members of groups that were never heard.

Source: methods of the NCCL and PyTorch reference, sections 8.3, 10.1, 12.2, 12.3 and 12.7. A dump
that is torn is no sign that its rank is silent. Who is at a place from which nobody spoke follows
from how the group is laid out; the one that hangs is a member of groups at every level, and only
its mates in the innermost wait for it: all others wait for them.
"""

from datetime import timedelta
from typing import Final

import polars as pl

from detectors.complaints import LOST
from detectors.group_layouts import GROUP, NAMELESS, group_layouts

_RANK: Final = ("run", "rank")

MAX_CASCADE: Final = timedelta(seconds=60)
"""So soon after the first time-out the ends of its processes are seen by all others."""

MAX_MEMBERS: Final = 1_000_000
"""A group is not larger; what numbers that nobody set divide to may be."""


def unread_ranks(events: pl.LazyFrame, ranks: pl.LazyFrame) -> pl.LazyFrame:
    """Return the ranks, by run, that may have spoken without being heard: they were not silent.

    Args:
        events: `EVENTS`; a `flight_dump` with the code `unread` is there and could not be read,
            `lines_left_out` tells that a launcher showed one line in place of several ranks'.
        ranks: Columns `run` and `rank`: every rank of each run.
    """
    is_dump = (pl.col("kind") == "flight_dump") & (pl.col("code") == "unread")
    left_out = events.filter(pl.col("kind") == "lines_left_out").select("run").unique()
    unheard = ranks.select(_RANK).join(left_out, on="run", how="semi", nulls_equal=True)
    dumps = events.filter(is_dump).drop_nulls("rank").select(_RANK)
    return pl.concat([dumps, unheard]).unique().with_columns(unread=pl.lit(value=True))


def cut_off_ranks(events: pl.LazyFrame, collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return the ranks, by run, that lost their peers as these gave up: they were not silent.

    Where the first watchdogs end their processes, those of the others see a connection close
    before their own time is over. Who loses its peers only later came late, and who did before had
    left.

    Args:
        events: `EVENTS`; communication errors that tell of another's end.
        collectives: `COLLECTIVES`; the first one that timed out dates the end.
    """
    first = collectives.filter(pl.col("state") == "timed_out").group_by("run")
    errors = events.filter(pl.col("kind") == "comm_error", pl.col("code").is_in(LOST))
    apart = (pl.col("time") - pl.col("gave_up")).abs() > MAX_CASCADE
    return (
        errors.drop_nulls("rank")
        .join(first.agg(gave_up=pl.col("time").min()), on="run", nulls_equal=True)
        .filter(~apart.fill_null(value=False))
        .select(*_RANK, unread=pl.lit(value=True))
        .unique()
    )


def missing_members(collectives: pl.LazyFrame, ranks: pl.LazyFrame) -> pl.LazyFrame:
    """Return the members from which their groups heard nothing: `run`, `scope`, `group`, `rank`.

    Args:
        collectives: What `ranked` returns.
        ranks: Columns `run` and `rank`: every rank that any source has named, or counts above.

    Returns:
        One row a member of a group that nobody lists: the rank at each place of its layout from
        which nobody spoke, also one that no source has named. A group whose layout puts there a
        rank that spoke in a sister group has another layout, and tells nothing. Where one group
        alone lacks one place and has no layout, it is the only rank that was heard nowhere.
    """
    gaps = _gaps(group_layouts(collectives)).collect().lazy()
    placed = gaps.drop_nulls("rank")
    sisters = _in_families(collectives)
    doubted = placed.join(sisters, on=[*_RANK, "group_name"], how="semi", nulls_equal=True)
    return pl.concat(
        [
            placed.join(doubted, on=GROUP, how="anti", nulls_equal=True),
            _only_candidates(gaps, collectives, ranks),
        ],
        how="diagonal",
    ).select(*GROUP, "rank")


def _gaps(layouts: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row a place from which nobody spoke, with its `rank`; null without a layout."""
    all_places = pl.int_ranges(pl.col("size").clip(0, MAX_MEMBERS), dtype=pl.Int32)
    return (
        layouts.with_columns(place=all_places.list.set_difference("places"))
        .explode("place", empty_as_null=False)
        .drop_nulls("place")
        .with_columns(rank=(pl.col("first") + pl.col("place") * pl.col("step")).cast(pl.Int32))
    )


def _in_families(collectives: pl.LazyFrame) -> pl.LazyFrame:
    """Return who spoke in any group of a name: a rank is in one group of a name at most."""
    spoke = collectives.filter(~pl.col("group_name").is_in(NAMELESS))
    return spoke.select(*_RANK, "group_name").drop_nulls(["rank", "group_name"]).unique()


def _only_candidates(
    gaps: pl.LazyFrame, collectives: pl.LazyFrame, ranks: pl.LazyFrame
) -> pl.LazyFrame:
    """Return the one rank that was heard nowhere, at the one place that no layout explains."""
    spoke = collectives.filter((pl.col("state") != "signalled").fill_null(value=True))
    silent = (
        ranks.select(_RANK)
        .unique()
        .join(spoke.select(_RANK).drop_nulls("rank"), on=_RANK, how="anti", nulls_equal=True)
        .filter(pl.len().over("run") == 1)
    )
    return (
        gaps.filter(pl.col("rank").is_null())
        .filter(pl.len().over("run") == 1)
        .drop("rank")
        .join(silent, on="run", nulls_equal=True)
    )
