"""What the columns of SONiC's tables mean, one line each.

Source: sonic-net/sonic-utilities, scripts `portstat`, `pfcstat`, `queuestat`, `wredstat`,
`watermarkstat`, `pg-drop`, `intfutil`, `show/interfaces` and `pfcwd`. BPS are bytes per second,
whatever the name says. The printed utilisation is left out: older builds assume 40 Gbit/s.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import schema_of

MICRO: Final = 1e-6
MILLI: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one kind of table.

    Attributes:
        table: The kind of table: its first header in lower case, or a word of its title.
        name: The header in lower case, a number in it being N.
        signal: What it measures; empty if it is left out on purpose.
        factor: From the printed unit to the signal's.
        part: Kind of the port's part that it is of; empty for the port.
        piece: Which of the numbers between slashes; null for a whole cell.
    """

    table: str
    name: str
    signal: str
    factor: float = 1.0
    part: str = ""
    piece: int | None = None


def _both(name: str, signal: str) -> tuple[Column, Column]:
    return (
        Column("iface", f"rx_{name}", signal.format("receive", "received")),
        Column("iface", f"tx_{name}", signal.format("transmit", "transmitted")),
    )


def _storm(name: str, piece: int, signal: str) -> Column:
    return Column("queue", name, signal, 1.0, "queue", piece)


