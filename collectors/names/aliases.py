"""Give each device and host of a reading one name, whatever its sources call it.

Readers say which names are the same (`ALIASES`); here those statements are joined, host by host and
as of their time, and every frame is brought to the best name. What contradicts itself is reported
and joins nothing. Source: formats of GPU and host streams, section 0.2; of fabric counters, 5.6.
"""

from dataclasses import replace
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, TIME, conform
from collectors.names.device_names import name_kind
from collectors.names.host_names import HOSTED, NODE, join_hosts, nic_guids
from collectors.names.link_ends import double_peers, ordered_links
from collectors.names.name_groups import CONFLICTS, join_names
from collectors.names.name_spells import CLAIMS, EVER, clashes_of, spells_of
from collectors.names.name_statements import implied_pairs, names_of, stated_pairs
from collectors.names.renaming import Columns, device_columns, host_columns, renamed
from collectors.names.shared_counters import keep_counters_apart
from collectors.readings import Reading
from collectors.texts.templates import filled

CONFLICT_CODE: Final = "identity_conflict"
"""`code` of the warning about a name that two things claim."""

_TIMES: Final = {
    "samples": "time",
    "steps": "end_time",
    "collectives": "time",
    "transfers": "time",
    "events": "time",
    "placements": None,
    "aliases": "time",
}

_ANY: Final = "any"
"""A family of all devices, for entities of which only the name is told."""


def resolve_devices(reading: Reading) -> Reading:
    """Return the reading with one canonical name for each host and each device.

    A GPU is called by its UUID, else its PCI address; a NIC's port `mlx5_4/1`, else by its
    interface; a switch's port by its interface, else its printed label. A name that moved is
    replaced as of the time of the row. A name in conflict stays what it is.

    Args:
        reading: All that was read, joined; `ALIASES` say which names are the same.

    Returns:
        The same rows in the same order, but for cables that turn out to be one, and one `EVENTS`
        row of kind `warning` and code `identity_conflict` for each name that several things claim
        at a time, with each of them in `attributes`. Resolving twice changes nothing more.
    """
    hosts, host_conflicts = join_hosts(reading)
    placed = _with_hosts(reading, hosts)
    names = names_of(placed)
    shared, sound = _on_one_host(placed)
    stated = stated_pairs(sound)
    devices, conflicts = join_names(stated, implied_pairs(names, stated))
    whole = _with_devices(placed, devices)
    links = ordered_links(whole.links)
    found = pl.concat([host_conflicts, shared, conflicts, double_peers(links)])
    return replace(whole, links=links, events=_with_conflicts(whole.events, found))


def _with_hosts(reading: Reading, hosts: pl.DataFrame) -> Reading:
    """Return the reading with canonical hosts, and NICs that were known by GUID alone."""
    guids = nic_guids(reading.aliases)
    frames: dict[str, Any] = {}
    for name in HOSTED:
        frame = reading.frame(name)
        if name in ("samples", "events"):
            frame = _with_nics(frame, guids)
        frames[name] = renamed(frame, host_columns("host", _TIMES[name]), hosts)
    links = reading.links
    for side in ("a", "b"):
        links = renamed(links, host_columns(f"node_{side}", "time"), hosts)
    frames["links"] = links
    frames["jobs"] = _with_listed_hosts(reading.jobs, hosts)
    return replace(reading, **frames)


def _with_nics(frame: pl.DataFrame, guids: pl.DataFrame) -> pl.DataFrame:
    """Return rows of a GUID's numbered ports as those of the NIC that has the GUID."""
    if guids.is_empty():
        return frame
    known = guids.select(host="guid", _host="host", _nic="nic")
    is_port = pl.col("device").str.contains(r"^\d+$") & pl.col("_nic").is_not_null()
    return (
        frame.join(known, on="host", how="left", maintain_order="left")
        .with_columns(
            host=pl.when(is_port).then("_host").otherwise("host"),
            device=pl.when(is_port).then(filled("{}/{}", "_nic", "device")).otherwise("device"),
        )
        .select(frame.columns)
    )


def _with_listed_hosts(jobs: pl.DataFrame, hosts: pl.DataFrame) -> pl.DataFrame:
    ever = hosts.filter((pl.col("since") == -EVER) & (pl.col("until") == EVER))
    best = pl.element().replace(ever["name"], ever["canonical"])
    return jobs.with_columns(pl.col("hosts").list.eval(best))


