"""Find the ranks that a standing job waits for.

Source: methods of the NCCL and PyTorch reference, section 12, and of the progress reference,
sections 13.5 and 15.5. The rank that reports a time-out is nearly always a victim; the one that has
not come is the suspect. With all in step, or with too few heard, the answer is that it is not
known, and which input would decide.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import polars as pl

from collectors.communication.communicators import name_communicators
from collectors.communication.flight_copies import drop_stale_dumps
from collectors.communication.flight_groups import name_groups
from collectors.frames import COLLECTIVES, EVENTS, STEPS, require
from collectors.texts.templates import filled
from detectors.belonging import placed_events
from detectors.complaints import EVERYBODY, complaining_members
from detectors.endings import EndingParams
from detectors.hang_attempts import HangAttempt, hang_attempts
from detectors.hang_cases import HangCase
from detectors.hang_words import silent_job, stuck_watchdogs
from detectors.late_entries import late_entries
from detectors.lost_stores import lost_stores
from detectors.mismatches import find_mismatches
from detectors.open_spans import find_open_spans
from detectors.pair_waits import pair_belonging, pair_members
from detectors.rank_places import Places
from detectors.silences import Progress, find_silences, run_progress
from detectors.standings import INIT, MEMBERS, member_states, ranked
from detectors.unheard import cut_off_ranks, missing_members, unread_ranks
from detectors.verdicts import Verdict, verdict_frame
from detectors.wait_parts import wait_parts
from detectors.waits import first_waits, lone_callers, memberships, places, suspects

_PART: Final = ("run", "scope", "part")

_LEADS: Final = ("gil_blocked", "divergence", "heartbeat_stuck", "stack")
"""Events that say of a rank that it is held up, has left the common path, or where it stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HangParams:
    """When a silence is a hang.

    Attributes:
        min_silence_seconds: No step for this long, at least.
        min_silence_steps: No step for this many usual steps, at least.
        max_suspect_share: Above this share of the ranks nobody is named: too few were heard.
        min_frozen_ratio: A watchdog this many times later than its time-out was frozen itself.
        data_end: When the last of all sources spoke, to tell a job without steps from a log that
            ends; null: without other signs no silence is a hang.
        endings: What tells attempts of one run apart.
    """

    min_silence_seconds: float = 600.0
    min_silence_steps: float = 10.0
    max_suspect_share: float = 0.4
    min_frozen_ratio: float = 1.5
    data_end: datetime | None = None
    endings: EndingParams = field(default_factory=EndingParams)


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
        collectives: `COLLECTIVES`, from watchdogs, desync reports, flight recorders and NCCL.
        events: `EVENTS`; communication errors tell who waited.
        roles: `ROLES`, for hosts and the list of ranks.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind hang or mismatch, one row a culprit, or one at level job that names
        nobody and says what would decide; of kind unknown where only the job's store was lost.
        Partition key: run.

    Raises:
        SchemaError: A frame lacks a column.
    """
    told = placed_events(events, roles).collect().lazy()
    named = _named(collectives.pipe(require, COLLECTIVES), told)
    progress = run_progress(steps, params.min_silence_seconds, params.min_silence_steps)
    attempts = hang_attempts(steps, named, told, params.endings)
    found = [one for attempt in attempts for one in _of_attempt(attempt, roles, params)]
    judged = {one.subject.run for one in found}
    spans = find_open_spans(steps, told, params.max_suspect_share)
    found += [one for one in spans if one.subject.run not in judged]
    judged = {one.subject.run for one in found}
    found += [one for one in stuck_watchdogs(told) if one.subject.run not in judged]
    judged = {one.subject.run for one in found}
    silences = find_silences(progress, told, params.data_end)
    found += [silent_job(one) for one in silences if one.progress.run not in judged]
    judged = {one.subject.run for one in found}
    stores = [one for one in lost_stores(told, steps) if one.subject.run not in judged]
    return verdict_frame([*found, *stores])


def _of_attempt(attempt: HangAttempt, roles: pl.LazyFrame, params: HangParams) -> Iterator[Verdict]:
    """Yield the verdicts on one attempt of each run."""
    rows = ranked(_without_late_inits(attempt.collectives, attempt.steps)).collect().lazy()
    progress = run_progress(attempt.steps, params.min_silence_seconds, params.min_silence_steps)
    heard = (attempt.steps, rows, attempt.events)
    world = _ranks(*heard, roles) if attempt.alone else _own_ranks(heard, roles)
    cases = _cases(rows, attempt.events, world, _spoke(heard), params)
    yield from _judged(cases, progress, Places.of(roles))


def _spoke(heard: Sequence[pl.LazyFrame]) -> pl.DataFrame:
    """Return the ranks of which anything was told; `scope` is null."""
    named = pl.concat([frame.select("run", "rank") for frame in heard]).drop_nulls("rank")
    return named.unique().with_columns(scope=pl.lit(None, dtype=pl.String)).collect()


def _own_ranks(heard: Sequence[pl.LazyFrame], roles: pl.LazyFrame) -> pl.LazyFrame:
    """Return the ranks of one of several attempts: those it tells of, which may be fewer.

    One more is no shrunk job: the last rank of all is the one that was not heard.
    """
    own, most = (frame.group_by("run").agg(pl.len()) for frame in (_ranks(*heard), _ranks(roles)))
    last = own.join(most, on="run", nulls_equal=True).filter(
        pl.col("len_right") == pl.col("len") + 1
    )
    above = last.select("run", rank=pl.col("len").cast(pl.Int32))
    return _ranks(*heard, above)


def _named(collectives: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the collectives of the newest dumps and all else, every group under one name."""
    told = events.collect()
    fresh = drop_stale_dumps(collectives.collect(), told)
    return name_groups(name_communicators(fresh, told)).lazy()


