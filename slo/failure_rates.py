"""How often things fail, as far as the failures that were seen can tell.

Source: F. Garwood, "Fiducial limits for the Poisson distribution" (1936): the exact interval of a
count, by the inverse of the incomplete gamma function (the quantile of chi-squared is twice it).
Where nothing failed there is no estimate: only a rate that would have shown by now.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import gammaincinv

from slo.reliability import NODE_DAYS

COVERAGE: Final = 0.95
"""Of the interval that is told, where nobody asks for another."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureRate:
    """A rate with its interval; per unit of the exposure.

    Attributes:
        count: Failures that were seen.
        exposure: Time in which they were, in any unit; above 0.
        low: Lower end of the interval; 0 where nothing failed.
        high: Upper end; where nothing failed it is one-sided.
        coverage: Of the interval.
    """

    count: int
    exposure: float
    low: float
    high: float
    coverage: float

    @property
    def rate(self) -> float | None:
        """Return failures per unit of the exposure; null where nothing failed."""
        return self.count / self.exposure if self.count else None

    @property
    def mean_time(self) -> float | None:
        """Return the mean time to failure; null where nothing failed."""
        return self.exposure / self.count if self.count else None

    @property
    def min_mean_time(self) -> float:
        """Return the lower bound of the mean time to failure, which is there in any case."""
        return 1.0 / self.high

    @property
    def max_mean_time(self) -> float:
        """Return the upper bound of the mean time to failure; infinite where nothing failed."""
        return 1.0 / self.low if self.low > 0.0 else math.inf

    def scaled(self, factor: float) -> "FailureRate":
        """Return the same failures in an exposure of another unit, `factor` of it to one of these.

        Args:
            factor: What the exposure is multiplied with.
        """
        return FailureRate(
            count=self.count,
            exposure=self.exposure * factor,
            low=self.low / factor,
            high=self.high / factor,
            coverage=self.coverage,
        )


class NoExposureError(ValueError):
    """Nothing ran, so nothing can be said of how often it fails."""


def failure_rate(count: int, exposure: float, coverage: float = COVERAGE) -> FailureRate:
    """Return a rate with its exact Poisson interval.

    Args:
        count: Failures, 0 or more.
        exposure: Time in which they were seen.
        coverage: Of the interval, between 0 and 1.

    Raises:
        NoExposureError: The exposure is not above 0.
        ValueError: The count is below 0, or the coverage is none.
    """
    if not exposure > 0.0:
        raise NoExposureError(f"a rate needs an exposure above 0, found {exposure}")
    if count < 0 or not 0.0 < coverage < 1.0:
        raise ValueError(
            f"count must be 0 or more and coverage between 0 and 1, got {count} and {coverage}"
        )
    tail = (1.0 - coverage) / 2.0 if count else 1.0 - coverage
    return FailureRate(
        count=count,
        exposure=exposure,
        low=_gamma(count, tail) / exposure if count else 0.0,
        high=_gamma(count + 1, 1.0 - tail) / exposure,
        coverage=coverage,
    )


def _gamma(shape: int, chance: float) -> float:
    """Return the quantile of a gamma distribution with scale 1."""
    return float(gammaincinv(np.array([float(shape)]), chance)[0])


def per_1000_node_days(rate: FailureRate) -> FailureRate:
    """Return a rate per 1000 node-days.

    Args:
        rate: Per node-day.
    """
    return rate.scaled(1.0 / NODE_DAYS)
