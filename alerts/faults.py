"""Which findings and which firings are one fault: one page for what is one thing to mend.

Source: SRE workbook, chapter 5 (page on what users feel, once), and the methods reference, section
11: symptoms are explained by a cause of the same time. Two findings are one fault when they were
true at one time in one run and either share a place or began together. We differ from grouping by
time alone in that a second, later fault elsewhere keeps its own incident, and its own clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from alerts.firings import Firing
from detectors.promotion import overlap
from detectors.verdicts import Verdict, sort_verdicts

SOLITARY_KINDS: Final = frozenset({"imbalance", "lemon", "telemetry_lost"})
"""Findings of their own: no cause of a burn, and no part of another fault."""
SYMPTOM_KINDS: Final = frozenset({"group_slow", "congestion", "unknown"})
"""What a named culprit of the same time explains; congestion stands for itself without one."""
NAMELESS_KINDS: Final = frozenset({"group_slow", "unknown"})
"""Findings that name nobody, so that the suspect stays unknown."""
SLOW_ONSET_KINDS: Final = frozenset({"degrading", "flapping"})
"""Causes that may begin long before the job feels them."""

_BEGINNING: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinParams:
    """When symptoms are one fault.

    Attributes:
        max_onset_gap_seconds: Onsets this close are one: a detector's tick is a minute or a few
            steps, and two change points of one change scatter by some of them.
        max_alert_lag_seconds: An alert may become active this long after the fault it is about
            ended: scrapes and evaluations come late.
        paging_kinds: Findings that wake someone without a burn: a run that makes no step has no
            slow steps, so no burn rate would ever tell.
        planned_causes: Causes of a stop that somebody chose; they wake nobody.
    """

    max_onset_gap_seconds: float = 600.0
    max_alert_lag_seconds: float = 120.0
    paging_kinds: frozenset[str] = frozenset({"hang", "crash"})
    planned_causes: frozenset[str] = frozenset({"operator", "scheduler"})

    def __post_init__(self) -> None:
        """Refuse a gap into the past, and a page for what nobody knows."""
        if self.max_onset_gap_seconds < 0 or self.max_alert_lag_seconds < 0:
            raise ValueError(
                f"gaps must be 0 s or longer, found max_onset_gap_seconds "
                f"{self.max_onset_gap_seconds} and max_alert_lag_seconds "
                f"{self.max_alert_lag_seconds}"
            )
        if "unknown" in self.paging_kinds:
            raise ValueError("paging_kinds must not hold 'unknown': a page needs something to do")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What belongs together.

    Attributes:
        runs: Training runs that it touches, in alphabetical order; empty when none is known.
        verdicts: Its findings, in reading order.
        firings: The burns it explains, by time.
    """

    runs: tuple[str, ...]
    verdicts: tuple[Verdict, ...] = ()
    firings: tuple[Firing, ...] = ()

    @property
    def onset(self) -> datetime | None:
        """When its first finding began, or without any its first burn; null when none says."""
        if not self.verdicts:
            return min((one.active_at for one in self.firings), default=None)
        return min((one.onset for one in self.verdicts if one.onset), default=None)

    @property
    def has_ended(self) -> bool:
        """Whether every finding has cleared, or without any every burn has let go."""
        if not self.verdicts:
            return all(one.resolved_at is not None for one in self.firings)
        return all(one.cleared is not None or one.cleared_step is not None for one in self.verdicts)

    @property
    def cleared(self) -> datetime | None:
        """When it ended; null while it lasts or when no source with a clock says."""
        ends = [one.cleared for one in self.verdicts] or [one.resolved_at for one in self.firings]
        return max((end for end in ends if end), default=None) if self.has_ended else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A finding and the runs it belongs to."""

    verdict: Verdict
    runs: tuple[str, ...]


def group_faults(
    verdicts: Sequence[Verdict],
    firings: Sequence[Firing],
    hosts: Mapping[str, Sequence[str]],
    params: JoinParams,
) -> list[Fault]:
    """Return the faults behind findings and firings, each of them in exactly one fault.

    Args:
        verdicts: All findings, in any order.
        firings: All firings, in any order.
        hosts: The hosts of each run, to place findings that name a host and no run.
        params: When symptoms are one fault.
    """
    placed = [_Placed(verdict=one, runs=_runs(one, hosts)) for one in sort_verdicts(verdicts)]
    causes = [one for one in placed if one.verdict.kind not in SYMPTOM_KINDS]
    symptoms = [one for one in placed if one.verdict.kind in SYMPTOM_KINDS]
    groups = _components(causes, params)
    unexplained: list[_Placed] = []
    for symptom in symptoms:
        home = _home(symptom, groups, params)
        (unexplained if home is None else home).append(symptom)
    groups += _components(unexplained, params)
    return _with_firings([_fault(group) for group in groups], firings, hosts, params)


def _runs(verdict: Verdict, hosts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the runs of a finding: its own, those on its hosts, or the only one there is."""
    if verdict.subject.run is not None:
        return (verdict.subject.run,)
    named = _hosts(verdict)
    there = tuple(run for run in sorted(hosts) if named & set(hosts[run]))
    only = tuple(hosts) if len(hosts) == 1 else ()
    return there or only


