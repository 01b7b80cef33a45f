"""Is a failure rate above that of its pool: tests, intervals and posteriors, over whole pools.

Source: methods reference, section 10: Poisson tails against a trimmed rate, gamma shrinkage for
display, a two-component Poisson mixture. We differ in two points. The rate of the pool is not taken
for known: the tail is that of the negative binomial that follows from the failures of the others
(A. Gelman and others, "Bayesian Data Analysis", section 2.6), which is the Poisson's where they are
many. And a faded count is scaled to the mean and variance of a plain one, so that fading costs no
power. Heavy imports: only `detectors.lemon_scores` loads this, when there is a history to judge.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, gammaincinv
from statsmodels.stats.multitest import multipletests

Values: TypeAlias = NDArray[np.float64]

_ROUNDS: Final = 50
"""Rounds of the mixture: it settles in about ten."""

_START_SHARE: Final = 0.01

_START_RATIO: Final = 10.0

_MIN_RATE: Final = 1e-9
"""Failures a day: a pool without any has a rate all the same, and its logarithm."""

_MIN_SHARE: Final = 1e-6

_MAX_SHARE: Final = 0.5
"""The bad kind is the rarer one."""

_MAX_ODDS: Final = 500.0
"""Logarithm beyond which odds are certainty; the exponential stays finite."""

_MIN_RATIO: Final = 3.0
"""The bad component lies at least this far above the pool: else it is no other component."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What was counted, one value an entity of one pool.

    Attributes:
        failures: Weighted failures.
        days: Weighted days in use, above 0.
        squared_days: Days under the square of the weight.
    """

    failures: Values
    days: Values
    squared_days: Values

    def plain(self) -> tuple[Values, Values]:
        """Return failures and days as if nothing had faded: of equal mean and variance."""
        scale = self.squared_days / self.days
        return self.failures / scale, self.days / scale


def trimmed(counts: Counts, top_share: float) -> Values:
    """Return the failures with the rates of the worst brought down to that of the next.

    Args:
        counts: The pool.
        top_share: Share of the pool whose rates are not believed; at least one entity's.
    """
    rates = counts.failures / counts.days
    cut = max(1, round(top_share * rates.size))
    limit = np.sort(rates)[max(rates.size - 1 - cut, 0)]
    return np.asarray(np.minimum(rates, limit) * counts.days)


def believed(pool: Counts, top_share: float) -> tuple[Values, Values]:
    """Return what each entity adds to the rate of its pool: plain failures and plain days.

    Args:
        pool: All entities of the pool.
        top_share: Share of the pool whose rates are not believed.
    """
    scale = pool.days.sum() / pool.squared_days.sum()
    return trimmed(pool, top_share) * scale, pool.days * scale


def tail_chances(counts: Counts, rest_failures: Values, rest_days: Values) -> Values:
    """Return the chance of as many failures as each entity has, if it were like the rest.

    Args:
        counts: The entities.
        rest_failures: Plain failures of the rest of its pool, for each entity; above 0.
        rest_days: Plain days of that rest; above 0.
    """
    failures, days = counts.plain()
    positive = np.where(failures > 0.0, failures, 1.0)
    chances = betainc(positive, rest_failures, days / (days + rest_days))
    return np.where(failures > 0.0, chances, 1.0)


def discovery_rates(chances: Values) -> Values:
    """Return the Benjamini-Hochberg q-value of each of the tests."""
    return np.asarray(multipletests(chances, method="fdr_bh")[1], dtype=np.float64)


def ratio_intervals(counts: Counts, pool: Counts, coverage: float) -> tuple[Values, Values, Values]:
    """Return the rate of each entity in units of the pool's mean: low, mean and high.

    Args:
        counts: The entities.
        pool: All entities of the pool.
        coverage: Chance that the true ratio lies between low and high.

    Returns:
        Of the gamma posterior whose prior has the pool's mean and spread (method of moments), with
        a shape of at most 1: where few nodes are bad, moments see no spread, and a narrow prior
        would pull the bad ones into the pool. All 1 where nothing failed.
    """
    mean = float(pool.failures.sum() / pool.days.sum())
    if mean == 0.0:
        ones = np.ones_like(counts.days)
        return ones, ones, ones
    shares = pool.days / pool.days.sum()
    spread = float((shares * (pool.failures / pool.days - mean) ** 2).sum())
    excess = spread - mean / float(pool.days.mean())
    shape = min(mean**2 / excess, 1.0) if excess > 0.0 else 1.0
    after, days = shape + counts.failures, shape / mean + counts.days
    low, high = (
        gammaincinv(after, chance) / days / mean
        for chance in ((1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0)
    )
    return low, after / days / mean, high


def bad_chances(counts: Counts, pool: Counts, top_share: float) -> Values:
    """Return the chance of each entity to be of the bad kind, were there two kinds.

    Args:
        counts: The entities.
        pool: All entities of the pool, of which the two kinds are learnt.
        top_share: Share of the pool whose rates are not believed to be of the good kind.
    """
    good = max(float(trimmed(pool, top_share).sum() / pool.days.sum()), _MIN_RATE)
    bad, share = _START_RATIO * good, _START_SHARE
    failures, days = pool.plain()
    for _ in range(_ROUNDS):
        chances = _memberships(pool, good, bad, share)
        bad = max(float(chances @ failures / (chances @ days)), _MIN_RATIO * good)
        share = min(max(float(chances.mean()), _MIN_SHARE), _MAX_SHARE)
    return _memberships(counts, good, bad, share)


def _memberships(counts: Counts, good: float, bad: float, share: float) -> Values:
    failures, days = counts.plain()
    odds = failures * np.log(bad / good) - (bad - good) * days + np.log(share / (1.0 - share))
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(odds, -_MAX_ODDS, _MAX_ODDS))))
