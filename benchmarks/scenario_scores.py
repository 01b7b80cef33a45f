"""Score what was said of a planted job by the rule of the scenarios.

1: kind, set of devices and level are right, the onset within 5 steps or 2 minutes, the effect
within a fifth. 0.5: the set is right and something else is not. 0: the set is wrong, or any device
is named in a red herring.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from benchmarks.planted_cases import Truth
from benchmarks.planted_jobs import Job
from detectors.verdicts import Verdict

DEVICE_LEVELS: Final = frozenset({"rank", "gpu", "nic", "link", "host", "rack"})
NAMING_KINDS: Final = frozenset({"slow", "degrading", "flapping", "hang", "crash", "link_fault"})
MAX_ONSET: Final = timedelta(minutes=2)
MAX_EFFECT_ERROR: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How right it was.

    Attributes:
        value: 1, 0.5 or 0.
        why: What was not right; empty if all was.
        delay_seconds: From the planted onset to the finding; null where that has no meaning.
        extra: Devices that were named wrongly.
    """

    value: float
    why: str = ""
    delay_seconds: float | None = None
    extra: int = 0


def name_of(verdict: Verdict, job: Job) -> str:
    """Return the name by which the truth knows a verdict's subject."""
    subject = verdict.subject
    if verdict.level == "rack":
        return subject.rack or "rack?"
    if verdict.level in {"nic", "link"}:
        port = subject.port or subject.device or f"rank {subject.rank}"
        return subject.link or f"{subject.host}/{port}"
    if verdict.level == "host":
        return subject.host or "host?"
    if subject.host is not None and subject.gpu is not None:
        return f"{subject.host}/{subject.gpu}"
    at = [place for place, rank in enumerate(job.order) if rank == subject.rank]
    size = job.shape
    return f"{size.host(at[0])}/{at[0] % size.gpus}" if at else f"rank {subject.rank}"


def score(verdicts: Sequence[Verdict], truth: Truth, job: Job) -> Score:
    """Return the score of what was said of a job."""
    named = [one for one in verdicts if one.level in DEVICE_LEVELS and one.kind in NAMING_KINDS]
    names = {name_of(one, job) for one in named}
    extra = len(names - truth.devices)
    missing = truth.devices - names
    if extra or missing:
        return Score(value=0.0, why=f"named {sorted(names)}, {_told(verdicts)}", extra=extra)
    wrong = [*_wrong_words(named, truth, job), *_missing_words(verdicts, truth)]
    if wrong:
        return Score(value=0.5, why="; ".join(wrong))
    return Score(value=1.0, delay_seconds=_delay(named, truth, job))


def _told(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(f"{one.kind} {one.level} {one.subject.phrase()}" for one in verdicts)


def _wrong_words(named: Sequence[Verdict], truth: Truth, job: Job) -> list[str]:
    """Return what is wrong in the findings on the devices that are slow."""
    found: list[str] = []
    for one in named:
        if one.kind not in truth.kinds or one.level not in truth.levels:
            found.append(f"{one.kind} at {one.level}")
        if truth.causes and one.cause not in truth.causes:
            found.append(f"cause {one.cause}")
    firsts = {name_of(one, job): one for one in reversed(named)}
    found += [f"onset {one.onset_step} {one.onset}" for one in firsts.values()
              if not _is_onset(one, truth, job)]  # fmt: skip
    if truth.effect is not None:
        limit = MAX_EFFECT_ERROR * (truth.effect - 1.0)
        found += [
            f"effect {one.slowdown}"
            for one in named
            if one.slowdown is None or abs(one.slowdown - truth.effect) > limit
        ]
    return found


def _is_onset(one: Verdict, truth: Truth, job: Job) -> bool:
    if truth.onset is None:
        return True
    if truth.onset < 0:
        return one.onset_before_data
    near = one.onset is not None and abs(one.onset - job.moment(truth.onset)) <= MAX_ONSET
    steps = truth.max_onset_steps
    return near or (one.onset_step is not None and abs(one.onset_step - 1 - truth.onset) <= steps)


def _missing_words(verdicts: Sequence[Verdict], truth: Truth) -> list[str]:
    return [
        f"no {kind} at {level} for {cause}: {_told(verdicts)}"
        for kind, level, cause in sorted(truth.beside, key=str)
        if not any(
            (one.kind, one.level) == (kind, level) and cause in {None, one.cause}
            for one in verdicts
        )
    ]


def _delay(named: Sequence[Verdict], truth: Truth, job: Job) -> float | None:
    found = [one.detected for one in named if one.detected]
    if not found or truth.onset is None or truth.onset < 0:
        return None
    return (min(found) - job.moment(truth.onset)).total_seconds()
