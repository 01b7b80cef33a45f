"""From records of UFM telemetry to samples, cables, further names and reasons of link-downs.

Source: Mellanox/ufm_sdk_3.0. On failure UFM sends the last record again under its old time stamp:
such a copy says nothing. Logical planes of a port are in the port's own counts already.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import schema_of
from collectors.identity import node_guid
from collectors.infiniband.node_names import (
    MAX_NIC_PORT,
    is_aggregation,
    looks_like_switch,
    nodes_of,
    port_device,
)
from collectors.infiniband.telemetry_columns import CONTEXT, telemetry_columns
from collectors.infiniband.telemetry_links import (
    NOTHING,
    telemetry_aliases,
    telemetry_cables,
    telemetry_causes,
)
from collectors.infiniband.telemetry_samples import telemetry_samples
from collectors.texts.stamps import epoch_time, iso_time

AGGREGATION_PORT: Final = 65
"""Port of a switch's aggregation node, on switches that have no port beyond it."""

WORDS: Final = tuple(dict.fromkeys(CONTEXT.values()))

RECORDS: Final = schema_of(
    {"record": pl.Int64, "position": pl.Int64, **dict.fromkeys(WORDS, pl.String)}
)
"""One record as text: `record` numbers them, `position` is the line of each."""

CELLS: Final = schema_of({"record": pl.Int64, "name": pl.String, "text": pl.String})
"""One measured column of a record, as text."""

_PORT: Final = ("guid", "port")


@dataclass(frozen=True, slots=True, kw_only=True)
class Telemetry:
    """What records say.

    Attributes:
        frames: Frames by their name in a reading.
        used: Positions of lines that are rows or parts of rows.
        reasons: `position` and `reason` of records that are left out.
    """

    frames: dict[str, pl.DataFrame]
    used: pl.Series
    reasons: pl.DataFrame


def read_records(
    records: pl.DataFrame, cells: pl.DataFrame, time_zone: str, quiet: pl.Series | None = None
) -> Telemetry:
    """Return what records of telemetry say.

    Args:
        records: `RECORDS` in the order of the source.
        cells: `CELLS` of theirs.
        time_zone: IANA zone of stamps that are text without one.
        quiet: Stamps of messages in which nothing had changed, of a source that sends changes only:
            a column that a record of it lacks is unchanged since the port's last one. Null for a
            source that sends everything.

    Returns:
        The frames. A ratio that only says that no error was seen is null (`no_errors_seen`); a
        value carried on because nothing changed bears the reason `unchanged`.
    """
    placed = _placed(_timed(records, time_zone))
    real = placed.filter(pl.col("left_out").is_null())
    measured = _fresh(cells, real)
    told = pl.concat([measured["record"], _speaking(real)["record"]]).unique()
    kept = real.filter(pl.col("record").is_in(told.implode()))
    whole = measured if quiet is None else _carried(measured, kept, quiet)
    known = telemetry_columns(whole["name"])
    values = whole.join(known, on="name", how="inner", maintain_order="left")
    frames = {
        "samples": telemetry_samples(values, kept),
        "links": telemetry_cables(kept),
        "aliases": telemetry_aliases(kept),
        "events": telemetry_causes(kept),
    }
    stale = real.filter(~pl.col("record").is_in(told.implode())).with_columns(
        left_out=pl.lit("a stale copy, or no value")
    )
    out = pl.concat([placed.drop_nulls("left_out"), stale])
    return Telemetry(
        frames=frames,
        used=kept["position"],
        reasons=out.select("position", reason="left_out").unique("position", maintain_order=True),
    )


def _timed(records: pl.DataFrame, time_zone: str) -> pl.DataFrame:
    """Return the records with `time`, and GUIDs in their one spelling."""
    number = pl.col("stamp").cast(pl.Float64, strict=False)
    time = pl.coalesce(epoch_time(number), iso_time(pl.col("stamp"), time_zone))
    filled = {
        name: pl.when(~pl.col(name).str.contains(NOTHING)).then(pl.col(name).str.strip_chars())
        for name in WORDS
        if name not in ("stamp", "local", "remote")
    }
    return records.with_columns(time=time, **filled).with_columns(
        guid=node_guid(pl.coalesce("guid", "source_guid")), far_guid=node_guid(pl.col("far_guid"))
    )


