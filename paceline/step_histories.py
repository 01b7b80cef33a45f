"""Weeks of a job's steps without the cluster around them: enough for its objective and alerts.

The steps have the length and the noise of the simulated cluster (`OrionParams`; ILLUSTRATIVE): the
latest node's jitter, hiccups, checkpoints, evaluations, and restarts with their warm-up. A fault
makes all steps in its span slower by one ratio, as a throttled GPU does to a job in lockstep.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import TIME
from paceline.simulation.draws import Floats, Ints, stream
from paceline.simulation.scenarios import OrionParams
from slo.training import STEP_COLUMNS

_WARM_UP_RATIO: Final = 0.6
_WARM_UP_STEPS: Final = 1.5
_DAY_SECONDS: Final = 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFault:
    """A span in which all steps are slower.

    Attributes:
        start_seconds: After the history's start.
        end_seconds: After the history's start.
        ratio: Step time over the healthy one, above 1.
    """

    start_seconds: float
    end_seconds: float
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepHistoryParams:
    """A history of steps.

    Attributes:
        days: Its length.
        fault: What makes it slow; null is healthy throughout.
        orion: Lengths and noise of the steps.
        restart_days: Mean time between two restarts; failures come as a Poisson process.
        restart_seconds: From a failure to the first step of the next attempt.
    """

    days: float
    fault: StepFault | None = None
    orion: OrionParams = field(default_factory=OrionParams)
    restart_days: float = 4.0
    restart_seconds: float = 600.0


def simulate_steps(run: str, start: datetime, seed: int, params: StepHistoryParams) -> pl.DataFrame:
    """Return the steps of one run over days or weeks.

    Args:
        run: Its name.
        start: When it starts; aware.
        seed: What all draws come from; 0 or above.
        params: Length, fault and noise.

    Returns:
        `STEP_COLUMNS`, one row a step of the whole job, in their order.
    """
    count = int(params.days * _DAY_SECONDS / params.orion.step_seconds) + 1
    seconds = _healthy_seconds(count, seed, params.orion)
    attempts = _attempts(count, seed, params)
    number = np.arange(count)
    first = np.searchsorted(attempts, attempts)
    seconds = seconds * (1.0 + _WARM_UP_RATIO * np.exp(-(number - first) / _WARM_UP_STEPS))
    saving = np.where((number + 1) % params.orion.checkpoint_steps == 0, 1.0, 0.0)
    saving *= params.orion.checkpoint_seconds
    idle = np.where(number == first, params.restart_seconds, 0.0)
    idle[1:] += np.where(number[1:] % params.orion.evaluation_steps == 0, 1.0, 0.0) * (
        params.orion.evaluation_seconds
    )
    seconds = _with_fault(seconds, saving + idle, params.fault)
    ends = np.cumsum(seconds + saving + idle)
    kept = ends <= params.days * _DAY_SECONDS
    return _frame(run, start, (attempts[kept], ends[kept], seconds[kept], saving[kept]))


def _healthy_seconds(count: int, seed: int, orion: OrionParams) -> Floats:
    """Return the length of each step without pauses: the latest node sets the pace."""
    draw = stream(seed, "step history")
    latest: Floats = np.full(count, -np.inf)
    for _ in range(orion.nodes):
        np.maximum(latest, draw.normal(0.0, orion.node_jitter_ratio, size=count), out=latest)
    compute: Floats = orion.compute_seconds * (1.0 + latest - latest.mean())
    exposed = orion.exposed_seconds * draw.normal(1.0, orion.rank_jitter_ratio, size=count)
    strikes = draw.random(count) < orion.hiccup_ratio
    hiccup: Floats = np.where(strikes, draw.uniform(0.5, 1.8, size=count), 0.0)
    whole: Floats = compute + exposed + orion.data_seconds + orion.optimizer_seconds + hiccup
    return whole


def _attempts(count: int, seed: int, params: StepHistoryParams) -> Ints:
    """Return the number of each step's attempt: it goes up with each failure."""
    share = params.orion.step_seconds / (params.restart_days * _DAY_SECONDS)
    fails = stream(seed, "restarts").random(count) < share
    fails[0] = False
    return np.cumsum(fails.astype(np.int64))


def _with_fault(seconds: Floats, pauses: Floats, fault: StepFault | None) -> Floats:
    """Return the steps as the fault has them: those that begin after its onset, until its end."""
    if fault is None:
        return seconds
    begins = np.concatenate(([0.0], np.cumsum(seconds + pauses)[:-1]))
    onset = np.searchsorted(begins, fault.start_seconds)
    slowed = np.where(np.arange(len(seconds)) >= onset, seconds * fault.ratio, seconds)
    begins = np.concatenate(([0.0], np.cumsum(slowed + pauses)[:-1]))
    cleared = np.searchsorted(begins, fault.end_seconds)
    whole: Floats = np.where(np.arange(len(seconds)) >= cleared, seconds, slowed)
    return whole


def _frame(run: str, start: datetime, columns: tuple[Ints, Floats, Floats, Floats]) -> pl.DataFrame:
    attempts, ends, seconds, saving = columns
    since = pl.Series((ends * 1e6).astype(np.int64)).cast(pl.Duration("us"))
    rows = pl.DataFrame(
        {
            "run": [run] * len(ends),
            "attempt": attempts,
            "step": np.arange(1, len(ends) + 1),
            "step_seconds": seconds + saving,
            "checkpoint_seconds": saving,
        }
    ).with_columns(
        rank=None,
        interval_steps=1,
        end_time=pl.lit(start).cast(TIME) + since,
        time_kind=None,
        tokens=None,
    )
    return rows.select(pl.col(name).cast(kind) for name, kind in STEP_COLUMNS.items())
