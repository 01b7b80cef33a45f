"""What a tick leaves on the board: states, and the text of `/metrics`."""

from collections.abc import Sequence
from datetime import timedelta

from alerts.storing.records import IncidentRecord
from paceline.watching.blames import open_verdicts
from paceline.watching.board import Left
from paceline.watching.exposition import exposition
from paceline.watching.gauges import (
    Measured,
    Scope,
    device_gauges,
    finding_gauges,
    rank_gauges,
    state_gauges,
    step_gauges,
)
from paceline.watching.incident_gauges import incident_gauges
from paceline.watching.judging import Judgement
from paceline.watching.node_states import node_states
from paceline.watching.run_counts import live_runs
from paceline.watching.slo_states import slo_states
from paceline.watching.watch import Watch
from slo.metrics import (
    WATCH_GROUP_HELD,
    WATCH_SKIPPED_TICKS_TOTAL,
    WATCH_TICK_SECONDS,
    WATCH_TICKS_TOTAL,
)


def left_behind(
    watch: Watch,
    judgement: Judgement,
    incidents: Sequence[IncidentRecord],
    top: int,
    seconds: float,
) -> Left:
    """Return what a tick leaves.

    Args:
        watch: The watch, after the tick.
        judgement: What the tick found.
        incidents: Open incidents, as they are kept.
        top: Ranks of each run, and devices of each signal, that have series.
        seconds: How long the tick took.
    """
    now, reading = judgement.now, judgement.reading
    sources = watch.ages.states(now)
    max_age = max((one.max_age for one in watch.sources), default=timedelta(minutes=5))
    nodes = node_states(reading, judgement.verdicts, max_age, now)
    scope = Scope(
        cluster=watch.cluster,
        top=top,
        runs=live_runs(judgement.burning.events, reading.jobs, now),
    )
    found = open_verdicts(judgement.verdicts)
    gauges: list[Measured] = [
        *step_gauges(judgement.burning.events, scope),
        *rank_gauges(judgement.views.paces.collect(), found, scope),
        *device_gauges(reading.samples, scope),
        *finding_gauges(found, watch.cluster),
        *state_gauges(sources, nodes, watch.blames.scores(now), watch.cluster),
        *incident_gauges(incidents, watch.cluster),
        Measured(metric=WATCH_TICK_SECONDS, labels=(watch.cluster,), value=seconds),
        *_held_groups(watch),
    ]
    return Left(
        now=now,
        sources=sources,
        nodes=nodes,
        slo=slo_states(watch.judge.burns.objectives, judgement.burning, now),
        metrics=exposition(gauges, watch.totals.values),
        shares={} if watch.share is None else watch.share.fences.shares(),
    )


def _held_groups(watch: Watch) -> list[Measured]:
    """Return which groups of a shared fleet this instance judges."""
    held = [] if watch.share is None else sorted(watch.share.fences.held)
    return [
        Measured(metric=WATCH_GROUP_HELD, labels=(watch.cluster, group), value=1.0)
        for group in held
    ]


def count_tick(watch: Watch, skipped: int) -> None:
    """Count a tick, and those before it that were missed."""
    for metric, count in ((WATCH_TICKS_TOTAL, 1), (WATCH_SKIPPED_TICKS_TOTAL, skipped)):
        key = (metric.name, (watch.cluster,))
        watch.totals.values[key] = watch.totals.values.get(key, 0.0) + count
