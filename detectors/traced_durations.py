"""How long each traced operation took by itself, and how long it would take ideally.

Source: ByteDance, Understanding Stragglers in Large Model Training Using What-if Analysis
(arXiv 2505.05713); methods reference, section 9. A compute operation lasts from start to end. A
communication lasts from the moment its last member arrives: before that it only waits. Ideal is the
mean of all compute operations of a kind, and the median of all transfers of a kind. We differ in
that rows may be missing: what they would have said is told from their like, never from zero.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from detectors.known_values import MEDIAN, known_mean, known_quantile
from detectors.panels import Bools, Floats
from detectors.traced_arrays import AFTER, MEMBERS, OPERATIONS, PIPELINE, Trace

COMPUTE: Final = frozenset({"forward-compute", "backward-compute", "optimizer"})
"""Operations of one worker alone that wait for nobody."""

PAIRS: Final = (("forward-send", "forward-recv", 1), ("backward-send", "backward-recv", -1))
"""Both ends of a transfer, and how many stages further the receiver is; stages form a ring, since
with several chunks a stage the last one sends to the first."""

_ENDS: Final = frozenset(name for send, receive, _ in PAIRS for name in (send, receive))

MIN_WHOLE_SHARE: Final = 0.2
"""Share of a collective's rows below which those that tell of all members are too few."""

_ALL: Final = (0, 1, 2, 3)

_LIKE: Final = ((0, 3), (0, 2, 3), _ALL)
"""Which operations stand in for a missing one: the worker's, the stage's, all of its kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """What a simulation is made of.

    Attributes:
        own: By operation, seconds as they were; shape (sequence, stage, replica, step). NaN where a
            stage has no such operation.
        ideal: By operation, seconds as they should be.
        members: By collective, which workers take part; shape (stage, replica).
    """

    own: dict[str, Floats]
    ideal: dict[str, float]
    members: dict[str, Bools]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a trace shows of an operation.

    Attributes:
        sure: Seconds of each; NaN where it is not told, or hangs on a row that is missing.
        usual: What to take its usual length from.
        level: Which quantile of those that is; null where all of them can be trusted.
    """

    sure: Floats
    usual: Floats
    level: float | None = None


def durations_of(trace: Trace) -> Durations:
    """Return the durations in a trace, with those of missing rows filled from their like."""
    seen = {
        name: _Seen(sure=lone, usual=lone)
        for name, lone in (_alone(trace) | _transfers(trace)).items()
    } | {name: _collective(trace, name, axes) for name, axes in MEMBERS.items()}
    own = {name: _filled(one) for name, one in seen.items()} | _micro_batches(trace, seen)
    return Durations(
        own=own,
        ideal={
            name: known_mean(own[name], _ALL).item()
            if name in COMPUTE
            else known_quantile(one.usual, _ALL, one.level or MEDIAN).item()
            for name, one in seen.items()
        },
        members={name: _members(trace.starts[name]) for name in AFTER},
    )


def _members(starts: Floats) -> Bools:
    """Return which workers have an operation in any step."""
    return np.asarray((~np.isnan(starts)).any(axis=(0, 3)), dtype=np.bool_)


def _alone(trace: Trace) -> dict[str, Floats]:
    """Return the durations of what a worker does without others, from start to end."""
    lone = (name for name in OPERATIONS if name not in MEMBERS and name not in _ENDS)
    return {name: trace.ends[name] - trace.starts[name] for name in lone}


def _transfers(trace: Trace) -> dict[str, Floats]:
    """Return the durations of transfers between stages, at both of their ends.

    NaN where one end is missing: the other one's row then also holds its wait.
    """
    found: dict[str, Floats] = {}
    for send, receive, ahead in PAIRS:
        there = np.roll(trace.starts[receive], -ahead, axis=1)
        together = np.maximum(trace.starts[send], there)
        found[send] = trace.ends[send] - together
        found[receive] = trace.ends[receive] - np.roll(together, ahead, axis=1)
    return found


def _collective(trace: Trace, name: str, axes: tuple[int, ...]) -> _Seen:
    """Return the durations of a collective, from the arrival of its last member.

    A member whose row is missing may have been the last one; what its group then shows is too long
    by a wait. Where nearly all groups miss somebody, as large ones may, we take the usual length
    from the lower part of what is shown, as large as the share of the rows that are there.
    """
    starts = trace.starts[name]
    told = ~np.isnan(starts)
    seconds = trace.ends[name] - np.fmax.reduce(starts, axis=axes, keepdims=True)
    members = np.broadcast_to(told.any(axis=3, keepdims=True), told.shape)
    whole = (told | ~members).all(axis=axes, keepdims=True) & told
    if whole.sum() >= MIN_WHOLE_SHARE * told.sum():
        sure = np.where(whole, seconds, np.nan)
        return _Seen(sure=sure, usual=sure)
    level = float(told.sum() / members.sum()) * MEDIAN
    return _Seen(sure=np.full_like(seconds, np.nan), usual=seconds, level=level)


def _filled(seen: _Seen) -> Floats:
    """Return durations whose holes have the usual length of the most like ones that are known.

    That is their mean, which keeps the mean step as it was; the quantile where they are doubtful.
    """
    filled = seen.sure
    for axes in _LIKE:
        usual = (
            known_mean(seen.usual, axes)
            if seen.level is None
            else known_quantile(seen.usual, axes, seen.level)
        )
        filled = np.where(np.isnan(filled), usual, filled)
    return filled


def _micro_batches(trace: Trace, seen: dict[str, _Seen]) -> dict[str, Floats]:
    """Return the compute of micro-batches; a missing one is as long as its worker usually takes.

    If it is known elsewhere that the micro-batch was long (at another stage, or on its other way)
    then it was so here.
    """
    known = [seen[name].sure for name in PIPELINE[:2]]
    usual = [_filled(_Seen(sure=np.full_like(one, np.nan), usual=one)) for one in known]
    told = np.stack([one / mean for one, mean in zip(known, usual, strict=True)])
    is_single = all(not trace.chunks[name].any() for name in PIPELINE[:2])
    length = known_mean(told, (0, 2))[0] if is_single else np.ones(1)
    length = np.where(np.isnan(length), 1.0, length)
    return {
        name: np.where(np.isnan(one), mean * length, one)
        for name, one, mean in zip(PIPELINE, known, usual, strict=False)
    }
