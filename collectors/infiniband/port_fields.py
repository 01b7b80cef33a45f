"""Which metric of which exporter is which counter of a port, and how wide that counter is.

Source: linux-rdma/rdma-core `libibmad/fields.c` (names and widths), prometheus/node_exporter
`infiniband_linux.go`, treydock/infiniband_exporter, guilbaults/infiniband-exporter. InfiniBand
counters stop at all ones. sysfs reads error counters in their classic width even where wide ones
exist, so the narrow tops hold for everything that is built on it.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import schema_of

WORD_BYTES: Final = 4
"""Data counters count words of four bytes, whatever the number of lanes."""

ACTIVE: Final = 4
"""The state of a port that carries traffic; in others its width and rate are leftovers."""

TOP_64: Final = float(2**64 - 1)


@dataclass(frozen=True, slots=True)
class Counter:
    """One InfiniBand port counter.

    Attributes:
        signal: Our name for it.
        bits: Its classic width.
        node: node_exporter's name after `node_infiniband_`; empty if it has none.
        treydock: treydock's name after `infiniband_switch_` or `infiniband_hca_`.
        guilbaults: guilbaults' name after `infiniband_`; empty if it has none.
    """

    signal: str
    bits: int
    node: str
    treydock: str
    guilbaults: str


def _counter(signal: str, bits: int, *names: str) -> Counter:
    node, treydock, guilbaults = (f"{name}_total" if name else "" for name in names)
    return Counter(signal, bits, node, treydock, guilbaults)


COUNTERS: Final = (
    _counter(
        "transmitted_bytes_total",
        64,
        "port_data_transmitted_bytes",
        "port_transmit_data_bytes",
        "portxmitdata",
    ),
    _counter(
        "received_bytes_total",
        64,
        "port_data_received_bytes",
        "port_receive_data_bytes",
        "portrcvdata",
    ),
    _counter(
        "transmitted_packets_total",
        64,
        "port_packets_transmitted",
        "port_transmit_packets",
        "portxmitpkts",
    ),
    _counter(
        "received_packets_total", 64, "port_packets_received", "port_receive_packets", "portrcvpkts"
    ),
    _counter("symbol_errors_total", 16, "symbol_error", "port_symbol_error", "symbolerrorcounter"),
    _counter(
        "link_error_recoveries_total",
        8,
        "link_error_recovery",
        "port_link_error_recovery",
        "linkerrorrecoverycounter",
    ),
    _counter("link_downed_total", 8, "link_downed", "port_link_downed", "linkdownedcounter"),
    _counter(
        "receive_errors_total", 16, "port_errors_received", "port_receive_errors", "portrcverrors"
    ),
    _counter(
        "remote_physical_errors_total",
        16,
        "port_receive_remote_physical_errors",
        "port_receive_remote_physical_errors",
        "portrcvremotephysicalerrors",
    ),
    _counter(
        "switch_relay_errors_total",
        16,
        "port_receive_switch_relay_errors",
        "port_receive_switch_relay_errors",
        "portrcvswitchrelayerrors",
    ),
    _counter(
        "transmit_discards_total",
        16,
        "port_discards_transmitted",
        "port_transmit_discards",
        "portxmitdiscards",
    ),
    _counter(
        "transmit_constraint_errors_total",
        8,
        "port_constraint_errors_transmitted",
        "port_transmit_constraint_errors",
        "portxmitconstrainterrors",
    ),
    _counter(
        "receive_constraint_errors_total",
        8,
        "port_constraint_errors_received",
        "port_receive_constraint_errors",
        "portrcvconstrainterrors",
    ),
    _counter(
        "local_link_integrity_errors_total",
        4,
        "local_link_integrity_errors",
        "port_local_link_integrity_errors",
        "locallinkintegrityerrors",
    ),
    _counter(
        "buffer_overrun_errors_total",
        4,
        "excessive_buffer_overrun_errors",
        "port_excessive_buffer_overrun_errors",
        "excessivebufferoverrunerrors",
    ),
    _counter("vl15_dropped_total", 16, "vl15_dropped", "port_vl15_dropped", "vl15dropped"),
    _counter("qp1_dropped_total", 16, "", "port_qp1_dropped", ""),
    _counter(
        "transmit_wait_ticks_total", 32, "port_transmit_wait", "port_transmit_wait", "portxmitwait"
    ),
    _counter("local_physical_errors_total", 16, "", "port_local_physical_errors", ""),
    _counter("malformed_packet_errors_total", 16, "", "port_malformed_packet_errors", ""),
    _counter("port_buffer_overrun_errors_total", 16, "", "port_buffer_overrun_errors", ""),
    _counter("dlid_mapping_errors_total", 16, "", "port_dli_mapping_errors", ""),
    _counter("vl_mapping_errors_total", 16, "", "port_vl_mapping_errors", ""),
    _counter("looping_errors_total", 16, "", "port_looping_errors", ""),
    _counter("dlid_mapping_errors_total", 16, "", "port_dlid_mapping_errors", ""),
    _counter("unicast_transmitted_packets_total", 64, "", "port_unicast_transmit_packets", ""),
    _counter("unicast_received_packets_total", 64, "", "port_unicast_receive_packets", ""),
    _counter("multicast_transmitted_packets_total", 64, "", "port_multicast_transmit_packets", ""),
    _counter("multicast_received_packets_total", 64, "", "port_multicast_receive_packets", ""),
)

PORT_FIELDS: Final = schema_of(
    {
        "name": pl.String,
        "signal": pl.String,
        "factor": pl.Float64,
        "top": pl.Float64,
        "exporter": pl.String,
    }
)


def port_fields() -> pl.DataFrame:
    """Return `PORT_FIELDS`: one row a metric of InfiniBand ports.

    Returns:
        `exporter` is node, treydock or guilbaults; the factor of treydock's data counters is
        null, since their unit is that of the exporter's version.
    """
    rows: list[tuple[str, str, float | None, float, str]] = [
        ("node_infiniband_state_id", "port_state", 1.0, TOP_64, "node"),
        ("node_infiniband_physical_state_id", "port_physical_state", 1.0, TOP_64, "node"),
        ("node_infiniband_rate_bytes_per_second", *_rate("node")),
        ("infiniband_switch_port_rate_bytes_per_second", *_rate("treydock")),
        ("infiniband_hca_port_rate_bytes_per_second", *_rate("treydock")),
        ("infiniband_hca_rate_bytes_per_second", *_rate("treydock")),
        ("infiniband_speed", "lane_rate_bytes_per_second", 1.25e8, TOP_64, "guilbaults"),
        ("infiniband_width", "link_width_lanes", 1.0, TOP_64, "guilbaults"),
        ("infiniband_switch_port_state", "link_up", 1.0, TOP_64, "treydock"),
    ]
    for counter in COUNTERS:
        top = float(2**counter.bits - 1)
        is_data = counter.signal.endswith("_bytes_total")
        words = float(WORD_BYTES) if is_data else 1.0
        by_version = None if is_data else 1.0
        if counter.node:
            rows.append((f"node_infiniband_{counter.node}", counter.signal, 1.0, top, "node"))
        if counter.guilbaults:
            name = f"infiniband_{counter.guilbaults}"
            rows.append((name, counter.signal, words, top, "guilbaults"))
        for kind in ("switch", "hca"):
            name = f"infiniband_{kind}_{counter.treydock}"
            rows.append((name, counter.signal, by_version, top, "treydock"))
    return pl.DataFrame(rows, schema=PORT_FIELDS, orient="row")


def _rate(exporter: str) -> tuple[str, float, float, str]:
    return ("port_rate_bytes_per_second", 1.0, TOP_64, exporter)
