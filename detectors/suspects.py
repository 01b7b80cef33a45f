"""From a panel of like entities to the few that are verified worse than their peers.

The common chain of every peer detector: leave-one-out peer ratio, screens for level and change
over the whole fleet at once, segments and verification for the suspects only, the guard against
group events, false-discovery control. Source: methods reference, sections 3 to 7.
"""

from dataclasses import dataclass, field, replace
from math import log
from typing import Final

import numpy as np

from detectors.changes import cusum_alarms, cusum_threshold
from detectors.episodes import Episode, EpisodeParams, find_episodes
from detectors.multiplicity import discovery_rates
from detectors.panels import Bools, Floats, Ints, Panel, group_sizes
from detectors.peers import (
    known_median,
    peer_medians,
    robust_scale,
    tick_noise,
    unbiased_scale,
)

BLOCK_TICKS: Final = 5
"""The level screen looks at medians of this many ticks."""

PAIR_MEMBERS: Final = 3
"""Groups of up to three cannot tell who moved by peers alone."""

TICKS_PER_DEVICE_DAY: Final = 5_760
"""Ticks of a day at the usual 15 s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectParams:
    """How the chain screens and verifies.

    Attributes:
        episodes: When a stretch counts.
        baseline_ticks: Clean ticks from which the change screen takes level and noise.
        cusum_reference: Allowance k of the change screen, in standard deviations.
        max_alarms_per_kiloday: False alarms of the change screen per 1000 device-days.
        max_peer_share: The peers' own change over the effect; above it the group moved.
        min_level_scales: How far outside its group a level must lie, in scales of the group.
        max_q_value: Highest false-discovery rate that stands.
    """

    episodes: EpisodeParams = field(default_factory=EpisodeParams)
    baseline_ticks: int = 60
    cusum_reference: float = 0.5
    max_alarms_per_kiloday: float = 1.0
    max_peer_share: float = 0.5
    min_level_scales: float = 5.0
    max_q_value: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One verified stretch of one entity.

    Attributes:
        entity: Row number in the panel.
        episode: The stretch; its positions are tick numbers of the panel.
        members: Size of the entity's group.
        undecided: A pair or trio in which peers and history cannot tell who is at fault.
        q_value: False-discovery rate at which it stands.
    """

    entity: int
    episode: Episode
    members: int
    undecided: bool
    q_value: float = 1.0


def peer_ratios(panel: Panel) -> Floats:
    """Return log ratios to the peers, positive is worse; shape (entities, ticks)."""
    return panel.values - peer_medians(panel.values, panel.groups)


def find_suspects(panel: Panel, params: SuspectParams) -> list[Suspect]:
    """Return the verified bad stretches of all entities, by entity and time.

    Args:
        panel: Logarithms of a signal, positive direction is worse.
        params: Screens and thresholds.

    Returns:
        The suspects. An entity without a peer has none.
    """
    ratios = peer_ratios(panel)
    noise = tick_noise(ratios, params.episodes.noise_floor)
    sizes = group_sizes(panel.groups)
    found: list[Suspect] = []
    for entity in np.flatnonzero(_screened(ratios, noise, params)):
        members = int(sizes[panel.groups[entity]])
        for episode in find_episodes(ratios[entity], float(noise[entity]), params.episodes):
            at = int(entity)
            if _stands(panel, ratios, at, episode, params):
                lone = members <= PAIR_MEMBERS and not _moved_alone(panel, at, episode)
                found.append(Suspect(entity=at, episode=episode, members=members, undecided=lone))
    return _controlled(found, panel.values.shape[0], params)


def _controlled(found: list[Suspect], tests: int, params: SuspectParams) -> list[Suspect]:
    """Return the suspects that stand among all the tests made, with their rates."""
    rates = discovery_rates([one.episode.p_value for one in found], tests)
    rated = (replace(one, q_value=rate) for one, rate in zip(found, rates, strict=True))
    return [one for one in rated if one.q_value <= params.max_q_value]


