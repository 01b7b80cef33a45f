"""How long noise alone takes to alarm the FOCuS screen (`python -m benchmarks.focus_thresholds`).

SIMULATED: independent Gaussian scores with a fixed seed. Prints, for each level of the statistic,
the mean ticks to a first alarm: what `FOCUS_THRESHOLDS` of detectors/focus.py holds.
"""

from typing import Final

import numpy as np

from detectors.focus import focus_statistics
from detectors.panels import Floats, Ints

LEVELS: Final = (4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0)
SEED: Final = 20230601
BATCHES: Final = 24
SERIES: Final = 2048
TICKS: Final = 2000


def main() -> None:
    """Print a level and its mean ticks to a first alarm on each line."""
    random = np.random.default_rng(SEED)
    seen, alarms = np.zeros(len(LEVELS)), np.zeros(len(LEVELS))
    for _ in range(BATCHES):
        statistics = focus_statistics(random.normal(size=(SERIES, TICKS)))
        for at, level in enumerate(LEVELS):
            waited, count = _first_alarms(statistics, level)
            seen[at] += waited
            alarms[at] += count
    for level, ticks, count in zip(LEVELS, seen, alarms, strict=True):
        print(f"{level:5.1f} {ticks / max(count, 1.0):12.0f} ticks, {count:.0f} alarms")


def _first_alarms(statistics: Floats, level: float) -> tuple[float, float]:
    """Return the ticks waited for first alarms, cut at the end, and how many came."""
    over = statistics > level
    came = over.any(axis=1)
    first: Ints = np.where(came, over.argmax(axis=1) + 1, statistics.shape[1])
    return float(first.sum()), float(came.sum())


if __name__ == "__main__":
    main()
