"""Where parts were when, and when nodes were repaired: a part takes its history along.

Source: methods reference, section 10: ranking by GPU serial beats ranking by slot. A swap is told
by somebody, or seen: a part that turns up in another host has left the one before.
"""

from datetime import datetime
from typing import Final

import polars as pl

from collectors.frames import ALIASES, EVENTS, TIME, require, schema_of
from collectors.identity import PCI_PATTERN
from collectors.texts.templates import filled

STINTS: Final = schema_of({"part": pl.String, "host": pl.String, "start": TIME, "end": TIME})
"""One stay of a part in a host, half-open. A null `start` is before the data, a null `end` lasts.
"""

REPAIRS: Final = schema_of({"host": pl.String, "time": TIME, "what": pl.String})
"""One repair of a host, told or seen."""

NAMES: Final = schema_of({"host": pl.String, "device": pl.String, "part": pl.String, "time": TIME})
"""Which part is the device of that name in a host, since when; null is since ever."""

REMOVALS: Final = ("part_removed", "part_swap")
"""Kinds of events whose device left the host; the `peer` of a swap came instead."""

INSTALLATIONS: Final = ("part_installed",)

_REPAIRS: Final = (*REMOVALS, "repair")

_SLOT: Final = r"(?i)^(?:gpu|nvidia|card|slot|accelerator)?[-_ ]?\d{1,3}$"
"""A name that stays with the slot when the card goes."""

_SERIAL_KINDS: Final = ("uuid", "serial")


def _is_slot(name: pl.Expr) -> pl.Expr:
    return name.str.contains(_SLOT) | name.str.contains(PCI_PATTERN)


def part_names(aliases: pl.LazyFrame) -> pl.LazyFrame:
    """Return `NAMES` of slots.

    Args:
        aliases: `ALIASES`; of a GPU's two names one may be its slot, the other its serial or UUID.
    """
    told = (
        aliases.pipe(require, ALIASES)
        .filter(pl.col("device_kind") == "gpu")
        .drop_nulls(["host", "device", "alias"])
    )
    to_serial = told.filter(pl.col("alias_kind").is_in(_SERIAL_KINDS), _is_slot(pl.col("device")))
    from_serial = told.filter(~_is_slot(pl.col("device")), _is_slot(pl.col("alias")))
    rows = [
        to_serial.select("host", "device", "time", part="alias"),
        from_serial.select("host", "time", device="alias", part="device"),
    ]
    return pl.concat([row.select(NAMES.names()) for row in rows]).unique()


def with_parts(rows: pl.LazyFrame, names: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows with `part`: the part that their `device` was then.

    Args:
        rows: Any rows with `time`, `host` and `device`.
        names: `NAMES`.

    Returns:
        `part` is the device itself where that is no slot; null for an unknown one.
    """
    keyed = rows.with_row_index("row")
    early = pl.col("since").is_null() | (pl.col("since") <= pl.col("time"))
    found = (
        keyed.select("row", "time", "host", "device")
        .join(names.rename({"time": "since"}), on=["host", "device"])
        .filter(early)
        .sort("row", "since", "part", nulls_last=False)
        .group_by("row")
        .agg(pl.col("part").last())
    )
    own = pl.when(~_is_slot(pl.col("device"))).then("device")
    joined = keyed.join(found, on="row", how="left")
    return joined.with_columns(part=pl.coalesce("part", own)).drop("row")


def part_stints(events: pl.LazyFrame, names: pl.LazyFrame, as_of: datetime) -> pl.LazyFrame:
    """Return `STINTS`, by part and start, of all parts that anything places.

    Args:
        events: `EVENTS`; any that names a GPU places it, a removal ends its stay.
        names: `NAMES`.
        as_of: The end of the data; what came later is left out.
    """
    told = events.pipe(require, EVENTS).filter(pl.col("time") < as_of)
    gpus = told.filter(
        (pl.col("device_kind") == "gpu") | pl.col("kind").is_in([*REMOVALS, *INSTALLATIONS])
    )
    seen = gpus.select("host", "device", "time", gone=pl.col("kind").is_in(list(REMOVALS)))
    came = told.filter(pl.col("kind") == "part_swap").select(
        "host", pl.col("peer").alias("device"), "time", gone=pl.lit(value=False)
    )
    both = with_parts(pl.concat([seen, came]).drop_nulls(["host", "device"]), names)
    known = names.filter(pl.col("time").is_null() | (pl.col("time") < as_of))
    listed = known.select("host", "time", "part", gone=pl.lit(value=False))
    moves = pl.concat([both.select("host", "time", "part", "gone"), listed]).drop_nulls("part")
    return _stints(moves.unique())


def _stints(moves: pl.LazyFrame) -> pl.LazyFrame:
    """Return `STINTS`: one begins where a part is seen in another host, or after it was removed."""
    before = pl.col("host").shift(1).over("part")
    was_gone = pl.col("gone").shift(1).over("part").fill_null(value=False)
    begins = (pl.col("host") != before).fill_null(value=True) | (was_gone & ~pl.col("gone"))
    ordered = moves.sort("part", "time", "gone", "host", nulls_last=False)
    stays = (
        ordered.with_columns(stint=begins.cum_sum().over("part"))
        .group_by("part", "stint")
        .agg(
            pl.col("host").first(),
            first=pl.col("time").first(),
            removed=pl.col("time").filter("gone").first(),
        )
        .sort("part", "stint")
    )
    following = pl.col("first").shift(-1).over("part")
    is_first = pl.col("stint") == pl.col("stint").min().over("part")
    return stays.select(
        "part",
        "host",
        start=pl.when(~is_first).then("first"),
        end=pl.coalesce("removed", following),
    )


def host_repairs(events: pl.LazyFrame, stints: pl.LazyFrame, as_of: datetime) -> pl.LazyFrame:
    """Return `REPAIRS`, by host and time: those that are told, and parts seen to have left.

    Args:
        events: `EVENTS`.
        stints: `STINTS`; a stay that ended is a part that was taken out.
        as_of: The end of the data.
    """
    told = (
        events.filter(pl.col("kind").is_in(list(_REPAIRS)), pl.col("time") < as_of)
        .drop_nulls("host")
        .select(
            "host",
            "time",
            what=filled(
                "{}{}",
                pl.col("kind").str.replace_all("_", " "),
                pl.format(" of {}", "device").fill_null(""),
            ),
        )
    )
    left = stints.drop_nulls("end").select(
        "host", time="end", what=pl.format("{} has left it", "part")
    )
    both = pl.concat([told, left.join(told, on=["host", "time"], how="anti")])
    return both.sort("host", "time", "what").unique(
        ["host", "time"], keep="first", maintain_order=True
    )
