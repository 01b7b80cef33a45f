"""One name for each host: short or full, by address, GUID or LID, at the time of the row.

A full name is cut at its first dot only if the short one is known and no other full name shares
it. An address, GUID or LID is a host's as of the time that a source said so. Source: formats of GPU
and host streams, section 0.2.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of
from collectors.names.name_groups import CANONICAL, CONFLICTS
from collectors.names.name_spells import CLAIMS, clashes_of, meanings_of, spells_of
from collectors.readings import Reading

NODE: Final = "node"
"""The family of names of hosts; they belong to no host, so theirs is empty."""

HOSTED: Final = (
    "samples",
    "steps",
    "collectives",
    "transfers",
    "events",
    "placements",
    "aliases",
)
"""Frames with a column `host`."""

NIC_GUIDS: Final = schema_of({"host": pl.String, "nic": pl.String, "guid": pl.String})
"""The GUID of a NIC: counters by GUID alone are of this host and this NIC."""

_SHORT: Final = r"^([^.]+)\."


def join_hosts(reading: Reading) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the best name of each name of a host, and the names that several hosts claim.

    Args:
        reading: Everything that was read.

    Returns:
        `CANONICAL` and `CONFLICTS` of the family `NODE`.
    """
    short, ambiguous = _short_names(_known(reading))
    claims = _claims(reading.aliases, short)
    spells = spells_of(claims)
    clashes = clashes_of(spells)
    key = ["host", "family", "name"]
    sound = spells.join(clashes.select(key).unique(), on=key, how="anti")
    meant = meanings_of(sound).filter(pl.col("name") != pl.col("other"))
    other = meant.select(*key, "since", "until", canonical="other")
    full = _ever(short).join(other, on=key, how="anti")
    conflicts = clashes.group_by(key, maintain_order=True).agg(
        at=pl.col("clash").first(), sides=pl.struct(key=pl.col("other"), value=pl.col("source"))
    )
    return (
        pl.concat([other, full.select(CANONICAL.names())]).sort(*key, "since"),
        pl.concat([conflicts.select(CONFLICTS.names()), ambiguous]).sort("name", "at"),
    )


def _known(reading: Reading) -> pl.DataFrame:
    """Return every host that a reading names, each once, in order."""
    columns = [reading.frame(name).select("host").unique() for name in HOSTED]
    ends = [reading.links.select(host=f"node_{side}") for side in ("a", "b")]
    listed = reading.jobs.select(pl.col("hosts").explode(empty_as_null=True).alias("host"))
    return pl.concat([*columns, *ends, listed]).drop_nulls().unique().sort("host")


def _short_names(known: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the full names that may be cut (`host`, `short`), and the short ones of several."""
    full = known.with_columns(short=pl.col("host").str.extract(_SHORT, 1)).drop_nulls()
    used = full.join(known.select(short="host"), on="short", how="semi").sort("host")
    count = pl.len().over("short")
    sides = pl.struct(key=pl.col("host"), value=pl.lit(None, pl.String))
    ambiguous = (
        used.filter(count > 1)
        .group_by("short", maintain_order=True)
        .agg(sides=sides)
        .select(
            host=pl.lit(""),
            family=pl.lit(NODE),
            name="short",
            at=pl.lit(None, pl.Int64),
            sides="sides",
        )
    )
    return used.filter(count == 1), ambiguous


def _ever(short: pl.DataFrame) -> pl.DataFrame:
    """Return the full names as meaning the short one at any time."""
    claims = short.select(
        host=pl.lit(""),
        family=pl.lit(NODE),
        name="host",
        kind=pl.lit("full"),
        other="short",
        other_kind=pl.lit(NODE),
        at=pl.lit(None, pl.Int64),
        source=pl.lit(None, pl.String),
    )
    meant = meanings_of(spells_of(claims))
    return meant.select("host", "family", "name", "since", "until", canonical="other")


def _claims(aliases: pl.DataFrame, short: pl.DataFrame) -> pl.DataFrame:
    """Return `CLAIMS` that a name, address, GUID or LID is a host."""
    stated = aliases.filter(pl.col("device_kind") == NODE, pl.col("device").is_null())
    cut = pl.col("host").replace(short["host"], short["short"])
    return (
        stated.drop_nulls(["host", "alias"])
        .select(
            host=pl.lit(""),
            family=pl.lit(NODE),
            name="alias",
            kind="alias_kind",
            other=cut,
            other_kind=pl.lit(NODE),
            at=pl.col("time").dt.timestamp("us"),
            source="source",
        )
        .select(CLAIMS.names())
    )


def nic_guids(aliases: pl.DataFrame) -> pl.DataFrame:
    """Return `NIC_GUIDS` that no two NICs claim.

    Args:
        aliases: `ALIASES`.
    """
    nic = pl.col("device").str.replace(r"/\d+$", "")
    return (
        aliases.filter(pl.col("device_kind") == "nic", pl.col("alias_kind") == "guid")
        .select("host", nic=nic, guid="alias")
        .drop_nulls()
        .unique()
        .filter(pl.len().over("guid") == 1)
        .sort(NIC_GUIDS.names())
    )