def _hosts(verdict: Verdict) -> set[str]:
    """Return the hosts and switches that a finding names, both ends of a link among them."""
    ends = (verdict.subject.link or "").split(" - ")
    named = {verdict.subject.host, verdict.subject.switch, *(end.split(":")[0] for end in ends)}
    return {name for name in named if name}


def _components(placed: Sequence[_Placed], params: JoinParams) -> list[list[_Placed]]:
    """Return the findings in groups that hang together, in reading order."""
    groups: list[list[_Placed]] = []
    for one in placed:
        joined = [group for group in groups if any(_is_same(one, other, params) for other in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(member for group in joined for member in group), one])
    return groups


def _home(
    symptom: _Placed, groups: list[list[_Placed]], params: JoinParams
) -> list[_Placed] | None:
    """Return the group that explains a symptom: of several, the one that began nearest to it."""
    fitting = [group for group in groups if any(_is_same(symptom, one, params) for one in group)]
    return min(fitting, key=lambda group: _distance(symptom.verdict, group), default=None)


def _distance(symptom: Verdict, group: Sequence[_Placed]) -> float:
    gaps = [
        abs((one.verdict.onset - symptom.onset).total_seconds())
        for one in group
        if one.verdict.onset and symptom.onset
    ]
    return min(gaps, default=float("inf"))


def _is_same(one: _Placed, other: _Placed, params: JoinParams) -> bool:
    """Return whether two findings are of one fault."""
    first, second = one.verdict, other.verdict
    if SOLITARY_KINDS & {first.kind, second.kind} or not _share_run(one, other):
        return False
    return overlap(first, second) and (
        _share_place(first, second) or _began_together(first, second, params)
    )


def _share_run(one: _Placed, other: _Placed) -> bool:
    attempts = {one.verdict.subject.attempt, other.verdict.subject.attempt} - {None}
    same = bool(set(one.runs) & set(other.runs)) or not (one.runs or other.runs)
    return same and len(attempts) <= 1


def _share_place(one: Verdict, other: Verdict) -> bool:
    """Return whether two findings name the same host, switch, rank or device."""
    same_rank = one.subject.rank is not None and one.subject.rank == other.subject.rank
    return same_rank or bool(_hosts(one) & _hosts(other))


def _began_together(one: Verdict, other: Verdict, params: JoinParams) -> bool:
    """Return whether two findings began at one time, or the slow one of them before the other."""
    if one.onset is None or other.onset is None:
        return one.onset_before_data == other.onset_before_data
    early, late = sorted((one, other), key=lambda verdict: verdict.onset or _BEGINNING)
    gap = abs((one.onset - other.onset).total_seconds())
    grew = early.kind in SLOW_ONSET_KINDS and late.kind in SYMPTOM_KINDS
    return gap <= params.max_onset_gap_seconds or grew


def _fault(group: Sequence[_Placed]) -> Fault:
    return Fault(
        runs=tuple(sorted({run for one in group for run in one.runs})),
        verdicts=tuple(sort_verdicts(one.verdict for one in group)),
    )


def _with_firings(
    faults: list[Fault],
    firings: Sequence[Firing],
    hosts: Mapping[str, Sequence[str]],
    params: JoinParams,
) -> list[Fault]:
    """Return the faults with their burns, and a fault without findings for each burn left over."""
    whole = list(faults)
    for firing in sorted(firings, key=_firing_order):
        runs = _firing_runs(firing, hosts)
        fitting = [at for at, fault in enumerate(whole) if _explains(fault, firing, runs, params)]
        if fitting:
            home = max(fitting, key=lambda at: _fitness(whole[at], firing))
            whole[home] = replace(whole[home], firings=(*whole[home].firings, firing))
        else:
            whole.append(Fault(runs=runs, firings=(firing,)))
    return whole


def _firing_order(firing: Firing) -> tuple[datetime, datetime, str, str, int]:
    name = f"{firing.run}|{firing.objective}"
    return firing.active_at, firing.fired_at, name, firing.severity, firing.long_seconds


def _firing_runs(firing: Firing, hosts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    if firing.run is not None:
        return (firing.run,)
    return tuple(hosts) if len(hosts) == 1 else ()


def _explains(fault: Fault, firing: Firing, runs: tuple[str, ...], params: JoinParams) -> bool:
    """Return whether a fault was there while an alert's condition held."""
    if set(runs).isdisjoint(fault.runs) and (runs or fault.runs):
        return False
    causes = [one for one in fault.verdicts if one.kind not in SOLITARY_KINDS]
    lag = timedelta(seconds=params.max_alert_lag_seconds)
    held = any(
        (one.cleared is None or firing.active_at <= one.cleared + lag)
        and (firing.resolved_at is None or (one.onset or _BEGINNING) < firing.resolved_at)
        for one in causes
    )
    other = [one for one in fault.firings if not fault.verdicts and _meet(one, firing)]
    return held or bool(other)


def _meet(one: Firing, other: Firing) -> bool:
    """Return whether two firings held at one time."""
    return (one.resolved_at is None or other.active_at < one.resolved_at) and (
        other.resolved_at is None or one.active_at < other.resolved_at
    )


def _fitness(fault: Fault, firing: Firing) -> tuple[bool, float]:
    """Return how well a fault explains a firing: the last to begin before it, else the next."""
    before = (firing.active_at - (fault.onset or _BEGINNING)).total_seconds()
    return before >= 0, -abs(before)
