"""Tell of strangers that talk to the ports of the bootstrap: scanners, or another job.

Source: methods of the NCCL and PyTorch reference, sections 4.3 and 12.6. They harm nobody and no
rank is at fault, but whoever reads the log takes their traces for a peer that died.
"""

from typing import Final

import polars as pl

from detectors.faults import is_hard_fault
from detectors.quotes import quoted
from detectors.verdicts import Evidence, Subject, Verdict

_MAX_NAMED: Final = 8


def find_visitors(events: pl.DataFrame) -> list[Verdict]:
    """Return one verdict on all strangers that knocked.

    Args:
        events: `EVENTS` of one run; `stray_visitor` tells of them, by address or by their greeting.
    """
    rows = (
        events.filter(pl.col("kind") == "stray_visitor")
        .sort("time", "source", "position", nulls_last=True)
        .to_dicts()
    )
    addresses = sorted({row["peer"] for row in rows if row["peer"]})
    greetings = sorted({row["code"] for row in rows if row["code"]})
    named = [*addresses, *(f"says {greeting!r}" for greeting in greetings)]
    hurt = events.filter(is_hard_fault() | pl.col("severity").is_in(["error", "critical"])).height
    times = [row["time"] for row in rows if row["time"]]
    words = ", ".join(named[:_MAX_NAMED]) or "a stranger"
    return [
        Verdict(
            kind="config_drift",
            level="job",
            subject=Subject(),
            confidence="medium" if hurt else "high",
            cause="stray_visitor",
            onset=min(times, default=None),
            detected=min(times, default=None),
            evidence=(
                Evidence(source="stray_visitor", what=f"outside of the job: {words}"),
                *(quoted(row) for row in rows[:_MAX_NAMED]),
            ),
            alternatives=tuple(f"outside: {one}" for one in named[:_MAX_NAMED]),
            action="keep scanners and other jobs off the bootstrap ports; no rank is at fault",
        )
        for _ in rows[:1]
    ]
