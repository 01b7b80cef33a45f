"""An incident that is kept, as far as evidence is recognised by it, and how it is recognised.

Source: the rules of `alerts.faults`, over ticks instead of within one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from alerts.faults import SOLITARY_KINDS, JoinParams
from alerts.identities import firing_identity, places, verdict_identity
from alerts.incidents import Incident
from detectors.verdicts import Verdict
from slo.windows import Severity

BY_ALIAS: Final = 3
BY_FINDING: Final = 2
BY_FIRING: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchParams:
    """When evidence belongs to an incident that is known.

    Attributes:
        max_reopen_seconds: An incident that is over opens again for the same trouble that begins at
            most so long after it; later it is a new incident, "seen before".
        joining: When symptoms are one fault within a tick.
    """

    max_reopen_seconds: float = 3600.0
    joining: JoinParams = field(default_factory=JoinParams)

    def __post_init__(self) -> None:
        """Refuse to reopen into the past."""
        if self.max_reopen_seconds < 0:
            raise ValueError(
                f"max_reopen_seconds must be 0 or more, found {self.max_reopen_seconds}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """An incident that is kept.

    Attributes:
        id: Its id.
        number: Its number; the lower, the older.
        severity: What it is.
        is_over: Whether it is resolved.
        onset: When it began; null when no clock says.
        ended: When it was over; null when it is not, or no clock says.
        runs: Training runs that it touches.
        aliases: Ids that its evidence had, and those of incidents merged into it.
        findings: Identities of its findings.
        firings: Identities of its burns.
        pinned: Identities of findings that somebody put here by hand.
        places: Hosts, switches and ranks of its findings.
        kinds: Kinds of its findings.
    """

    id: str
    number: int
    severity: Severity
    is_over: bool
    onset: datetime | None = None
    ended: datetime | None = None
    runs: frozenset[str] = frozenset()
    aliases: frozenset[str] = frozenset()
    findings: frozenset[str] = frozenset()
    firings: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A piece of evidence: an incident of a tick, and what it is recognised by.

    Attributes:
        incident: As the tick told it.
        findings: Identities of its findings.
        firings: Identities of its burns.
        places: Hosts, switches and ranks of its findings.
        kinds: Kinds of its findings.
    """

    incident: Incident
    findings: frozenset[str]
    firings: frozenset[str]
    places: frozenset[str]
    kinds: frozenset[str]

    @property
    def span(self) -> tuple[datetime | None, datetime | None]:
        """When it began and ended; null where it lasts or no clock says."""
        return self.incident.onset, self.incident.cleared


def piece_of(incident: Incident) -> Piece:
    """Return a piece of evidence."""
    verdicts = findings(incident)
    return Piece(
        incident=incident,
        findings=frozenset(verdict_identity(one) for one in verdicts),
        firings=frozenset(firing_identity(one) for one in incident.burns),
        places=places(one.subject for one in verdicts),
        kinds=frozenset(one.kind for one in verdicts),
    )


def known_of(piece: Piece, *, number: int) -> Known:
    """Return an incident that begins with a piece of evidence."""
    incident = piece.incident
    return Known(
        id=incident.id,
        number=number,
        severity=incident.severity,
        is_over=False,
        onset=incident.onset,
        runs=frozenset(incident.blast_radius.jobs),
        aliases=frozenset({incident.id}),
        findings=piece.findings,
        firings=piece.firings,
    )


def findings(incident: Incident) -> Sequence[Verdict]:
    """Return what was found, suspects first."""
    return (*incident.suspects, *incident.context)


def occasion(
    span: tuple[datetime | None, datetime | None], one: Known, params: MatchParams
) -> Literal["same", "again"] | None:
    """Return whether a stretch is the incident's own, comes back to it, or is another (null).

    What ended well before the incident began is of an earlier one. What begins after it was over
    comes back to it, when that is soon enough.
    """
    begins, ends = span
    gap = timedelta(seconds=params.joining.max_onset_gap_seconds)
    if one.onset and ends and ends < one.onset - gap:
        return None
    if not one.is_over or begins is None or one.ended is None or begins <= one.ended:
        return "same"
    is_soon = (begins - one.ended).total_seconds() <= params.max_reopen_seconds
    return "again" if is_soon else None


def strength(piece: Piece, one: Known) -> int:
    """Return what evidence is recognised by: an id, a finding, a burn; 0 is not at all.

    One burn may go from fault to fault as they begin and end, so it speaks only where one side has
    no finding that could.
    """
    if piece.incident.id in one.aliases or piece.incident.id == one.id:
        return BY_ALIAS
    if not piece.findings.isdisjoint(one.findings):
        return BY_FINDING
    burns = not piece.firings.isdisjoint(one.firings)
    return BY_FIRING if burns and not (piece.findings and one.findings) else 0


def is_near(piece: Piece, one: Known, params: MatchParams) -> bool:
    """Return whether evidence may be what an incident's own has become: a cause for a symptom.

    They are of one run and share a place or began together.
    """
    jobs = set(piece.incident.blast_radius.jobs)
    same_run = bool(jobs & one.runs) or not (jobs or one.runs)
    if one.is_over or not same_run or one.pinned or SOLITARY_KINDS & (piece.kinds | one.kinds):
        return False
    if occasion(piece.span, one, params) is None:
        return False
    together = onset_gap(piece, one) <= params.joining.max_onset_gap_seconds
    return together or bool(piece.places & one.places)


def onset_gap(piece: Piece, one: Known) -> float:
    """Return the seconds between two onsets; without a clock on both sides they are far apart."""
    onset = piece.incident.onset
    if onset is None or one.onset is None:
        return 0.0 if onset is one.onset else float("inf")
    return abs((onset - one.onset).total_seconds())
