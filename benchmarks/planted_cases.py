"""What a scenario is: a story that changes a healthy job, and what is right to say of it.

The scenarios are those that the detectors are held to (docs/yardsticks.md), with variants of our
own for every fault class and pitfall of the methods reference.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks.planted_jobs import CLOCK, HEAT, POWER, REASONS, Job, Shape

SICK: Final = 29
"""Rank 29 is replica 3, stage 5: GPU 5 of n03."""

MINUTE_20: Final = 300
MINUTE_30: Final = 450

LOST_SHARE: Final = 0.2

USUAL: Final = Shape()
ONE_STAGE: Final = Shape(dp=16, pp=1)
SHORT: Final = Shape(minutes=25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is right to say.

    Attributes:
        devices: Names of what is slow: `host/gpu`, a host, a rack, a link.
        kinds: Kinds that are right for them.
        level: Levels that are right for them; a rank and its GPU are one.
        onset: Step (from 0) at which it began; -1: before the data.
        effect: Ratio; null where it is no speed.
        causes: Causes of which one must be told; empty: any.
        beside: Kind, level and cause (null: any) of findings that must be there too.
        max_onset_steps: How far the onset may be off.
    """

    devices: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset({"slow"})
    levels: frozenset[str] = frozenset({"rank", "gpu"})
    onset: int | None = None
    effect: float | None = None
    causes: frozenset[str] = frozenset()
    beside: frozenset[tuple[str, str, str | None]] = frozenset()
    max_onset_steps: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One scenario.

    Attributes:
        story: Changes a healthy job.
        truth: What is right to say.
        shape: Of the job.
        hidden: Columns and frames that nobody tells.
        after: A job that follows, or the next attempt.
    """

    story: Callable[[Job], None]
    truth: Truth
    shape: Shape = USUAL
    hidden: tuple[str, ...] = ()
    after: Callable[[Job], Job] | None = None


def one(name: str = "n03/5", **told: object) -> Truth:
    """Return the truth of one slow GPU."""
    return Truth(devices=frozenset({name}), **told)  # type: ignore[arg-type]  # names of fields


def nobody(*beside: tuple[str, str, str | None]) -> Truth:
    """Return the truth of a red herring, with the findings that must be there."""
    return Truth(beside=frozenset(beside))


def throttle(job: Job, rank: int, tick: int, clock_loss: float = 270e6) -> None:
    """Let a GPU run hot and slow from a tick on."""
    job.signals[CLOCK][rank, tick:] -= clock_loss
    job.signals[POWER][rank, tick:] *= 0.86
    job.signals[HEAT][rank, tick:] += 20.0
    job.signals[REASONS][rank, tick:] = 0x40


def shuffled(story: Callable[[Job], None]) -> Callable[[Job], None]:
    """Return a story told in another order, by other numbers, with a fifth of it lost."""

    def told(job: Job) -> None:
        story(job)
        job.order = job.rng.permutation(job.shape.ranks)
        job.told &= job.rng.random(job.told.shape) >= LOST_SHARE

    return told
