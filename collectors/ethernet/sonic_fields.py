"""Which field of SONiC's databases is which signal.

Source: SAI statistics of ports, queues and priority groups (opencomputeproject/SAI), fields of
sonic-net/sonic-swss. N is a priority or a FEC bin.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of

_MICRO: Final = 1e-6

_PORT: Final = (
    ("IF_IN_OCTETS", "received_bytes_total", 1.0, ""),
    ("IF_OUT_OCTETS", "transmitted_bytes_total", 1.0, ""),
    ("IF_IN_UCAST_PKTS", "received_packets_total", 1.0, ""),
    ("IF_OUT_UCAST_PKTS", "transmitted_packets_total", 1.0, ""),
    ("IF_IN_ERRORS", "receive_errors_total", 1.0, ""),
    ("IF_OUT_ERRORS", "transmit_errors_total", 1.0, ""),
    ("IF_IN_DISCARDS", "receive_discards_total", 1.0, ""),
    ("IF_OUT_DISCARDS", "transmit_discards_total", 1.0, ""),
    ("IF_IN_FEC_CORRECTABLE_FRAMES", "fec_corrected_codewords_total", 1.0, ""),
    ("IF_IN_FEC_NOT_CORRECTABLE_FRAMES", "fec_uncorrected_codewords_total", 1.0, ""),
    ("IF_IN_FEC_SYMBOL_ERRORS", "fec_symbol_errors_total", 1.0, ""),
    ("IF_IN_FEC_CORRECTED_BITS", "fec_corrected_bits_total", 1.0, ""),
    ("IF_IN_FEC_CODEWORD_ERRORS_SN", "fec_bin_codewords_total", 1.0, "fec_bin"),
    ("PFC_N_RX_PKTS", "pause_received_frames_total", 1.0, "priority"),
    ("PFC_N_TX_PKTS", "pause_sent_frames_total", 1.0, "priority"),
    ("PFC_N_RX_PAUSE_DURATION_US", "pause_received_seconds_total", _MICRO, "priority"),
    ("PFC_N_TX_PAUSE_DURATION_US", "pause_sent_seconds_total", _MICRO, "priority"),
    ("PFC_N_ON2OFF_RX_PKTS", "pause_received_transitions_total", 1.0, "priority"),
)

_QUEUE: Final = (
    ("PACKETS", "transmitted_packets_total"),
    ("BYTES", "transmitted_bytes_total"),
    ("DROPPED_PACKETS", "queue_drops_total"),
    ("DROPPED_BYTES", "queue_dropped_bytes_total"),
    ("WRED_DROPPED_PACKETS", "wred_drops_total"),
    ("WRED_DROPPED_BYTES", "wred_dropped_bytes_total"),
    ("WRED_ECN_MARKED_PACKETS", "queue_ecn_marked_packets_total"),
    ("WRED_ECN_MARKED_BYTES", "queue_ecn_marked_bytes_total"),
    ("SHARED_WATERMARK_BYTES", "queue_watermark_bytes"),
    ("CURR_OCCUPANCY_BYTES", "queue_depth_bytes"),
)

_GROUP: Final = (
    ("XOFF_ROOM_WATERMARK_BYTES", "headroom_watermark_bytes"),
    ("SHARED_WATERMARK_BYTES", "shared_watermark_bytes"),
    ("DROPPED_PACKETS", "queue_drops_total"),
)

_RATES: Final = (
    ("RX_BPS", "receive_bytes_per_second"),
    ("TX_BPS", "transmit_bytes_per_second"),
    ("RX_PPS", "receive_packets_per_second"),
    ("TX_PPS", "transmit_packets_per_second"),
    ("FEC_PRE_BER", "pre_fec_error_ratio"),
    ("FEC_PRE_BER_MAX", "max_pre_fec_error_ratio"),
    ("FEC_POST_BER", "post_fec_error_ratio"),
    ("FEC_FLR", "observed_frame_loss_ratio"),
    ("FEC_FLR_PREDICTED", "predicted_frame_loss_ratio"),
)
"""BPS are bytes per second."""

SENSOR_FIELDS: Final = (
    ("rxNpower", "rx_power_dbm", 1.0),
    ("txNpower", "tx_power_dbm", 1.0),
    ("txNbias", "bias_amperes", 1e-3),
    ("temperature", "module_temperature_celsius", 1.0),
    ("voltage", "module_supply_volts", 1.0),
)

STATE_FIELDS: Final = (
    ("oper_status", "link_up", 1.0),
    ("admin_status", "admin_up", 1.0),
    ("mtu", "mtu_bytes", 1.0),
    ("speed", "port_rate_bytes_per_second", 1.25e5),
    ("fec", "fec_mode", 1.0),
    ("flap_count", "carrier_changes_total", 1.0),
)

_SCHEMA: Final = schema_of(
    {"key": pl.String, "signal": pl.String, "factor": pl.Float64, "part": pl.String}
)


def sai_fields() -> pl.DataFrame:
    """Return one row a field under object identifiers; `part` is null for a port's own."""
    rows = [(f"SAI_PORT_STAT_{name}", *rest) for name, *rest in _PORT]
    rows.append(
        (
            "SAI_PORT_STAT_PFC_N_RX_PAUSE_DURATION",
            "pause_received_seconds_total",
            _MICRO,
            "priority",
        )
    )
    rows += [(f"SAI_QUEUE_STAT_{name}", signal, 1.0, "") for name, signal in _QUEUE]
    prefix = "SAI_INGRESS_PRIORITY_GROUP_STAT_"
    rows += [(f"{prefix}{name}", signal, 1.0, "") for name, signal in _GROUP]
    rows += [(name, signal, 1.0, "") for name, signal in _RATES]
    table = pl.DataFrame(rows, schema=_SCHEMA, orient="row")
    return table.with_columns(part=pl.when(pl.col("part") != "").then("part"))
