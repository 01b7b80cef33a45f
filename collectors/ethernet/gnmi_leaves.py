"""The leaves of OpenConfig's models that measure a port, and what they measure.

Source: openconfig/public `openconfig-interfaces`, `-if-ethernet`, `-qos-interfaces`,
`-platform-transceiver`. Counters are 64 bits wide. 802.3x pauses (`mac-pause`) are not PFC, for
which there is no common leaf. `dropped-pkts` of a queue holds what WRED dropped.
"""

from typing import Final

import polars as pl

from collectors.ethernet.port_values import PORT_VALUES, counter_width, samples_of_values
from collectors.frames import TIME, conform, schema_of

NANOSECOND: Final = 1e-9

LEAVES: Final = schema_of(
    {
        "position": pl.Int64,
        "time": TIME,
        "host": pl.String,
        "port": pl.String,
        "queue": pl.String,
        "channel": pl.String,
        "path": pl.String,
        "text": pl.String,
    }
)
"""One leaf and its value as printed. `path` is without module names, keys and the slash before it,
its words joined by dashes; `port`, `queue` and `channel` are the keys in it."""

_COUNTERS: Final = {
    "in-octets": "received_bytes_total",
    "out-octets": "transmitted_bytes_total",
    "in-pkts": "received_packets_total",
    "out-pkts": "transmitted_packets_total",
    "in-unicast-pkts": "unicast_received_packets_total",
    "out-unicast-pkts": "unicast_transmitted_packets_total",
    "in-multicast-pkts": "multicast_received_packets_total",
    "out-multicast-pkts": "multicast_transmitted_packets_total",
    "in-broadcast-pkts": "broadcast_received_packets_total",
    "out-broadcast-pkts": "broadcast_transmitted_packets_total",
    "in-discards": "receive_discards_total",
    "out-discards": "transmit_discards_total",
    "in-errors": "receive_errors_total",
    "out-errors": "transmit_errors_total",
    "in-fcs-errors": "crc_errors_total",
    "in-unknown-protos": "unknown_protocol_packets_total",
    "carrier-transitions": "carrier_changes_total",
    "resets": "interface_resets_total",
    "in-crc-errors": "crc_errors_total",
    "in-fragment-frames": "fragments_total",
    "in-jabber-frames": "jabbers_total",
    "in-oversize-frames": "oversize_packets_total",
    "in-undersize-frames": "undersize_packets_total",
    "in-maxsize-exceeded": "length_errors_total",
    "in-symbol-error": "coding_errors_total",
    "in-mac-pause-frames": "global_pause_received_frames_total",
    "out-mac-pause-frames": "global_pause_sent_frames_total",
    "fec-corrected-blocks": "fec_corrected_codewords_total",
    "fec-uncorrectable-blocks": "fec_uncorrected_codewords_total",
}

_STATES: Final = {
    "oper-status": ("link_up", 1.0),
    "admin-status": ("admin_up", 1.0),
    "mtu": ("mtu_bytes", 1.0),
    "last-change": ("changed_seconds", NANOSECOND),
    "last-clear": ("counters_cleared_seconds", NANOSECOND),
    "port-speed": ("port_rate_bytes_per_second", 1.0),
    "negotiated-port-speed": ("port_rate_bytes_per_second", 1.0),
}

_QUEUES: Final = {
    "transmit-pkts": "transmitted_packets_total",
    "transmit-octets": "transmitted_bytes_total",
    "dropped-pkts": "queue_drops_total",
    "dropped-octets": "queue_dropped_bytes_total",
    "wred-dropped-pkts": "wred_drops_total",
    "wred-dropped-octets": "wred_dropped_bytes_total",
    "ecn-marked-pkts": "queue_ecn_marked_packets_total",
    "ecn-marked-octets": "queue_ecn_marked_bytes_total",
    "ecn-selected-pkts": "ecn_selected_packets_total",
    "max-queue-len": "max_queue_depth_bytes",
    "avg-queue-len": "queue_depth_bytes",
}

_CHANNELS: Final = {
    "input-power": ("rx_power_dbm", 1.0),
    "output-power": ("tx_power_dbm", 1.0),
    "laser-bias-current": ("bias_amperes", 1e-3),
}

STATISTICS: Final = "instant|avg"
"""Of the values of a leaf that is sampled, the one of now is read, else the mean."""

LEAF_NAMES: Final = (*_COUNTERS, *_STATES, *_QUEUES, *_CHANNELS)

_FIELDS: Final = schema_of(
    {"scope": pl.String, "leaf": pl.String, "signal": pl.String, "factor": pl.Float64}
)

_WORDS: Final = {
    "UP": "1",
    "DOWN": "0",
    "TESTING": "0",
    "DORMANT": "0",
    "NOT-PRESENT": "0",
    "LOWER-LAYER-DOWN": "0",
    "TRUE": "1",
    "FALSE": "0",
}


