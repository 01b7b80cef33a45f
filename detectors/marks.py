"""Find congestion control that does not work: marks nobody answers, notices nobody heeds.

Source: fabric reference, sections 3.6 and 6.3. Marks and notices alone are congestion control at
work. Notices may grow while some firmware counts no marks, so that is no finding either.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from detectors.fabric import Fabric
from detectors.growth import PORT, SpellParams, bad_spells, port_growth
from detectors.link_words import end_text, row_end
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

_MARKED: Final = "ecn_marked_packets_total"
_ANSWERED: Final = "cnp_sent_total"
_IGNORED: Final = "cnp_ignored_total"

_WORDS: Final = {
    "cnp_ignored": "ignores congestion notices: congestion control is off on that priority",
    "marks_unanswered": "receives marks and sends no notice: its notification point is off",
}

_ACTIONS: Final = {
    "cnp_ignored": "switch congestion control on for the RDMA priority of this NIC",
    "marks_unanswered": "switch the notification point on for the RDMA priority of this NIC",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkParams:
    """When congestion control does not work.

    Attributes:
        spells: What lasts.
        min_ignored_per_second: Notices ignored; ours.
        min_marked_per_second: Marks without any notice; ours.
    """

    spells: SpellParams = field(default_factory=SpellParams)
    min_ignored_per_second: float = 1.0
    min_marked_per_second: float = 10.0


def find_mark_faults(fabric: Fabric, params: MarkParams) -> pl.DataFrame:
    """Return the NICs whose congestion control does not work.

    Args:
        fabric: Marks and notices of NICs; a NIC that does not count notices is not accused.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind config_drift: cause `cnp_ignored` or `marks_unanswered`, one row a spell
        of a NIC. Partition key: fabric.
    """
    signals = (_MARKED, _ANSWERED, _IGNORED)
    growth = port_growth(fabric.intervals, signals, params.spells.bin_seconds)
    of = {name: growth.filter(pl.col("signal") == name) for name in signals}
    silent = of[_ANSWERED].group_by(PORT).agg(pl.col("grown").sum()).filter(pl.col("grown") == 0)
    bad = {
        "cnp_ignored": of[_IGNORED].filter(pl.col("rate") >= params.min_ignored_per_second),
        "marks_unanswered": of[_MARKED]
        .filter(pl.col("rate") >= params.min_marked_per_second)
        .join(silent, on=PORT, how="semi"),
    }
    return verdict_frame(
        _verdict(row, cause)
        for cause, bins in bad.items()
        for row in bad_spells(bins, growth, params.spells).to_dicts()
    )


def _verdict(row: dict[str, Any], cause: str) -> Verdict:
    host, port = row_end(row)
    seen = Evidence(source=end_text((host, port)), time=row["onset"], what=_WORDS[cause])
    return Verdict(
        kind="config_drift",
        level="nic",
        subject=Subject(host=host, device=port),
        onset=row["onset"],
        onset_before_data=row["from_start"],
        detected=row["detected"],
        cleared=row["cleared"],
        cause=cause,
        confidence="low" if row["brief"] else "medium",
        evidence=(seen,),
        action=_ACTIONS[cause],
    )
