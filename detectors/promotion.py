"""One verdict for what is one fault: children that are bad together speak as their parent.

Source: methods reference, section 6: a parent with at least three children, of which 60 % are bad
at once, is named instead of them; a child far beyond the others keeps its own verdict.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from statistics import median
from typing import Final

from detectors.verdicts import Evidence, Level, Subject, Verdict

PROMOTED_KINDS: Final = frozenset({"slow", "flapping", "degrading"})

_START: Final = datetime.min.replace(tzinfo=UTC)
_END: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionParams:
    """When children speak as their parent.

    Attributes:
        min_children: Children a parent must have.
        min_share: Share of them that must be bad at once.
        min_excess: Ratio beyond the children's median slowdown at which one keeps its verdict.
    """

    min_children: int = 3
    min_share: float = 0.6
    min_excess: float = 1.10


def promote(
    verdicts: Sequence[Verdict],
    children: Mapping[str, int],
    level: Level,
    params: PromotionParams,
) -> list[Verdict]:
    """Return the verdicts with bad families replaced by one of their parent host.

    Args:
        verdicts: Verdicts whose subject names a host.
        children: How many children each host has, judged ones, good and bad.
        level: The parent's level.
        params: When to promote.

    Returns:
        Parents, the children that stand for themselves, and all other verdicts untouched.
    """
    kept: list[Verdict] = []
    families: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        host = verdict.subject.host
        if host is not None and verdict.kind in PROMOTED_KINDS:
            families.setdefault(host, []).append(verdict)
        else:
            kept.append(verdict)
    for host in sorted(families):
        kept += _family(families[host], children.get(host, 0), level, params)
    return kept


def _family(
    bad: list[Verdict], children: int, level: Level, params: PromotionParams
) -> list[Verdict]:
    middle = sorted(bad, key=lambda one: one.slowdown or 0.0)[len(bad) // 2]
    together = [one for one in bad if overlap(one, middle)]
    if children < params.min_children or len(together) < params.min_share * children:
        return bad
    usual = median(one.slowdown or 1.0 for one in together)
    alone = [
        one
        for one in bad
        if one not in together or (one.slowdown or 1.0) > usual * params.min_excess
    ]
    return [_parent(together, children, level, usual), *alone]


def _parent(together: list[Verdict], children: int, level: Level, usual: float) -> Verdict:
    first = min(together, key=lambda one: one.onset or _START)
    names = ", ".join(sorted(one.subject.phrase() for one in together)[:8])
    what = f"{len(together)} of {children} on it slow together, x{usual:.2f} at the median: {names}"
    causes = {one.cause for one in together}
    return replace(
        first,
        level=level,
        subject=_shared([one.subject for one in together]),
        slowdown=usual,
        cause=causes.pop() if len(causes) == 1 else None,
        detected=min((one.detected for one in together if one.detected), default=None),
        q_value=min((one.q_value for one in together if one.q_value is not None), default=None),
        evidence=(Evidence(source="peers", time=first.onset, what=what), *first.evidence),
        alternatives=tuple(sorted(one.subject.phrase() for one in together)),
    )


def _shared(subjects: Sequence[Subject]) -> Subject:
    """Return what all subjects have in common."""
    first = subjects[0].known()
    same = {
        name: value
        for name, value in first.items()
        if all(other.known().get(name) == value for other in subjects)
    }
    return Subject(**{item.name: same.get(item.name) for item in fields(Subject)})  # type: ignore[arg-type]  # values come from Subject itself


def overlap(one: Verdict, other: Verdict) -> bool:
    """Return whether two findings were true at one time; a bound that is not known is open."""
    if one.onset_step is not None and other.onset_step is not None:
        ends = [verdict.cleared_step for verdict in (one, other)]
        first_end, second_end = (float("inf") if end is None else end for end in ends)
        return one.onset_step < second_end and other.onset_step < first_end
    return (one.onset or _START) < (other.cleared or _END) and (other.onset or _START) < (
        one.cleared or _END
    )
