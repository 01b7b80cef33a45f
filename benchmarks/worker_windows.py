"""Score windows of slow workers: F1 over (worker, window), with a tolerance at both ends."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from detectors.attribution import SLOW_KINDS
from detectors.verdicts import Verdict

STEPS_A_SAMPLE: Final = 10
"""The tables of workers tell every tenth step."""

TOLERANCE_SAMPLES: Final = 10


@dataclass(frozen=True, slots=True)
class Window:
    """When a worker was slow: its first slow step, and its last."""

    worker: int
    first: int
    last: int

    def fits(self, other: "Window") -> bool:
        """Return whether both mean the same worker and, within the tolerance, the same ends."""
        ends = (abs(self.first - other.first), abs(self.last - other.last))
        return self.worker == other.worker and max(ends) <= TOLERANCE_SAMPLES * STEPS_A_SAMPLE


def windows_of(verdicts: Iterable[Verdict], last_step: int) -> list[Window]:
    """Return the workers that are called slow, with their windows.

    Args:
        verdicts: Of one table.
        last_step: Of the table: where a stretch ends that never cleared.
    """
    return [
        Window(
            one.subject.rank,
            one.onset_step or 1,
            last_step if one.cleared_step is None else one.cleared_step - STEPS_A_SAMPLE,
        )
        for one in verdicts
        if one.kind in SLOW_KINDS and one.subject.rank is not None
    ]


def hits(found: Sequence[Window], truth: Sequence[Window]) -> int:
    """Return how many true windows are found, each found one used once."""
    left, count = list(found), 0
    for one in truth:
        match = next((other for other in left if one.fits(other)), None)
        if match is not None:
            left.remove(match)
            count += 1
    return count


def f1_score(hit: int, found: int, true: int) -> float:
    """Return F1; 1 where there was nothing to find and nothing was found."""
    return 2.0 * hit / (found + true) if found + true else 1.0
