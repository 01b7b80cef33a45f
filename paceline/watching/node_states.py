"""The state of each host: watched, accused, or unknown since its data fell silent."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

import polars as pl

from alerts.service.live import NodeCondition, NodeState
from collectors.readings import Reading
from detectors.verdicts import Verdict

ACCUSING: frozenset[str] = frozenset(
    {
        *("crash", "hang", "mismatch", "link_fault", "slow", "flapping", "degrading"),
        *("config_drift", "lemon", "telemetry_lost"),
    }
)
"""Findings that make a host suspect; an imbalance, or what nobody knows, accuses no host."""


def node_states(
    reading: Reading, verdicts: Sequence[Verdict], max_age: timedelta, now: datetime
) -> list[NodeState]:
    """Return every host that any source named, by name.

    Args:
        reading: The window, and where ranks run.
        verdicts: All findings; those that have not cleared accuse.
        max_age: A host whose newest row is older is silent.
        now: The tick's time.
    """
    accused = _accused(verdicts)
    newest, runs = _newest(reading), _runs(reading)
    names = sorted({*newest, *runs, *accused})
    return [_state(name, accused, newest.get(name), (runs, now - max_age)) for name in names]


def _accused(verdicts: Sequence[Verdict]) -> dict[str, list[Verdict]]:
    """Return the open findings of each host, by onset."""
    found = dict[str, list[Verdict]]()
    for one in verdicts:
        if one.kind not in ACCUSING or one.cleared is not None or one.cleared_step is not None:
            continue
        ends = [end.split(":")[0] for end in (one.subject.link or "").split(" - ") if end]
        for host in dict.fromkeys([one.subject.host or "", *ends]):
            found.setdefault(host, []).append(one)
    found.pop("", None)
    return found


def _newest(reading: Reading) -> dict[str, datetime | None]:
    """Return the newest time of each host's rows; null when none has a time."""
    frames = (("samples", "time"), ("steps", "end_time"), ("events", "time"))
    rows = pl.concat(
        reading.frame(name).select("host", time=pl.col(at)) for name, at in frames
    ).drop_nulls("host")
    return dict(rows.group_by("host").agg(pl.col("time").max()).iter_rows())


def _runs(reading: Reading) -> dict[str, str | None]:
    """Return the run on each host, the last that was placed there."""
    placed = reading.placements.drop_nulls("host").unique(["host", "run"], maintain_order=True)
    return dict(placed.group_by("host", maintain_order=True).agg(pl.col("run").last()).iter_rows())


def _state(
    host: str,
    accused: Mapping[str, Sequence[Verdict]],
    newest: datetime | None,
    placed: tuple[Mapping[str, str | None], datetime],
) -> NodeState:
    runs, oldest = placed
    own = accused.get(host, ())
    state: NodeCondition = "watched"
    if newest is None:
        state = "unknown"
    elif newest < oldest:
        state = "silent"
    onset = min((one.onset for one in own if one.onset), default=None)
    if own:
        return NodeState(
            host=host,
            state="suspect",
            since=onset,
            run=runs.get(host),
            kinds=tuple(sorted({cast("str", one.kind) for one in own})),
        )
    since = newest if state == "silent" else None
    return NodeState(host=host, state=state, since=since, run=runs.get(host))
