"""Jobs that follow each other: other work on the same nodes, and the next attempt of a run."""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import numpy as np

from benchmarks.planted_cases import SHORT, Case, nobody, one
from benchmarks.planted_jobs import POWER, Job, healthy_job
from benchmarks.planted_slow import from_the_first_step, later, renumbered


def next_job(first: Job) -> Job:
    """A second job on the same nodes, of twice the batch, with a warm-up of three minutes."""
    shape = replace(first.shape, run="next", start=first.shape.start + timedelta(minutes=27))
    job = healthy_job(int(first.rng.integers(0, 2**31)), replace(shape, minutes=33))
    job.times(1.9, np.arange(shape.ranks))
    job.forward[:, :24] *= 1.8
    job.signals[POWER] += 40.0
    return job


def without_the_sick_host(first: Job) -> Job:
    """The next attempt, in which the host of the sick GPU is another one."""
    job = healthy_job(int(first.rng.integers(0, 2**31)), later(first, 1))
    job.renamed_hosts = {"n03": "n77"}
    return job


def nothing_happens(_: Job) -> None:
    """A healthy job."""


ATTEMPT_CASES: Final[dict[str, Case]] = {
    "D18 job boundary": Case(story=nothing_happens, truth=nobody(), shape=SHORT, after=next_job),
    "a renumbered restart": Case(
        story=from_the_first_step, truth=one(onset=-1, effect=1.2), shape=SHORT, after=renumbered
    ),
    "an eviction": Case(
        story=from_the_first_step,
        truth=one(onset=-1, effect=1.2),
        shape=SHORT,
        after=without_the_sick_host,
    ),
}
