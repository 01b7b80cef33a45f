"""What a reading says of names: its statements, and what follows from the forms of names alone."""

from typing import Final

import polars as pl

from collectors.frames import schema_of
from collectors.names.device_names import (
    EXCLUSIVE,
    RANKS,
    family_of,
    name_kind,
    told_kind,
    whole_of,
)
from collectors.names.name_spells import CLAIMS
from collectors.readings import Reading
from collectors.texts.templates import filled

NAMES: Final = schema_of({"host": pl.String, "family": pl.String, "name": pl.String})
"""One name of a device of a host, wherever in a reading it stands."""

PAIRS: Final = schema_of(
    {
        "host": pl.String,
        "family": pl.String,
        "a": pl.String,
        "a_kind": pl.String,
        "b": pl.String,
        "b_kind": pl.String,
        "at": pl.Int64,
        "source": pl.String,
    }
)
"""Two names of one device."""

NUMBERED_LABEL: Final = r"^(\d+)/([12])$"
"""Cage and side, as Quantum-2 switches are labelled: port N is cage (N+1)//2, side 1 if N is odd.
Source: UFM port numbering."""

_SHORT: Final = {"Et": "Ethernet", "Po": "Port-Channel", "Ma": "Management"}
"""Arista's short names of interfaces. SONiC's `Eth1/1` is another thing: it is never lengthened."""

_JOINABLE: Final = tuple(RANKS)


def stated_pairs(aliases: pl.DataFrame) -> pl.DataFrame:
    """Return `PAIRS` that `ALIASES` state of devices; names that join nothing are left out."""
    family, device, alias = pl.col("family"), pl.col("a"), pl.col("b")
    return (
        aliases.lazy()
        .select(
            "host",
            "source",
            "alias_kind",
            family=family_of(pl.col("device_kind")),
            a=pl.col("device"),
            b=pl.col("alias"),
            at=pl.col("time").dt.timestamp("us"),
        )
        .drop_nulls(["host", "family", "a", "b"])
        .with_columns(
            a_kind=name_kind(device, family), b_kind=told_kind(pl.col("alias_kind"), alias, family)
        )
        .filter(
            pl.col("a_kind").is_in(_JOINABLE), pl.col("b_kind").is_in(_JOINABLE), device != alias
        )
        .pipe(_agree_on_kinds)
        .select(PAIRS.names())
        .unique()
        .collect()
    )


def _agree_on_kinds(pairs: pl.LazyFrame) -> pl.LazyFrame:
    """Return the pairs with one kind for each name: the best that any statement calls it."""
    key = ["host", "family"]
    told = pl.concat(
        pairs.select(*key, name=pl.col(side), kind=pl.col(f"{side}_kind")) for side in ("a", "b")
    )
    rank = pl.col("kind").replace_strict(RANKS, return_dtype=pl.Int32)
    best = told.group_by(*key, "name").agg(pl.col("kind").sort_by(rank).first())
    for side in ("a", "b"):
        renamed = best.rename({"name": side, "kind": f"{side}_best"})
        pairs = pairs.join(renamed, on=[*key, side], how="left")
    return pairs.with_columns(a_kind=pl.col("a_best"), b_kind=pl.col("b_best"))


