"""Where a noisy falling series leaves its own trend upwards: spikes that recover, and rises.

Loss and gradient norm fall and wander by themselves, so a report is compared with those before it
and with the noise of this run: nothing here is a figure of another model. Source: methods
reference, sections 3 (robust scales) and 5 (persistence); for spikes and divergence of language
models PaLM, section 5.1 (arXiv 2204.02311), and OPT-175B, section 2.5 (arXiv 2205.01068).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import Final

import numpy as np

from detectors.panels import Floats
from detectors.peers import MAD_TO_SIGMA, known_median
from detectors.quiet.loss_series import smoothed, trailing_median

TAIL_SHARE: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcursionParams:
    """When a series has left its trend.

    Attributes:
        min_ratio: Value over trend, at least.
        min_scales: And so many robust scales of this series' own noise beyond it.
        min_tails: And so many times the largest 5 % of its jumps, for noise with heavy tails.
        trend_reports: Reports before one that make up its trend.
        min_reports: So many must have come before.
        lasting_reports: What lasts so long and does not come back has not recovered.
        min_spike_ratio: Ratio from which what came back by itself is told: healthy runs have spikes
            of a third, which say nothing but that batches differ.
        min_ratio_alone: Ratio from which what lasts counts without a second sign.
        min_recovery: Share of the height that must be gone where a series is coming back.
    """

    min_ratio: float = 1.25
    min_scales: float = 8.0
    min_tails: float = 3.0
    trend_reports: int = 32
    min_reports: int = 20
    lasting_reports: int = 20
    min_spike_ratio: float = 1.5
    min_ratio_alone: float = 2.0
    min_recovery: float = 0.25

    def __post_init__(self) -> None:
        """Refuse what every series would pass."""
        if self.min_ratio <= 1.0 or self.min_ratio_alone < self.min_ratio:
            raise ValueError(
                f"min_ratio must be above 1.0 and min_ratio_alone no less, found {self.min_ratio} "
                f"and {self.min_ratio_alone}"
            )
        if min(self.trend_reports, self.min_reports, self.lasting_reports) < 1:
            raise ValueError("trends and lasting need 1 report at least")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spike:
    """One excursion.

    Attributes:
        start: Its first report, counted from 0.
        stop: The first report that is back; null where the series ends before.
        peak: Its highest report.
        trend: Log of the value that was usual before.
        height: Log ratio of the peak to that.
    """

    start: int
    stop: int | None
    peak: int
    trend: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rise:
    """A rise that lasts to the end.

    Attributes:
        start: Its first report.
        best: Log of the best level before.
        height: Log ratio of the last level to that.
        goes_on: Its second half is clearly above its first.
    """

    start: int
    best: float
    height: float
    goes_on: bool


def least_height(values: Floats, params: ExcursionParams) -> float:
    """Return the log ratio from which a report is beyond what this series does by itself.

    That is measured from one report to the next, which neither a fall nor a rise disturbs.

    Args:
        values: Logs, in order, all known; shape (reports,).
        params: The thresholds.
    """
    jumps = np.abs(np.diff(values)) / np.sqrt(2.0)
    if jumps.size == 0:
        return float("inf")
    scale = MAD_TO_SIGMA * float(np.median(jumps))
    tail = float(np.quantile(jumps, TAIL_SHARE))
    return max(log(params.min_ratio), params.min_scales * scale, params.min_tails * tail)


def spikes_of(values: Floats, params: ExcursionParams) -> Iterator[Spike]:
    """Yield the excursions of a series, in order.

    Args:
        values: Logs, in order, all known; shape (reports,).
        params: The thresholds.

    Yields:
        Each from its first report to the first that is back at half the least height.
    """
    if values.size <= params.min_reports:
        return
    least = least_height(values, params)
    trend = trailing_median(values, params.trend_reports, params.min_reports)
    back = smoothed(values, 3)
    highs = np.flatnonzero(values - trend >= least)
    at = 0
    while highs.size and (left := highs[highs >= at]).size:
        start = int(left[0])
        level = float(trend[start])
        calm = np.flatnonzero(back[start + 1 :] <= level + least / 2.0)
        stop = start + 1 + int(calm[0]) if calm.size else None
        at = values.size if stop is None else stop
        peak = start + int(np.argmax(values[start:at]))
        yield Spike(
            start=start, stop=stop, peak=peak, trend=level, height=float(values[peak]) - level
        )


def lasting_rise(values: Floats, params: ExcursionParams) -> Rise | None:
    """Return the rise that lasts to the end of a series; null if there is none.

    Args:
        values: Logs, in order, all known; shape (reports,).
        params: The thresholds.

    Returns:
        Null as well where it is coming back: its second half is well below its first.
    """
    lasting = params.lasting_reports
    if values.size < params.min_reports + 2 * lasting:
        return None
    calm = smoothed(values, 2 * (lasting // 2) + 1)
    best_at = params.min_reports // 2 + int(np.argmin(calm[params.min_reports // 2 :]))
    best, last = float(calm[best_at]), float(np.median(values[-lasting:]))
    least = least_height(values, params)
    near = np.flatnonzero(smoothed(values, 5) <= best + min(least, 2.0 * log(params.min_ratio)) / 2)
    start = int(near.max(initial=-1)) + 1
    after = values[start:]
    if last - best < least or after.size < lasting:
        return None
    halves = [float(known_median(half[None, :], 1)[0]) for half in np.array_split(after, 2)]
    height = last - best
    if halves[1] < halves[0] - params.min_recovery * height:
        return None
    return Rise(start=start, best=best, height=height, goes_on=halves[1] > halves[0] + least / 2.0)
