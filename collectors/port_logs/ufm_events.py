"""Read the event log of NVIDIA's Unified Fabric Manager (UFM).

Source: Mellanox/ufm_sdk_3.0 (log analyzer, event codes) and imbue-ai/cluster-health (forms of the
lines); formats of fabric counters, sections 2.10 and 4. Stamps are local. A port has a number and a
printed label, and a line may say both.
"""

from typing import Final

import polars as pl

from collectors.frames import LINKS, TIME, conform
from collectors.identity import canonical_host, node_guid
from collectors.infiniband.link_texts import aliases_of
from collectors.infiniband.node_names import is_aggregation
from collectors.line_reading import LineReading
from collectors.port_logs.port_event_folds import PORT_LINES, fold_port_lines
from collectors.readings import reading_of
from collectors.sniffing import ReadOptions
from collectors.texts.event_labels import event_labels
from collectors.texts.stamps import iso_time

UFM_HINT: Final = r"\d\d:\d\d:\d\d[.,]\d+ \[\d+\] \[\d+\] [A-Z]+ \["

_LINE: Final = (
    r"^(?P<stamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+) \[(?P<entry>\d+)\] \[(?P<event>\d+)\] "
    r"(?P<level>[A-Z]+) \[(?P<topic>[^\]]*)\] (?P<type>\w+) \[(?P<subject>[^\]]*)\]"
    r"(?: \[dev_id: (?P<id>\w+)\])?: ?(?P<message>.*)$"
)

_SUBJECT: Final = (
    r"^(?:[^/]* / )?(?:(?P<node_type>Switch|Computer|Router|Gateway): ?)?(?P<node>[^/]*?)"
    r"(?: / (?P<port>.+?))?\s*$"
)

_END: Final = (
    r"\((?P<{0}type>Switch|Computer|Router|Gateway):(?P<{0}node>[^:()]+)(?::(?P<{0}label>[^)]*))?\)"
    r"(?P<{0}guid>[0-9A-Za-z]*):(?P<{0}port>\d+)"
)

_ENDS: Final = rf"{_END.format('near_')} - {_END.format('far_')}"

_PEER: Final = (
    r"^Peer Port (?P<node>[^:]+):(?P<port>\S+) is considered by SM as unhealthy due to "
    r"(?P<reason>\w+)"
)

EVENTS_OF_UFM: Final = {
    "110": ("port_error", "symbol_errors"),
    "112": ("port_error", "link_downed"),
    "113": ("port_error", "receive_errors"),
    "115": ("port_error", "switch_relay_errors"),
    "116": ("port_error", "transmit_discards"),
    "328": ("link_up", "ufm"),
    "329": ("link_down", "ufm"),
    "331": ("node_down", "331"),
    "332": ("node_up", "332"),
    "336": ("admin_down", "336"),
    "394": ("switch_failure", "394"),
    "702": ("port_error", "unhealthy"),
    "907": ("switch_down", "907"),
    "908": ("switch_up", "908"),
    "917": ("port_error", "symbol_ber"),
    "918": ("port_error", "symbol_ber"),
    "1500": ("cable_event", "new"),
    "1502": ("cable_event", "moved"),
    "1503": ("cable_event", "duplicate"),
}
"""Numbers of UFM's events: our kind and code. Any other is a `ufm_event`."""

_SEVERITIES: Final = {
    "INFO": "info",
    "MINOR": "warning",
    "WARNING": "warning",
    "ERROR": "error",
    "CRITICAL": "critical",
}


def read_ufm_events(lines: pl.DataFrame, options: ReadOptions) -> LineReading:
    """Return the events of UFM's log.

    Args:
        lines: `LINES`.
        options: The zone of its stamps.

    Returns:
        `EVENTS` of the kinds in `EVENTS_OF_UFM` and ufm_event; `host` and `device` are the node and
        its port (the number where it is told, else the label), `peer` the other end, attribute
        `event` UFM's number. `ALIASES` of GUIDs and labels; `LINKS` between switches, since a
        host's port is only told by the number on its NIC.
    """
    hits = lines.filter(pl.col("text").str.contains(_LINE))
    if hits.is_empty():
        return LineReading()
    groups = hits.select(pl.col("text").str.extract_groups(_LINE).alias("found")).unnest("found")
    known = _placed(hits.hstack(groups), options)
    events = fold_port_lines(known.select(PORT_LINES.names()))
    return LineReading(
        reading=reading_of(events=events, links=_cables(known), aliases=_aliases(known)),
        claimed=hits["line"],
    )


