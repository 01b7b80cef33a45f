"""Put a suspect rank into words: subject, numbers of both sides, cause, confidence."""

from dataclasses import dataclass, replace
from math import exp
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from detectors.panels import Floats, Panel
from detectors.suspects import PAIR_MEMBERS, Suspect
from detectors.timelines import Timeline
from detectors.verdicts import Confidence, Evidence, Subject, Verdict

MIN_CAUSE_SHARE: Final = 0.8
"""A phase is the cause when it explains this share of the excess (rank-straggler policy of
TraceML)."""

STRONG_RATIO: Final = 1.3
"""Timing alone is enough from here on (methods reference, section 5, corroboration)."""

MAX_BACKWARD_SHARE: Final = 0.25
"""The host is the cause when the backward pass grew by at most this share of what the forward pass
grew by: Python launches the forward pass kernel by kernel, C++ the backward pass (Greyhound)."""

MIN_PASS_GROWTH: Final = 0.1

FULL_COVERAGE: Final = 0.99

MIN_COVERAGE: Final = 0.5
"""Share of a stretch's steps that must be reported (methods reference, section 1, missing)."""

HOST_CPU: Final = "host_cpu"

LARGE_GROUP: Final = 8
LONG_TICKS: Final = 40
FLAP_RUNS: Final = 3

