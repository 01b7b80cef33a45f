"""What Prometheus fired, as firings of burn-rate alerts.

Source: our own rules (`slo.burn_rules`): the alert of a pair has its windows in `long` and `short`
and its severity in `tier`; the routed alert over the pairs has only a severity. A firing is one
incident's worth of episodes, since a restart of Prometheus interrupts an alert without ending it.
Counts and rates are not in an alert: they stay null, and are known where we burn the same series.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from alerts.alert_episodes import Episode, EpisodeParams, Recurrence, recurrences
from alerts.firings import Firing
from slo.burn_rules import PAIR_SEVERITY
from slo.objectives import Objective
from slo.periods import PeriodError, read_seconds
from slo.windows import RECOMMENDED_WINDOWS, BurnWindow, Severity

NOT_TOLD: Final = "promise not known"
_PAIR_NOT_TOLD: Final = " (pair of windows not told)"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """Which pair of windows an alert is about.

    Attributes:
        severity: Its severity.
        long_seconds: Its long window.
        short_seconds: Its short window.
        window: The pair as the objective has it; null when that is not known.
        is_told: Whether the alert says which pair it is.
    """

    severity: Severity
    long_seconds: int
    short_seconds: int
    window: BurnWindow | None
    is_told: bool = True


def firings_of_histories(
    histories: Iterable[Sequence[Episode]],
    objectives: Mapping[str, Objective],
    params: EpisodeParams,
) -> list[Firing]:
    """Return the firings behind episodes of alerts; alerts that tell of no burn are left out.

    A routed alert whose pairs were told too is left out: it is the same firing.

    Args:
        histories: Episodes of one alert each, in their order.
        objectives: What is known of objectives, by name.
        params: When two episodes are one.
    """
    found = [
        (firing, pair.is_told)
        for history in histories
        for recurrence in recurrences(history, params)
        if (pair := _pair_of(recurrence.episodes[0].labels, objectives)) is not None
        for firing in [_firing(recurrence, pair, objectives)]
    ]
    told = [firing for firing, is_told in found if is_told]
    return sorted(
        (
            firing
            for firing, is_told in found
            if is_told or not any(_covers(other, firing) for other in told)
        ),
        key=lambda one: (
            one.fired_at,
            one.objective,
            one.run or "",
            one.severity,
            one.long_seconds,
        ),
    )


def unite_firings(own: Sequence[Firing], told: Sequence[Firing]) -> list[Firing]:
    """Return our own firings, and those of Prometheus that we did not see ourselves.

    Ours win where both tell of one objective, run and pair at one time: they know the counts.
    """
    return [*own, *(one for one in told if not any(_is_seen(one, other) for other in own))]


def _pair_of(labels: Mapping[str, str], objectives: Mapping[str, Objective]) -> _Pair | None:
    """Return the pair that an alert is about; null when it is about no burn."""
    objective = objectives.get(labels.get("objective", ""))
    windows = objective.windows if objective else RECOMMENDED_WINDOWS
    is_pair = labels.get("severity") == PAIR_SEVERITY
    severity = _severity(labels.get("tier" if is_pair else "severity"))
    if "objective" not in labels or severity is None:
        return None
    if not is_pair:
        return _any_pair(severity, windows)
    try:
        lengths = [read_seconds(labels.get(name, ""), name) for name in ("long", "short")]
    except PeriodError:
        return None
    known = [one for one in windows if [one.long_seconds, one.short_seconds] == lengths]
    same = next((one for one in known if one.severity == severity), None)
    return _Pair(severity=severity, long_seconds=lengths[0], short_seconds=lengths[1], window=same)


def _any_pair(severity: Severity, windows: Sequence[BurnWindow]) -> _Pair | None:
    """Return the pair of a severity that lets go last: it ends no earlier than that is said."""
    of_severity = [one for one in windows if one.severity == severity]
    last = max(of_severity, key=lambda one: one.short_seconds, default=None)
    if last is None:
        return None
    return _Pair(
        severity=severity,
        long_seconds=last.long_seconds,
        short_seconds=last.short_seconds,
        window=None,
        is_told=False,
    )


def _severity(text: str | None) -> Severity | None:
    match text:
        case "page" | "ticket":
            return text
        case _:
            return None


def _firing(recurrence: Recurrence, pair: _Pair, objectives: Mapping[str, Objective]) -> Firing:
    first, last = recurrence.episodes[0], recurrence.episodes[-1]
    objective = objectives.get(first.labels["objective"])
    waits = timedelta(seconds=pair.window.for_seconds if pair.window and objective else 0)
    title = objective.title if objective else _summary(last)
    return Firing(
        objective=first.labels["objective"],
        title=title if pair.is_told else title + _PAIR_NOT_TOLD,
        promise=objective.promise if objective else NOT_TOLD,
        run=first.labels.get("run"),
        severity=pair.severity,
        long_seconds=pair.long_seconds,
        short_seconds=pair.short_seconds,
        factor=float(pair.window.factor) if pair.window else None,
        active_at=first.starts_at - waits,
        fired_at=first.starts_at,
        resolved_at=last.ends_at,
        runbook_url=last.annotations.get("runbook_url"),
        dashboard_url=last.annotations.get("dashboard_url"),
    )


def _summary(episode: Episode) -> str:
    """Return what people call an objective that we do not know: what its alert calls it."""
    return episode.annotations.get("summary", "").partition(":")[0] or episode.labels["objective"]


def _covers(told: Firing, routed: Firing) -> bool:
    """Return whether a pair that was told is behind a routed alert."""
    same = (told.objective, told.run, told.severity) == (
        routed.objective,
        routed.run,
        routed.severity,
    )
    return same and _meet(told, routed)


def _is_seen(told: Firing, own: Firing) -> bool:
    """Return whether a firing of Prometheus is one of ours, or over one of ours."""
    pair = (told.long_seconds, told.short_seconds) == (own.long_seconds, own.short_seconds)
    return (pair or told.title.endswith(_PAIR_NOT_TOLD)) and _covers(own, told)


def _meet(one: Firing, other: Firing) -> bool:
    """Return whether two firings held at one time."""
    return (one.resolved_at is None or other.active_at <= one.resolved_at) and (
        other.resolved_at is None or one.active_at <= other.resolved_at
    )
