"""Find NICs whose PCIe link errs: a fault of the host, whatever the network shows.

Source: Linux kernel documentation of mlx5 counters (`rx_pci_signal_integrity`,
`tx_pci_signal_integrity`): CRC errors and recoveries of the PCIe link, transparent to the traffic
until they are many.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric
from detectors.growth import SpellParams, bad_spells, of_spell, port_growth
from detectors.link_words import counted_evidence, row_end
from detectors.verdicts import Subject, Verdict, verdict_frame

_SIGNALS: Final = ("pci_receive_integrity_errors_total", "pci_transmit_integrity_errors_total")


@dataclass(frozen=True, slots=True, kw_only=True)
class BusErrorParams:
    """When a PCIe link errs too much.

    Attributes:
        spells: What lasts.
        max_hourly: Errors an hour beyond which it is said; ours: a sound link has none for days.
    """

    spells: SpellParams = field(default_factory=SpellParams)
    max_hourly: float = 60.0


def find_bus_errors(fabric: Fabric, params: BusErrorParams) -> pl.DataFrame:
    """Return the NICs whose PCIe link errs.

    Args:
        fabric: Counters of NICs; a NIC that does not count errors of its bus says nothing.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind degrading and cause `pcie_errors`, one row a spell of a NIC. Partition
        key: fabric.
    """
    growth = port_growth(fabric.intervals, _SIGNALS, params.spells.bin_seconds)
    bad = growth.filter(pl.col("rate") * 3600.0 > params.max_hourly)
    rows = bad_spells(bad, growth, params.spells).to_dicts()
    return verdict_frame(_verdict(row, growth) for row in rows)


def _verdict(row: dict[str, Any], growth: pl.DataFrame) -> Verdict:
    near = row_end(row)
    return Verdict(
        kind="degrading",
        level="nic",
        subject=Subject(host=near[0], device=near[1]),
        onset=row["onset"],
        onset_before_data=row["from_start"],
        detected=row["detected"],
        cleared=row["cleared"],
        cause="pcie_errors",
        confidence="low" if row["brief"] else "medium",
        evidence=counted_evidence(of_spell(growth, row), near, row["onset"]),
        action="reseat the NIC, then swap slot and riser of this host; the cables are sound",
    )
