"""Rows that a trace has lost, told from the rows around them.

What a worker does before and after its micro-batches follows one after the other, and the members
of a collective leave it together. So a lost row's start is its worker's last end and the usual gap,
and its end is that of the others; for an operation without others, its usual length later. Without
this, a collective would seem to last as long as the others waited for the member that is lost.
"""

from dataclasses import replace

import numpy as np

from detectors.known_values import MEDIAN, known_quantile
from detectors.panels import Floats
from detectors.traced_arrays import AFTER, BEFORE, MEMBERS, PIPELINE, Trace


def with_recovered_rows(trace: Trace) -> Trace:
    """Return a trace with the lost rows of what comes before and after the micro-batches.

    NaN stays where the row before is lost as well, and where a worker has no such operation.
    """
    starts, ends = dict(trace.starts), dict(trace.ends)
    names = (BEFORE, *AFTER)
    if not any(_has_holes(starts[name]) for name in names):
        return trace
    done = np.zeros(trace.shape[1:])
    for name in names:
        if name == AFTER[0]:
            done = trace.ends[PIPELINE[1]][-1]
        starts[name], ends[name] = starts[name].copy(), ends[name].copy()
        for at, (start, end) in enumerate(zip(starts[name], ends[name], strict=True)):
            is_member = ~np.isnan(start).all(axis=2, keepdims=True)
            starts[name][at] = _or_usual(start, done)
            ends[name][at] = _left(name, starts[name][at], end)
            done = np.where(is_member, ends[name][at], done)
    return replace(trace, starts=starts, ends=ends)


def _has_holes(values: Floats) -> bool:
    """Return whether some steps lack an operation that its worker has in others."""
    lost = np.isnan(values)
    return bool((lost & ~lost.all(axis=3, keepdims=True)).any())


def _or_usual(values: Floats, since: Floats) -> Floats:
    """Return values, and where they are lost those that lie as long after others as usually."""
    return np.where(np.isnan(values), since + known_quantile(values - since, (2,), MEDIAN), values)


def _left(name: str, start: Floats, end: Floats) -> Floats:
    """Return when workers were done with an operation; shape (stage, replica, step)."""
    if name not in MEMBERS:
        return _or_usual(end, start)
    axes = tuple(axis - 1 for axis in MEMBERS[name])
    together = np.fmax.reduce(end, axis=axes, keepdims=True)
    return np.where(np.isnan(end) & ~np.isnan(start), together, end)
