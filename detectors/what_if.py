"""What a traced job would take without its stragglers: how much they cost, and who they are.

Source: ByteDance, Understanding Stragglers in Large Model Training Using What-if Analysis
(arXiv 2505.05713): S, S_w, M_W and M_S; methods reference, section 9. We reproduce the published
values of its sample traces. We differ in that we also ask what ideal compute alone, and ideal
communication alone, would mend, and in that rows may be missing (see `traced_durations`).
"""

from dataclasses import dataclass, replace
from math import ceil
from typing import Final

import numpy as np

from detectors.panels import Bools, Floats
from detectors.pipelines import Questions, pipeline_ends, step_ends
from detectors.recovered_rows import with_recovered_rows
from detectors.schedules import WAYS, Schedule, schedule_of
from detectors.traced_arrays import Trace
from detectors.traced_durations import Durations, durations_of

TOP_SHARE: Final = 0.03
"""Share of the workers that M_W takes for the culprits; one at the least."""

MIN_LOSS: Final = 1e-6
"""Share of the ideal step below which no time is lost, so that no part of it can be mended."""

LINK_ENDS: Final = (
    ("forward-send", slice(None, -1)),
    ("backward-recv", slice(None, -1)),
    ("forward-recv", slice(1, None)),
    ("backward-send", slice(1, None)),
)
"""The transfers over the links between stages, with the stages that have them."""

MIN_PAIRS: Final = 30
"""Micro-batches below which forward and backward cannot be correlated."""

MIN_SPREAD: Final = 1e-9
"""Squared relative spread of compute below which it does not vary but for the rounding of sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What a simulation says of an attempt; times are means over its steps.

    Shares are of the loss, the time by which a step is longer than the ideal one; each is what
    would be mended if a part of the job took its ideal time. Null where nothing is lost.

    Attributes:
        trace: What was simulated.
        durations: What its operations took, and should.
        step_seconds: A step as its operations were, without the time between them.
        ideal_seconds: A step whose operations all take their ideal time.
        slowdowns: S_w: a step in which only this worker is as it was, to the ideal one; shape
            (stage, replica).
        top: The workers with the largest S_w, the worst first; (stage, replica), as indices.
        top_share: M_W: of those workers; null also where there are no others.
        stage_share: M_S: of the last stage; likewise.
        compute_share: Of all compute.
        transfer_share: Of all communication.
        link: The transfers between stages that are longest; (stage, replica) of the earlier stage.
            Null where there is one stage only.
        link_share: Of that link.
        ways_alike: Correlation of forward with backward over micro-batches, each worker's mean
            taken off; null where either does not vary.
    """

    trace: Trace
    durations: Durations
    step_seconds: float
    ideal_seconds: float
    slowdowns: Floats
    top: tuple[tuple[int, int], ...]
    top_share: float | None
    stage_share: float | None
    compute_share: float | None
    transfer_share: float | None
    link: tuple[int, int] | None
    link_share: float | None
    ways_alike: float | None

    @property
    def slowdown(self) -> float:
        """Return S: a step as it was, to the ideal one."""
        return self.step_seconds / self.ideal_seconds

    @property
    def paces(self) -> Floats:
        """Return the mean seconds of compute in a step; shape (stage, replica)."""
        own = self.durations.own
        paces: Floats = np.sum([own[way].mean(axis=3).sum(axis=0) for way in WAYS], axis=0)
        return paces


