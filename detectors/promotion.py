"""One verdict for what is one fault: children that are bad together speak as their parent.

Ranks and GPUs speak as their host, hosts as their rack.

Source: methods reference, section 6: a parent with at least three children, of which 60 % are bad
at once, is named instead of them; a child far beyond the others keeps its own verdict.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from math import inf
from statistics import median
from typing import Final

from detectors.verdicts import Evidence, Level, Subject, Verdict

DRIFT: Final = "config_drift"

PROMOTED_KINDS: Final = frozenset({"slow", "flapping", "degrading", DRIFT})

RACK: Final = r"(?:^|[-_.])(r(?:ack)?-?\d+)[-_.]"
"""A rack in a host name: `gpu-r3-n07`, `rack12-node4`. Hosts named otherwise have no known rack."""

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


def rack_of(host: str) -> str | None:
    """Return the rack that a host's name tells; null if it tells none."""
    found = re.search(RACK, host)
    return found.group(1) if found else None


def promote(
    verdicts: Sequence[Verdict],
    children: Mapping[str, int],
    level: Level,
    params: PromotionParams,
) -> list[Verdict]:
    """Return the verdicts with bad families replaced by one of their parent.

    Args:
        verdicts: Findings of any kind and level; what was set and what is sick are two families.
        children: How many children each parent has, judged ones, good and bad.
        level: The parent's level: host for ranks and devices, rack for hosts.
        params: When to promote.

    Returns:
        Parents, the children that stand for themselves, and all other verdicts untouched.
    """
    kept: list[Verdict] = []
    families: dict[tuple[str, bool], list[Verdict]] = {}
    for verdict in verdicts:
        parent = _parent_name(verdict, level)
        if parent is not None and verdict.kind in PROMOTED_KINDS:
            families.setdefault((parent, verdict.kind == DRIFT), []).append(verdict)
        else:
            kept.append(verdict)
    for name, drifts in sorted(families):
        members = families[name, drifts]
        kept += _family(members, name, children.get(name, 0), level, params)
    return kept


def _parent_name(verdict: Verdict, level: Level) -> str | None:
    """Return whom a verdict would speak through; null where it has no such parent."""
    host = verdict.subject.host
    if level == "rack":
        return rack_of(host) if host is not None and verdict.level == "host" else None
    return host


def _family(
    bad: list[Verdict], name: str, children: int, level: Level, params: PromotionParams
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
    parent = _parent(together, children, level, usual)
    if level == "rack":
        parent = replace(parent, subject=replace(parent.subject, rack=name))
    return [parent, *alone]


def _parent(together: list[Verdict], children: int, level: Level, usual: float) -> Verdict:
    first = min(together, key=lambda one: one.onset or _START)
    names = _names([one.subject for one in together])
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


def _names(subjects: Sequence[Subject]) -> str:
    """Return children in few words: their ranks where they have them."""
    ranks = sorted(one.rank for one in subjects if one.rank is not None)
    if len(ranks) == len(subjects):
        return f"ranks {', '.join(str(rank) for rank in ranks)}"
    return ", ".join(sorted(one.phrase() for one in subjects))


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
    if _has_steps(one) and _has_steps(other):
        starts = [-inf if each.onset_step is None else each.onset_step for each in (one, other)]
        ends = [inf if each.cleared_step is None else each.cleared_step for each in (one, other)]
        return starts[0] < ends[1] and starts[1] < ends[0]
    return (one.onset or _START) < (other.cleared or _END) and (other.onset or _START) < (
        one.cleared or _END
    )


def _has_steps(verdict: Verdict) -> bool:
    """Return whether the bounds of a finding are told in steps."""
    return verdict.onset_step is not None or verdict.cleared_step is not None
