"""Find hosts whose clock was set: for a while they leave every barrier early or late, evenly.

Source: methods reference, section 1: ranks in lockstep leave the last collective of a step
together, so that the offset of a host is the median over steps of its exit less the fleet's median
exit. NTP is good for about 10 ms. We claim only what is the same from step to step: a rank that is
slow leaves late too, but never evenly. An offset that never changes is no event and left to
`paceline doctor`; one that does breaks the order of events in the middle of a job.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import STEPS, require
from detectors.changes import segment_bounds
from detectors.panels import Floats, Panel, build_panel
from detectors.peers import known_median, robust_scale
from detectors.timelines import step_timeline
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

MIN_HOSTS: Final = 3
"""Of two clocks that differ nobody can say which is off."""

MIN_NOISE_SECONDS: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockParams:
    """When a clock is off.

    Attributes:
        min_offset_seconds: Least offset to the fleet's median that is told; NTP reaches a fifth.
        max_spread_share: Robust scale of the offset from step to step, over the offset.
        min_fleet_ratio: Offset over the usual offset of the other hosts.
        min_steps: Steps of a stretch.
    """

    min_offset_seconds: float = 0.05
    max_spread_share: float = 0.1
    min_fleet_ratio: float = 5.0
    min_steps: int = 20


def find_skewed_clocks(steps: pl.LazyFrame, params: ClockParams) -> pl.DataFrame:
    """Return the hosts whose clock was off against the other hosts of a job for a part of it.

    Args:
        steps: `STEPS`; a null `end_time`, `host` or `rank` tells nothing here.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind config_drift, level host, cause clock_skew, one row a stretch with one
        offset; durations of such a host are sound, the order of its events among others' is not.
        Partition key: run and attempt.

    Raises:
        SchemaError: `steps` is not a `STEPS`.
    """
    known = steps.pipe(require, STEPS).drop_nulls(["host", "rank", "step", "end_time"])
    parts = known.collect().partition_by("run", "attempt", maintain_order=False)
    return verdict_frame(one for part in parts for one in _judge(part, params))


def _judge(part: pl.DataFrame, params: ClockParams) -> Iterator[Verdict]:
    if part["host"].n_unique() < MIN_HOSTS:
        return
    first = part["end_time"].min()
    panel = build_panel(
        part.lazy().with_columns(
            exit=(pl.col("end_time") - first).dt.total_microseconds() / 1e6,
        ),
        group=("run", "attempt"),
        entity=("host",),
        tick="step",
        value="exit",
    )
    offsets = panel.values - known_median(panel.values, 0)
    usual = float(np.median(np.abs(known_median(offsets, 1))))
    least = max(params.min_offset_seconds, params.min_fleet_ratio * usual)
    for row in range(offsets.shape[0]):
        for stretch in _stretches(offsets[row], least, params):
            yield _verdict(part, panel, row, stretch)


@dataclass(frozen=True, slots=True)
class _Stretch:
    start: int
    stop: int
    seconds: float
    after: float | None


def _stretches(offsets: Floats, least: float, params: ClockParams) -> list[_Stretch]:
    """Return where a host's offset is large and the same from step to step."""
    known = np.flatnonzero(~np.isnan(offsets))
    values = offsets[known]
    if values.size < params.min_steps or np.max(np.abs(values)) < least:
        return []
    noise = max(float(robust_scale(np.diff(values))), MIN_NOISE_SECONDS)
    bounds = segment_bounds(values / noise, penalty=10.0 * np.log(values.size), min_ticks=4)
    pieces = [(at, to, values[at:to]) for at, to in pairwise(bounds)]
    middles = [float(np.median(inside)) for _, _, inside in pieces]
    return [
        _Stretch(
            int(known[at]) if at else 0,
            int(known[to]) if to < known.size else offsets.size,
            middle,
            following,
        )
        for (at, to, inside), middle, following in zip(
            pieces, middles, [*middles[1:], None], strict=True
        )
        if params.min_steps <= to - at < values.size
        and abs(middle) >= least
        and float(robust_scale(inside)) <= params.max_spread_share * abs(middle)
    ]


def _verdict(part: pl.DataFrame, panel: Panel, row: int, stretch: _Stretch) -> Verdict:
    ticks, names = panel.ticks, panel.entities.row(row, named=True)
    timeline = step_timeline(part, ticks)
    first, past = stretch.start == 0, stretch.stop >= ticks.size
    side = "ahead of" if stretch.seconds > 0 else "behind"
    what = (
        f"the clock is {abs(stretch.seconds) * 1e3:.0f} ms {side} the other "
        f"{panel.entities.height - 1} hosts, as they leave the same steps together"
    )
    if stretch.after is not None:
        what += f"; at step {ticks[stretch.stop]} it was set to {stretch.after * 1e3:+.0f} ms"
    return Verdict(
        kind="config_drift",
        level="host",
        subject=Subject(run=names["run"], attempt=names["attempt"], host=names["host"]),
        onset=None if first else timeline.end_of(stretch.start - 1),
        onset_before_data=first,
        detected=timeline.end_of(stretch.start),
        cleared=None if past else timeline.end_of(stretch.stop - 1),
        onset_step=None if first else int(ticks[stretch.start]),
        cleared_step=None if past else int(ticks[stretch.stop]),
        cause="clock_skew",
        confidence="high",
        peers="hosts of the same attempt, leaving the same steps",
        peer_count=panel.entities.height - 1,
        evidence=(Evidence(source="steps", what=what),),
        action=f"set this host's clock; until then order nothing of it among other hosts' events "
        f"that is closer than {abs(stretch.seconds):.2g} s, durations are sound",
    )