def _placed(records: pl.DataFrame) -> pl.DataFrame:
    """Return the records with host, kind and device of their port, and why one is left out."""
    named = records.with_columns(
        name=pl.col("name").drop_nulls().last().over("guid"),
        highest=pl.col("port").cast(pl.Int64, strict=False).max().over("guid"),
    )
    is_switch = (pl.col("highest") > MAX_NIC_PORT).fill_null(value=False)
    described = looks_like_switch(pl.col("name"), pl.col("highest").cast(pl.String))
    both = named.with_columns(
        is_switch=pl.when(pl.col("name").is_not_null()).then(described).otherwise(is_switch)
    )
    host, nic = nodes_of(pl.col("name"), is_switch=pl.col("is_switch"))
    return both.with_columns(
        host=pl.coalesce(host, "guid"),
        nic=nic,
        device=port_device(nic, pl.col("port")),
        device_kind=pl.when("is_switch").then(pl.lit("switch_port")).otherwise(pl.lit("nic")),
        left_out=_left_out(),
    )


def _left_out() -> pl.Expr:
    """Return why a record is none of a port's own, null for the others."""
    number = pl.col("port").cast(pl.Int64, strict=False)
    reducing = (number == AGGREGATION_PORT) & (pl.col("highest") == AGGREGATION_PORT)
    is_plane = pl.col("plane").str.contains(r"(?i)^\d+$|plane") & ~pl.col("plane").str.contains(
        "(?i)aggregat|legacy"
    )
    return (
        pl.when(pl.col("guid").is_null() | number.is_null())
        .then(pl.lit("no node or port"))
        .when(pl.col("time").is_null())
        .then(pl.lit("no time stamp"))
        .when(reducing | is_aggregation(pl.col("name")) | is_aggregation(pl.col("far_name")))
        .then(pl.lit("aggregation node"))
        .when(is_plane)
        .then(pl.lit("a plane, counted in its port"))
    )


def _fresh(cells: pl.DataFrame, real: pl.DataFrame) -> pl.DataFrame:
    """Return the cells with their ports, without copies under an old time stamp."""
    where = real.select("record", "position", "time", "host", "device_kind", "device", *_PORT)
    joined = cells.join(where, on="record", how="inner", maintain_order="left")
    return joined.unique([*_PORT, "name", "time"], keep="first", maintain_order=True)


def _speaking(real: pl.DataFrame) -> pl.DataFrame:
    """Return the records that say something beside their measures, each only once."""
    words = ("far_guid", "local", "remote", "blame")
    once = real.unique([*_PORT, "time", *words], keep="first", maintain_order=True)
    return once.filter(pl.any_horizontal(pl.col(words).is_not_null()))


def _carried(measured: pl.DataFrame, kept: pl.DataFrame, quiet: pl.Series) -> pl.DataFrame:
    """Return the cells with those added that did not change at a time that was reported.

    A value is carried from the port's first record to its last, over the times of all records; not
    beyond, where the port is silent.
    """
    spans = kept.group_by(_PORT).agg(
        pl.col("time").min().alias("since"), until=pl.col("time").max()
    )
    silent = quiet.to_frame("stamp").select(
        time=epoch_time(pl.col("stamp").cast(pl.Float64, strict=False))
    )
    ticks = pl.concat([kept.select("time"), silent]).drop_nulls().unique()
    series = measured.select(*_PORT, "name", "host", "device_kind", "device").unique(
        [*_PORT, "name"], keep="first", maintain_order=True
    )
    grid = (
        series.join(spans, on=_PORT)
        .join(ticks, how="cross")
        .filter(pl.col("time").is_between("since", "until"))
        .drop("since", "until")
    )
    keys = [*_PORT, "name", "time"]
    values = measured.select(*keys, "text", "position", "record")
    return (
        grid.join(values, on=keys, how="left")
        .sort(keys)
        .with_columns(carried=pl.col("text").is_null())
        .with_columns(pl.col("text").forward_fill().over([*_PORT, "name"]))
        .drop_nulls("text")
    )
