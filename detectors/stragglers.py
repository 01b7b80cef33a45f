"""Find the ranks that compute slower than the ranks that play the same part.

Source: methods reference, sections 2, 5, 6 and 8. Peers are ranks of the same attempt, stage,
expert group and GPU model: the last stage of a pipeline may rightly take half as long again. We
never score total step time in a lockstep job, and we never reference the best rank (NVIDIA's
resiliency extension does, and so accuses healthy workers of uneven stages).
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import require
from detectors.accusations import Case, accuse, role_of
from detectors.episodes import MIN_SEGMENT_TICKS
from detectors.groups import GroupParams, find_slow_groups
from detectors.host_side import forward_paces, with_host_side
from detectors.paces import PACES
from detectors.panels import Ints, Panel, build_panel
from detectors.peers import robust_scale
from detectors.promotion import PromotionParams, promote, rack_of
from detectors.suspects import Suspect, SuspectParams, find_suspects
from detectors.timelines import step_timeline
from detectors.verdicts import Verdict, verdict_frame

GROUP: Final = ("run", "attempt", "measure", "pp", "ep", "model")
ENTITY: Final = ("rank", "host", "gpu", "index", "dp", "tp")

LEAST: Final = {
    "wait": {"min_slowdown": 1.5, "min_level": 1.5, "strong_slowdown": 2.0},
    "step": {"min_level": 1.18},
    "not_waiting": {"min_level": 1.18},
}
"""Thresholds that a measure needs at the least. Waiting times scatter more than work, so a wait
accuses only when it differs by half; whole steps hold what is no work of the rank, and workers
that are not in lockstep differ for good reasons by 15 % (Alibaba PAI, job_2)."""

WANDERING: Final = frozenset({"step"})
"""Measures that wander for hours, since nobody waits for anybody."""

MIN_STEPS_APART: Final = 2.0
"""Steps between two that are told, from which a told one stands for more than itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StragglerParams:
    """When a rank counts as a straggler.

    Attributes:
        suspects: Screens and verification.
        groups: When a group of ranks counts as slow.
        promotion: When ranks of a host speak as their host.
        min_role_members: Ranks that are slow alike from the first step and as many as this, or
            `min_role_share`, are a part of the job that has more work, not sick devices.
        min_role_share: See above, as a share of the group.
        max_role_spread: Largest robust scale of such ranks' levels, as a log ratio.
    """

    suspects: SuspectParams = field(default_factory=SuspectParams)
    groups: GroupParams = field(default_factory=GroupParams)
    promotion: PromotionParams = field(default_factory=PromotionParams)
    min_role_members: int = 4
    min_role_share: float = 0.05
    max_role_spread: float = 0.03


def find_stragglers(paces: pl.LazyFrame, params: StragglerParams) -> pl.DataFrame:
    """Return the ranks, or the hosts of whole sets of ranks, that are slow against their peers.

    Args:
        paces: `PACES`; a null `pace_seconds` is a step not reported.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow, degrading, flapping, group_slow (a stage that slowed as one),
        imbalance (a set of ranks alike from the first step) or unknown (a pair that nothing tells
        apart). Partition key: run and attempt.

    Raises:
        SchemaError: `paces` is not a `PACES`.
    """
    rows = paces.pipe(require, PACES).collect()
    parts = rows.partition_by("run", "attempt", "measure", maintain_order=False)
    return verdict_frame(verdict for part in parts for verdict in _attempt(part, params))


def _attempt(part: pl.DataFrame, params: StragglerParams) -> list[Verdict]:
    """Return the verdicts of one attempt, slow hosts told from slow GPUs where both passes are."""
    found = _judge(part, params)
    passes = forward_paces(part)
    return found if passes.is_empty() else with_host_side(found, _judge(passes, params))


def _judge(part: pl.DataFrame, params: StragglerParams) -> list[Verdict]:
    """Return the verdicts of one attempt by one measure."""
    measure = part["measure"][0]
    value = pl.col("pace_seconds").log() * (-1.0 if measure == "wait" else 1.0)
    panel = build_panel(
        part.lazy().filter(pl.col("pace_seconds") > 0).with_columns(log_pace=value),
        group=GROUP,
        entity=ENTITY,
        tick="step",
        value="log_pace",
    )
    chain = _chain(measure, params.suspects)
    suspects = find_suspects(panel, _for_cadence(chain, panel.ticks))
    roles, devices = _split_roles(panel, suspects, params)
    case = Case(panel=panel, part=part, timeline=step_timeline(part, panel.ticks))
    named = _promoted([accuse(case, one) for one in devices], panel.entities, params.promotion)
    groups = find_slow_groups(case, chain, params.groups)
    return [*named, *groups, *(role_of(case, members) for members in roles)]


def _chain(measure: str | None, params: SuspectParams) -> SuspectParams:
    """Return the chain's parameters, raised to what the measure needs."""
    least = LEAST.get(measure or "", {})
    raised = {name: max(getattr(params.episodes, name), floor) for name, floor in least.items()}
    episodes = replace(params.episodes, **raised)
    return replace(params, episodes=episodes, wanders=measure in WANDERING)


def _for_cadence(params: SuspectParams, steps: Ints) -> SuspectParams:
    """Return the chain's parameters for steps that are told every so often only.

    Where every tenth step is told, few of them last as long as many that follow each other.
    """
    apart = float(np.median(np.diff(steps))) if steps.size > 1 else 1.0
    if apart < MIN_STEPS_APART:
        return params
    least = max(MIN_SEGMENT_TICKS, ceil(params.episodes.min_bad_ticks / apart))
    return replace(params, episodes=replace(params.episodes, min_clear_ticks=least))


def _promoted(
    found: list[Verdict], entities: pl.DataFrame, params: PromotionParams
) -> list[Verdict]:
    """Return the findings with ranks joined into their host, and hosts into their rack."""
    placed = entities.drop_nulls("host")
    ranks = dict(placed.group_by("host").len().iter_rows())
    racks = Counter(rack for host in ranks if (rack := rack_of(host)) is not None)
    by_host = promote(found, ranks, "host", params)
    return promote(by_host, racks, "rack", params)


def _split_roles(
    panel: Panel, suspects: list[Suspect], params: StragglerParams
) -> tuple[list[list[Suspect]], list[Suspect]]:
    """Return sets of ranks that look like a part of the job, and the suspects that do not."""
    roles: list[list[Suspect]] = []
    devices = [one for one in suspects if not one.episode.from_level]
    level = [one for one in suspects if one.episode.from_level]
    for group in sorted({int(panel.groups[one.entity]) for one in level}):
        alike = [one for one in level if panel.groups[one.entity] == group]
        (roles.append(alike) if _is_role(panel, alike, params) else devices.extend(alike))
    return roles, devices


def _is_role(panel: Panel, alike: list[Suspect], params: StragglerParams) -> bool:
    """Return whether ranks slow from the first step are enough, and alike enough, for a role.

    The ranks of one host are a role only if more than one host is in the group: where the job
    states no coordinates, a host may as well be a stage as be sick, and sick comes first.
    """
    size = int(np.sum(panel.groups == panel.groups[alike[0].entity]))
    least = max(params.min_role_members, params.min_role_share * size)
    effects = np.array([[one.episode.effect for one in alike]])
    hosts = panel.entities["host"].gather([one.entity for one in alike])
    one_host = hosts.null_count() == 0 and hosts.n_unique() == 1
    spread = float(robust_scale(effects)[0])
    return len(alike) >= least and spread <= params.max_role_spread and not one_host
