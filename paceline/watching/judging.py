"""What one tick finds: the detectors over the window, the burns, and the incidents of both."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import polars as pl

from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.firings import Firing
from alerts.incidents import Incident, join_incidents
from alerts.intake.fired import unite_firings
from collectors.readings import Reading
from detectors.holds import HoldParams, add_holds
from detectors.verdicts import Verdict
from paceline.findings import DetectorParams, Views, find_in, views_of
from paceline.watching.burn_watch import Burning, BurnWatch
from paceline.watching.device_folds import DeviceFolds
from paceline.watching.stopwatches import Stopwatch
from slo.losses import run_sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeSettings:
    """The thresholds of a tick.

    Attributes:
        detectors: Of all detectors.
        joining: When symptoms are one fault.
        holds: When a crashed job held its nodes for nothing.
    """

    detectors: DetectorParams = field(default_factory=DetectorParams)
    joining: JoinParams = field(default_factory=JoinParams)
    holds: HoldParams = field(default_factory=HoldParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one tick found.

    Attributes:
        now: The tick's time.
        reading: The window, named.
        views: What the detectors looked at.
        verdicts: All findings.
        burning: Burn rates and firings.
        incidents: One a fault.
        seconds: How long each part took.
    """

    now: datetime
    reading: Reading
    views: Views
    verdicts: Sequence[Verdict]
    burning: Burning
    incidents: Sequence[Incident]
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What a tick saw, and what is carried on with it: all that its findings depend on.

    Attributes:
        now: The tick's time.
        reading: The window, named.
        told: Findings about the sources themselves.
        folded: `VERDICTS` of detectors that go on from what they knew.
        burning: Burn rates and firings of our own.
        seconds: How long each part took.
    """

    now: datetime
    reading: Reading
    told: Sequence[Verdict]
    folded: Mapping[str, pl.DataFrame]
    burning: Burning
    seconds: Mapping[str, float]


_LOG: Final = logging.getLogger("paceline")


def _nothing_heard(_: datetime) -> Sequence[Firing]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Judges tick after tick.

    Attributes:
        settings: The thresholds.
        burns: The carried state of objectives.
        folds: The carried state of devices.
        heard: What Prometheus fired, by Alertmanager's webhook, at a time.
    """

    settings: JudgeSettings
    burns: BurnWatch
    folds: DeviceFolds
    heard: Callable[[datetime], Sequence[Firing]] = _nothing_heard

    def judge(
        self,
        reading: Reading,
        steps: pl.DataFrame,
        told: Sequence[Verdict],
        now: datetime,
    ) -> Judgement:
        """Return what a window says at a time.

        Args:
            reading: The window, named.
            steps: `STEP_COLUMNS` of the whole period.
            told: Findings about the sources themselves.
            now: The time.
        """
        moment = self.look(reading, steps, told, now)
        clock = Stopwatch()
        views = self.views(reading)
        verdicts = self.find(moment, views, {})
        clock.lap("detectors")
        incidents = self.join(moment, verdicts)
        clock.lap("incidents")
        return Judgement(
            now=now,
            reading=reading,
            views=views,
            verdicts=verdicts,
            burning=moment.burning,
            incidents=incidents,
            seconds={**moment.seconds, **clock.laps},
        )

    def look(
        self, reading: Reading, steps: pl.DataFrame, told: Sequence[Verdict], now: datetime
    ) -> Moment:
        """Return what a tick saw, and move on what is carried; see `judge`."""
        clock = Stopwatch()
        folded = {"devices": self.folds.find(reading.samples)}
        clock.lap("folds")
        burning = self.burns.evaluate(steps, now)
        clock.lap("burns")
        return Moment(
            now=now,
            reading=reading,
            told=told,
            folded=folded,
            burning=burning,
            seconds=clock.laps,
        )

    def views(self, reading: Reading) -> Views:
        """Return what the detectors look at."""
        return views_of(reading, self.settings.detectors)

    def find(
        self, moment: Moment, views: Views, known: Mapping[str, pl.DataFrame]
    ) -> list[Verdict]:
        """Return all findings of a moment.

        Args:
            moment: The moment.
            views: Of its whole reading.
            known: `VERDICTS` of detectors that others ran, by name.
        """
        folded = {**known, **moment.folded}
        return [*self._found(views, moment.reading, folded), *moment.told]

    def join(self, moment: Moment, verdicts: Sequence[Verdict]) -> list[Incident]:
        """Return the incidents of a moment's findings and burns."""
        facts = RunFacts(sizes=_sizes(moment.reading), events=moment.burning.events)
        firings = unite_firings(moment.burning.firings, self._heard(moment.now))
        return join_incidents(verdicts, firings, facts, self.settings.joining, now=moment.now)

    def _heard(self, now: datetime) -> Sequence[Firing]:
        """Return what Prometheus fired; nothing while the database does not answer."""
        try:
            return self.heard(now)
        except Exception:  # noqa: BLE001 -- our own burns must not wait for those of others
            _LOG.exception("what Prometheus fired could not be read")
            return ()

    def _found(
        self, views: Views, reading: Reading, folded: Mapping[str, pl.DataFrame]
    ) -> list[Verdict]:
        """Return the findings of all detectors, with what crashed jobs held for nothing."""
        params, holds = self.settings.detectors, self.settings.holds
        found = find_in(views, reading, params, _say_nothing, folded)
        return add_holds(found, reading.jobs, reading.events, reading.steps, holds)


def _sizes(reading: Reading) -> pl.DataFrame:
    """Return `RUN_SIZES`."""
    steps, placements, jobs = (
        reading.frame(name).lazy() for name in ("steps", "placements", "jobs")
    )
    return run_sizes(steps, placements, jobs).collect()


def _say_nothing(_name: str, _done: int, _everything: int) -> None:
    """Take progress and drop it: a tick is short."""