_MEASURES: Final = {
    "busy": "data and compute",
    "forward": "forward pass",
    "not_waiting": "step less communication",
    "fed": "data, and the least that anybody needs beside",
    "step": "step",
}
_ACTION: Final = (
    "look at the device signals of this rank's GPU and host; swap the node out if they confirm"
)
_HOST_ACTION: Final = (
    "look at the host, not at its GPUs: run queue, steal, other processes, memory, power governor"
)
_DATA_ACTION: Final = (
    "it waits for its data: look at the host's mount, page cache and loaders, not at its GPUs"
)
_ACTIONS: Final = {HOST_CPU: _HOST_ACTION, "data": _DATA_ACTION}
_NEEDED: Final = (
    "the ranks' history from before the difference, a third peer, or device signals of both"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the words are taken from.

    Attributes:
        panel: Log paces, one row a rank.
        part: `PACES` of the attempt.
        timeline: What the panel's ticks mean.
    """

    panel: Panel
    part: pl.DataFrame
    timeline: Timeline


def accuse(case: Case, suspect: Suspect) -> Verdict:
    """Return the verdict on one rank, or on a pair that nothing tells apart."""
    entity = case.panel.entities.row(suspect.entity, named=True)
    ratio = exp(suspect.episode.effect)
    span = case.timeline.span(suspect.episode)
    phases = _phases(case, suspect)
    cause = _cause(phases)
    seen = Evidence(source="steps", time=span["onset"], what=_what(case, suspect, entity, ratio))
    verdict = Verdict(
        kind=slow_kind(suspect),
        level="rank",
        subject=_subject(entity),
        slowdown=_slowdown(entity["measure"], ratio, phases),
        cause=cause,
        confidence=_confidence(suspect, ratio),
        peers=_peer_words(entity),
        peer_count=suspect.members - 1,
        q_value=suspect.q_value,
        evidence=(seen, *_pass_evidence(phases), *_wait_evidence(phases)),
        action=_ACTIONS.get(cause or "", _ACTION),
        **span,
    )
    if suspect.undecided:
        return _undecided(case, suspect, verdict)
    return verdict if _coverage(case, suspect) >= MIN_COVERAGE else _unsure(verdict)


def _coverage(case: Case, suspect: Suspect) -> float:
    """Return the share of a stretch's steps that the rank reported, of those that any reported."""
    episode = suspect.episode
    inside = case.panel.values[suspect.entity, episode.start : episode.stop]
    return float(np.mean(~np.isnan(inside)))


def _unsure(verdict: Verdict) -> Verdict:
    """Return what may be said where most steps of a stretch are not reported."""
    return replace(
        verdict,
        kind="unknown",
        confidence="low",
        needed="more of this rank's steps: it reported less than half of those in the stretch",
    )


def slow_kind(suspect: Suspect) -> Literal["slow", "degrading", "flapping"]:
    """Return how a device is slow: it comes and goes, it grew, or it jumped."""
    if suspect.episode.runs >= FLAP_RUNS:
        return "flapping"
    return "degrading" if suspect.episode.is_ramp else "slow"


def _undecided(case: Case, suspect: Suspect, verdict: Verdict) -> Verdict:
    """Return the verdict without a name in it: the pair is named, nobody is accused."""
    rows = np.flatnonzero(case.panel.groups == case.panel.groups[suspect.entity])
    order = [suspect.entity, *(int(row) for row in rows if row != suspect.entity)]
    job = verdict.subject
    return replace(
        verdict,
        kind="unknown",
        level="group",
        subject=Subject(run=job.run, attempt=job.attempt, pp=job.pp),
        alternatives=tuple(f"rank {case.panel.entities['rank'][row]}" for row in order),
        action="drain neither; collect the input named below",
        needed=_NEEDED,
    )


def role_of(case: Case, members: list[Suspect]) -> Verdict:
    """Return the verdict on ranks that have been slow alike from the first step."""
    rows = [case.panel.entities.row(one.entity, named=True) for one in members]
    ratio = float(np.median([exp(one.episode.effect) for one in members]))
    names = ", ".join(str(rank) for rank in sorted(row["rank"] for row in rows)[:32])
    what = f"ranks {names} take x{ratio:.2f} of the others, alike and from the first step"
    return Verdict(
        kind="imbalance",
        level="group",
        subject=Subject(run=rows[0]["run"], attempt=rows[0]["attempt"], pp=rows[0]["pp"]),
        onset_before_data=True,
        slowdown=ratio,
        cause="role",
        confidence="medium",
        peers=_peer_words(rows[0]),
        peer_count=int(np.sum(case.panel.groups == case.panel.groups[members[0].entity])),
        evidence=(Evidence(source="steps", what=what),),
        action="no device to drain: look at how the model is cut over the ranks",
        needed="the parallel coordinates of the ranks (stage, expert group) would name the part",
    )


def _subject(entity: dict[str, Any]) -> Subject:
    return Subject(
        run=entity["run"],
        attempt=entity["attempt"],
        host=entity["host"],
        rank=entity["rank"],
        gpu=entity["index"],
        device=entity["gpu"],
        worker=None if entity["host"] else entity["rank"],
        dp=entity["dp"],
        pp=entity["pp"],
        tp=entity["tp"],
        ep=entity["ep"],
    )


def _peer_words(entity: dict[str, Any]) -> str:
    known = [f"{name} {entity[name]}" for name in ("pp", "ep", "model") if entity[name] is not None]
    return f"same attempt, {', '.join(known)}" if known else "same attempt"


def _confidence(suspect: Suspect, ratio: float) -> Confidence:
    if suspect.members <= PAIR_MEMBERS:
        return "low"
    long = suspect.members >= LARGE_GROUP and suspect.episode.bad_ticks >= LONG_TICKS
    return "high" if ratio >= STRONG_RATIO or long else "medium"


def _what(case: Case, suspect: Suspect, entity: dict[str, Any], ratio: float) -> str:
    """Return the first line of evidence, with both sides' numbers."""
    episode = suspect.episode
    since = int(case.panel.ticks[episode.start])
    if entity["measure"] == "wait":
        return f"waits least in communication from step {since}: x{1 / ratio:.2f} of its peers"
    inside = np.exp(case.panel.values[suspect.entity, episode.start : episode.stop])
    inside = reached(inside, suspect)
    runs = f" in {episode.runs} separate runs" if episode.runs >= FLAP_RUNS else ""
    told = _coverage(case, suspect)
    share = "" if told > FULL_COVERAGE else f", {told:.0%} of the steps reported"
    return (
        f"{_MEASURES[entity['measure']]} {np.median(inside):.4g} s, x{ratio:.2f} of "
        f"{suspect.members - 1} peers, over {episode.bad_ticks} steps from step {since}"
        f"{runs}{share}"
    )


def reached(inside: Floats, suspect: Suspect) -> Floats:
    """Return the values of a stretch that its effect speaks of: the last tenth of a rise."""
    known = inside[~np.isnan(inside)]
    return known[-max(1, known.size // 10) :] if suspect.episode.is_ramp else known


Phases = dict[str, tuple[float | None, float | None]]
"""Median seconds of each phase: of the rank, and of its group; null where nobody tells them."""

_PHASES: Final = (
    *("compute_seconds", "data_seconds", "comm_seconds"),
    *("forward_seconds", "backward_seconds"),
)


def _slowdown(measure: str, ratio: float, phases: Phases) -> float | None:
    """Return by how much the rank's work takes longer: a slow pass is but a part of it."""
    if measure == "wait":
        return None
    if measure != "forward":
        return ratio
    sides = [sum(phases[name][at] or 0.0 for name in _PHASES[:2]) for at in (0, 1)]
    return sides[0] / sides[1] if min(sides) > 0 else ratio


def _phases(case: Case, suspect: Suspect) -> Phases:
    """Return the median seconds of each phase in the stretch: of the rank, and of its group."""
    ticks, episode = case.panel.ticks, suspect.episode
    last = ticks[min(episode.stop, ticks.size) - 1]
    rank = case.panel.entities["rank"][suspect.entity]
    mates = case.panel.entities.filter(
        pl.Series(case.panel.groups == case.panel.groups[suspect.entity])
    )["rank"]
    rows = case.part.filter(
        pl.col("step").is_between(int(ticks[episode.start]), int(last)),
        pl.col("rank").is_in(mates.implode()),
    )
    own = rows.filter(pl.col("rank") == rank).select(pl.col(_PHASES).median()).row(0)
    peers = rows.filter(pl.col("rank") != rank).select(pl.col(_PHASES).median()).row(0)
    return {name: (own[at], peers[at]) for at, name in enumerate(_PHASES)}


def _cause(phases: Phases) -> str | None:
    """Return which phase makes up the excess; null if none does, or if they are not known."""
    excess = {
        name.removesuffix("_seconds"): own - peers
        for name, (own, peers) in phases.items()
        if name in _PHASES[:2] and own is not None and peers is not None
    }
    total = sum(excess.values())
    for name, seconds in excess.items():
        if total > 0 and seconds >= MIN_CAUSE_SHARE * total:
            return HOST_CPU if name == "compute" and _is_host_side(phases) else name
    return None


def _growth(phases: Phases, name: str) -> float | None:
    """Return by which share a phase is longer than the peers'; null where it is not known."""
    own, peers = phases[name]
    return own / peers - 1.0 if own is not None and peers else None


def _is_host_side(phases: Phases) -> bool:
    forward, backward = (_growth(phases, f"{name}_seconds") for name in ("forward", "backward"))
    if forward is None or backward is None:
        return False
    return forward >= MIN_PASS_GROWTH and backward <= MAX_BACKWARD_SHARE * forward


def _pass_evidence(phases: Phases) -> tuple[Evidence, ...]:
    """Return the growth of both passes, where they are told."""
    forward, backward = (_growth(phases, f"{name}_seconds") for name in ("forward", "backward"))
    if forward is None or backward is None:
        return ()
    what = f"forward pass x{1 + forward:.2f} of its peers, backward pass x{1 + backward:.2f}"
    return (Evidence(source="steps", what=what),)


def _wait_evidence(phases: Phases) -> tuple[Evidence, ...]:
    """Return the corroboration that the rank waits less than the others, where it does."""
    own, peers = phases["comm_seconds"]
    if own is None or peers is None or own >= peers:
        return ()
    what = f"waits {own:.4g} s in communication while its peers wait {peers:.4g} s"
    return (Evidence(source="steps", what=what),)
