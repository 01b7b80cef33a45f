"""Time slices: short stretches of the period that are each judged, or weighed, as one.

Source: OpenSLO v1, `timeSliceTarget` and `timeSliceWindow`. Slices lie on absolute multiples of
their length, so that two evaluations never cut time differently. The slice that is still open
counts for nothing.
"""

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

MIN_SLICE_SECONDS: Final = 60


class EmptySlice(StrEnum):
    """What a slice without any event counts as; it belongs beside every result."""

    EXCLUDED = "excluded"
    """Nothing was asked, so nothing was promised: the slice is not counted at all."""
    GOOD = "good"
    """Nobody was hurt."""
    BAD = "bad"
    """There should have been events: silence is the failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slices:
    """How a period is cut.

    Attributes:
        seconds: Length of a slice; whole minutes.
        target_ratio: Share of good events (0-1) below which a slice is bad; null where slices are
            averaged and not judged.
        empty: What a slice without events counts as.
    """

    seconds: int = 60
    target_ratio: Decimal | None = None
    empty: EmptySlice = EmptySlice.EXCLUDED

    def __post_init__(self) -> None:
        """Refuse a slice that does not lie on the minute, and a target that is no share."""
        if self.seconds < MIN_SLICE_SECONDS or self.seconds % MIN_SLICE_SECONDS:
            raise ValueError(f"a slice lasts whole minutes, found {self.seconds} s; try 60")
        if self.target_ratio is not None and not 0 < self.target_ratio <= 1:
            raise ValueError(
                f"a slice's target is above 0 and at most 1, found {self.target_ratio}; try 0.95"
            )
