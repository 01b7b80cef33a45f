"""Which known incident the findings of a tick belong to: one incident a fault, however it is told.

An incident is known again by what is wrong with whom, never by the id of one tick's evidence alone:
that moves with the onset. What people put together or took apart stays so: what they merged is
found under one incident's names, and what they split off is pinned to where they put it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from alerts.faults import Fault, JoinParams
from alerts.identities import verdict_identity
from alerts.incidents import Incident, incident_of
from alerts.known_incidents import (
    BY_ALIAS,
    Known,
    MatchParams,
    Piece,
    findings,
    is_near,
    known_of,
    occasion,
    onset_gap,
    piece_of,
    strength,
)
from detectors.verdicts import Verdict, sort_verdicts

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)
_NEW: Final = 1_000_000_000
"""Numbers of incidents that have none yet, above all that are given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Where the evidence of a tick belongs.

    Attributes:
        homes: Evidence by the id of the incident that it belongs to, by onset; an id that is not
            known is that of a new incident.
        joins: Incidents that turned out to be part of another, each with that other.
    """

    homes: Mapping[str, tuple[Incident, ...]]
    joins: Mapping[str, str]


def match_incidents(
    found: Iterable[Incident], known: Sequence[Known], params: MatchParams
) -> Matching:
    """Return where the incidents of a tick belong, whatever order they come in.

    Evidence goes to the incident that shares an id, a finding or a burn with it, while that is not
    over or was over at most `max_reopen_seconds` before. Where one piece of evidence is known from
    several incidents, and nothing else speaks for them, they were one fault all along and become
    one. Evidence of which nothing is known goes to an incident of the same run that this tick says
    nothing about, when they share a place or began together: a cause takes the place of a symptom.
    """
    board = _Board(params, known)
    pieces = [piece_of(part) for one in _ordered(found) for part in board.carved(one)]
    unknown = [piece for piece in pieces if not board.recognised(piece)]
    strange = [piece for piece in unknown if not board.placed(piece)]
    for piece in strange:
        board.opened(piece)
    return board.matching()


def narrowed(
    incident: Incident, verdicts: Sequence[Verdict], joining: JoinParams, *, with_burns: bool
) -> Incident:
    """Return what is left of an incident that rests on some of its findings only."""
    fault = Fault(
        runs=incident.blast_radius.jobs,
        verdicts=tuple(sort_verdicts(verdicts)),
        firings=incident.burns if with_burns else (),
    )
    return incident_of(fault, incident.blast_radius, joining, incident.as_of)


@dataclass(frozen=True, slots=True)
class _Claim:
    """What speaks for a piece of evidence being of a known incident; the largest rank wins."""

    known: Known
    strength: int
    is_same: bool
    gap_seconds: float

    @property
    def rank(self) -> tuple[int, bool, bool, bool, float, int]:
        return (
            self.strength,
            self.is_same,
            not self.known.is_over,
            self.known.severity == "page",
            -self.gap_seconds,
            -self.known.number,
        )

    @property
    def may_join(self) -> bool:
        """Whether the incident could be part of another of the same evidence."""
        return self.is_same and not self.known.is_over and not self.known.pinned


class _Board:
    """The known incidents while a tick's evidence is laid beside them."""

    def __init__(self, params: MatchParams, known: Sequence[Known]) -> None:
        self._params = params
        self._stored = {one.id: one for one in sorted(known, key=lambda one: one.number)}
        # As the evidence that was laid down leaves them.
        self._known = dict(self._stored)
        self._pieces: dict[str, list[Incident]] = {}
        self._joinable: list[set[str]] = []

    def carved(self, incident: Incident) -> list[Incident]:
        """Return an incident without the parts that people want apart; those are laid down."""
        pinned: dict[str, list[Verdict]] = {}
        rest: list[Verdict] = []
        for verdict in findings(incident):
            home = self._pin(verdict)
            (rest if home is None else pinned.setdefault(home, [])).append(verdict)
        if not pinned:
            return [incident]
        joining = self._params.joining
        for home, verdicts in sorted(pinned.items()):
            self._lay(home, narrowed(incident, verdicts, joining, with_burns=False))
        if not rest and not incident.burns:
            return []
        return [replace(narrowed(incident, rest, joining, with_burns=True), id=incident.id)]

    def recognised(self, piece: Piece) -> bool:
        """Lay a piece down where an id, a finding or a burn of it is known, if anywhere."""
        claims = self._claims(piece, self._known.values())
        if not claims:
            return False
        best = max(claims, key=lambda claim: claim.rank)
        if best.may_join:
            self._joinable.append({claim.known.id for claim in claims if claim.may_join})
        self._lay(best.known.id, piece.incident)
        return True

    def placed(self, piece: Piece) -> bool:
        """Lay a piece down at an incident of which nothing else was said, near in place or time."""
        silent = [one for one in self._stored.values() if one.id not in self._pieces]
        near = [one for one in silent if is_near(piece, one, self._params)]
        if not near:
            return False
        home = min(near, key=lambda one: (onset_gap(piece, one), one.number))
        self._lay(home.id, piece.incident)
        return True

    def opened(self, piece: Piece) -> None:
        """Make a new incident of a piece, unless it is one of this tick that comes back."""
        fresh = [one for name, one in self._known.items() if name not in self._stored]
        claims = self._claims(piece, fresh)
        if claims:
            self._lay(max(claims, key=lambda claim: claim.rank).known.id, piece.incident)
            return
        self._known[piece.incident.id] = known_of(piece, number=_NEW + len(fresh))
        self._lay(piece.incident.id, piece.incident)

    def matching(self) -> Matching:
        """Return what was laid where, with what is one put together."""
        joins = self._joins()
        whole: dict[str, list[Incident]] = {}
        for home, pieces in self._pieces.items():
            whole.setdefault(joins.get(home, home), []).extend(pieces)
        homes = {home: tuple(sorted(whole[home], key=_order)) for home in sorted(whole)}
        return Matching(homes=homes, joins=joins)

    def _joins(self) -> dict[str, str]:
        joins: dict[str, str] = {}
        for group in self._joinable:
            # Another that has evidence of its own is a fault of its own.
            homes = {one for one in group if one in self._pieces}
            if len(group) > 1 and len(homes) == 1:
                first = min(group, key=lambda one: _seniority(self._stored[one]))
                joins |= {one: first for one in group - {first} if one not in joins}
        return {one: _end(joins, one) for one in sorted(joins)}

    def _claims(self, piece: Piece, known: Iterable[Known]) -> list[_Claim]:
        return [claim for one in known if (claim := self._claim(piece, one)) is not None]

    def _claim(self, piece: Piece, one: Known) -> _Claim | None:
        """Return what speaks for a piece being of an incident; null when nothing does."""
        how = strength(piece, one)
        when = occasion(piece.span, one, self._params) if how else None
        if how == 0 or (when is None and how < BY_ALIAS):
            return None
        gap = onset_gap(piece, one)
        return _Claim(known=one, strength=how, is_same=when != "again", gap_seconds=gap)

    def _pin(self, verdict: Verdict) -> str | None:
        """Return the incident that somebody put a finding into by hand; null when none."""
        identity, span = verdict_identity(verdict), (verdict.onset, verdict.cleared)
        for one in self._stored.values():
            if identity in one.pinned and occasion(span, one, self._params) is not None:
                return one.id
        return None

    def _lay(self, home: str, piece: Incident) -> None:
        """Put a piece at an incident; what ends within the tick is over for what comes after."""
        pieces = self._pieces.setdefault(home, [])
        pieces.append(piece)
        if home in self._stored and self._stored[home].is_over:
            return
        lasts = any(each.state == "open" for each in pieces)
        ended = (
            None if lasts else max((each.cleared for each in pieces if each.cleared), default=None)
        )
        self._known[home] = replace(self._known[home], is_over=ended is not None, ended=ended)


def _seniority(one: Known) -> tuple[bool, int]:
    """Return the order in which incidents take in others: what woke someone keeps its name."""
    return one.severity != "page", one.number


def _end(joins: Mapping[str, str], one: str) -> str:
    while one in joins:
        one = joins[one]
    return one


def _ordered(found: Iterable[Incident]) -> list[Incident]:
    """Return each incident once, by onset; of two with one id that which rests on more data."""
    told = sorted(found, key=lambda one: (one.as_of or _BEGINNING, repr(one)))
    return sorted({one.id: one for one in told}.values(), key=_order)


def _order(one: Incident) -> tuple[datetime, str]:
    return one.onset or _BEGINNING, one.id
