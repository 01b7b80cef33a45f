"""Read OpenSM's log: traps of links, ports that change state, deltas of counters, clears.

Source: linux-rdma/opensm `opensm/osm_trap_rcv.c`, `opensm/osm_inform.c`, `opensm/osm_perfmgr.c`;
formats of fabric counters, section 4. Trap 128 says that some link of a switch changed, not which;
what was received is mostly logged again as it is reported, which is the same event.
"""

from typing import Final

import polars as pl

from collectors.frames import ALIASES, EVENTS, TIME, conform
from collectors.identity import node_guid
from collectors.infiniband.cables import cables_of
from collectors.infiniband.link_texts import aliases_of, lid_name
from collectors.infiniband.node_names import looks_like_switch, nodes_of, port_device
from collectors.infiniband.port_counters import counter_key, port_counters
from collectors.line_reading import LineReading
from collectors.port_logs.opensm_texts import TRAPS, opensm_records
from collectors.port_logs.port_event_folds import PORT_LINES, fold_port_lines
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels

_SAME_SECONDS: Final = 1
"""A trap is reported at most this long after it was received."""


def read_opensm_logs(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return what OpenSM tells of the ports of its subnet.

    Args:
        lines: `LINES`.
        options: Zone and year of its stamps.

    Returns:
        `EVENTS` of the kinds link_state_change (trap 128: some port of `host`), port_error (traps
        129 to 131), trap (others), link_down and link_up, counters_cleared, and counter_delta:
        `code` is the signal, attribute `delta` how far it rose since the reading before, never a
        total. A node that is told by number only is called by its GUID, else `lid 212`. `ALIASES`
        and `LINKS` of nodes that are told by name.
    """
    records = opensm_records(lines, options)
    traps = _traps(records.filter(pl.col("form").is_in(["received", "reported"])))
    placed = _placed(records.filter(pl.col("form").is_in(["move", "delta", "clear"])))
    moves = _moves(placed.filter(pl.col("form") == "move"))
    counters = placed.filter(pl.col("form") != "move")
    events = [traps, fold_port_lines(moves), _counter_events(counters)]
    sound = [conform(one.lazy(), EVENTS).collect() for one in events]
    return LineReading(
        reading=reading_of(
            events=pl.concat(sound).sort("position"),
            links=_cables(counters.filter(pl.col("far_name").is_not_null())),
            aliases=pl.concat([_lids(records), _names(placed)]),
        ),
        claimed=records["line"],
    )


def _traps(records: pl.DataFrame) -> pl.DataFrame:
    """Return one event a trap: the n-th received is the n-th reported, within a second."""
    key = ["lid", "trap", "port"]
    told = records.select("lid", "guid").drop_nulls().unique()
    known = told.filter(pl.len().over("lid") == 1).rename({"guid": "known"})
    named = records.join(known, on="lid", how="left", maintain_order="left").with_columns(
        host=pl.coalesce("guid", "known", lid_name(pl.col("lid")))
    )
    apart = pl.col("time").diff().over(key) > pl.duration(seconds=_SAME_SECONDS)
    grouped = named.with_columns(cluster=apart.fill_null(value=False).cum_sum().over(key))
    whole = grouped.with_columns(nth=pl.int_range(pl.len()).over([*key, "cluster", "form"]))
    by = [pl.col(name).alias(f"by_{name}") for name in (*key, "cluster", "nth")]
    said = {name: pl.col(name).drop_nulls().first() for name in ("trap", "lid", "producer")}
    number = pl.col("trap")
    kind = number.replace_strict(
        {trap: one[0] for trap, one in TRAPS.items()}, default="trap", return_dtype=pl.String
    )
    code = number.replace_strict(
        {trap: one[1] for trap, one in TRAPS.items()}, default=None, return_dtype=pl.String
    )
    return (
        whole.group_by(by, maintain_order=True)
        .agg(
            pl.col("position", "time", "message", "port", "host").first(),
            **said,
            last=pl.when(pl.len() > 1).then(pl.col("time").max()),
            count=pl.len(),
        )
        .with_columns(
            kind=kind,
            code=code.fill_null(number),
            severity=pl.when(kind == "trap").then(pl.lit("info")).otherwise(pl.lit("warning")),
            device="port",
            device_kind=pl.when(pl.col("port").is_not_null())
            .then(pl.lit("switch_port"))
            .otherwise(pl.lit("node")),
            attributes=event_labels({name: pl.col(name) for name in said}),
        )
    )


def _moves(records: pl.DataFrame) -> pl.DataFrame:
    """Return `PORT_LINES` of ports of switches that changed their state."""
    is_down = pl.col("state") == "DOWN"
    is_start = pl.col("before") == "DOWN"
    kind = (
        pl.when(is_down)
        .then(pl.lit("link_down"))
        .when(is_start)
        .then(pl.lit("link_up"))
        .otherwise(pl.lit("link_unchanged"))
    )
    empty = {"peer": pl.lit(None, pl.String), "part": pl.lit(None, pl.String)}
    return records.with_columns(
        kind=kind,
        device_kind=pl.lit("switch_port"),
        severity=pl.when(is_down).then(pl.lit("warning")).otherwise(pl.lit("info")),
        code=pl.when(kind == "link_unchanged").then(pl.lit("up")).otherwise(pl.lit("subnet")),
        attributes=event_labels({"state": pl.col("state")}),
        **empty,
    ).select(PORT_LINES.names())


def _placed(records: pl.DataFrame) -> pl.DataFrame:
    """Return records of named ports with the canonical names of both ends."""
    switch = looks_like_switch(pl.col("name"), pl.col("port"))
    far_switch = looks_like_switch(pl.col("far_name"), pl.col("far_port"))
    host, nic = nodes_of(pl.col("name"), is_switch=switch)
    far_host, far_nic = nodes_of(pl.col("far_name"), is_switch=far_switch)
    return records.with_columns(
        switch=switch,
        far_switch=far_switch,
        host=host,
        nic=nic,
        far_host=far_host,
        far_nic=far_nic,
        device=port_device(nic, pl.col("port")),
        far_device=port_device(far_nic, pl.col("far_port")),
    )


def _counter_events(counters: pl.DataFrame) -> pl.DataFrame:
    """Return the deltas of counters and their clears, as events."""
    spelled = pl.when(pl.col("counter") == "XmitWait").then(pl.lit("PortXmitWait"))
    key = counter_key(spelled.otherwise("counter"))
    table = port_counters().select("key", "signal").unique("key", keep="first", maintain_order=True)
    is_delta = pl.col("form") == "delta"
    known = counters.with_columns(key=key).join(
        table, on="key", how="left", maintain_order="left", nulls_equal=False
    )
    said = {name: pl.col(name) for name in ("delta", "counter", "error")}
    return known.with_columns(
        kind=pl.when(is_delta).then(pl.lit("counter_delta")).otherwise(pl.lit("counters_cleared")),
        code=pl.when(is_delta).then(pl.coalesce("signal", "counter")).otherwise("error"),
        severity=pl.lit("info"),
        device_kind=pl.when("switch").then(pl.lit("switch_port")).otherwise(pl.lit("nic")),
        peer=pl.concat_str("far_host", "far_device", separator=" "),
        count=pl.lit(1),
        attributes=event_labels(said),
    )


def _cables(counters: pl.DataFrame) -> pl.DataFrame:
    return cables_of(
        counters.select(
            "time",
            text_a="name",
            number_a="port",
            switch_a="switch",
            text_b="far_name",
            number_b="far_port",
            switch_b="far_switch",
        )
    )


def _names(placed: pl.DataFrame) -> pl.DataFrame:
    """Return the GUIDs of nodes that are told by name."""
    null = pl.lit(None, pl.String)
    parts = [
        placed.select(
            "time",
            host=f"{side}host",
            nic=f"{side}nic",
            device=f"{side}device",
            guid=f"{side}guid",
            lid=null,
            label=null,
            switch=f"{side}switch",
        )
        for side in ("", "far_")
    ]
    return aliases_of(pl.concat(parts))


def _lids(records: pl.DataFrame) -> pl.DataFrame:
    """Return the LIDs of switches that are told with their GUID."""
    known = records.filter(pl.col("is_switch")).drop_nulls(["lid", "guid"])
    rows = known.select(
        time=pl.col("time").cast(TIME),
        host=node_guid(pl.col("guid")),
        device_kind=pl.lit("node"),
        alias_kind=pl.lit("lid"),
        alias=lid_name(pl.col("lid")),
    )
    return conform(rows.lazy().unique(maintain_order=True), ALIASES).collect()
