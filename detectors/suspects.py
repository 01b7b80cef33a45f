"""From a panel of like entities to the few that are verified worse than their peers.

The common chain of every peer detector: leave-one-out peer ratio, screens for level and change
over the whole fleet at once, segments and verification for the suspects only, the guard against
group events, false-discovery control. Groups with several suspects are judged twice, the second
time without them as yardsticks. Source: methods reference, sections 3 to 7.
"""

from dataclasses import dataclass, field, replace
from math import log
from typing import Final

import numpy as np

from detectors.changes import cusum_alarms, cusum_threshold
from detectors.clear_runs import Course, episodes_of
from detectors.episodes import Episode, EpisodeParams
from detectors.multiplicity import discovery_rates
from detectors.panels import Bools, Floats, Ints, Panel, group_sizes
from detectors.peers import (
    MAD_TO_SIGMA,
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

MIN_FOLLOWED_SHARE: Final = 0.25
"""Who gains this share of what the others gain has the same work; who gains nothing may have none
of what became less."""

MIN_POOLED: Final = 8
"""Entities from which the spread of levels in a panel is known at all."""

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
        wanders: Whether entities wander against each other, so that only what is beyond counts.
    """

    episodes: EpisodeParams = field(default_factory=EpisodeParams)
    baseline_ticks: int = 60
    cusum_reference: float = 0.5
    max_alarms_per_kiloday: float = 1.0
    max_peer_share: float = 0.5
    min_level_scales: float = 5.0
    max_q_value: float = 0.05
    wanders: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One verified stretch of one entity.

    Attributes:
        entity: Row number in the panel.
        episode: The stretch; its positions are tick numbers of the panel.
        members: Size of the entity's group.
        undecided: A pair or trio in which peers and history cannot tell who is at fault.
        q_value: False-discovery rate at which it stands; null where a budget of false alarms, and
            no rate of false findings, is what was kept.
    """

    entity: int
    episode: Episode
    members: int
    undecided: bool
    q_value: float | None = 1.0


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
    spread = usual_spread(peer_ratios(panel))
    return controlled(verified_suspects(panel, params, spread), panel.groups.size, params)


def verified_suspects(panel: Panel, params: SuspectParams, spread: float) -> list[Suspect]:
    """Return the verified bad stretches, before multiplicity, by entity and time.

    Args:
        panel: As for `find_suspects`; whole groups of a fleet.
        params: Screens and thresholds.
        spread: Usual spread of levels in the fleet.
    """
    view = _View(panel, peer_ratios(panel), spread, params)
    found = _candidates(view, np.arange(panel.groups.size))
    again = _shared_groups(panel, found)
    if not again.size:
        return found
    clean = _ratios_without(view, found, again)
    view = _View(panel, clean, usual_spread(clean) if spread else spread, params)
    kept = [one for one in found if one.entity not in set(again.tolist())]
    return sorted([*kept, *_candidates(view, again)], key=_by_entity)


@dataclass(frozen=True, slots=True)
class _View:
    panel: Panel
    ratios: Floats
    usual_spread: float
    params: SuspectParams


def _by_entity(suspect: Suspect) -> tuple[int, int]:
    return suspect.entity, suspect.episode.start


def _candidates(view: _View, entities: Ints) -> list[Suspect]:
    """Return the verified bad stretches of the given entities, before multiplicity."""
    params = view.params
    noise = tick_noise(view.ratios[entities], params.episodes.noise_floor)
    found: list[Suspect] = []
    for at in np.flatnonzero(_screened(view.ratios[entities], noise, params)):
        entity = int(entities[at])
        course = Course(view.panel.values[entity], view.ratios[entity], float(noise[at]))
        told = episodes_of(course, params.episodes, wanders=params.wanders)
        stands = [one for one in told if _stands(view, entity, one)]
        found += [suspect_of(view.panel, entity, one) for one in stands]
    return found


def suspect_of(panel: Panel, entity: int, episode: Episode) -> Suspect:
    """Return a stretch of an entity as a suspect among its group."""
    members = int(np.sum(panel.groups == panel.groups[entity]))
    lone = members <= PAIR_MEMBERS and not _moved_alone(panel, entity, episode)
    return Suspect(entity=entity, episode=episode, members=members, undecided=lone)


def usual_spread(ratios: Floats) -> float:
    """Return the spread of all entities' levels: what small groups borrow from their siblings."""
    if ratios.shape[0] < MIN_POOLED:
        return 0.0
    levels = np.abs(known_median(ratios, -1))
    return MAD_TO_SIGMA * float(np.nan_to_num(known_median(levels, -1)))


def _shared_groups(panel: Panel, found: list[Suspect]) -> Ints:
    """Return the entities of groups, more than pairs and trios, that hold several suspects."""
    suspects = np.unique(np.array([one.entity for one in found], dtype=np.int64))
    held = np.bincount(panel.groups[suspects], minlength=group_sizes(panel.groups).size)
    shared = (held > 1) & (group_sizes(panel.groups) > PAIR_MEMBERS)
    entities: Ints = np.flatnonzero(shared[panel.groups]).astype(np.int64)
    return entities


def _ratios_without(view: _View, found: list[Suspect], rows: Ints) -> Floats:
    """Return the ratios with suspects left out as peers while they are suspect.

    Several slow members pull their group's middle towards them and so hide their own effect.
    """
    panel = view.panel
    values = panel.values[rows].copy()
    for one in found:
        at = np.searchsorted(rows, one.entity)
        if at < rows.size and rows[at] == one.entity:
            values[at, one.episode.start : one.episode.stop] = np.nan
    groups = np.unique(panel.groups[rows], return_inverse=True)[1].astype(np.int64)
    clean = peer_medians(values, groups, left_out=True)
    result = view.ratios.copy()
    known = ~np.isnan(clean)
    result[rows] = np.where(known, panel.values[rows] - clean, result[rows])
    return result


def controlled(found: list[Suspect], tests: int, params: SuspectParams) -> list[Suspect]:
    """Return the suspects that stand among all the tests made, with their rates.

    Those without a chance were held to a budget of false alarms already and stay.
    """
    chances = {at: one.episode.p_value for at, one in enumerate(found)}
    tested = {at: chance for at, chance in chances.items() if chance is not None}
    rates = dict(zip(tested, discovery_rates(list(tested.values()), tests), strict=True))
    rated = [replace(one, q_value=rates.get(at)) for at, one in enumerate(found)]
    return [one for one in rated if one.q_value is None or one.q_value <= params.max_q_value]


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


def _stands(view: _View, entity: int, episode: Episode) -> bool:
    """Return whether the stretch is the entity's own and not its group's.

    Where the peers became faster meanwhile, and the entity with them but less so, the work changed:
    what counts then is how far from them it is since, not how far it was before.
    """
    if episode.from_level:
        return _stands_out(view, entity, episode)
    rows = _peer_rows(view.panel.groups, entity)
    if rows.size < PAIR_MEMBERS:
        return True
    moved = known_median(_own_changes(view.panel, rows, episode)[None, :], -1)[0]
    alone = not abs(moved) >= view.params.max_peer_share * episode.effect
    own = _own_changes(view.panel, np.array([entity]), episode)[0]
    follows = bool(own <= MIN_FOLLOWED_SHARE * moved < 0)
    return alone or (follows and _is_behind(view, entity, episode))


def _is_behind(view: _View, entity: int, episode: Episode) -> bool:
    """Return whether the entity's level in the stretch alone accuses it."""
    inside = view.ratios[entity, episode.start : episode.stop]
    level = float(np.nan_to_num(known_median(inside[None, :], -1)[0]))
    least = log(view.params.episodes.min_level)
    return level >= least and _stands_out(view, entity, replace(episode, effect=level))


def _stands_out(view: _View, entity: int, episode: Episode) -> bool:
    """Return whether a level is far outside the spread of levels in its group.

    Static spread is normal (silicon: 8 % on average, 22 % at most inside one model), so a level
    alone accuses only when it lies beyond what the group itself and its siblings show.
    """
    params, usual = view.params, view.usual_spread
    rows = _peer_rows(view.panel.groups, entity)
    if rows.size < PAIR_MEMBERS:
        return episode.effect >= params.min_level_scales * usual
    levels = known_median(view.ratios[rows, episode.start : episode.stop], -1)
    scale = unbiased_scale(float(robust_scale(levels[None, :], -1)[0]), rows.size)
    limit = params.min_level_scales * max(scale, usual, params.episodes.noise_floor)
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
