"""One tick of the watch: take what is new, judge, commit, and leave behind what is asked for.

Nothing here reads a clock: a tick has a time. A tick that fails leaves the committed state as it
was; what it took stays in memory, and is committed by the next.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from alerts.storing.records import Change
from collectors.readings import Reading, join_readings
from paceline.naming import Origin
from paceline.watching.blames import Blames
from paceline.watching.commits import Committed, Committer
from paceline.watching.judging import Judge, Judgement
from paceline.watching.memory import Memory
from paceline.watching.port_counts import count_ports
from paceline.watching.run_counts import RUN_METRICS, count_runs, live_runs
from paceline.watching.sharing import Share
from paceline.watching.source_ages import SourceAges
from paceline.watching.sources import Polled, WatchedSource
from paceline.watching.spools import newest_time
from paceline.watching.stopwatches import Stopwatch
from paceline.watching.totals import Totals
from paceline.watching.vanishing import Vanishing
from slo.training import JudgeParams, judge_steps

VERSION: Final = 1
"""Form of what is committed; another one is read anew from the sources."""

_LOG: Final = logging.getLogger("paceline")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What one tick left behind.

    Attributes:
        judgement: What it found.
        committed: What became of it in the database; null when it could not be reached.
        problems: What could not be taken, by source.
        rows: How many rows were new.
        seconds: How long each part took.
    """

    judgement: Judgement
    committed: Committed | None
    problems: Mapping[str, Sequence[str]]
    rows: int
    seconds: Mapping[str, float]


