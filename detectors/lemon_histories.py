"""Put together what a fleet's history says of each node and each part: failures and time in use.

Source: methods reference, section 10. A part takes its failures along when it moves; a node's own
history counts less after a repair.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Self

import polars as pl

from collectors.frames import EVENTS, JOBS, require
from collectors.readings import Reading
from detectors.blame import (
    FAILURES,
    BlameParams,
    broken_attempts,
    infrastructure_endings,
    shared_blame,
)
from detectors.busy_spans import busy_spans, job_hosts
from detectors.decayed_counts import DecayParams, exposures_of
from detectors.node_signals import node_signals
from detectors.part_stints import host_repairs, part_names, part_stints, with_parts
from detectors.user_jobs import hosts_of_one_user

HALF: Final = 0.5
"""Share of the blame from which a failure counts as one of a node's own jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetHistory:
    """What happened, in frames.

    Attributes:
        as_of: The end of the data.
        began: The first start of a job.
        failures: `FAILURES` with `part`; null where no part is named.
        unexplained_count: Attempts that a fault may have ended, and nothing says which.
        signals: `NODE_SIGNALS` with `part`.
        spans: `SPANS`.
        stints: `STINTS`.
        repairs: `REPAIRS`.
        user_hosts: `USER_HOSTS`.
    """

    as_of: datetime
    began: datetime
    failures: pl.DataFrame
    unexplained_count: int
    signals: pl.DataFrame
    spans: pl.DataFrame
    stints: pl.DataFrame
    repairs: pl.DataFrame
    user_hosts: pl.DataFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryParams:
    """How a history is put together.

    Attributes:
        as_of: The end of the data; null is the last start or end of a job.
        blame: When a failure is the infrastructure's, and how its blame is shared.
        decay: How history fades.
    """

    as_of: datetime | None = None
    blame: BlameParams = field(default_factory=BlameParams)
    decay: DecayParams = field(default_factory=DecayParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The frames that tell a history.

    Attributes:
        jobs: `JOBS`.
        placements: `PLACEMENTS`, for the hosts of jobs that name none.
        events: `EVENTS`: what names nodes and parts, and repairs.
        aliases: `ALIASES`: which part is in which slot.
    """

    jobs: pl.LazyFrame
    placements: pl.LazyFrame
    events: pl.LazyFrame
    aliases: pl.LazyFrame

    @classmethod
    def of(cls, reading: Reading) -> Self:
        """Return what a reading tells of a fleet's history."""
        return cls(
            jobs=reading.jobs.lazy(),
            placements=reading.placements.lazy(),
            events=reading.events.lazy(),
            aliases=reading.aliases.lazy(),
        )


def time_span(jobs: pl.LazyFrame, as_of: datetime | None) -> tuple[datetime, datetime] | None:
    """Return the first start of a job and the end of the data; null if no job has begun.

    Args:
        jobs: `JOBS`.
        as_of: The end of the data; null is the last start or end of a job.
    """
    ends = jobs.pipe(require, JOBS).select(
        began=pl.col("start").min(), ended=pl.max_horizontal(pl.col("start", "end").max())
    )
    began, ended = ends.collect().row(0)
    last = as_of or ended
    return None if began is None or last <= began else (began, last)


def fleet_history(
    records: Records, span: tuple[datetime, datetime], params: HistoryParams
) -> FleetHistory:
    """Return what happened.

    Args:
        records: The frames.
        span: What `time_span` returns.
        params: How it is put together.
    """
    began, as_of = span
    events = records.events.pipe(require, EVENTS)
    hosts = job_hosts(records.jobs, records.placements, as_of)
    signals = node_signals(events).filter(pl.col("time") <= as_of + params.blame.max_gap).collect()
    names = part_names(records.aliases).collect().lazy()
    stints = part_stints(events, names, as_of).collect()
    repairs = host_repairs(events, stints.lazy(), as_of).collect()
    spans = busy_spans(hosts).collect()
    days = exposures_of(spans.lazy(), repairs.lazy(), as_of, params.decay).collect()
    broken = broken_attempts(hosts).collect()
    endings = infrastructure_endings(broken.lazy(), signals.lazy(), params.blame).collect()
    failures = shared_blame(endings.lazy(), days.lazy(), params.blame)
    placed = with_parts(failures, names).select(*FAILURES.names(), "part").collect()
    return FleetHistory(
        as_of=as_of,
        began=began,
        failures=placed.sort("host", "time", "run"),
        unexplained_count=broken["failure"].n_unique() - endings["failure"].n_unique(),
        signals=with_parts(signals.lazy(), names).sort(pl.all(), nulls_last=True).collect(),
        spans=spans,
        stints=stints,
        repairs=repairs,
        user_hosts=hosts_of_one_user(placed, hosts),
    )
