"""From positions on a panel's tick axis to times and steps that people can look up."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import polars as pl

from detectors.episodes import Episode
from detectors.panels import Ints

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNKNOWN: Final = np.iinfo(np.int64).min


def moment(microseconds: int) -> datetime:
    """Return microseconds since the epoch as a time."""
    return _EPOCH + timedelta(microseconds=microseconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What the ticks of a panel mean.

    Attributes:
        ticks: The panel's ticks: step numbers, or microseconds since the epoch.
        ends: When each tick ended, in microseconds since the epoch; the least integer is unknown.
        counts_steps: Whether the ticks are training steps.
    """

    ticks: Ints
    ends: Ints
    counts_steps: bool

    def span(self, episode: Episode) -> dict[str, Any]:
        """Return the time fields of a verdict for a stretch of this timeline.

        A stretch that begins with the data has no onset, and is marked so.
        """
        first, past = episode.start == 0, episode.stop >= self.ticks.size
        steps = {
            "onset_step": None if first else int(self.ticks[episode.start]),
            "cleared_step": None if past else int(self.ticks[episode.stop]),
        }
        times = {
            "onset": None if first else self.begin_of(episode.start),
            "onset_before_data": first,
            "detected": self.end_of(episode.detected),
            "cleared": None if past else self.end_of(episode.stop - 1),
        }
        return times | steps if self.counts_steps else times

    def begin_of(self, at: int) -> datetime | None:
        """Return when a tick began: a step with the end of the one before, a scrape by its time."""
        return self.end_of(at - 1) if self.counts_steps else moment(int(self.ticks[at]))

    def end_of(self, at: int) -> datetime | None:
        """Return when a tick ended; null where that is not known."""
        return None if self.ends[at] == _UNKNOWN else moment(int(self.ends[at]))


def step_timeline(rows: pl.DataFrame, ticks: Ints) -> Timeline:
    """Return the timeline of training steps.

    Args:
        rows: Columns `step` and `end_time`, one row a rank's step; a null time is not known.
        ticks: The panel's steps.

    Returns:
        The timeline; a step ends at the median of its ranks' ends, so one wrong clock is outvoted.
    """
    ends = (
        pl.DataFrame({"step": ticks}, schema={"step": pl.Int64})
        .join(
            rows.group_by("step").agg(pl.col("end_time").median()),
            on="step",
            how="left",
            maintain_order="left",
        )["end_time"]
        .cast(pl.Int64)
        .fill_null(_UNKNOWN)
    )
    return Timeline(ticks=ticks, ends=ends.to_numpy().astype(np.int64), counts_steps=True)


def clock_timeline(ticks: Ints, width: int) -> Timeline:
    """Return the timeline of ticks that are times already.

    Args:
        ticks: Starts of the ticks, in microseconds since the epoch.
        width: Their width in microseconds.
    """
    return Timeline(ticks=ticks, ends=ticks + width, counts_steps=False)
