"""Burn rates against their thresholds: when the alert fired, and now."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Final

from alerts.firings import Firing
from alerts.service.live import PairState, SloState
from slo.windows import Severity

WIDTH: Final = 100.0
"""Units that a bar is wide; the page scales them."""
_ROOM: Final = 1.1
"""The longest bar leaves a little ground, so that it is seen to end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurnBar:
    """One pair of windows of an objective that burned.

    Attributes:
        firing: The alert, with the numbers of the moment when it fired.
        now_long: Burn over the long window now; null when not known.
        now_short: Burn over the short window now; null when not known.
        long_width: How long the bar of the long window is; null when not known.
        short_width: How long the bar of the short window is; null when not known.
        limit_x: Where the threshold is; null when not known.
        is_now: Whether the bars are those of now, else those of when it fired.
    """

    firing: Firing
    now_long: float | None
    now_short: float | None
    long_width: float | None
    short_width: float | None
    limit_x: float | None
    is_now: bool


def burn_bars(burns: Sequence[Firing], states: Sequence[SloState]) -> list[BurnBar]:
    """Return a bar a firing, pages first.

    Args:
        burns: Firings of one incident.
        states: What is evaluated now.
    """
    ordered = sorted(burns, key=lambda one: (one.severity != "page", one.fired_at, one.pair))
    return [_bar(one, _pair_now(one, states)) for one in ordered]


def _pair_now(burn: Firing, states: Sequence[SloState]) -> PairState | None:
    """Return the state of now of the pair that fired."""
    key: tuple[Severity, int, int] = (burn.severity, burn.long_seconds, burn.short_seconds)
    pairs = (
        pair
        for state in states
        if state.objective == burn.objective and state.run == burn.run
        for pair in state.pairs
    )
    return next((one for one in pairs if _key(one) == key), None)


def _key(pair: PairState) -> tuple[Severity, int, int]:
    return pair.severity, pair.long_seconds, pair.short_seconds


def _bar(burn: Firing, pair: PairState | None) -> BurnBar:
    """Return a bar; where nothing is known of now it shows the moment of firing."""
    now_long, now_short = (pair.long_burn_rate, pair.short_burn_rate) if pair else (None, None)
    is_now = now_long is not None or now_short is not None
    long = _drawable(now_long if is_now else burn.long_burn_rate)
    short = _drawable(now_short if is_now else burn.short_burn_rate)
    widest = max(burn.factor or 0.0, long or 0.0, short or 0.0) * _ROOM or WIDTH
    return BurnBar(
        firing=burn,
        now_long=now_long,
        now_short=now_short,
        long_width=None if long is None else long / widest * WIDTH,
        short_width=None if short is None else short / widest * WIDTH,
        limit_x=None if burn.factor is None else burn.factor / widest * WIDTH,
        is_now=is_now,
    )


def _drawable(rate: float | None) -> float | None:
    """Return a rate that has a length."""
    return rate if rate is not None and isfinite(rate) else None
