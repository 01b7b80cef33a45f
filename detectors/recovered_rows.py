"""Rows that a trace has lost, told from the rows around them.

What a worker does before and after its micro-batches follows one after the other, and the members
of a collective leave it together. So a lost row's start is its worker's last end and the usual gap,
and its end is that of the others; for an operation without others, its usual length later. Where
all members are lost, its end is a worker's next start less the usual gap. Without this, a
collective would seem to last as long as the others waited for the member that is lost, and one that
waited for long in a single step would be taken for a usual one.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from detectors.known_values import MEDIAN, known_quantile
from detectors.panels import Floats
from detectors.traced_arrays import AFTER, BEFORE, MEMBERS, PIPELINE, Trace

LOOKS: Final = 2
"""How often rows are told from those before and then from those behind: what the second look adds
is a row whose neighbours on both sides were lost as well, but known to a member of their group."""


def with_recovered_rows(trace: Trace) -> Trace:
    """Return a trace with the lost rows of what comes before and after the micro-batches.

    NaN stays where neither the row before nor the one behind tells it, and where a worker has no
    such operation.
    """
    starts, ends = dict(trace.starts), dict(trace.ends)
    names = (BEFORE, *AFTER)
    if not any(_has_holes(starts[name]) for name in names):
        return trace
    for name in names:
        starts[name], ends[name] = starts[name].copy(), ends[name].copy()
    tail = [(name, at) for name in AFTER for at in range(len(starts[name]))]
    _from_before(starts, ends, [(BEFORE, at) for at in range(len(starts[BEFORE]))], 0.0)
    for _ in range(LOOKS):
        _from_before(starts, ends, tail, trace.ends[PIPELINE[1]][-1])
        _from_behind(starts, ends, tail)
    return replace(trace, starts=starts, ends=ends)


def _has_holes(values: Floats) -> bool:
    """Return whether some steps lack an operation that its worker has in others."""
    lost = np.isnan(values)
    return bool((lost & ~lost.all(axis=3, keepdims=True)).any())


def _from_before(
    starts: dict[str, Floats],
    ends: dict[str, Floats],
    rows: list[tuple[str, int]],
    done: Floats | float,
) -> None:
    """Fill rows from what their workers did before, which was done at some time."""
    for name, at in rows:
        start, end = starts[name][at], ends[name][at]
        is_member = ~np.isnan(start).all(axis=2, keepdims=True)
        start[:] = _or_usual(start, done)
        end[:] = _together(name, end, start) if name in MEMBERS else _or_usual(end, start)
        reached: Floats = np.where(is_member, end, done)
        done = reached


def _from_behind(
    starts: dict[str, Floats], ends: dict[str, Floats], rows: list[tuple[str, int]]
) -> None:
    """Fill rows from what their workers did next."""
    due: Floats = np.full_like(starts[rows[-1][0]][0], np.nan)
    for name, at in reversed(rows):
        start, end = starts[name][at], ends[name][at]
        is_member = ~np.isnan(start).all(axis=2, keepdims=True)
        end[:] = _or_usual(end, due)
        if name not in MEMBERS:
            start[:] = _or_usual(start, end)
        due = np.where(is_member, start, due)


def _or_usual(values: Floats, since: Floats | float) -> Floats:
    """Return values, and where they are lost those that lie as long after others as usually."""
    return np.where(np.isnan(values), since + known_quantile(values - since, (2,), MEDIAN), values)


def _together(name: str, end: Floats, start: Floats) -> Floats:
    """Return when workers were done with a collective; shape (stage, replica, step)."""
    axes = tuple(axis - 1 for axis in MEMBERS[name])
    together = np.fmax.reduce(end, axis=axes, keepdims=True)
    return np.where(np.isnan(end) & ~np.isnan(start), together, end)