def _screened(ratios: Floats, noise: Floats, params: SuspectParams) -> Bools:
    """Return which entities deserve a closer look: any high block, or an upward change."""
    blocks = _block_medians(ratios)
    if not blocks.size:
        return np.isinf(noise)
    least = log(params.episodes.min_slowdown)
    highest: Floats = np.fmax.reduce(blocks, axis=1)
    high = np.nan_to_num(highest, nan=-1.0) >= least / 2
    baseline = ratios[:, : params.baseline_ticks]
    centre = np.nan_to_num(known_median(baseline, -1), nan=0.0)
    scores = (ratios - centre[:, None]) / noise[:, None]
    budget = TICKS_PER_DEVICE_DAY * 1000.0 / params.max_alarms_per_kiloday
    threshold = cusum_threshold(budget, params.cusum_reference)
    alarms = cusum_alarms(scores, reference=params.cusum_reference, threshold=threshold)
    peak: Floats = np.fmax.reduce(ratios, axis=1)
    rise = np.nan_to_num(peak - centre, nan=-1.0) >= least
    screened: Bools = high | ((alarms.at >= 0) & rise)
    return screened


def _block_medians(ratios: Floats) -> Floats:
    count = ratios.shape[1] // BLOCK_TICKS
    if not count:
        return known_median(ratios, -1)[:, None]
    cut = ratios[:, : count * BLOCK_TICKS].reshape(ratios.shape[0], count, BLOCK_TICKS)
    return known_median(cut, -1)


def _stands(
    panel: Panel, ratios: Floats, entity: int, episode: Episode, params: SuspectParams
) -> bool:
    """Return whether the stretch is the entity's own and not its group's."""
    if episode.from_level:
        return _stands_out(panel, ratios, entity, episode, params)
    rows = _peer_rows(panel.groups, entity)
    if rows.size < PAIR_MEMBERS:
        return True
    moved = known_median(_own_changes(panel, rows, episode)[None, :], -1)[0]
    return not abs(moved) >= params.max_peer_share * episode.effect


def _stands_out(
    panel: Panel, ratios: Floats, entity: int, episode: Episode, params: SuspectParams
) -> bool:
    """Return whether a level is far outside the spread of levels in its group.

    Static spread is normal (silicon: 8 % on average, 22 % at most inside one model), so a level
    alone accuses only when it lies beyond what the group itself shows.
    """
    rows = _peer_rows(panel.groups, entity)
    if rows.size < PAIR_MEMBERS:
        return True
    inside = slice(episode.start, episode.stop)
    levels = known_median(ratios[rows, inside], -1)
    scale = unbiased_scale(float(robust_scale(levels[None, :], -1)[0]), rows.size)
    limit = params.min_level_scales * max(scale, params.episodes.noise_floor)
    return episode.effect >= limit


def _moved_alone(panel: Panel, entity: int, episode: Episode) -> bool:
    """Return whether the entity's own history shows the change and that of each peer does not."""
    if episode.from_level:
        return False
    own = _own_changes(panel, np.array([entity]), episode)[0]
    peers = _own_changes(panel, _peer_rows(panel.groups, entity), episode)
    return bool(own >= episode.effect / 2 and np.all(np.abs(peers) < episode.effect / 2))


def _peer_rows(groups: Ints, entity: int) -> Ints:
    rows = np.flatnonzero(groups == groups[entity])
    others: Ints = rows[rows != entity]
    return others


def _own_changes(panel: Panel, rows: Ints, episode: Episode) -> Floats:
    """Return how much each row's own value differs inside the stretch from outside it."""
    values = panel.values[rows]
    inside = values[:, episode.start : episode.stop]
    outside = np.concatenate([values[:, : episode.start], values[:, episode.stop :]], axis=1)
    return known_median(inside, -1) - known_median(outside, -1)
