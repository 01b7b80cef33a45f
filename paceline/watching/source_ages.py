"""How old each source is; one that fell silent is a finding of its own, and nothing is healthy.

Silence is told by the newest row that a source ever gave, never by an error alone: a server that
answers without a sample is as silent as one that is down.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from alerts.service.live import SourceCondition, SourceState
from detectors.verdicts import Evidence, Subject, Verdict, rfc3339

KEPT: Final = timedelta(hours=6)
"""For how long a silence that ended is told: until every reader of findings saw its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """One stretch in which a source gave nothing.

    Attributes:
        source: Its name.
        since: Time of the newest row before it; null when the source never gave any.
        detected: When it counted as silence.
        cleared: When the source gave something again; null while it does not.
    """

    source: str
    since: datetime | None
    detected: datetime
    cleared: datetime | None = None


@dataclass(slots=True, kw_only=True)
class SourceAges:
    """What is known of the ages of all sources.

    Attributes:
        max_ages: The age from which each is silent, by name, in the order of the settings.
        started: When the watch began: before that nobody looked.
    """

    max_ages: Mapping[str, timedelta]
    started: datetime
    _newest: dict[str, datetime] = field(default_factory=dict[str, datetime])
    _problems: dict[str, str] = field(default_factory=dict[str, str])
    _open: dict[str, Silence] = field(default_factory=dict[str, Silence])
    _ended: list[Silence] = field(default_factory=list[Silence])

    def saw(self, source: str, newest: datetime | None, problems: Sequence[str]) -> None:
        """Take what one look gave.

        Args:
            source: Its name.
            newest: Time of the newest row; null when it gave none with a time.
            problems: What went wrong.
        """
        if newest is not None:
            self._newest[source] = max(newest, self._newest.get(source, newest))
        if problems:
            self._problems[source] = problems[0]
        else:
            self._problems.pop(source, None)

    def look(self, now: datetime) -> None:
        """Begin and end silences."""
        for name, max_age in self.max_ages.items():
            newest = self._newest.get(name)
            is_silent = now - (newest or self.started) > max_age
            known = self._open.get(name)
            if is_silent and known is None:
                self._open[name] = Silence(source=name, since=newest, detected=now)
            elif not is_silent and known is not None:
                self._ended.append(_ended(self._open.pop(name), newest or now))
        self._ended = [one for one in self._ended if (one.cleared or now) >= now - KEPT]

    def states(self, now: datetime) -> list[SourceState]:
        """Return the state of each source, in the order of the settings."""
        return [self._state(name, now) for name in self.max_ages]

    def silent(self) -> frozenset[str]:
        """Return the names of sources that are silent now."""
        return frozenset(self._open)

    def verdicts(self) -> list[Verdict]:
        """Return one finding a silence, those that ended lately among them."""
        silences = [
            *self._ended,
            *(self._open[name] for name in self.max_ages if name in self._open),
        ]
        return [_verdict(one, self._problems.get(one.source)) for one in silences]

    def state(self) -> dict[str, Any]:
        """Return what a restart goes on with, as JSON has it."""
        return {
            "newest": {name: time.isoformat() for name, time in sorted(self._newest.items())},
            "open": [_json(one) for _, one in sorted(self._open.items())],
            "ended": [_json(one) for one in self._ended],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on with a state; sources that are no more in the settings are forgotten."""
        known = self.max_ages.keys()
        self._newest = {
            name: datetime.fromisoformat(time)
            for name, time in state["newest"].items()
            if name in known
        }
        self._open = {
            told["source"]: _silence(told) for told in state["open"] if told["source"] in known
        }
        self._ended = [_silence(told) for told in state["ended"]]

    def _state(self, name: str, now: datetime) -> SourceState:
        newest = self._newest.get(name)
        condition: SourceCondition = "silent" if name in self._open else "current"
        if newest is None:
            condition = "unknown"
        age = None if newest is None else max(0.0, (now - newest).total_seconds())
        return SourceState(name=name, age_seconds=age, state=condition, last_seen=newest)


def _ended(silence: Silence, cleared: datetime) -> Silence:
    return Silence(
        source=silence.source, since=silence.since, detected=silence.detected, cleared=cleared
    )


def _verdict(silence: Silence, problem: str | None) -> Verdict:
    since = "it never gave a row" if silence.since is None else rfc3339(silence.since)
    seen = f"unknown: source {silence.source} silent since {since}"
    if problem and silence.cleared is None:
        seen += f"; {problem}"
    return Verdict(
        kind="telemetry_lost",
        level="group",
        subject=Subject(group=f"source {silence.source}"),
        confidence="high",
        onset=silence.since,
        onset_before_data=silence.since is None,
        detected=silence.detected,
        cleared=silence.cleared,
        cause="source_silent",
        evidence=(Evidence(source=silence.source, time=silence.since, what=seen),),
        action=f"see why source {silence.source} gives nothing; until then what it watches is "
        "unknown, not healthy",
        needed=f"rows of source {silence.source}",
    )


def _json(silence: Silence) -> dict[str, str | None]:
    times = {name: getattr(silence, name) for name in ("since", "detected", "cleared")}
    told = {name: None if time is None else time.isoformat() for name, time in times.items()}
    return {"source": silence.source, **told}


def _silence(told: Mapping[str, str | None]) -> Silence:
    times = {
        name: None if told[name] is None else datetime.fromisoformat(str(told[name]))
        for name in ("since", "cleared")
    }
    return Silence(
        source=str(told["source"]), detected=datetime.fromisoformat(str(told["detected"])), **times
    )
