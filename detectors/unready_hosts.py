"""Find hosts that are not ready to receive: software without buffers, no matter of the fabric.

Source: fabric reference, sections 3.5, 3.6 and 6.2 (H). A NIC that finds no posted buffer drops or
asks the sender to try again; neither says anything about a link.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric
from detectors.growth import SpellParams, bad_spells, of_spell, port_growth
from detectors.link_words import counted_evidence, row_end
from detectors.verdicts import Subject, Verdict, verdict_frame

_SIGNALS: Final = ("out_of_buffer_total", "receiver_not_ready_sent_total")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadyParams:
    """When a host is not ready.

    Attributes:
        spells: What lasts.
        min_per_second: Packets without a buffer; ours, since a few are normal.
        min_peer_ratio: Ratio to the median NIC.
    """

    spells: SpellParams = field(default_factory=SpellParams)
    min_per_second: float = 10.0
    min_peer_ratio: float = 10.0


def find_unready_hosts(fabric: Fabric, params: UnreadyParams) -> pl.DataFrame:
    """Return the hosts whose software does not post buffers fast enough.

    Args:
        fabric: Counters of NICs.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind congestion and cause `receiver_not_ready`, one row a spell of a NIC, of
        low confidence: the application may mean it. Partition key: fabric.
    """
    growth = port_growth(fabric.intervals, _SIGNALS, params.spells.bin_seconds)
    peers = ["signal", "bin"]
    others = pl.len().over(peers) > 2  # noqa: PLR2004 -- with two NICs the median is half the culprit's
    usual = pl.when(others).then(pl.col("rate").median().over(peers)).otherwise(0.0)
    bad = growth.filter(
        pl.col("rate") >= params.min_per_second, pl.col("rate") > usual * params.min_peer_ratio
    )
    rows = bad_spells(bad, growth, params.spells).to_dicts()
    return verdict_frame(_verdict(row, growth) for row in rows)


def _verdict(row: dict[str, Any], growth: pl.DataFrame) -> Verdict:
    host, port = row_end(row)
    return Verdict(
        kind="congestion",
        level="host",
        subject=Subject(host=host, device=port),
        onset=row["onset"],
        onset_before_data=row["from_start"],
        detected=row["detected"],
        cleared=row["cleared"],
        cause="receiver_not_ready",
        confidence="low",
        evidence=counted_evidence(of_spell(growth, row), (host, port), row["onset"]),
        action="look at the application and its receive queues on this host; not at the fabric",
        needed="what the processes of this host did meanwhile",
    )