def what_if(trace: Trace) -> WhatIf | None:
    """Return what a trace's simulation says; null where its order contradicts itself."""
    schedule = schedule_of(trace)
    if schedule is None:
        return None
    durations = durations_of(with_recovered_rows(trace))
    job = _Job(schedule=schedule, durations=durations, shape=trace.shape[1:3])
    (step_seconds, ideal_seconds, *mended), slowdowns = _alone(job)
    top, link = _top(slowdowns), _longest_link(job)
    mended += [*_without(job, top), _without_link(job, link)]
    lost = step_seconds - ideal_seconds
    is_lost = lost > MIN_LOSS * ideal_seconds
    shares = [(step_seconds - one) / lost if is_lost else None for one in mended]
    stages, replicas = job.shape
    return WhatIf(
        trace=trace,
        durations=durations,
        step_seconds=step_seconds,
        ideal_seconds=ideal_seconds,
        slowdowns=slowdowns / ideal_seconds,
        top=top,
        top_share=shares[2] if stages * replicas > len(top) else None,
        stage_share=shares[3] if stages > 1 else None,
        compute_share=shares[0],
        transfer_share=shares[1],
        link=link,
        link_share=shares[4] if link else None,
        ways_alike=_ways_alike(trace),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What questions are asked of.

    Attributes:
        schedule: How its pipeline works.
        durations: How long its operations took, and should.
        shape: Stages and replicas.
    """

    schedule: Schedule
    durations: Durations
    shape: tuple[int, int]


def _alone(job: _Job) -> tuple[list[float], Floats]:
    """Return the mean step as it was, ideal, with ideal compute, with ideal communication; and S_w.

    S_w is still in seconds here, and the lesser of two: with only the worker's stage as it was, and
    with only its replica as it was. Replicas meet only after their pipelines, so the ends of one
    as it was, and of the ideal ones, are those of the first two questions.
    """
    stages, replicas = job.shape
    all_of, none = np.ones((1, *job.shape), bool), np.zeros((1, *job.shape), bool)
    one_stage = np.broadcast_to(np.eye(stages, dtype=bool)[:, :, None], (stages, *job.shape))
    one_replica = np.broadcast_to(np.eye(replicas, dtype=bool)[:, None], (replicas, *job.shape))
    piped = Questions(
        compute=np.concatenate([all_of, none, none, all_of, one_stage]),
        transfers=np.concatenate([all_of, none, all_of, none, one_stage]),
    )
    ends = pipeline_ends(job.schedule, job.durations, piped)
    as_it_was = one_replica[:, :, :, None]
    joined = np.asarray(np.where(as_it_was, ends[0], ends[1]), dtype=np.float64)
    asked = Questions(
        compute=np.concatenate([piped.compute, one_replica]),
        transfers=np.concatenate([piped.transfers, one_replica]),
    )
    seconds = step_ends(np.concatenate([ends, joined]), job.durations, asked).mean(axis=1)
    by_stage, by_replica = seconds[4 : 4 + stages], seconds[4 + stages :]
    return seconds[:4].tolist(), np.minimum(by_stage[:, None], by_replica)


def _top(slowdowns: Floats) -> tuple[tuple[int, int], ...]:
    """Return the workers that cost the most, the worst first."""
    count = ceil(TOP_SHARE * slowdowns.size)
    worst = np.argsort(-slowdowns, axis=None, kind="stable")[:count]
    stages, replicas = np.unravel_index(worst, slowdowns.shape)
    return tuple(zip(stages.tolist(), replicas.tolist(), strict=True))


def _without(job: _Job, top: tuple[tuple[int, int], ...]) -> list[float]:
    """Return the mean step with ideal top workers, and with an ideal last stage."""
    kept = np.ones((2, *job.shape), bool)
    for stage, replica in top:
        kept[0, stage, replica] = False
    kept[1, -1] = False
    asked = Questions(compute=kept, transfers=kept)
    return [float(seconds) for seconds in _mean_steps(job, asked)]


def _mean_steps(job: _Job, asked: Questions) -> Floats:
    """Return the mean step in each question."""
    ends = pipeline_ends(job.schedule, job.durations, asked)
    return np.asarray(step_ends(ends, job.durations, asked).mean(axis=1))


def _longest_link(job: _Job) -> tuple[int, int] | None:
    """Return the link between two stages of a replica whose transfers are longest, all told."""
    stages, replicas = job.shape
    if stages == 1:
        return None
    spent = np.zeros((stages - 1, replicas))
    for name, at in LINK_ENDS:
        spent += job.durations.own[name].mean(axis=3).sum(axis=0)[at]
    stage, replica = divmod(int(np.argmax(spent)), replicas)
    return stage, replica


def _without_link(job: _Job, link: tuple[int, int] | None) -> float:
    """Return the mean step in which the transfers over a link are ideal."""
    own = dict(job.durations.own)
    if link is not None:
        for name, at in LINK_ENDS:
            own[name] = own[name].copy()
            own[name][:, at][:, link[0], link[1]] = job.durations.ideal[name]
    kept = np.ones((1, *job.shape), bool)
    other = replace(job, durations=replace(job.durations, own=own))
    return float(_mean_steps(other, Questions(compute=kept, transfers=kept))[0])


def _ways_alike(trace: Trace) -> float | None:
    """Return the correlation of forward with backward, each worker's mean taken off.

    A worker that is slow all along would correlate as well, hence its mean. Interleaved chunks go
    backward in another order and are not told apart here.
    """
    forward, backward = (trace.ends[way] - trace.starts[way] for way in WAYS)
    known = ~np.isnan(forward + backward)
    if any(trace.chunks[way].any() for way in WAYS) or known.sum() < MIN_PAIRS:
        return None
    one, other = (_centred(seconds, known) for seconds in (forward, backward))
    spread = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum()) / spread if spread > MIN_SPREAD * known.sum() else None


def _centred(seconds: Floats, known: Bools) -> Floats:
    """Return seconds less their worker's mean, as a share of it; zero where not known."""
    count = np.maximum(known.sum(axis=(0, 3), keepdims=True), 1)
    mean = np.where(known, seconds, 0.0).sum(axis=(0, 3), keepdims=True) / count
    return np.where(known, seconds / np.where(mean > 0, mean, 1.0) - 1.0, 0.0)