COLUMNS: Final = (
    Column("iface", "state", "link_up"),
    *_both("ok", "{1}_packets_total"),
    *_both("bps", "{0}_bytes_per_second"),
    *_both("pps", "{0}_packets_per_second"),
    *_both("util", ""),
    *_both("err", "{0}_errors_total"),
    *_both("drp", "{0}_discards_total"),
    *_both("ovr", "{0}_overruns_total"),
    Column("iface", "trim", "trimmed_packets_total"),
    Column("iface", "trim_tx", "trimmed_sent_packets_total"),
    Column("iface", "trim_drp", "trimmed_dropped_packets_total"),
    Column("iface", "trim_pkts", "trimmed_packets_total"),
    Column("iface", "trim_tx_pkts", "trimmed_sent_packets_total"),
    Column("iface", "trim_drp_pkts", "trimmed_dropped_packets_total"),
    Column("iface", "fec_corr", "fec_corrected_codewords_total"),
    Column("iface", "fec_uncorr", "fec_uncorrected_codewords_total"),
    Column("iface", "fec_symbol_err", "fec_symbol_errors_total"),
    Column("iface", "fec_pre_ber", "pre_fec_error_ratio"),
    Column("iface", "fec_post_ber", "post_fec_error_ratio"),
    Column("iface", "fec_pre_ber_max", "max_pre_fec_error_ratio"),
    Column("iface", "flr(o)", "observed_frame_loss_ratio"),
    Column("iface", "flr(p)", "predicted_frame_loss_ratio"),
    Column("iface", "flr(p) (accuracy)", "predicted_frame_loss_ratio"),
    Column("iface", "fec_max_t", "fec_highest_bin"),
    Column("iface", "binN", "fec_bin_codewords_total", 1.0, "fec_bin"),
    Column("symbol errors per codeword", "codewords", "fec_bin_codewords_total", 1.0, "fec_bin"),
    Column("port rx", "pfcN", "pause_received_frames_total", 1.0, "priority"),
    Column("port tx", "pfcN", "pause_sent_frames_total", 1.0, "priority"),
    Column("port", "rx pause transitions", "pause_received_transitions_total", 1.0, "priority"),
    Column("port", "total rx pause time us", "pause_received_seconds_total", MICRO, "priority"),
    Column("port", "total rx pause time ms", "pause_received_seconds_total", MILLI, "priority"),
    Column("port", "recent rx pause time us", "recent_pause_received_seconds", MICRO, "priority"),
    Column("port", "recent rx pause time ms", "recent_pause_received_seconds", MILLI, "priority"),
    Column("port", "recent rx pause timestamp", ""),
    Column("port", "counter/pkts", "transmitted_packets_total", 1.0, "queue"),
    Column("port", "counter/bytes", "transmitted_bytes_total", 1.0, "queue"),
    Column("port", "drop/pkts", "queue_drops_total", 1.0, "queue"),
    Column("port", "drop/bytes", "queue_dropped_bytes_total", 1.0, "queue"),
    Column("port", "trim/pkts", "trimmed_packets_total", 1.0, "queue"),
    Column("port", "trimsent/pkts", "trimmed_sent_packets_total", 1.0, "queue"),
    Column("port", "trimdrop/pkts", "trimmed_dropped_packets_total", 1.0, "queue"),
    Column("port", "wreddrp/pkts", "wred_drops_total", 1.0, "queue"),
    Column("port", "wreddrp/bytes", "wred_dropped_bytes_total", 1.0, "queue"),
    Column("port", "ecnmarked/pkts", "queue_ecn_marked_packets_total", 1.0, "queue"),
    Column("port", "ecnmarked/bytes", "queue_ecn_marked_bytes_total", 1.0, "queue"),
    Column("port", "txq", ""),
    Column("port", "priority", ""),
    Column("queue", "status", "pause_storm_active", 1.0, "queue"),
    _storm("storm detected/restored", 0, "pause_storms_total"),
    _storm("storm detected/restored", 1, "pause_storms_ended_total"),
    _storm("tx ok/drop", 0, "storm_transmitted_packets_total"),
    _storm("tx ok/drop", 1, "storm_transmit_drops_total"),
    _storm("rx ok/drop", 0, "storm_received_packets_total"),
    _storm("rx ok/drop", 1, "storm_receive_drops_total"),
    Column("queue", "tx last ok/drop", ""),
    Column("queue", "rx last ok/drop", ""),
    Column("headroom", "pgN", "headroom_watermark_bytes", 1.0, "priority_group"),
    Column("shared pool", "pgN", "shared_watermark_bytes", 1.0, "priority_group"),
    Column("dropped", "pgN", "queue_drops_total", 1.0, "priority_group"),
    Column("shared pool", "ucN", "queue_watermark_bytes", 1.0, "queue"),
    Column("shared pool", "mcN", "queue_watermark_bytes", 1.0, "queue"),
    Column("shared pool", "allN", "queue_watermark_bytes", 1.0, "queue"),
    Column("interface", "flap count", "carrier_changes_total"),
    Column("interface", "link down timestamp(utc)", ""),
    Column("interface", "link up timestamp(utc)", ""),
    Column("interface", "lanes", "link_width_lanes"),
    Column("interface", "speed", "port_rate_bytes_per_second", 0.125),
    Column("interface", "mtu", "mtu_bytes"),
    Column("interface", "fec", "fec_mode"),
    Column("interface", "oper", "link_up"),
    Column("interface", "admin", "admin_up"),
    Column("interface", "alias", ""),
    Column("interface", "vlan", ""),
    Column("interface", "type", ""),
    Column("interface", "asym pfc", ""),
)
"""A flap count rises when a link goes down and when it comes up, as the kernel's carrier changes
do. `link_up` of a counters table also tells `admin_up` (state X)."""

TITLES: Final = ("headroom", "shared pool", "dropped")
"""Words in the line above a table of priority groups or queues that say what it counts."""

TABLE_HEAD: Final = (
    r"^\s*(?i:"
    + "|".join(
        sorted({one.table.replace("(", r"\(") for one in COLUMNS if one.table not in TITLES})
    )
    + r")\b"
)
"""How the line of column names begins."""

_SCHEMA: Final = schema_of(
    {
        "table_kind": pl.String,
        "name": pl.String,
        "signal": pl.String,
        "factor": pl.Float64,
        "part": pl.String,
        "piece": pl.UInt32,
    }
)


def column_meanings() -> pl.DataFrame:
    """Return `COLUMNS` as a frame; an empty part or signal is null."""
    rows = [
        (one.table, one.name, one.signal or None, one.factor, one.part or None, one.piece)
        for one in COLUMNS
    ]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")
