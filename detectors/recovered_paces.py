"""The paces of a simulated job's workers: from its arrays, so that lost rows do not look quick."""

import numpy as np
import polars as pl

from detectors.paces import PACES
from detectors.panels import Floats
from detectors.traced_arrays import PIPELINE
from detectors.traced_durations import COMPUTE
from detectors.what_if import WhatIf


def recovered_paces(job: WhatIf) -> pl.DataFrame:
    """Return the paces of an attempt's workers.

    Args:
        job: A simulated attempt; the compute of lost rows is filled from their like.

    Returns:
        `PACES` with measure busy, by stage, replica and step. The time in communication is that of
        the rows that are there. Traces sample steps and have no clock, so neither has this.
    """
    trace = job.trace
    stages, replicas, steps = (axis.ravel() for axis in np.indices(trace.shape[1:]))
    rank = pl.Series(trace.ranks[stages, replicas])
    rank = rank.set(rank < 0, None)
    forward, backward = (job.durations.own[way].sum(axis=0).ravel() for way in PIPELINE[:2])
    rows = {
        "run": trace.run,
        "attempt": trace.attempt,
        "rank": rank,
        "dp": trace.replicas[replicas],
        "pp": trace.stages[stages],
        "step": trace.steps[steps],
        "measure": "busy",
        "pace_seconds": forward + backward,
        "compute_seconds": forward + backward,
        "forward_seconds": forward,
        "backward_seconds": backward,
        "comm_seconds": _waiting(job).ravel(),
        "step_seconds": pl.Series(_last(job).ravel()).fill_nan(None),
    }
    return pl.select(pl.lit(rows.get(name)).cast(kind).alias(name) for name, kind in PACES.items())


def _waiting(job: WhatIf) -> Floats:
    """Return how long each worker was in communication in each step."""
    names = [name for name in job.trace.starts if name not in COMPUTE]
    spent = [job.trace.ends[name] - job.trace.starts[name] for name in names]
    return np.asarray(sum(np.nansum(one, axis=0) for one in spent))


def _last(job: WhatIf) -> Floats:
    """Return when each worker's last operation of each step ended; NaN where none is known."""
    ends = [
        one.max(axis=0, initial=-np.inf, where=~np.isnan(one)) for one in job.trace.ends.values()
    ]
    last = np.max(ends, axis=0)
    return np.where(np.isinf(last), np.nan, last)
