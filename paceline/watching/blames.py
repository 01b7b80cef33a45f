"""Which failures each host was blamed for in the last four weeks, and what they still count.

The score is for a glance and a board; whether a host is a lemon is what `paceline lemons` judges,
against how long each host was in use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from detectors.verdicts import Verdict

KEPT: Final = timedelta(days=28)
HALF_LIFE: Final = timedelta(days=14)
"""After so long a failure counts half: a repair made today is seen within the window."""

BLAMED: Final = frozenset({"crash", "hang", "link_fault", "lemon"})


@dataclass(slots=True, kw_only=True)
class Blames:
    """The failures of each host.

    Attributes:
        times: When each failure began, by host and by what it was.
    """

    times: dict[tuple[str, str], datetime] = field(default_factory=dict[tuple[str, str], datetime])

    def take(self, verdicts: Sequence[Verdict], now: datetime) -> None:
        """Take what a tick found; the same failure again counts once."""
        for one in verdicts:
            begun = one.onset or one.detected
            if one.kind in BLAMED and one.subject.host and begun:
                # An onset moves by a little as more is known: within an hour it is the same.
                what = f"{one.kind} {begun:%Y-%m-%dT%H}"
                self.times.setdefault((one.subject.host, what), begun)
        self.times = {key: time for key, time in self.times.items() if time >= now - KEPT}

    def scores(self, now: datetime) -> dict[str, float]:
        """Return the decayed count of failures of each host that has any."""
        scores = dict[str, float]()
        for (host, _), time in sorted(self.times.items()):
            weight = 0.5 ** max(0.0, (now - time) / HALF_LIFE)
            scores[host] = scores.get(host, 0.0) + weight
        return scores

    def state(self) -> list[list[str]]:
        """Return what a restart goes on with, as JSON has it."""
        return [[host, what, time.isoformat()] for (host, what), time in sorted(self.times.items())]

    def restore(self, state: Sequence[Sequence[Any]]) -> None:
        """Go on with a state."""
        self.times = {
            (str(host), str(what)): datetime.fromisoformat(time) for host, what, time in state
        }


def open_verdicts(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the findings that have not cleared."""
    return [one for one in verdicts if one.cleared is None and one.cleared_step is None]
