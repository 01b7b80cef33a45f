"""Port counters by the names that InfiniBand tools print: what they count, how wide, in what unit.

Tools spell one counter in many ways (`PortXmitData`, `port_xmit_data`, `PortXmitDataExtended`,
`SymbolErrorCounterExt`): without case, underscores and the mark of the wide form they are one key.
Source: linux-rdma/rdma-core `libibmad/fields.c` and `infiniband-diags/perfquery.c`, Linux
`drivers/infiniband/core/sysfs.c`; UFM telemetry fields (Mellanox/ufm_sdk_3.0).
"""

from typing import Final

import polars as pl

from collectors.ethernet.rdma_fields import rdma_fields
from collectors.frames import schema_of
from collectors.infiniband.port_fields import COUNTERS, WORD_BYTES

WIDE_BITS: Final = 64

PORT_COUNTERS: Final = schema_of(
    {"key": pl.String, "signal": pl.String, "bits": pl.Int32, "factor": pl.UInt64}
)
"""One spelling of a counter without case and underscores; `bits` is its classic width."""

_MORE: Final = (
    ("portinactivediscards", "inactive_discards_total", 16),
    ("portneighbormtudiscards", "neighbor_mtu_discards_total", 16),
    ("portswlifetimelimitdiscards", "lifetime_discards_total", 16),
    ("portswhoqlifetimelimitdiscards", "head_of_queue_discards_total", 16),
    ("portlocalphysicalerrors", "local_physical_errors_total", 16),
    ("portmalformedpkterrors", "malformed_packet_errors_total", 16),
    ("portmalformedpacketerrors", "malformed_packet_errors_total", 16),
    ("portbufferoverrunerrors", "port_buffer_overrun_errors_total", 16),
    ("portdlidmappingerrors", "dlid_mapping_errors_total", 16),
    ("portvlmappingerrors", "vl_mapping_errors_total", 16),
    ("portloopingerrors", "looping_errors_total", 16),
    ("qp1dropped", "qp1_dropped_total", 16),
    ("portunicastxmitpkts", "unicast_transmitted_packets_total", 64),
    ("portunicastrcvpkts", "unicast_received_packets_total", 64),
    ("portmulticastxmitpkts", "multicast_transmitted_packets_total", 64),
    ("portmulticastrcvpkts", "multicast_received_packets_total", 64),
    ("unicastxmitpackets", "unicast_transmitted_packets_total", 64),
    ("unicastrcvpackets", "unicast_received_packets_total", 64),
    ("multicastxmitpackets", "multicast_transmitted_packets_total", 64),
    ("multicastrcvpackets", "multicast_received_packets_total", 64),
    ("portfeccorrectableblockctr", "fec_corrected_codewords_total", 64),
    ("portfecuncorrectableblockctr", "fec_uncorrected_codewords_total", 64),
    ("portfeccorrectedsymbolctr", "fec_symbol_errors_total", 64),
    ("syncheadererrorcounter", "sync_header_errors_total", 64),
    ("unknownblockcounter", "unknown_blocks_total", 64),
    ("symbolerrors", "symbol_errors_total", 64),
    ("effectiveerrors", "effective_errors_total", 64),
    ("rawerrors", "raw_errors_total", 64),
    ("linkdown", "link_downed_total", 64),
    ("linkdownib", "link_downed_total", 64),
)
"""Counters and spellings beside those of the exporters: detail sets, error correction, UFM."""

_SYSFS: Final = {
    "portxmitpackets": "portxmitpkts",
    "portrcvpackets": "portrcvpkts",
    "symbolerror": "symbolerrorcounter",
    "linkerrorrecovery": "linkerrorrecoverycounter",
    "linkdowned": "linkdownedcounter",
}
"""The kernel's spelling, to the tools'."""


def port_counters() -> pl.DataFrame:
    """Return `PORT_COUNTERS`, one row a spelling."""
    rows: list[tuple[str, str, int, int]] = []
    for counter in COUNTERS:
        if counter.guilbaults:
            key = counter.guilbaults.removesuffix("_total")
            words = WORD_BYTES if counter.signal.endswith("_bytes_total") else 1
            bits = 32 if counter.bits == WIDE_BITS else counter.bits
            rows.append((key, counter.signal, bits, words))
    by_key = {row[0]: row for row in rows}
    rows += [(kernel, *by_key[tool][1:]) for kernel, tool in _SYSFS.items()]
    rows += [(key, signal, bits, 1) for key, signal, bits in _MORE]
    hardware = rdma_fields().filter(pl.col("factor") == 1).with_columns(counter_key(pl.col("key")))
    rows += [(key, signal, WIDE_BITS, 1) for key, signal, _ in hardware.rows()]
    return pl.DataFrame(rows, schema=PORT_COUNTERS, orient="row")


def counter_key(name: pl.Expr) -> pl.Expr:
    """Return a counter's key: its name without case, underscores and the mark of the wide form."""
    plain = name.str.to_lowercase().str.replace_all("_", "", literal=True)
    return (
        plain.str.replace(r"(?:extended|ext)$", "")
        .str.replace(r"counter$", "ctr")
        .replace(_COUNTER_KEYS)
    )


_COUNTER_KEYS: Final = {
    "symbolerrorctr": "symbolerrorcounter",
    "linkerrorrecoveryctr": "linkerrorrecoverycounter",
    "linkdownedctr": "linkdownedcounter",
    "syncheadererrorctr": "syncheadererrorcounter",
    "unknownblockctr": "unknownblockcounter",
}
"""Block counters end in `Ctr` or `Counter`, whoever prints them; these only in the latter."""


def is_wide_name(name: pl.Expr) -> pl.Expr:
    """Return whether a counter's name says that it has 64 bits."""
    return name.str.to_lowercase().str.contains(r"(?:extended|ext)$")
