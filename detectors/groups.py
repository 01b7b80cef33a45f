"""Find groups of ranks that slowed as one: the change that peers inside the group cannot see.

When most members of a group slow together its middle moves with them and nobody stands out. The
group's middle is therefore compared with its sister groups of the same attempt. Only changes
count: a constant difference between stages is partitioning. Source: methods reference, section 6.
"""

from dataclasses import dataclass, replace
from math import exp
from typing import Final

import numpy as np

from detectors.accusations import Case
from detectors.panels import Floats, Ints, Panel, group_sizes
from detectors.peers import known_median
from detectors.suspects import Suspect, SuspectParams, find_suspects
from detectors.verdicts import Evidence, Subject, Verdict

MIN_SISTERS: Final = 4
"""Groups, the slow one included, below which nobody can say which of them moved."""

MIN_MEMBERS: Final = 4
"""In a smaller group one member moves the middle."""

NEVER_BY_LEVEL: Final = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupParams:
    """When a group counts as slow.

    Attributes:
        min_share: Share of its members that must have moved with it (60 % in the reference).
    """

    min_share: float = 0.6


def find_slow_groups(case: Case, chain: SuspectParams, params: GroupParams) -> list[Verdict]:
    """Return the groups of ranks that slowed against their sister groups.

    Args:
        case: The ranks of one attempt.
        chain: Screens and verification, as for ranks.
        params: When a group counts.

    Returns:
        Verdicts of kind group_slow; for expert groups imbalance, since tokens move between experts
        and devices do not. No rank is at fault: they are named as alternatives.
    """
    rows = np.flatnonzero(group_sizes(case.panel.groups) >= MIN_MEMBERS)
    if rows.size < MIN_SISTERS:
        return []
    panel = _group_panel(case.panel, rows)
    episodes = replace(chain.episodes, min_level=NEVER_BY_LEVEL)
    found = find_suspects(panel, replace(chain, episodes=episodes))
    moved = [(one, _moved(case.panel, panel, int(rows[one.entity]), one)) for one in found]
    sizes = group_sizes(case.panel.groups)
    return [
        _verdict(case, int(rows[one.entity]), one, ranks)
        for one, ranks in moved
        if len(ranks) >= params.min_share * sizes[rows[one.entity]]
    ]


def _group_panel(panel: Panel, numbers: Ints) -> Panel:
    """Return the middles of the given groups as one group of sisters."""
    members = [np.flatnonzero(panel.groups == number) for number in numbers]
    return Panel(
        entities=panel.entities[[int(rows[0]) for rows in members]],
        groups=np.zeros(numbers.size, dtype=np.int64),
        ticks=panel.ticks,
        values=np.stack([known_median(panel.values[rows], 0) for rows in members]),
    )


def _moved(panel: Panel, groups: Panel, number: int, suspect: Suspect) -> list[int]:
    """Return the group's ranks whose own pace moved with it, against the sisters' middle."""
    sisters = known_median(np.delete(groups.values, suspect.entity, axis=0), 0)
    rows = np.flatnonzero(panel.groups == number)
    relative = panel.values[rows] - sisters
    episode = suspect.episode
    inside = relative[:, episode.start : episode.stop]
    changes = known_median(inside, -1) - known_median(_outside(relative, suspect), -1)
    slow = rows[changes >= episode.effect / 2]
    return [int(rank) for rank in panel.entities["rank"].gather(slow)]


def _outside(values: Floats, suspect: Suspect) -> Floats:
    start, stop = suspect.episode.start, suspect.episode.stop
    return np.concatenate([values[:, :start], values[:, stop:]], axis=1)


def _verdict(case: Case, number: int, suspect: Suspect, ranks: list[int]) -> Verdict:
    row = int(np.flatnonzero(case.panel.groups == number)[0])
    entity = case.panel.entities.row(row, named=True)
    span = case.timeline.span(suspect.episode)
    size = int(np.sum(case.panel.groups == number))
    ratio = exp(suspect.episode.effect)
    is_experts = entity["ep"] is not None
    what = f"{len(ranks)} of {size} ranks slowed together, x{ratio:.2f} against the sister groups"
    return Verdict(
        kind="imbalance" if is_experts else "group_slow",
        level="group",
        subject=Subject(
            run=entity["run"], attempt=entity["attempt"], pp=entity["pp"], ep=entity["ep"]
        ),
        slowdown=ratio,
        cause="expert_load" if is_experts else None,
        confidence="medium",
        peers="sister groups of the same attempt",
        peer_count=suspect.members - 1,
        q_value=suspect.q_value,
        evidence=(Evidence(source="steps", time=span["onset"], what=what),),
        alternatives=tuple(f"rank {rank}" for rank in sorted(ranks)),
        action="look for what these ranks share: their stage's work, switch, power feed, software",
        **span,
    )