def gnmi_fields() -> pl.DataFrame:
    """Return which leaf of a `port`, a `queue` or a `lane` measures which signal."""
    rows = [
        *(("port", leaf, signal, 1.0) for leaf, signal in _COUNTERS.items()),
        *(("port", leaf, signal, factor) for leaf, (signal, factor) in _STATES.items()),
        *(("queue", leaf, signal, 1.0) for leaf, signal in _QUEUES.items()),
        *(("lane", leaf, signal, factor) for leaf, (signal, factor) in _CHANNELS.items()),
    ]
    return pl.DataFrame(rows, schema=_FIELDS, orient="row")


def scope_of(path: pl.Expr) -> pl.Expr:
    """Return whether a path is of a `lane`, a `queue` or the `port` as a whole."""
    return (
        pl.when(path.str.contains("channel"))
        .then(pl.lit("lane"))
        .when(path.str.contains("queues?-queue|^queue"))
        .then(pl.lit("queue"))
        .otherwise(pl.lit("port"))
    )


def leaf_of(path: pl.Expr) -> pl.Expr:
    """Return the leaf at the end of a path: the longest one that is known; else null."""
    names = sorted(LEAF_NAMES, key=len, reverse=True)
    return path.str.extract(rf"(?:^|-)({'|'.join(names)})(?:-(?:{STATISTICS}))?$", 1)


def samples_of_leaves(leaves: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series]:
    """Return what leaves measure, and the positions of those that are read.

    Args:
        leaves: `LEAVES`.

    Returns:
        `SAMPLES` without a source. A port that counts CRC errors under two names counts them once,
        as `in-fcs-errors`. Channels count from 1, whatever the switch begins with.
    """
    known = known_leaves(leaves.drop_nulls("port")).with_columns(
        device_kind=pl.lit("switch_port"), device="port"
    )
    samples = samples_of_values(conform(known.lazy(), PORT_VALUES).collect())
    return samples.with_columns(wraps_at=counter_width()), known["position"]


def known_leaves(leaves: pl.DataFrame) -> pl.DataFrame:
    """Return the leaves that are read, with `signal`, `factor`, and `part` and `index` of the port.

    Args:
        leaves: Has `host` and the columns of `LEAVES` from `port` on; others stay as they are.

    Returns:
        The same rows without those that repeat another under a second name. `text` is a number's:
        words of states are 1 or 0, speeds are in bytes per second.
    """
    path = pl.col("path")
    return (
        leaves.with_columns(leaf=leaf_of(path), scope=scope_of(path))
        .join(gnmi_fields(), on=["scope", "leaf"], how="inner", maintain_order="left")
        .pipe(_once)
        .with_columns(**_part(), text=_text())
        .with_columns(_rate())
    )


def _once(known: pl.DataFrame) -> pl.DataFrame:
    """Return the leaves without those that repeat another under a second name."""
    port = ["host", "port"]
    rows = known.with_row_index("row")
    told = rows.filter(pl.col("leaf") == "in-fcs-errors").select(port).unique()
    twice = rows.filter(pl.col("leaf") == "in-crc-errors").join(
        told, on=port, how="semi", nulls_equal=True
    )
    means = rows.filter(pl.col("path").str.ends_with("-avg"))
    now = rows.filter(pl.col("path").str.ends_with("-instant"))
    beside = means.join(now, on=[*port, "channel", "leaf"], how="semi", nulls_equal=True)
    gone = pl.concat([twice["row"], beside["row"]])
    return rows.filter(~pl.col("row").is_in(gone.implode())).drop("row")


def _part() -> dict[str, pl.Expr]:
    scope = pl.col("scope")
    queue = pl.col("queue").str.extract(r"(\d+)$", 1).cast(pl.Int32, strict=False)
    channel = pl.col("channel").str.extract(r"(\d+)$", 1).cast(pl.Int32, strict=False)
    lane = channel + pl.when(channel.min().over("host", "port") == 0).then(1).otherwise(0)
    return {
        "part": pl.when(scope != "port").then(scope),
        "index": pl.when(scope == "queue").then(queue).when(scope == "lane").then(lane),
    }


def _text() -> pl.Expr:
    """Return the value as a number's text: words of states as 1 or 0, speeds in bytes."""
    word = pl.col("text").str.to_uppercase().str.replace_all("_", "-").str.replace(r"^.*:", "")
    return word.replace_strict(_WORDS, default=pl.col("text"), return_dtype=pl.String)


def _rate() -> pl.Expr:
    """Return the text of a speed such as `SPEED_400GB` as bytes per second."""
    speed = pl.col("text").str.extract(r"(?i)SPEED_(\d+)GB", 1).cast(pl.Float64, strict=False)
    is_rate = pl.col("signal") == "port_rate_bytes_per_second"
    return (
        pl.when(is_rate & speed.is_not_null())
        .then((speed * 1.25e8).cast(pl.String))
        .otherwise("text")
        .alias("text")
    )