def claims_of(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return `CLAIMS` of both directions of each pair.

    A further name means one device; a device may have many further names, but one name of each
    kind that is exclusive.
    """
    one_each = pairs.filter(pl.col("b_kind").is_in(EXCLUSIVE))
    return pl.concat(
        frame.select(
            "host",
            "family",
            "at",
            "source",
            name=pl.col(one),
            kind=pl.col(f"{one}_kind"),
            other=pl.col(two),
            other_kind=pl.col(f"{two}_kind"),
        ).select(CLAIMS.names())
        for frame, one, two in ((one_each, "a", "b"), (pairs, "b", "a"))
    )


def names_of(reading: Reading) -> pl.DataFrame:
    """Return `NAMES` of all devices in a reading, in order."""
    family = family_of(pl.col("device_kind"))
    parts = [
        frame.select("host", family=family, name=whole_of(pl.col("device")))
        for frame in (
            reading.frame(name).select("host", "device_kind", "device").unique()
            for name in ("samples", "events", "aliases")
        )
    ]
    aliases = reading.aliases.select("host", family=family, name="alias")
    ports = [
        reading.links.select(
            host=f"node_{side}", family=pl.lit("port"), name=whole_of(pl.col(f"port_{side}"))
        )
        for side in ("a", "b")
    ]
    return pl.concat([*parts, aliases, *ports]).drop_nulls().unique().sort(NAMES.names())


def implied_pairs(names: pl.DataFrame, stated: pl.DataFrame) -> pl.DataFrame:
    """Return `PAIRS` that follow from the forms of names which occur together on a host.

    Args:
        names: `NAMES`.
        stated: `PAIRS` that sources state: a switch one of whose labels is told to be another than
            its numbering would give it has a numbering of its own.

    Returns:
        `mlx5_4` with the only port of it that is known; `1/17/1` with `17/1`; a port number with
        the label that its switch's numbering gives it, where the switch shows such labels; the
        short and the long name of an Arista interface, where both are in use.
    """
    ports = names.filter(pl.col("family") == "port").with_columns(
        kind=name_kind(pl.col("name"), pl.col("family"))
    )
    rules = [
        _only_ports(ports),
        _short_labels(ports),
        _numbers(ports, stated),
        _short_interfaces(ports),
    ]
    family = pl.col("family")
    return (
        pl.concat(rules)
        .with_columns(
            family=pl.lit("port"), at=pl.lit(None, pl.Int64), source=pl.lit(None, pl.String)
        )
        .with_columns(a_kind=name_kind(pl.col("a"), family), b_kind=name_kind(pl.col("b"), family))
        .select(PAIRS.names())
    )


def _only_ports(ports: pl.DataFrame) -> pl.DataFrame:
    rdma = ports.filter(pl.col("kind") == "rdma").with_columns(
        b=pl.col("name").str.extract(r"^(.+)/\d+$", 1)
    )
    return (
        rdma.group_by("host", "b")
        .agg(a=pl.col("name").first(), count=pl.len())
        .filter(pl.col("count") == 1)
        .select("host", "a", "b")
    )


def _short_labels(ports: pl.DataFrame) -> pl.DataFrame:
    label = pl.col("name").str.extract(r"^\d+/(\d+/\d+)$", 1)
    return ports.select("host", a=label, b="name").drop_nulls()


def _numbers(ports: pl.DataFrame, stated: pl.DataFrame) -> pl.DataFrame:
    """Return number and label of ports of switches that show labels of cage and side."""
    label = pl.col("name").str.extract(r"^(?:\d+/)?(\d+/\d+)$", 1)
    labelled = ports.with_columns(label=label).drop_nulls("label")
    is_cage = pl.col("label").str.contains(NUMBERED_LABEL)
    switches = labelled.group_by("host").agg(cages=is_cage.all()).filter("cages")
    numbers = ports.filter(pl.col("kind") == "number")
    return (
        numbers.join(switches, on="host", how="semi")
        .join(_otherwise(stated), on="host", how="anti")
        .filter(pl.col("name").cast(pl.Int64, strict=False) > 0)
        .select("host", a=_cage_label(pl.col("name")), b="name")
    )


def _cage_label(number: pl.Expr) -> pl.Expr:
    """Return the label of cage and side that a port number has on Quantum-2."""
    count = number.cast(pl.Int64, strict=False)
    return filled("{}/{}", (count + 1) // 2, pl.when(count % 2 == 1).then(1).otherwise(2))


def _otherwise(stated: pl.DataFrame) -> pl.DataFrame:
    """Return the hosts whose ports are told to have other labels than their numbers give."""
    ends = [
        stated.filter(pl.col(f"{one}_kind") == "number").select(
            "host", number=one, label=pl.col(two).str.extract(r"^(?:\d+/)?(\d+/\d+)$", 1)
        )
        for one, two in (("a", "b"), ("b", "a"))
    ]
    differs = pl.col("label") != _cage_label(pl.col("number"))
    return pl.concat(ends).filter(differs).select("host").unique()


def _short_interfaces(ports: pl.DataFrame) -> pl.DataFrame:
    prefix = pl.col("b").str.extract(r"^(Et|Po|Ma)\d[\d/]*$", 1)
    long = pl.concat_str(
        prefix.replace_strict(_SHORT, default=None), pl.col("b").str.slice(2), ignore_nulls=False
    )
    return (
        ports.select("host", b="name")
        .with_columns(a=long)
        .drop_nulls()
        .join(ports.select("host", a="name"), on=["host", "a"], how="semi")
        .select("host", "a", "b")
    )
