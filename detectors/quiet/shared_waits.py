"""Say once what many ranks or hosts wait for at once: their data, and so the store behind it.

A straggler detector finds each rank that waits for its data. Where ranks of three hosts or more
began to wait together, what they share is slow: no rank and no host is at fault. Source: methods
reference, sections 6 (three children at least speak as their parent) and 8 (storage and loaders hit
many ranks at once).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from detectors.verdicts import Evidence, Subject, Verdict

CAUSE: Final = "data"
"""What the detectors of ranks and of jobs call a wait for data."""

_KINDS: Final = ("slow", "degrading", "flapping")

MAX_QUOTED: Final = 3

_ACTION: Final = (
    "look at the store, its network and who else reads from it: no rank and no host is at fault"
)

_NEEDED: Final = "latency of the store as its clients see it, and which target serves whom"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedParams:
    """When waits are one.

    Attributes:
        min_places: Hosts that wait, or ranks where no host is told.
        max_onset_steps: Steps within which they began.
        max_onset_seconds: The same where no step is told.
    """

    min_places: int = 3
    max_onset_steps: int = 10
    max_onset_seconds: float = 120.0

    def __post_init__(self) -> None:
        """Refuse to take two for many."""
        if self.min_places < 3:  # noqa: PLR2004 -- two may fail by chance
            raise ValueError(f"min_places must be 3 at least, found {self.min_places}")


def with_shared_waits(verdicts: Sequence[Verdict], params: SharedParams) -> list[Verdict]:
    """Return the findings, with those of many that wait for their data together as one.

    Args:
        verdicts: Of all detectors over the same inputs.
        params: When waits are one.

    Returns:
        A finding of kind group_slow at level job, cause data, in place of those on ranks and hosts;
        it takes the place of a finding on the job's own pace of the same time as well. All other
        findings are untouched, in their order.
    """
    waits = [one for one in verdicts if _is_wait(one)]
    crowds = [crowd for crowd in _crowds(waits, params) if _is_many(crowd, params)]
    merged = [
        (crowd, [one for one in verdicts if _is_same(one, crowd, params)]) for crowd in crowds
    ]
    gone = {id(one) for crowd, jobs in merged for one in (*crowd, *jobs)}
    rest = [one for one in verdicts if id(one) not in gone]
    return [*rest, *(_joined(crowd, jobs) for crowd, jobs in merged)]


def _is_wait(verdict: Verdict) -> bool:
    return verdict.kind in _KINDS and verdict.level in {"rank", "host"} and verdict.cause == CAUSE


def _crowds(waits: list[Verdict], params: SharedParams) -> Iterator[list[Verdict]]:
    """Yield those of one run that began together, by their onset."""
    crowd: list[Verdict] = []
    for one in sorted(waits, key=_order):
        if crowd and not _is_near(crowd[0], one, params):
            yield crowd
            crowd = []
        crowd.append(one)
    yield crowd


def _order(verdict: Verdict) -> tuple[str, int, int, float, str, int]:
    subject = verdict.subject
    return (
        subject.run or "",
        -1 if subject.attempt is None else subject.attempt,
        -1 if verdict.onset_step is None else verdict.onset_step,
        verdict.onset.timestamp() if verdict.onset else 0.0,
        subject.host or "",
        -1 if subject.rank is None else subject.rank,
    )


def _is_near(first: Verdict, other: Verdict, params: SharedParams) -> bool:
    """Return whether two of one run began together."""
    mine, theirs = first.subject, other.subject
    if (mine.run, mine.attempt) != (theirs.run, theirs.attempt):
        return False
    if first.onset_step is not None and other.onset_step is not None:
        return abs(first.onset_step - other.onset_step) <= params.max_onset_steps
    gap = timedelta(seconds=params.max_onset_seconds)
    if first.onset is not None and other.onset is not None:
        return abs(first.onset - other.onset) <= gap
    return first.onset_before_data and other.onset_before_data


def _is_many(crowd: list[Verdict], params: SharedParams) -> bool:
    return len(_places(crowd)) >= params.min_places


def _places(crowd: list[Verdict]) -> list[str]:
    """Return the hosts, or the ranks whose host is not told, in alphabetical order."""
    return sorted({one.subject.host or f"rank {one.subject.rank}" for one in crowd})


def _is_same(verdict: Verdict, crowd: list[Verdict], params: SharedParams) -> bool:
    """Return whether a finding on the job's own pace is of the time of a crowd."""
    is_pace = verdict.kind == "group_slow" and verdict.level == "job"
    return is_pace and verdict.cause in {None, CAUSE} and _is_near(crowd[0], verdict, params)


def _joined(crowd: list[Verdict], jobs: list[Verdict]) -> Verdict:
    """Return one finding on what a crowd waits for."""
    first = crowd[0]
    places = _places(crowd)
    ratio = median(one.slowdown or 1.0 for one in crowd)
    what = (
        f"{len(places)} hosts or ranks began to wait for data together, x{ratio:.2f} at the median"
    )
    quoted = [piece for one in (*jobs, *crowd[:MAX_QUOTED]) for piece in one.evidence[:1]]
    whole = replace(
        first,
        kind="group_slow",
        level="job",
        subject=Subject(run=first.subject.run, attempt=first.subject.attempt),
        detected=min((one.detected for one in (*crowd, *jobs) if one.detected), default=None),
        slowdown=max((one.slowdown or 1.0 for one in jobs), default=ratio),
        confidence="high",
        peers="ranks of the same part that did not wait",
        q_value=None,
        evidence=(Evidence(source="steps", time=first.onset, what=what), *quoted),
        victims=tuple(places),
        alternatives=(),
        action=_ACTION,
        needed=_NEEDED,
    )
    return replace(whole, cleared=_end([one.cleared for one in crowd]))


def _end(times: list[datetime | None]) -> datetime | None:
    """Return when the last of them ended; null where one lasts."""
    known = [one for one in times if one is not None]
    return max(known) if len(known) == len(times) else None