def _placed(rows: pl.DataFrame, options: ReadOptions) -> pl.DataFrame:
    """Return `PORT_LINES` and the names of both ends."""
    ends = pl.col("message").str.extract_groups(_ENDS).struct
    subject = pl.col("subject").str.extract_groups(_SUBJECT).struct
    peer = pl.col("message").str.extract_groups(_PEER).struct
    told_node = pl.when(subject.field("node_type").is_not_null()).then(subject.field("node"))
    fields = [f"{side}{name}" for side in ("near_", "far_") for name in _ENDS_FIELDS]
    wide = rows.with_columns(
        **{name: ends.field(name) for name in fields},
        node=canonical_host(pl.coalesce(told_node, ends.field("near_node"))),
        node_type=pl.coalesce(subject.field("node_type"), ends.field("near_type")),
        told_port=subject.field("port"),
        peer_node=canonical_host(pl.coalesce(ends.field("far_node"), peer.field("node"))),
        peer_port=pl.coalesce(ends.field("far_port"), peer.field("port")),
        reason=peer.field("reason"),
    )
    is_port = pl.coalesce("near_port", "told_port").is_not_null()
    port_kind = pl.when(pl.col("node_type") == "Switch").then(pl.lit("switch_port"))
    said = {
        "event": pl.col("event"),
        "reason": pl.col("reason").str.to_lowercase(),
        "cable": pl.col("message").str.extract(r"cable S/N: (\w+)"),
    }
    return wide.with_columns(
        host="node",
        device=pl.coalesce("near_port", "told_port"),
        device_kind=pl.when(is_port)
        .then(port_kind.otherwise(pl.lit("nic")))
        .otherwise(pl.lit("node")),
        time=iso_time(pl.col("stamp"), options.time_zone).cast(TIME),
        kind=_of_table(0).fill_null(pl.lit("ufm_event")),
        code=_of_table(1).fill_null(pl.col("event")),
        severity=pl.col("level").replace_strict(_SEVERITIES, default="info"),
        peer=pl.concat_str("peer_node", "peer_port", separator=" ", ignore_nulls=True),
        attributes=event_labels(said),
        part=pl.lit(None, pl.String),
    ).with_columns(peer=pl.when(pl.col("peer") != "").then("peer"))


_ENDS_FIELDS: Final = ("type", "node", "label", "guid", "port")


def _of_table(at: int) -> pl.Expr:
    table = {event: pair[at] for event, pair in EVENTS_OF_UFM.items()}
    return pl.col("event").replace_strict(table, default=None, return_dtype=pl.String)


def _cables(known: pl.DataFrame) -> pl.DataFrame:
    """Return the cables between switches of which both ends are told."""
    both = known.filter(
        pl.col("near_type") == "Switch",
        pl.col("far_type") == "Switch",
        ~is_aggregation(pl.col("message")),
    )
    near, far = (
        pl.concat_str(canonical_host(pl.col(f"{side}_node")), pl.lit("\n"), f"{side}_port")
        for side in ("near", "far")
    )
    first, second = (pl.concat_list(near, far).list.sort().list.get(at) for at in (0, 1))
    rows = both.lazy().select(
        "time",
        node_a=first.str.extract(r"^(.*)\n"),
        port_a=first.str.extract(r"\n(.*)$"),
        node_b=second.str.extract(r"^(.*)\n"),
        port_b=second.str.extract(r"\n(.*)$"),
    )
    return conform(rows.unique(maintain_order=True), LINKS).collect()


def _aliases(known: pl.DataFrame) -> pl.DataFrame:
    """Return labels and GUIDs of the switches that lines name."""
    null = pl.lit(None, pl.String)
    told = known.filter(pl.col("type") == "Switch", pl.col("told_port").is_null())
    sides = [
        known.filter(pl.col(f"{side}_type") == "Switch").select(
            "time",
            host=canonical_host(pl.col(f"{side}_node")),
            device=f"{side}_port",
            guid=node_guid(pl.col(f"{side}_guid")),
            label=f"{side}_label",
        )
        for side in ("near", "far")
    ]
    own = told.select("time", "host", device=null, guid=node_guid(pl.col("id")), label=null)
    ends = pl.concat([*sides, own]).with_columns(nic=null, lid=null, switch=pl.lit(value=True))
    return aliases_of(ends)
