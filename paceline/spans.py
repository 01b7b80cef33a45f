"""When the data of a reading ends."""

from datetime import datetime
from typing import Final, cast

from collectors.readings import Reading

TIMED: Final = (
    ("steps", "end_time"),
    ("samples", "time"),
    ("events", "time"),
    ("collectives", "time"),
    ("transfers", "time"),
)
"""Frames with a clock, and the column that holds it."""


def end_of_data(reading: Reading) -> datetime | None:
    """Return the newest time of any source; null when none has a clock."""
    times = [cast("datetime | None", reading.frame(name)[at].max()) for name, at in TIMED]
    return max((time for time in times if time is not None), default=None)


def end_of_only_run(reading: Reading) -> datetime | None:
    """Return the end of the data when they are about a single run; null otherwise.

    With several runs side by side, one that was over long before the others is not silent.
    """
    runs = reading.steps["run"].unique()
    return end_of_data(reading) if runs.len() == 1 else None
