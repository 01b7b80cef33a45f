"""When a target is scraped, which scrapes are lost, and which find the values of the one before."""

from dataclasses import dataclass

import numpy as np

from paceline.simulation.draws import Bools, Floats, Ints, stream
from paceline.simulation.machine import EPOCH_SECONDS
from paceline.simulation.plan import Plan

_JITTER_SECONDS = 0.02
_FIRST_SECONDS = 60.0
"""Scrapes begin when the job's processes are up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrapes:
    """The scrapes of one target.

    Attributes:
        seconds: By scrape, when the exporter was asked, after the epoch.
        kept: By scrape, whether it was recorded; the first always is.
        source_rows: By scrape, the scrape whose values it found: its own, or the one before.
    """

    seconds: Floats
    kept: Bools
    source_rows: Ints

    @property
    def times_ms(self) -> Ints:
        """By scrape, epoch milliseconds."""
        return np.rint((EPOCH_SECONDS + self.seconds) * 1000).astype(np.int64)


def plan_scrapes(plan: Plan, target: str, interval_seconds: float) -> Scrapes:
    """Return the scrapes of a target over the recording.

    Args:
        plan: The simulation.
        target: Name of what is scraped; each has its own phase and losses.
        interval_seconds: Between two scrapes.
    """
    draw = stream(plan.seed, f"scrapes {target}")
    first = min(_FIRST_SECONDS, plan.duration_seconds / 2) + draw.uniform(0.0, interval_seconds)
    count = int((plan.duration_seconds - first) / interval_seconds)
    rows = np.arange(count)
    lost = draw.random(count) < plan.params.missing_ratio
    repeated = draw.random(count) < plan.params.repeated_ratio
    jitter = draw.uniform(-_JITTER_SECONDS, _JITTER_SECONDS, size=count)
    return Scrapes(
        seconds=first + rows * interval_seconds + jitter,
        kept=~lost | (rows == 0),
        source_rows=np.maximum(rows - repeated, 0),
    )
