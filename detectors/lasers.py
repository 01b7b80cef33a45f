"""Tell a worn laser: it takes more current for the same light, or for less.

Source: fabric reference, section 6.4: bias high and power low is the sending optic. What is high
is told by the other lanes of the module, by its own past, and by the module at the other end, which
is mostly of the same kind; what is low by the same three.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from statistics import median
from typing import Final

import polars as pl

from detectors.lanes import SENT_POWER, lane_powers

BIAS: Final = "bias_amperes"

MIN_BIAS_RATIO: Final = 1.5
"""Of the usual current, from which it is high; ours: module thresholds lie at about twice."""

MIN_LOSS_DB: Final = 2.0
"""Below the usual power, from which it is low; as the spread of lanes that UFM allows."""

MIN_LANES: Final = 3
"""Lanes of a module from which one can stand out."""

_End = tuple[str, str]


def worn_laser(readings: pl.DataFrame, sender: _End, receiver: _End, until: datetime) -> str | None:
    """Return what says that a sender's laser is worn; null if nothing does.

    Args:
        readings: `READINGS`, for bias and sent power of both ends; a null value is not measured.
        sender: Whose laser.
        receiver: The other end, a yardstick for the sender's module.
        until: Readings after this are left out.
    """
    ends = (sender, receiver)
    bias, usual_bias = _levels([_lane_bias(readings, end) for end in ends], until, min)
    powers = [lane_powers(readings, SENT_POWER, end) for end in ends]
    power, usual_power = _levels(powers, until, max)
    lane = _high_lane(bias)
    if lane:
        return lane
    if not bias or usual_bias is None or median(bias) < MIN_BIAS_RATIO * usual_bias:
        return None
    what = f"bias {median(bias) * 1e3:.1f} mA, usual is {usual_bias * 1e3:.1f} mA"
    if power and usual_power is not None and usual_power - median(power) >= MIN_LOSS_DB:
        return f"{what}; sent {median(power):.1f} dBm, usual is {usual_power:.1f} dBm"
    return None


def _lane_bias(readings: pl.DataFrame, end: _End) -> pl.DataFrame:
    """Return the bias of a port's lanes that take any, as `lane_powers` has their power."""
    return readings.filter(
        pl.col("host") == end[0],
        pl.col("port") == end[1],
        pl.col("signal") == BIAS,
        pl.col("value") > 0.0,
    ).sort("device", "time")


def _levels(
    ends: Sequence[pl.DataFrame], until: datetime, best: Callable[[list[float]], float]
) -> tuple[list[float], float | None]:
    """Return the last value of each of the sender's lanes, and what is usual for it at best."""
    mine, theirs = (end.filter(pl.col("time") <= until) for end in ends)
    lanes = mine.group_by("device", maintain_order=True)
    last: list[float] = lanes.agg(pl.col("value").last())["value"].to_list()
    first: list[float] = lanes.agg(pl.col("value").first())["value"].to_list()
    far: list[float] = (
        theirs.group_by("device", maintain_order=True).agg(pl.col("value").last())["value"]
    ).to_list()
    past = first if mine["time"].n_unique() > 1 and first != last else []
    usual = [median(one) for one in (past, far) if one]
    return last, best(usual) if usual else None


def _high_lane(bias: Sequence[float]) -> str | None:
    """Return what says that one lane takes far more current than the others."""
    if len(bias) < MIN_LANES:
        return None
    most, usual = max(bias), median(sorted(bias)[:-1])
    if most < MIN_BIAS_RATIO * usual:
        return None
    return f"bias of one lane {most * 1e3:.1f} mA, of the others {usual * 1e3:.1f} mA"
