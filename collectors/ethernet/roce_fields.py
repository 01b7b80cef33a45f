"""Which counter of a RoCE NIC is which signal: mlx5 `ethtool -S`, RDMA hardware counters, E810.

Source: Linux kernel documentation of mlx5 counters, prometheus/node_exporter `ethtool_linux.go`
(words `rx` and `tx` become `received` and `transmitted`) and `infiniband_linux.go` (hardware
counters since 1.11). Received and sent stay apart: a pause received is the network's doing, a
pause sent is this host's.
"""

import re
from typing import Final

import polars as pl

from collectors.ethernet.ethtool_fields import STATISTICS
from collectors.frames import schema_of


def _exported(name: str) -> str:
    """Return node_exporter's name of a statistic: words spelled out, odd signs underscores."""
    spelled = re.sub(
        r"(^|_)rx(?=_)", r"\1received", re.sub(r"(^|_)tx(?=_)", r"\1transmitted", name)
    )
    return re.sub(r"[^A-Za-z0-9_]", "_", spelled)


ETHTOOL: Final = tuple((_exported(name), signal, factor) for name, signal, factor in STATISTICS)
"""node_exporter's name after `node_ethtool_`, signal, factor; N is a priority or lane. Several of
one interface are one signal: their sum."""

TYPED: Final = "node_net_ethtool"
"""The one metric of Showmax/prometheus-ethtool-exporter: the label `type` names the statistic."""

_NUMBERED: Final = r"(prio|priority_|lane_)\d"

HARDWARE: Final = (
    (
        "np_ecn_marked_roce_packets_received_total",
        "np_ecn_marked_roce_packets",
        "ecn_marked_packets",
    ),
    ("np_cnp_packets_sent_total", "np_cnp_sent", "cnp_sent"),
    ("rp_cnp_packets_handled_total", "rp_cnp_handled", "cnp_handled"),
    ("rp_cnp_ignored_packets_received_total", "rp_cnp_ignored", "cnp_ignored"),
    ("out_of_sequence_packets_received_total", "out_of_sequence", "out_of_sequence_packets"),
    ("packet_sequence_errors_total", "packet_seq_err", "packet_sequence_errors"),
    ("local_ack_timeout_errors_total", "local_ack_timeout_err", "ack_timeouts"),
    ("roce_adp_retransmits_total", "roce_adp_retrans", "adaptive_retransmits"),
    ("roce_slow_restart_total", "roce_slow_restart", "slow_restarts"),
    ("rnr_nak_retry_packets_received_total", "rnr_nak_retry_err", "receiver_not_ready"),
    ("out_of_buffer_drops_total", "out_of_buffer", "out_of_buffer"),
    ("duplicate_requests_packets_total", "duplicate_request", "duplicate_requests"),
    ("implied_nak_seq_errors_total", "implied_nak_seq_err", "implied_sequence_errors"),
    ("rx_icrc_encapsulated_errors_total", "rx_icrc_encapsulated", "end_to_end_crc_errors"),
    ("", "req_remote_invalid_request", "remote_invalid_requests"),
    ("", "resp_local_length_error", "local_length_errors"),
)
"""node_exporter's name after `node_infiniband_`, the kernel's file, signal without `_total`."""

ROCE_FIELDS: Final = schema_of(
    {"name": pl.String, "signal": pl.String, "factor": pl.Float64, "exporter": pl.String}
)


def roce_fields(names: pl.Series) -> pl.DataFrame:
    """Return `ROCE_FIELDS` of those of `names` that are counters of RoCE NICs.

    Args:
        names: Metric names.

    Returns:
        One row a name; `exporter` is ethtool, typed (Showmax's, its statistic behind `TYPED`),
        node (its hardware counters) or rdma (the kernel's file names behind `rdma_`, as
        oracle-quickstart/oci-hpc exposes them).
    """
    rows = [(f"node_ethtool_{name}", *rest, "ethtool") for name, *rest in ETHTOOL]
    rows += [(f"{TYPED}/{name}", *rest, "typed") for name, *rest in STATISTICS]
    for node, kernel, signal in HARDWARE:
        rows.append((f"rdma_{kernel}", f"{signal}_total", 1.0, "rdma"))
        if node:
            rows.append((f"node_infiniband_{node}", f"{signal}_total", 1.0, "node"))
    table = pl.DataFrame(rows, schema=ROCE_FIELDS, orient="row").rename({"name": "key"})
    name = pl.col("name")
    short = pl.when(name.str.starts_with("node_ethtool_")).then(name.str.strip_suffix("_total"))
    key = pl.coalesce(short, name).str.replace(_NUMBERED, "${1}N")
    known = names.unique().to_frame("name").with_columns(key=key)
    return known.join(table, on="key").select(ROCE_FIELDS.names())