def _without_late_inits(collectives: pl.LazyFrame, steps: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows without communicators of runs that train: what they needed is made."""
    trains = steps.pipe(require, STEPS).select("run").unique().with_columns(trains=True)
    is_init = (pl.col("operation") == INIT).fill_null(value=False)
    return (
        collectives.join(trains, on="run", how="left", nulls_equal=True)
        .filter(~(is_init & pl.col("trains").fill_null(value=False)))
        .select(COLLECTIVES.names())
    )


def _ranks(*frames: pl.LazyFrame) -> pl.LazyFrame:
    """Return every rank by run: those that any source names, and those numbered below them."""
    named = pl.concat([frame.select("run", "rank") for frame in frames]).drop_nulls("rank")
    last = named.group_by("run").agg(pl.col("rank").max())
    numbers = last.select("run", rank=pl.int_ranges(pl.col("rank") + 1, dtype=pl.Int32))
    return numbers.explode("rank", empty_as_null=False)


def _cases(
    rows: pl.LazyFrame,
    events: pl.LazyFrame,
    ranks: pl.LazyFrame,
    heard: pl.DataFrame,
    params: HangParams,
) -> list[HangCase]:
    """Return one case a run, or a group that counts for itself, for each part that hangs alone."""
    standing, waits, world = _standing(rows, events, ranks)
    groups = wait_parts(standing)
    parts = {
        "standing": standing,
        "accused": suspects(standing.lazy(), waits).collect(),
        "callers": lone_callers(standing.lazy(), waits).collect(),
        "mismatches": find_mismatches(rows),
    }
    numbered = {name: _numbered(frame, groups) for name, frame in parts.items()}
    of_run = {"leads": _leads(rows, events, params.min_frozen_ratio), "heard": heard}
    counts = dict(world.group_by("run").agg(pl.len()).collect().iter_rows())
    keys = pl.concat([numbered[name].select(_PART) for name in ("standing", "mismatches")])
    return [
        HangCase(
            run=run,
            scope=scope,
            **{name: _of(frame, run, scope, part) for name, frame in numbered.items()},
            **{name: _of(frame, run, scope) for name, frame in of_run.items()},
            world=counts.get(run, 0) if scope is None else 0,
            max_suspect_share=params.max_suspect_share,
        )
        for run, scope, part in keys.unique().sort(_PART).iter_rows()
    ]


def _standing(
    rows: pl.LazyFrame, events: pl.LazyFrame, ranks: pl.LazyFrame
) -> tuple[pl.DataFrame, pl.LazyFrame, pl.LazyFrame]:
    """Return where all ranks of standing groups are, what each waits in first, and all ranks."""
    counted = member_states(rows)
    complaints = complaining_members(events, counted)
    shared = pl.concat([counted, complaints]).collect().lazy()
    pairs = pair_members(rows, shared).collect().lazy()
    members = pl.concat([shared, pairs.select(MEMBERS.names())])
    world = _ranks(ranks, complaints).collect().lazy()
    told = pl.concat([_belonging(rows, complaints, world), pair_belonging(pairs)], how="diagonal")
    unread = pl.concat([unread_ranks(events, world), cut_off_ranks(events, rows)]).unique()
    belonging = told.join(unread, on=["run", "rank"], how="left", nulls_equal=True)
    standing = places(members, belonging).collect()
    return standing, first_waits(members, rows).collect().lazy(), world


def _numbered(rows: pl.DataFrame, groups: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the part that their group is of; 0 where nobody waits in it."""
    key = ["run", "scope", "group"]
    joined = rows.join(groups, on=key, how="left", nulls_equal=True, maintain_order="left")
    return joined.with_columns(pl.col("part").fill_null(0))


def _belonging(rows: pl.LazyFrame, complaints: pl.LazyFrame, world: pl.LazyFrame) -> pl.LazyFrame:
    """Return every rank of every group, and all ranks of the runs in which errors alone tell."""
    everybody = complaints.select("run").unique().join(world, on="run", nulls_equal=True)
    whole = everybody.with_columns(
        scope=pl.lit(None, dtype=pl.String), group=pl.lit(EVERYBODY), listed=pl.lit(value=True)
    )
    lacking = missing_members(rows, world).with_columns(listed=pl.lit(value=False))
    told = pl.concat([memberships(rows, world), lacking, whole], how="diagonal")
    member = ["run", "scope", "group", "rank"]
    return told.unique(member, keep="first", maintain_order=True)


def _of(
    frame: pl.DataFrame, run: str | None, scope: str | None, part: int | None = None
) -> pl.DataFrame:
    found = frame.filter(
        pl.col("run").eq_missing(pl.lit(run, dtype=pl.String)),
        pl.col("scope").eq_missing(pl.lit(scope, dtype=pl.String)),
    )
    return found if part is None else found.filter(pl.col("part") == part)


def _leads(rows: pl.LazyFrame, events: pl.LazyFrame, min_frozen_ratio: float) -> pl.DataFrame:
    """Return what else points at a global rank, watchdogs that were frozen among it."""
    late = rows.filter(
        pl.col("scope").is_null(),
        pl.col("running_seconds") > min_frozen_ratio * pl.col("timeout_seconds"),
    ).with_columns(
        kind=pl.lit("frozen_watchdog"),
        message=filled(
            "the watchdog spoke after {} s, its time-out is {} s",
            pl.col("running_seconds").round(0),
            pl.col("timeout_seconds").round(0),
        ),
    )
    names = ["run", "rank", "kind", "message", "time", "source", "position"]
    told = events.pipe(require, EVENTS).filter(pl.col("kind").is_in(_LEADS))
    both = pl.concat([told.select(names), late.select(names), late_entries(rows).select(names)])
    known = both.drop_nulls("rank").with_columns(scope=pl.lit(None, dtype=pl.String))
    return known.sort("run", "rank", "time", "kind", "position").collect()


def _judged(cases: list[HangCase], progress: list[Progress], placed: Places) -> Iterator[Verdict]:
    """Yield the verdicts of all cases.

    Cases of one run may be of one chain, over groups that nobody heard: where one names somebody,
    or another has already named nobody, those that name nobody add nothing.
    """
    reached = {one.run: one for one in progress}
    told = [(case, list(case.verdicts(reached.get(case.run), placed))) for case in cases]
    named = {case.run for case, found in told for one in found if one.level != "job"}
    open_runs: set[str | None] = set()
    for case, found in told:
        is_open = bool(found) and found[0].kind == "hang" and found[0].level == "job"
        if not (is_open and case.run in named | open_runs):
            yield from found
        open_runs |= {case.run} if is_open else set()
