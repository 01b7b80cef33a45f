"""Tell a lemon: its rate beside its pool's, the events it comes from, and what to do with it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import polars as pl

from detectors.lemon_histories import FleetHistory
from detectors.verdicts import Confidence, Evidence, Subject, Verdict

ACTIONS: Final[Mapping[str, str]] = {
    "return": "open a return with these events as evidence: repairs did not help",
    "drain": "drain it after the running job and run the vendor's long diagnostic",
    "watch": "keep large jobs off it, and drain it when others are back: not too many at once",
}
"""What to do, by tier."""

MAX_EVENTS: Final = 20
"""Events that a verdict shows."""

MIN_SHARE: Final = 0.1
"""Share of the blame below which a failure is told in the sum only."""

_SURE: Final = 0.01
"""False-discovery rate from which a lemon is sure."""

_SURE_JOBS: Final = 3


def lemon_verdict(unit: Mapping[str, Any], history: FleetHistory, peers: int) -> Verdict:
    """Return the verdict on a flagged node or part.

    Args:
        unit: A row of `RATED` with `tier`.
        history: What happened.
        peers: How many nodes its pool has.
    """
    own = _own(unit, history.failures)
    times = own.filter("is_named")["time"] if own["is_named"].any() else own["time"]
    is_part = unit["part"] is not None
    return Verdict(
        kind="lemon",
        level="gpu" if is_part else "host",
        subject=Subject(host=unit["host"], device=unit["part"]),
        onset=times.to_list()[-1],
        detected=times.to_list()[0],
        cause="repeated_failures",
        confidence=_confidence(unit),
        peers=f"pool {unit['pool']}",
        peer_count=peers - 1,
        q_value=unit["q_value"],
        evidence=(_summary(unit, own), *_moves(unit, history), *_events(own)),
        action=ACTIONS[unit["tier"]],
    )


def _own(unit: Mapping[str, Any], failures: pl.DataFrame) -> pl.DataFrame:
    """Return the failures of a node, or those that name a part: the newest first."""
    is_own = pl.col("host") == unit["host"]
    if unit["part"] is not None:
        is_own = (pl.col("part") == unit["part"]) & pl.col("is_named")
    return failures.filter(is_own).sort("time", "run", descending=[True, False])


def _confidence(unit: Mapping[str, Any]) -> Confidence:
    is_sure = unit["q_value"] <= _SURE and unit["named_count"] >= _SURE_JOBS
    return "high" if is_sure else "medium"


def _summary(unit: Mapping[str, Any], own: pl.DataFrame) -> Evidence:
    named = own.filter("is_named")["run"].n_unique()
    shared = own.filter(~pl.col("is_named"))
    share = f"; {shared.height} more died on many nodes at once, " if shared.height else ""
    share += f"worth {shared['blame'].sum():.1f}" if shared.height else ""
    what = (
        f"{named} jobs ended by what names it{share}; {unit['ratio']:.1f} times the pool's rate "
        f"(90 % interval {unit['ratio_low']:.1f} to {unit['ratio_high']:.1f}): as history fades, "
        f"{unit['failures']:.1f} failures in {unit['days']:.0f} days of use"
    )
    return Evidence(source="jobs", what=what)


def _moves(unit: Mapping[str, Any], history: FleetHistory) -> list[Evidence]:
    """Return where a part was before, or which repairs a node had."""
    if unit["part"] is None:
        own = history.repairs.filter(pl.col("host") == unit["host"])
        return [
            Evidence(source="repairs", time=time, what=f"{what}; what was before counts less")
            for time, what in own.select("time", "what").iter_rows()
        ]
    stays = history.stints.filter(pl.col("part") == unit["part"]).sort("start", nulls_last=False)
    if stays.height == 1:
        return []
    return [_stay(row, history) for row in stays.iter_rows(named=True)]


def _stay(stay: Mapping[str, Any], history: FleetHistory) -> Evidence:
    """Return one stay of a part, with the failures of its host meanwhile."""
    since = pl.lit(stay["start"] or history.began)
    inside = (pl.col("time") >= since) & (pl.col("time") <= pl.lit(stay["end"] or history.as_of))
    there = history.failures.filter(pl.col("host") == stay["host"], inside)
    named = there.filter(pl.col("part") == stay["part"])
    until = f"until {_day(stay['end'])}" if stay["end"] else "now"
    what = (
        f"the part was in {stay['host']} {until}: {there['run'].n_unique()} jobs failed there, "
        f"{named['run'].n_unique()} of them naming it"
    )
    return Evidence(source="stints", time=stay["start"], what=what)


def _day(time: datetime) -> str:
    return f"{time:%Y-%m-%d}"


def _events(own: pl.DataFrame) -> list[Evidence]:
    """Return the failures that weigh, those that name it first, of these the newest."""
    weighty = own.filter(pl.col("is_named") | (pl.col("blame") >= MIN_SHARE))
    ordered = weighty.sort("is_named", "time", "run", descending=[True, True, False])
    rows = ordered.head(MAX_EVENTS).select("run", "time", "host", "blame", "what", "source")
    return [
        Evidence(
            source=source or "jobs",
            time=time,
            what=f"job {run} failed on {host}, {_share(blame)}: {what}",
        )
        for run, time, host, blame, what, source in rows.iter_rows()
    ]


def _share(blame: float) -> str:
    return "by it alone" if blame >= 1.0 else f"by it with a chance of {blame:.0%}"


def blind_verdict(failed: int, named: int, unexplained: int, history: FleetHistory) -> Verdict:
    """Return the finding that nobody can be judged, and what would decide.

    Args:
        failed: Jobs that infrastructure ended.
        named: Those of them whose end names a node.
        unexplained: Jobs that failed, and nothing says why.
        history: What happened.
    """
    what = (
        f"{failed} jobs were ended by infrastructure and {unexplained} more failed without a "
        f"word; {named} of the former name a node, and shares of large jobs tell nobody apart"
    )
    return Verdict(
        kind="unknown",
        level="group",
        subject=Subject(group="all nodes"),
        cause="failures_name_nobody",
        confidence="low",
        onset=history.began,
        evidence=(Evidence(source="jobs", what=what),),
        action="nobody is flagged as a lemon: do not drain by counts of failed jobs",
        needed=(
            "health checks, Xids or the scheduler's failed node within ten minutes of the end of "
            "a job: kernel logs, `scontrol show node` and accounts with FailedNode"
        ),
    )
