"""What a series does all the time, and is no change: spikes, a season, wandering, swings.

Sources: F. R. Hampel, JASA 69 (1974), for spikes by median and median absolute deviation; H. Dette,
T. Eckle and M. Vetter, "Multiscale change point detection for dependent data", Scandinavian Journal
of Statistics 47 (2020), for the long-run variance from differences of block means. We differ: a
robust scale of second differences takes the place of their mean square, so that neither a drift nor
the changes themselves count as noise.
"""

from typing import Final

import numpy as np

from detectors.changes import HUBER_LIMIT
from detectors.panels import Bools, Floats
from detectors.peers import MAD_TO_SIGMA, robust_scale, tick_noise

SPIKE_SIDE_TICKS: Final = 5
"""Neighbours on each side that say what is usual at a tick."""

MIN_SPIKE_SCALES: Final = 4.0
"""A spike lies this many robust scales off its neighbours."""

MAX_SPIKE_TICKS: Final = 2
"""What lasts longer is a change that went back."""

MIN_SEASON_TICKS: Final = 4
MIN_SEASONS: Final = 4
"""A pattern must come back four times before it is a season."""

MIN_SEASON_CORRELATION: Final = 0.4
"""Least correlation of the differences a season apart, and 0.7 of it two seasons apart."""

STILL_ALIKE: Final = 0.7

SWING_BLOCKS_TICKS: Final = (8, 16, 32, 64)
"""Block lengths at which a series may swing to and fro."""

MIN_SWING_BLOCKS: Final = 12
"""Fewer blocks have no scale."""

SECOND_DIFFERENCE_POWER: Final = 6.0
"""Variance of a second difference of independent values, over theirs: 1 + 4 + 1."""

MAX_CORRELATION: Final = 0.8
"""A correlation closer to one is a drift, and a drift is for lines to explain."""

_CALM: Final = (0.02, 0.98)
"""Differences are cut at these quantiles before they are correlated: a jump is no season, and where
more than half of them are zero it is no noise."""


def without_spikes(values: Floats) -> Floats:
    """Return the values with isolated outliers replaced by the median of their neighbours.

    Args:
        values: Shape (ticks,), without NaN.

    Returns:
        Same shape. Off for one or two ticks is a spike; what stays off for longer is kept.
    """
    if values.size <= 2 * SPIKE_SIDE_TICKS:
        return values
    padded = np.pad(values, SPIKE_SIDE_TICKS, mode="reflect")
    views = np.lib.stride_tricks.sliding_window_view(padded, 2 * SPIKE_SIDE_TICKS + 1)
    usual: Floats = np.median(views, axis=1)
    noise = np.maximum(robust_scale(views, 1), tick_noise(values[None, :], 0.0))
    off = np.abs(values - usual) > MIN_SPIKE_SCALES * noise
    return np.where(_short_runs(off), usual, values)


def _short_runs(marks: Bools) -> Bools:
    """Return the marks that stand in a run no longer than a spike."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marks, [False]]))).reshape(-1, 2)
    kept = np.zeros_like(marks)
    for start, stop in edges.tolist():
        kept[start:stop] = stop - start <= MAX_SPIKE_TICKS
    return kept


def season_ticks(values: Floats) -> int:
    """Return after how many ticks the pattern of a series comes back; 0 where none does.

    Args:
        values: Shape (ticks,), without NaN. Differences are compared, so that neither trend nor
            level makes a season.
    """
    count = values.size - 1
    longest = count // MIN_SEASONS
    if longest <= MIN_SEASON_TICKS:
        return 0
    steps = np.diff(values)
    steps = np.clip(steps, *np.quantile(steps, _CALM))
    alike = _correlations(steps - steps.mean())
    at = MIN_SEASON_TICKS + int(np.argmax(alike[MIN_SEASON_TICKS:longest]))
    once, twice = (alike[lag] * count / (count - lag) for lag in (at, 2 * at))
    clear = once > MIN_SEASON_CORRELATION and twice > STILL_ALIKE * MIN_SEASON_CORRELATION
    return at if clear else 0


def _correlations(steps: Floats) -> Floats:
    """Return the autocorrelations at all lags; zeros for a series that never moves."""
    power = np.abs(np.fft.rfft(steps, 2 * steps.size)) ** 2
    sums: Floats = np.fft.irfft(power)[: steps.size]
    return sums / sums[0] if sums[0] > 0.0 else np.zeros_like(sums)


def without_season(values: Floats, ticks: int) -> Floats:
    """Return the values less the usual pattern of a season.

    Args:
        values: Shape (ticks,), without NaN.
        ticks: Length of the season; 0 leaves the values as they are.

    Returns:
        Same shape, with the mean kept. The pattern is the median distance of each place in the
        season from the moving mean over a whole one.
    """
    if not ticks:
        return values
    before = ticks // 2
    padded = np.pad(values, (before, ticks - 1 - before), mode="edge")
    away = values - np.convolve(padded, np.ones(ticks) / ticks, mode="valid")
    away[:before] = away[values.size - before :] = np.nan
    short = -values.size % ticks
    table = np.concatenate([away, np.full(short, np.nan)]).reshape(-1, ticks)
    pattern = np.nanmedian(table, axis=0)
    seasonal: Floats = values - np.resize(pattern - pattern.mean(), values.size)
    return seasonal


def wander_variance(values: Floats) -> float:
    """Return the variance that a tick would have as independent noise with sums that vary as much.

    Args:
        values: Shape (ticks,), without NaN.

    Returns:
        Of noise in which each tick keeps the share rho of the one before: its variance times
        (1 + rho) / (1 - rho). Both come from differences, cut where a jump made them large, so that
        a change of level passes for neither.
    """
    steps = np.diff(values)
    limit = HUBER_LIMIT * MAD_TO_SIGMA * float(np.median(np.abs(steps)))
    low, high = (-limit, limit) if limit > 0.0 else np.quantile(steps, _CALM)
    calm: Floats = np.clip(steps, low, high)
    power = float(np.sum(calm**2))
    if power == 0.0:
        return 0.0
    lag_one = float(np.sum(calm[1:] * calm[:-1])) / power
    rho = float(np.clip(1.0 + 2.0 * lag_one, 0.0, MAX_CORRELATION))
    return power / calm.size * (1.0 + rho) / (2.0 * (1.0 - rho) ** 2)


def swing_variance(values: Floats) -> float:
    """Return the variance a tick that swings to and fro would have as independent noise.

    Args:
        values: Shape (ticks,), without NaN.

    Returns:
        Block length times the variance of block means, the median over the block lengths that fit;
        0 where none does. A few changes of level do not raise it; levels that come and go do.
    """
    fitting = [one for one in SWING_BLOCKS_TICKS if values.size // one >= MIN_SWING_BLOCKS]
    return float(np.median([_block_variance(values, one) for one in fitting])) if fitting else 0.0


def _block_variance(values: Floats, ticks: int) -> float:
    whole = values.size // ticks * ticks
    means = values[values.size - whole :].reshape(-1, ticks).mean(axis=1)
    scale = MAD_TO_SIGMA * float(np.median(np.abs(np.diff(means, 2))))
    return ticks * scale**2 / SECOND_DIFFERENCE_POWER
