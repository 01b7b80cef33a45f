"""Find the ranks that compute slower than the ranks that play the same part.

Source: methods reference, sections 2, 5, 6 and 8. Peers are ranks of the same attempt, stage,
expert group and GPU model: the last stage of a pipeline may rightly take half as long again. We
never score total step time in a lockstep job, and we never reference the best rank (NVIDIA's
resiliency extension does, and so accuses healthy workers of uneven stages).
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from collectors.frames import require
from detectors.accusations import Case, accuse, role_of
from detectors.episodes import EpisodeParams
from detectors.paces import PACES
from detectors.panels import Panel, build_panel
from detectors.promotion import PromotionParams, promote
from detectors.suspects import Suspect, SuspectParams, find_suspects
from detectors.timelines import step_timeline
from detectors.verdicts import Verdict, verdict_frame

GROUP: Final = ("run", "attempt", "measure", "pp", "ep", "model")
ENTITY: Final = ("rank", "host", "gpu", "index", "dp", "tp")

_WAIT_PARAMS: Final = EpisodeParams(min_slowdown=1.5, min_level=1.5, strong_slowdown=2.0)
"""Waiting times scatter more than work, so a wait accuses only when it differs by half."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StragglerParams:
    """When a rank counts as a straggler.

    Attributes:
        suspects: Screens and verification.
        promotion: When ranks of a host speak as their host.
        min_role_members: Ranks that are slow alike from the first step and as many as this, or
            `min_role_share`, are a part of the job that has more work, not sick devices.
        min_role_share: See above, as a share of the group.
        max_role_spread: Largest spread of such ranks' levels, as a log ratio.
    """

    suspects: SuspectParams = field(default_factory=SuspectParams)
    promotion: PromotionParams = field(default_factory=PromotionParams)
    min_role_members: int = 4
    min_role_share: float = 0.05
    max_role_spread: float = 0.05


def find_stragglers(paces: pl.LazyFrame, params: StragglerParams) -> pl.DataFrame:
    """Return the ranks, or the hosts of whole sets of ranks, that are slow against their peers.

    Args:
        paces: `PACES`; a null `pace_seconds` is a step not reported.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind slow, flapping, imbalance (a set of ranks alike from the first step) or
        unknown (a pair that nothing tells apart). Partition key: run and attempt.

    Raises:
        SchemaError: `paces` is not a `PACES`.
    """
    rows = paces.pipe(require, PACES).collect()
    parts = rows.partition_by("run", "attempt", "measure", maintain_order=False)
    return verdict_frame(verdict for part in parts for verdict in _judge(part, params))


def _judge(part: pl.DataFrame, params: StragglerParams) -> list[Verdict]:
    """Return the verdicts of one attempt."""
    measure = part["measure"][0]
    less_is_worse = measure == "wait"
    value = pl.col("pace_seconds").log() * (-1.0 if less_is_worse else 1.0)
    panel = build_panel(
        part.lazy().with_columns(log_pace=value),
        group=GROUP,
        entity=ENTITY,
        tick="step",
        value="log_pace",
    )
    chain = params.suspects
    if less_is_worse:
        chain = replace(chain, episodes=_WAIT_PARAMS)
    suspects = find_suspects(panel, chain)
    roles, devices = _split_roles(panel, suspects, params)
    case = Case(panel=panel, part=part, timeline=step_timeline(part, panel.ticks))
    found = [accuse(case, suspect) for suspect in devices]
    children = dict(panel.entities.drop_nulls("host").group_by("host").len().iter_rows())
    promoted = promote(found, children, "host", params.promotion)
    return [*promoted, *(role_of(case, members) for members in roles)]


def _split_roles(
    panel: Panel, suspects: list[Suspect], params: StragglerParams
) -> tuple[list[list[Suspect]], list[Suspect]]:
    """Return sets of ranks that look like a part of the job, and the suspects that do not."""
    roles: list[list[Suspect]] = []
    devices = [one for one in suspects if not one.episode.from_level]
    for group in sorted({int(panel.groups[one.entity]) for one in suspects}):
        alike = [
            one for one in suspects if one.episode.from_level and panel.groups[one.entity] == group
        ]
        effects = [one.episode.effect for one in alike]
        least = max(params.min_role_members, params.min_role_share * _size(panel, group))
        hosts = panel.entities["host"].gather([one.entity for one in alike])
        one_host = hosts.null_count() == 0 and hosts.n_unique() == 1
        spread = max(effects, default=0.0) - min(effects, default=0.0)
        is_role = len(alike) >= least and spread <= params.max_role_spread and not one_host
        (roles.append(alike) if is_role else devices.extend(alike))
    return roles, devices


def _size(panel: Panel, group: int) -> int:
    return int(np.sum(panel.groups == group))