@dataclass(slots=True, kw_only=True)
class Watch:
    """The watch of one instance.

    Attributes:
        sources: What is watched.
        memory: The rows that are held.
        judge: What finds.
        ages: How old each source is.
        totals: Counters of the metric contract.
        committer: Where results go; and the cursor.
        patience: How long a tick waits for slow sources, together.
        cluster: What metrics call the cluster.
        vanishing: Ends what is found no more.
        blames: Failures of each host, for weeks.
        share: What of the fleet is this one's; null when it judges all by itself.
        last: Time of the last tick; null before the first.
    """

    sources: Sequence[WatchedSource]
    memory: Memory
    judge: Judge
    ages: SourceAges
    totals: Totals
    committer: Committer
    patience: timedelta
    cluster: str
    vanishing: Vanishing
    blames: Blames = field(default_factory=Blames)
    share: Share | None = None
    last: datetime | None = None
    _origins: dict[str, Origin] = field(default_factory=dict[str, Origin])

    def tick(self, now: datetime) -> Tick:
        """Do one tick.

        Args:
            now: Its time; with a zone, later than that of any tick before.
        """
        clock, self.last = Stopwatch(), now
        problems, rows = self._take(now)
        self.ages.look(now)
        clock.lap("take")
        standing = join_readings(one.standing() for one in self.sources)
        reading = self.memory.reading(standing, self._origins, now)
        clock.lap("name")
        if self.share is None:
            judgement = self.judge.judge(reading, self.memory.steps, self.ages.verdicts(), now)
            changes = None
        else:
            judgement, changes = self._shared(self.share, reading, now)
        clock.lap("judge")
        self._count(judgement)
        clock.lap("count")
        committed = self._commit(judgement, now) if self.share is None else self._keep(changes)
        clock.lap("commit")
        return Tick(
            judgement=judgement,
            committed=committed,
            problems=problems,
            rows=rows,
            seconds={**clock.laps, **judgement.seconds, "all": clock.all()},
        )

    def state(self) -> dict[str, Any]:
        """Return what a restart goes on with, as JSON has it."""
        return {
            "version": VERSION,
            "tick": self.last and self.last.isoformat(),
            "sources": {one.name: dict(one.state()) for one in self.sources},
            "memory": self.memory.state(),
            "ages": self.ages.state(),
            "totals": self.totals.state(),
            "blames": self.blames.state(),
            "vanishing": self.vanishing.state(),
        }

    def restore(self, state: Mapping[str, Any], memory: Memory) -> None:
        """Go on with a state and the memory that belongs to it."""
        self.memory = memory
        self.last = state["tick"] and datetime.fromisoformat(state["tick"])
        self.ages.restore(state["ages"])
        self.totals.restore(state["totals"])
        self.blames.restore(state["blames"])
        self.vanishing.restore(state["vanishing"])
        self.judge.burns.restore(memory.kept)
        known = memory.spool.joined()
        for source in self.sources:
            if source.name in state["sources"]:
                source.restore(state["sources"][source.name])
                source.remember(known)

    def close(self) -> None:
        """Let go of the sources."""
        for source in self.sources:
            source.close()

    def _take(self, now: datetime) -> tuple[dict[str, Sequence[str]], int]:
        """Take what is new of every source, and return what went wrong and how much came."""
        left = self.patience.total_seconds()
        problems, rows = dict[str, Sequence[str]](), 0
        for source in self.sources:
            began = time.perf_counter()
            polled = self._polled(source, now, left)
            left = max(0.0, left - (time.perf_counter() - began))
            self.memory.take(polled.reading)
            self._origins |= source.origins()
            newest = newest_time([polled.reading, source.standing()])
            # A stamp of the future says nothing about how fresh a source is.
            self.ages.saw(source.name, newest and min(newest, now), polled.problems)
            rows += _row_count(polled.reading)
            if polled.problems:
                problems[source.name] = polled.problems
        return problems, rows

    def _polled(self, source: WatchedSource, now: datetime, patience: float) -> Polled:
        """Return what a source gave; one that fails keeps out no other."""
        try:
            return source.poll(now, patience)
        except Exception as error:  # noqa: BLE001 -- one source must not keep out the others
            _LOG.exception("source %s failed", source.name)
            return Polled(problems=(f"{source.name}: {type(error).__name__}: {error}",))

    def _shared(
        self, share: Share, reading: Reading, now: datetime
    ) -> tuple[Judgement, Sequence[Change] | None]:
        """Do what of a tick is this one's, and return what is known and what that changed.

        Changes are null when the database could not be written; the tick waits for the next.
        """
        moment = self.judge.look(reading, self.memory.steps, self.ages.verdicts(), now)
        changes: Sequence[Change] | None = None
        try:
            changes = share.take(moment, is_blind=bool(self.ages.silent()))
        except Exception:  # noqa: BLE001 -- a database that is away must not end the watch
            _LOG.exception("the share of a tick could not be committed; the next tick tries again")
        return share.judgement(moment), changes

    def _keep(self, changes: Sequence[Change] | None) -> Committed | None:
        """Write where this instance goes on; what it found is committed already."""
        self.memory.save(self.judge.burns.frames())
        try:
            self.committer.keep(self.state())
        except Exception:  # noqa: BLE001 -- as above
            _LOG.exception("the database could not be written; the next tick tries again")
            return None
        self.memory.sweep()
        leads = self.share is not None and self.share.leads
        return None if changes is None else Committed(is_leader=leads, changes=changes)

    def _count(self, judgement: Judgement) -> None:
        """Let the counters grow, and forget what is too old after it was counted."""
        events, reading, now = judgement.burning.events, judgement.reading, judgement.now
        self.totals.grow(count_runs(events, self.memory.steps, reading, self.cluster, now))
        count_ports(self.totals, reading.samples, self.cluster)
        if self.memory.forget(now):
            left = replace(reading, jobs=self.memory.stated["jobs"])
            kept = judge_steps(self.memory.steps.lazy(), JudgeParams()).collect()
            self.totals.forgot(count_runs(kept, self.memory.steps, left, self.cluster, now))
        self.blames.take(judgement.verdicts, now)
        runs = live_runs(events, reading.jobs, now)
        self.totals.keep_only(frozenset({*runs, ""}), RUN_METRICS)

    def _commit(self, judgement: Judgement, now: datetime) -> Committed | None:
        is_blind = bool(self.ages.silent())
        ended = self.vanishing.ended(judgement.incidents, now, is_blind=is_blind)
        incidents = [*judgement.incidents, *ended]
        self.memory.save(self.judge.burns.frames())
        try:
            committed = self.committer.commit(incidents, self.state(), now)
        except Exception:  # noqa: BLE001 -- a database that is away must not end the watch
            _LOG.exception("the database could not be written; the next tick tries again")
            self.vanishing.undo()
            return None
        self.memory.sweep()
        return committed


def _row_count(reading: Reading) -> int:
    return sum(
        reading.frame(name).height
        for name in ("samples", "steps", "ops", "collectives", "transfers", "events")
    )
