"""The text of a page and of a timeline: plain lines that paste into a ticket or a chat.

Source: reference on page text: what is hurt, the counts behind it, the blast radius, the suspect
with evidence and confidence, the next step, and how it will resolve, in this order, so that the
first screen of a phone decides whether to get up.
"""

from collections.abc import Sequence
from typing import Final

from alerts.firings import Firing
from alerts.incidents import Incident
from alerts.titles import subject_text
from alerts.wording import (
    UNKNOWN,
    amount_text,
    clock_text,
    count_text,
    flat_text,
    percent_text,
    rate_text,
    span_text,
)
from detectors.verdicts import Verdict
from slo.budgets import MIN_JUDGED_COVERAGE_RATIO
from slo.windows import duration

MAX_LINES: Final = 25
MAX_CHARACTERS: Final = 240
"""A line of a page; longer evidence is cut and stands whole in the report."""
MIN_SURE_TOTAL: Final = 30.0
"""Below so many events in a window one event more or less is a matter of percents: say so."""
_MAX_EVIDENCE: Final = 4
_MAX_OTHERS: Final = 2
_MAX_VICTIMS: Final = 6


def page_text(incident: Incident) -> str:
    """Return the page of an incident, at most `MAX_LINES` lines, ending in a line break."""
    lines = [
        f"[{incident.severity.upper()}] {incident.title}",
        f"Incident {incident.id}, {incident.state}{_as_of(incident)}",
        *_hurt(incident),
        *_radius(incident),
        *_suspects(incident),
        *_next_step(incident),
        *_resolution(incident),
    ]
    return "".join(f"{_cut(line)}\n" for line in lines)


def timeline_text(incident: Incident) -> str:
    """Return the incident's moments in UTC, each with its distance from the onset."""
    rows = [
        ("onset", _onset(incident), ""),
        ("detected", clock_text(incident.detected), _since("TTD", incident.ttd_seconds)),
        ("paged", _paged(incident), _since("TTP", incident.ttp_seconds)),
        ("cleared", _cleared(incident), _since("TTR", incident.ttr_seconds)),
    ]
    lines = [f"{name:<9} {time:<23} {since}".rstrip() for name, time, since in rows]
    return "\n".join([f"Timeline of {incident.title}", *lines, ""])


def _onset(incident: Incident) -> str:
    """Return when the fault began: by the clock, else by the step where the source counts them."""
    steps = [one.onset_step for one in incident.suspects if one.onset_step is not None]
    if incident.onset is not None:
        return clock_text(incident.onset)
    if steps:
        return f"step {min(steps)} (no clock)"
    return "before the data began" if incident.onset_before_data else clock_text(None)


def _cut(line: str) -> str:
    """Return a line of bounded length without line breaks or control characters from the data."""
    flat = flat_text(line)
    return flat if len(flat) <= MAX_CHARACTERS else f"{flat[: MAX_CHARACTERS - 4]} ..."


def _as_of(incident: Incident) -> str:
    return "" if incident.as_of is None else f" as of {clock_text(incident.as_of)}"


def _since(name: str, seconds: float | None) -> str:
    return "" if seconds is None else f"{name} {span_text(seconds)} from the onset"


def _paged(incident: Incident) -> str:
    if incident.paged_at is None and incident.severity == "ticket":
        return "nobody (a ticket)"
    return clock_text(incident.paged_at)


def _cleared(incident: Incident) -> str:
    if incident.state == "open":
        return "not yet"
    return clock_text(incident.cleared)


def _hurt(incident: Incident) -> list[str]:
    """Return which objective burns, by the pair that woke someone, and what it rests on."""
    burn = _first_burn(incident.burns)
    if burn is None and incident.severity == "page":
        return ["Hurt: the run makes no step, which no burn rate of steps can tell"]
    if burn is None:
        return ["Hurt: no burn-rate alert fired on this data", *_pace(incident)]
    long, short = duration(burn.long_seconds), duration(burn.short_seconds)
    others = dict.fromkeys(f"{one.severity} {one.pair}" for one in incident.burns)
    others.pop(f"{burn.severity} {burn.pair}")
    held = f"since {clock_text(burn.active_at)}, fired {clock_text(burn.fired_at)}"
    rates = f"{rate_text(burn.long_burn_rate)} over {long}, {rate_text(burn.short_burn_rate)}"
    return [
        f"Hurt: {burn.title} ({burn.objective}, {burn.promise})",
        f"  {burn.severity} {burn.pair} above {rate_text(burn.factor)} {held}",
        f"  burn {rates} over {short}; {_budget(burn)}",
        f"  bad/all events when it fired: {_counts(burn)}",
        *([f"  also fired: {', '.join(others)}"] if others else []),
        *_pace(incident),
    ]


def _pace(incident: Incident) -> list[str]:
    """Return how much slower the run as a whole is, where a finding says so."""
    slow = [one for one in incident.context if one.level == "job" and one.slowdown is not None]
    return [f"  the run's steps take x{one.slowdown:.2f} of its own good pace" for one in slow[:1]]


def _first_burn(burns: Sequence[Firing]) -> Firing | None:
    """Return the burn that a page is about: the first of the page tier, else the first."""
    return min(
        burns,
        key=lambda one: (one.severity != "page", one.fired_at, one.long_seconds),
        default=None,
    )


