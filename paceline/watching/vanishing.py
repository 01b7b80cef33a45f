"""End what is found no more: a finding that the same data, with more of it, do not bear out.

Detectors judge a window anew at each tick, so that an early suspicion may be gone with the next
minutes. Its incident would stay open for ever: no tick tells of it again. So it is told as ended,
but only where that can be known: its onset is still in the window, and no source is silent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from alerts.delivery.letters import LetterError
from alerts.delivery.letters import incident_of as told_incident
from alerts.identities import likeness
from alerts.incidents import Incident, incident_json

GRACE: Final = timedelta(minutes=10)
"""For how long a finding may be away: detectors waver where an effect is near their threshold."""

Key: TypeAlias = tuple[str, str]
"""Run, and what is wrong with which thing."""


@dataclass(slots=True, kw_only=True)
class Vanishing:
    """The open incidents of the last ticks.

    Attributes:
        window: How far back detectors look.
    """

    window: timedelta
    _seen: dict[Key, tuple[Incident, datetime]] = field(
        default_factory=dict[Key, tuple[Incident, datetime]]
    )
    _before: dict[Key, tuple[Incident, datetime]] = field(
        default_factory=dict[Key, tuple[Incident, datetime]]
    )

    def ended(
        self, incidents: Sequence[Incident], now: datetime, *, is_blind: bool
    ) -> list[Incident]:
        """Return the incidents that are over because nothing finds them any more.

        Args:
            incidents: What this tick found.
            now: Its time.
            is_blind: Whether a source is silent: then nothing ends for want of findings.
        """
        self._before = dict(self._seen)
        there = {_key(one) for one in incidents}
        self._seen |= {_key(one): (one, now) for one in incidents if one.state == "open"}
        lapsed = [key for key, (_, last) in self._seen.items() if now - last >= GRACE]
        for key in [one for one in self._seen if one in there and self._seen[one][1] < now]:
            # It is found to have ended: that is said by the finding itself.
            del self._seen[key]
        if is_blind:
            return []
        gone = [self._seen.pop(key) for key in lapsed if key not in there]
        return [_over(one, last) for one, last in gone if _is_in_view(one, now - self.window)]

    def undo(self) -> None:
        """Take back the last tick: what it ended could not be told."""
        self._seen = dict(self._before)

    def state(self) -> list[dict[str, Any]]:
        """Return what a restart goes on with, as JSON has it."""
        return [
            {"incident": incident_json(one), "last": last.isoformat()}
            for _, (one, last) in sorted(self._seen.items())
        ]

    def restore(self, state: Sequence[Mapping[str, Any]]) -> None:
        """Go on with a state; what another version wrote is left to people."""
        for told in state:
            try:
                one = told_incident(told["incident"])
            except LetterError:
                continue
            self._seen[_key(one)] = (one, datetime.fromisoformat(told["last"]))


def _key(incident: Incident) -> Key:
    return incident.run or "", likeness(incident)


def _is_in_view(incident: Incident, since: datetime) -> bool:
    """Return whether what an incident rests on is still looked at."""
    return incident.onset is not None and incident.onset >= since


def _over(incident: Incident, last: datetime) -> Incident:
    """Return an incident that was last found at a time, as over since then."""
    return replace(incident, state="resolved", cleared=last)