def _on_one_host(reading: Reading) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the UUIDs that are on two hosts at a time, and the aliases without theirs."""
    frames = [
        reading.aliases.filter(pl.col("device_kind") == "gpu").select(
            "host", "device", "time", "source"
        ),
        reading.aliases.filter(pl.col("alias_kind") == "uuid").select(
            "host", "time", "source", device="alias"
        ),
        *(
            reading.samples.filter(pl.col("device_kind") == "gpu")
            .group_by("host", "device", "source")
            .agg(edge)
            .select("host", "device", "time", "source")
            for edge in (pl.col("time").min(), pl.col("time").max())
        ),
    ]
    claims = (
        pl.concat([frame.select("host", "device", "time", "source") for frame in frames])
        .drop_nulls(["host", "device"])
        .filter(pl.col("device").str.starts_with("GPU-"))
        .select(
            host=pl.lit(""),
            family=pl.lit("gpu"),
            name="device",
            kind=pl.lit("uuid"),
            other="host",
            other_kind=pl.lit(NODE),
            at=pl.col("time").dt.timestamp("us"),
            source="source",
        )
        .select(CLAIMS.names())
    )
    clashes = clashes_of(spells_of(claims))
    conflicts = clashes.group_by("host", "family", "name", maintain_order=True).agg(
        at=pl.col("clash").first(), sides=pl.struct(key=pl.col("other"), value=pl.col("source"))
    )
    bad = conflicts["name"].implode()
    touched = pl.col("device").is_in(bad) | pl.col("alias").is_in(bad)
    sound = reading.aliases.filter(~touched.fill_null(value=False))
    return conflicts.select(CONFLICTS.names()), sound


def _with_devices(reading: Reading, devices: pl.DataFrame) -> Reading:
    """Return the reading with canonical devices wherever a frame names one."""
    gpu = Columns(name="gpu", host="host", family=pl.lit("gpu"), time=None)
    samples = renamed(reading.samples, device_columns("time"), devices)
    links = reading.links
    for side in ("a", "b"):
        port = Columns(name=f"port_{side}", host=f"node_{side}", family=pl.lit("port"), time="time")
        links = renamed(links, port, devices)
    return replace(
        reading,
        samples=keep_counters_apart(reading.samples, samples),
        events=renamed(reading.events, _event_columns(reading), devices),
        placements=renamed(reading.placements, gpu, devices),
        links=links,
        coverage=_with_entities(reading.coverage, devices),
    )


def _event_columns(reading: Reading) -> Columns:
    """Return where events name devices; a program's own number of a GPU is left alone."""
    is_gpu = pl.col("device_kind") == "gpu"
    own = reading.samples.filter(is_gpu)["source"].drop_nulls().unique()
    is_number = is_gpu & pl.col("device").str.contains(r"^\d+$")
    is_foreign = is_number & ~pl.col("source").is_in(own.implode()).fill_null(value=False)
    columns = device_columns("time")
    return replace(columns, family=pl.when(~is_foreign).then(columns.family))


def _with_entities(coverage: pl.DataFrame, devices: pl.DataFrame) -> pl.DataFrame:
    """Return coverage with canonical devices in its entities, `host/device`."""
    is_one = pl.col("family").n_unique().over("host", "name") == 1
    anyhow = devices.filter(is_one).with_columns(family=pl.lit(_ANY))
    columns = Columns(name="_device", host="_node", family=pl.lit(_ANY), time="start")
    split = coverage.with_columns(
        _node=pl.col("entity").str.extract(r"^([^/]+)/"),
        _device=pl.col("entity").str.extract(r"^[^/]+/(.+)$"),
    )
    entity = pl.concat_str("_node", "_device", separator="/").fill_null(pl.col("entity"))
    return renamed(split, columns, anyhow).with_columns(entity=entity).select(coverage.columns)


def _with_conflicts(events: pl.DataFrame, conflicts: pl.DataFrame) -> pl.DataFrame:
    """Return events with one warning for each name in conflict that has none yet."""
    if conflicts.is_empty():
        return events
    is_node = pl.col("family") == NODE
    device = pl.when(~is_node).then("name")
    rows = conflicts.select(
        time=pl.when(pl.col("at").abs() < EVER).then("at").cast(TIME),
        host=pl.when(is_node).then("name").when(pl.col("host") != "").then("host"),
        device_kind=_conflict_kind(),
        device=device,
        kind=pl.lit("warning"),
        code=pl.lit(CONFLICT_CODE),
        severity=pl.lit("warning"),
        count=pl.lit(1),
        message=filled("{} is said to be {}", "name", _sides_text()),
        attributes="sides",
        source=pl.col("sides").list.eval(pl.element().struct["value"].drop_nulls()).list.first(),
    )
    known = events.filter(pl.col("code") == CONFLICT_CODE).select("host", "device").unique()
    fresh = (
        conform(rows.lazy(), EVENTS)
        .collect()
        .join(known, on=["host", "device"], how="anti", nulls_equal=True)
        .unique(["host", "device"], keep="first", maintain_order=True)
    )
    return pl.concat([events, fresh])


def _conflict_kind() -> pl.Expr:
    kind = name_kind(pl.col("name"), pl.col("family"))
    is_switch = kind.is_in(["interface", "label", "number"])
    port = pl.when(is_switch).then(pl.lit("switch_port")).otherwise(pl.lit("nic"))
    return pl.when(pl.col("family") == "port").then(port).otherwise("family")


def _sides_text() -> pl.Expr:
    """Return the sides of a conflict in words: each claim and who makes it."""
    side = pl.element().struct
    told = pl.concat_str(
        side["key"], pl.lit(" ("), side["value"], pl.lit(")"), ignore_nulls=False
    ).fill_null(side["key"])
    return pl.col("sides").list.eval(told.unique().sort()).list.join(" and ")
