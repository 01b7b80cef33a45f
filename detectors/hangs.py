"""Find the ranks that a standing job waits for.

Source: methods of the NCCL and PyTorch reference, section 12, and of the progress reference,
section 15.5. The rank that reports a time-out is nearly always a victim; the one that has not come
is the suspect. With all in step, or with too few heard, the answer is that it is not known, and
which input would decide.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from collectors.frames import EVENTS, STEPS, require
from detectors.verdicts import Confidence, Evidence, Subject, Verdict, verdict_frame
from detectors.waits import Blockage, blockages

WAIT_CODES: Final = ("timeout",)
"""Codes of communication errors that a waiting rank prints."""

MAX_NAMED: Final = 4
"""More suspects than this in one blockage are a group, not a handful of culprits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HangParams:
    """When a silence is a hang.

    Attributes:
        min_silence_seconds: No step for this long, at least.
        min_silence_steps: No step for this many usual steps, at least.
        max_suspect_share: Above this share of a group nobody is named: too few were heard.
    """

    min_silence_seconds: float = 600.0
    min_silence_steps: float = 10.0
    max_suspect_share: float = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where ranks are.

    Attributes:
        hosts: Host by run and rank.
        gpus: GPU number by run and rank.
    """

    hosts: dict[tuple[str | None, int], str]
    gpus: dict[tuple[str | None, int], int]


def find_hangs(
    steps: pl.LazyFrame,
    collectives: pl.LazyFrame,
    events: pl.LazyFrame,
    roles: pl.LazyFrame,
    params: HangParams,
) -> pl.DataFrame:
    """Return who keeps standing jobs waiting.

    Args:
        steps: `STEPS`.
        collectives: `COLLECTIVES`, from watchdogs and flight recorders.
        events: `EVENTS`; communication errors tell who waited.
        roles: `ROLES`, for hosts and the list of ranks.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind hang or mismatch, one row a culprit, or one at level job that names
        nobody and says what would decide. Partition key: run.
    """
    places = roles.select("run", "rank", "host", "index").collect()
    placed = Placed(
        hosts={(run, rank): host for run, rank, host, _ in places.iter_rows() if host},
        gpus={(run, rank): gpu for run, rank, _, gpu in places.iter_rows() if gpu is not None},
    )
    told = steps.pipe(require, STEPS).select("run", "rank")
    ranks = pl.concat([told, roles.select("run", "rank"), collectives.select("run", "rank")])
    standing = blockages(collectives, ranks) + _error_blockages(events, ranks)
    progress = _progress(steps)
    return verdict_frame(_judge(standing, progress, placed, params))


def _error_blockages(events: pl.LazyFrame, ranks: pl.LazyFrame) -> list[Blockage]:
    """Return blockages told by communication errors alone: who timed out, and who did not."""
    errors = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind") == "comm_error", pl.col("code").is_in(WAIT_CODES))
        .drop_nulls("rank")
        .group_by("run", "rank")
        .agg(pl.col("time").min())
        .collect()
    )
    world = ranks.drop_nulls("rank").unique().collect()
    found: list[Blockage] = []
    for part in errors.partition_by("run"):
        same_run = pl.col("run").eq_missing(pl.lit(part["run"][0], dtype=pl.String))
        members = set(world.filter(same_run)["rank"].to_list()) | set(part["rank"].to_list())
        waiting = set(part["rank"].to_list())
        found.append(
            Blockage(
                run=part["run"][0],
                group="all ranks",
                sequence=-1,
                waiting=tuple(sorted(waiting)),
                behind=(),
                absent=tuple(sorted(members - waiting)),
                odd=(),
                signatures=(),
                members=len(members),
                time=part["time"].min(),  # type: ignore[arg-type]  # the column is a time
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Progress:
    last_step: int
    last_time: datetime | None
    step_seconds: float


def _progress(steps: pl.LazyFrame) -> dict[str | None, _Progress]:
    """Return the last step that anybody finished, by run."""
    rows = (
        steps.drop_nulls("step")
        .group_by("run")
        .agg(
            pl.col("step").max(),
            pl.col("end_time").max(),
            pl.col("step_seconds").median(),
        )
        .collect()
    )
    return {
        run: _Progress(step, time, seconds or 0.0) for run, step, time, seconds in rows.iter_rows()
    }


def _judge(
    standing: list[Blockage],
    progress: dict[str | None, _Progress],
    placed: Placed,
    params: HangParams,
) -> Iterable[Verdict]:
    for run in sorted({one.run for one in standing}, key=str):
        mine = [one for one in standing if one.run == run]
        frame = _Frame(mine, progress.get(run), placed, params)
        odd = sorted({rank for one in mine for rank in one.odd})
        sinks = _sinks(mine, params)
        if odd:
            yield from (frame.mismatch(rank) for rank in odd)
        elif sinks:
            yield from (frame.culprit(rank) for rank in sinks)
        else:
            yield frame.undecided()


def _sinks(standing: list[Blockage], params: HangParams) -> list[int]:
    """Return the ranks that others wait for and that wait in no group themselves.

    A rank that has not come because it waits elsewhere is a link of the chain, not its end.
    """
    waiting = {rank for one in standing for rank in one.waiting}
    known = {rank for one in standing for rank in one.behind} - waiting
    if known:
        return sorted(known) if _few(len(known), standing, params) else []
    absent = {rank for one in standing for rank in one.absent} - waiting
    return sorted(absent) if _few(len(absent), standing, params) else []


def _few(count: int, standing: list[Blockage], params: HangParams) -> bool:
    members = max(one.members for one in standing)
    return 0 < count <= max(1.0, params.max_suspect_share * members) and members > 1


@dataclass(frozen=True, slots=True)
class _Frame:
    """Everything that the verdicts on one run share."""

    standing: list[Blockage]
    progress: _Progress | None
    placed: Placed
    params: HangParams

    def culprit(self, rank: int) -> Verdict:
        """Return the verdict on a rank that has not come."""
        known = [one for one in self.standing if rank in one.behind]
        heard = known or [one for one in self.standing if rank in one.absent]
        complete = all(len(one.waiting) + len(one.lacking) >= one.members for one in heard)
        confidence: Confidence = "high" if complete else "medium"
        what = tuple(self._words(one, rank) for one in heard[:3])
        victims = tuple(f"rank {other}" for one in heard[:1] for other in one.waiting[:16])
        return self._verdict(rank, confidence, what, victims)

    def mismatch(self, rank: int) -> Verdict:
        """Return the verdict on a rank that runs another operation than the others."""
        one = next(one for one in self.standing if rank in one.odd)
        text = f"at collective {one.sequence} of {one.group}: {' against '.join(one.signatures)}"
        seen = Evidence(source="collectives", time=one.time, what=text)
        base = self._verdict(rank, "high", (seen,), ())
        action = "compare this rank's control flow with the others' just before the collective"
        return replace(base, kind="mismatch", action=action)

    def undecided(self) -> Verdict:
        """Return the verdict that names nobody."""
        one = max(self.standing, key=lambda each: (len(each.waiting), each.group))
        heard = len(one.waiting) + len(one.behind)
        split = len(one.signatures) > 1
        text = f"{heard} of {one.members} ranks heard in {one.group}; {len(one.waiting)} wait"
        if split:
            text = f"{text}; sides: {' against '.join(one.signatures)}"
        needed = (
            "network errors, power draw and flight recorder dumps of every host"
            if heard >= one.members and not split
            else "logs or flight recorder dumps of the ranks that were not heard"
        )
        base = self._verdict(None, "low", (Evidence(source="collectives", what=text),), ())
        return replace(base, level="job", needed=needed, action="blame no rank yet; collect first")

    def _words(self, one: Blockage, rank: int) -> Evidence:
        where = one.group if one.sequence < 0 else f"collective {one.sequence} of {one.group}"
        how = "has not entered" if rank in one.behind else "was not heard in"
        text = f"{len(one.waiting)} of {one.members} ranks wait in {where}; rank {rank} {how} it"
        return Evidence(source="collectives", time=one.time, what=text)

    def _verdict(
        self,
        rank: int | None,
        confidence: Confidence,
        evidence: tuple[Evidence, ...],
        victims: tuple[str, ...],
    ) -> Verdict:
        run = self.standing[0].run
        onset, detected = self._span()
        return Verdict(
            kind="hang",
            level="rank",
            subject=Subject(
                run=run,
                rank=rank,
                host=None if rank is None else self.placed.hosts.get((run, rank)),
                gpu=None if rank is None else self.placed.gpus.get((run, rank)),
            ),
            onset=onset,
            detected=detected,
            onset_step=None if self.progress is None else self.progress.last_step + 1,
            cause=None,
            confidence=confidence,
            peers="members of the blocked groups",
            peer_count=max(one.members for one in self.standing) - 1,
            evidence=evidence,
            victims=victims,
            action="take this rank's stack trace, read its host's kernel log, then restart",
        )

    def _span(self) -> tuple[datetime | None, datetime | None]:
        """Return when the last step ended, and when the silence or the first complaint told."""
        told = min((one.time for one in self.standing if one.time), default=None)
        if self.progress is None or self.progress.last_time is None:
            return None, told
        silence = max(
            self.params.min_silence_seconds,
            self.params.min_silence_steps * self.progress.step_seconds,
        )
        quiet = self.progress.last_time + timedelta(seconds=silence)
        return self.progress.last_time, min(told, quiet) if told else quiet