def _budget(burn: Firing) -> str:
    """Return what is left of the budget, how long it lasts, and on how much history it rests."""
    left = f"budget left {percent_text(burn.budget_left_ratio)}"
    coverage = burn.budget_coverage_ratio
    if coverage is not None and coverage < MIN_JUDGED_COVERAGE_RATIO:
        return f"budget not judged: data for {percent_text(coverage)} of its period"
    if coverage is not None and coverage < 1:
        left = f"{left} on data for {percent_text(coverage)} of its period"
    if burn.exhaustion_seconds is None:
        return left
    if burn.exhaustion_seconds <= 0:
        return f"{left}, spent"
    return f"{left}, gone in {span_text(burn.exhaustion_seconds)} at this pace"


def _counts(burn: Firing) -> str:
    """Return the counts in both windows, and how far to trust them."""
    windows = (
        (burn.long_seconds, burn.long_bad, burn.long_total),
        (burn.short_seconds, burn.short_bad, burn.short_total),
    )
    told = ", ".join(
        f"{count_text(bad)}/{count_text(total)} in {duration(seconds)}"
        for seconds, bad, total in windows
    )
    few = any(total is not None and total < MIN_SURE_TOTAL for _, _, total in windows)
    coverage = burn.long_coverage_ratio
    partial = coverage is not None and coverage < 1
    notes = ["; low counts"] * few
    notes += [f"; data for {percent_text(coverage)} of {duration(burn.long_seconds)}"] * partial
    return told + "".join(notes)


def _radius(incident: Incident) -> list[str]:
    radius = incident.blast_radius
    ranks = UNKNOWN if radius.ranks is None else str(radius.ranks)
    hosts = UNKNOWN if radius.hosts is None else str(radius.hosts)
    size = f"jobs {', '.join(radius.jobs) or UNKNOWN}; ranks {ranks}; hosts {hosts}"
    lost = f"GPU-hours lost {amount_text(radius.gpu_hours_lost)}"
    named = ", ".join(radius.victims[:_MAX_VICTIMS])
    more = len(radius.victims) - _MAX_VICTIMS
    victims = f", victims {named}" + (f" and {more} more" if more > 0 else "")
    victims = victims if named else ""
    return [f"Blast radius: {size}; {lost}", f"  since {_onset(incident)}{victims}"]


def _suspects(incident: Incident) -> list[str]:
    """Return who is accused on what evidence, or what would decide."""
    if not incident.suspects:
        alternatives = [name for one in incident.context for name in one.alternatives]
        seen = [line for one in incident.context[:1] for line in _evidence(one)]
        either = [f"  could be: {', '.join(alternatives)}"] if alternatives else []
        return ["Suspect: unknown", *seen, *either, f"  would decide: {incident.needed}"]
    first = incident.suspects[0]
    others = incident.suspects[1 : 1 + _MAX_OTHERS]
    more = len(incident.suspects) - 1 - len(others)
    return [
        f"Suspect: {_accused(first)}",
        *_evidence(first),
        *(f"  also: {_accused(one)}" for one in others),
        *([f"  and {more} more, see the report"] if more else []),
    ]


def _accused(verdict: Verdict) -> str:
    """Return a suspect in a line: who, what, how much, how sure, against whom."""
    slower = f" x{verdict.slowdown:.2f}" if verdict.slowdown is not None else ""
    cause = f", {verdict.cause}" if verdict.cause else ""
    peers = f" against {verdict.peer_count} peers" if verdict.peer_count else ""
    kind = verdict.kind.replace("_", " ")
    name = subject_text(verdict)
    return f"{name}: {kind}{slower}{peers}{cause}, confidence {verdict.confidence}"


def _evidence(verdict: Verdict) -> list[str]:
    return [f"  {seen.source}: {seen.what}" for seen in verdict.evidence[:_MAX_EVIDENCE]]


def _next_step(incident: Incident) -> list[str]:
    actions = [one.action for one in (*incident.suspects, *incident.context) if one.action]
    step = actions[0] if actions else "compare the ranks' compute times, then their device signals"
    burn = _first_burn(incident.burns)
    runbook = f"  runbook: {burn.runbook_url}" if burn and burn.runbook_url else ""
    dashboard = f"  dashboard: {burn.dashboard_url}" if burn and burn.dashboard_url else ""
    return [f"Next: {step}", *(line for line in (runbook, dashboard) if line)]


def _resolution(incident: Incident) -> list[str]:
    """Return how it ends, so that nobody waits at the screen."""
    pages = [one for one in incident.burns if one.severity == "page"] or incident.burns
    firing = [one for one in pages if one.resolved_at is None]
    longest = duration(max((one.short_seconds for one in pages), default=0))
    if incident.state == "resolved":
        held = " and ".join(f"{one.severity} {one.pair}" for one in firing)
        rest = [f"  {held} still fires and lets go by itself, at most {longest} after that"]
        lasted = f", {span_text(incident.ttr_seconds)} after the onset"
        ended = f"Resolved: the fault ended {clock_text(incident.cleared)}"
        if incident.cleared is None:
            ended = "Resolved: the fault ended within the data, at a time that no source tells"
        return [ended + lasted * (incident.ttr_seconds is not None), *(rest if firing else [])]
    if not pages:
        return ["Resolves: when the finding clears in the data; no alert waits for it"]
    healthy = f"at most {longest} after the steps are healthy again (the short window)"
    return [f"Resolves: by itself, {healthy}; no need to wait at the screen"]
