"""Examine what the sources give: who answers, what is missing, how old it is, whose clock is off.

Pure functions over a reading and a moment: what is examined may as well be last year's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, cast

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.readings import Reading
from paceline.need import Need
from paceline.needs import NEEDS
from paceline.spans import TIMED

State = Literal["ok", "part", "old", "missing", "quiet", "unknown"]
"""`ok`: there and recent; `part`: so on some hosts or targets only; `old`: there, but the newest is
too old; `missing`: never seen; `quiet`: no such event, so that nothing happened or nobody reads
that log; `unknown`: of unknown age."""

MAX_NAMED_HOSTS: Final = 5
"""Hosts that a line names; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckupParams:
    """When something is wrong.

    Attributes:
        max_age: The newest sample of a live source may be this old.
        max_clock_offset: A host's clock may differ from the fleet's by this much: events of two
            hosts cannot be put in order otherwise.
    """

    max_age: timedelta = timedelta(minutes=5)
    max_clock_offset: timedelta = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCheck:
    """One source.

    Attributes:
        name: As evidence quotes it.
        state: See `State`.
        rows: Rows that it gave, of all frames but rejects.
        rejected: Lines or records that were not understood.
        newest: Its newest time; null if it has none.
        age_seconds: How old that is at the moment of the check; null without a time.
        note: More, in words; null if there is no more.
    """

    name: str
    state: State
    rows: int
    rejected: int
    newest: datetime | None
    age_seconds: float | None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedCheck:
    """One thing that a detector looks at.

    Attributes:
        need: What and for whom.
        state: See `State`.
        newest: When it was last seen; null if never, or without a time.
        hosts: On how many hosts it is seen; null where hosts do not matter.
        lacking: Hosts that are known otherwise and do not have it, in order.
    """

    need: Need
    state: State
    newest: datetime | None = None
    hosts: int | None = None
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockCheck:
    """One host's clock.

    Attributes:
        host: Its name.
        offset_seconds: By how much it is ahead; negative if it is behind.
        against: Compared with what, in words.
        is_off: Whether that is too much.
    """

    host: str
    offset_seconds: float
    against: str
    is_off: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneMetric:
    """A metric that a source had and has no more.

    Attributes:
        source: Whose it was.
        metric: Its name there.
        last_seen: Time of its last sample.
    """

    source: str
    metric: str
    last_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """What the doctor says.

    Attributes:
        moment: At which time the sources were examined; null if no source has a clock.
        sources: By name.
        needs: In the order of `paceline.needs.NEEDS`.
        clocks: The clocks that are told, those that are off first.
        gone: Metrics that were there once, as far as a store remembers.
    """

    moment: datetime | None
    sources: list[SourceCheck] = field(default_factory=list[SourceCheck])
    needs: list[NeedCheck] = field(default_factory=list[NeedCheck])
    clocks: list[ClockCheck] = field(default_factory=list[ClockCheck])
    gone: list[GoneMetric] = field(default_factory=list[GoneMetric])


def examine(
    reading: Reading,
    moment: datetime | None,
    params: CheckupParams,
    found: Sequence[SourceCheck] = (),
    gone: Sequence[GoneMetric] = (),
) -> Checkup:
    """Return what is there, what is missing and what that blinds.

    Args:
        reading: What the sources gave.
        moment: When "now" is; null: no age is told.
        params: What counts as old or off.
        found: Checks of sources that speak for themselves, such as a server's targets; they
            replace what the reading says of a source of that name.
        gone: What a store remembers of metrics that are no more.
    """
    own = {check.name: check for check in found}
    counted = {check.name: check for check in _sources(reading, moment, params)}
    return Checkup(
        moment=moment,
        sources=[check for _, check in sorted((counted | own).items())],
        needs=[_need(need, reading, moment, params) for need in NEEDS],
        clocks=_clocks(reading.samples, params),
        gone=list(gone),
    )


def age_state(
    newest: datetime | None, moment: datetime | None, params: CheckupParams
) -> tuple[State, float | None]:
    """Return what a newest time means at a moment, and how old it is in seconds.

    Without a moment nothing is old: files are as old as they are.
    """
    if moment is None:
        return "ok", None
    if newest is None:
        return "unknown", None
    age = moment - newest
    return ("ok" if age <= params.max_age else "old"), age.total_seconds()


def _sources(reading: Reading, moment: datetime | None, params: CheckupParams) -> list[SourceCheck]:
    clocks = dict(TIMED)
    frames = [
        reading.frame(name).select(
            "source", time=pl.col(clocks[name]) if name in clocks else pl.lit(None), rejected=0
        )
        for name in (
            "samples",
            "steps",
            "ops",
            "collectives",
            "transfers",
            "events",
            "jobs",
            "placements",
        )
    ]
    rejects = reading.rejects.select(
        "source", time=pl.lit(None), rejected=pl.col("count").fill_null(1)
    )
    types = schema_of({"source": pl.String, "time": TIME, "rejected": pl.Int64})
    rows = (
        pl.concat([frame.cast(types) for frame in [*frames, rejects]])
        .drop_nulls("source")
        .group_by("source")
        .agg(
            rows=(pl.col("rejected") == 0).sum(),
            rejected=pl.col("rejected").sum(),
            newest=pl.col("time").max(),
        )
    )
    return [_source(row, moment, params) for row in rows.iter_rows(named=True)]


def _source(row: dict[str, object], moment: datetime | None, params: CheckupParams) -> SourceCheck:
    newest = cast("datetime | None", row["newest"])
    state, age = age_state(newest, moment, params)
    rows = cast("int", row["rows"])
    return SourceCheck(
        name=cast("str", row["source"]),
        state=state if rows else "missing",
        rows=rows,
        rejected=cast("int", row["rejected"]),
        newest=newest,
        age_seconds=age,
        note=None if rows else "nothing in it was understood",
    )


def _need(
    need: Need, reading: Reading, moment: datetime | None, params: CheckupParams
) -> NeedCheck:
    rows = _rows_of(need, reading)
    if rows.is_empty():
        return NeedCheck(need=need, state="quiet" if need.frame == "events" else "missing")
    clock = dict(TIMED).get(need.frame)
    newest = cast("datetime | None", rows[clock].max()) if clock else None
    state, _ = age_state(newest, moment, params)
    told = state if clock and need.frame != "events" else "ok"
    if need.frame != "samples":
        return NeedCheck(need=need, state=told, newest=newest)
    there = set(rows["host"].drop_nulls().unique())
    kinds = rows["device_kind"].unique()
    known = reading.samples.filter(pl.col("device_kind").is_in(kinds.implode()))
    lacking = sorted(set(known["host"].drop_nulls().unique()) - there)
    return NeedCheck(need=need, state=told, newest=newest, hosts=len(there), lacking=tuple(lacking))


def _rows_of(need: Need, reading: Reading) -> pl.DataFrame:
    """Return the rows of a frame that serve a need."""
    frame = reading.frame(need.frame)
    if need.frame == "samples":
        names = pl.col("signal").is_in(need.names)
        return frame.filter(names, pl.col("value").is_not_null())
    if need.frame == "events":
        return frame.filter(pl.col("kind").is_in(need.names))
    return frame.drop_nulls(list(need.names))


def _clocks(samples: pl.DataFrame, params: CheckupParams) -> list[ClockCheck]:
    """Return the hosts' clocks: as their own time service says, else against the scrapes' times.

    A scrape's time is the server's, so the median difference of the fleet (the scrape's own
    duration is in it) is the yardstick of one host's.
    """
    served = _offsets(samples, "clock_offset_seconds", pl.col("value"))
    scraped = _offsets(
        samples, "clock_seconds", pl.col("value") - pl.col("time").dt.timestamp("us") / 1e6
    ).with_columns(pl.col("offset") - pl.col("offset").median())
    rest = scraped.join(served, on="host", how="anti")
    told = pl.concat(
        [
            served.with_columns(against=pl.lit("its time service")),
            rest.with_columns(against=pl.lit("the fleet's median")),
        ]
    )
    limit = params.max_clock_offset.total_seconds()
    rows = told.with_columns(is_off=pl.col("offset").abs() > limit).sort(
        "is_off", "host", descending=[True, False]
    )
    return [
        ClockCheck(host=host, offset_seconds=offset, against=against, is_off=is_off)
        for host, offset, against, is_off in rows.iter_rows()
    ]


def _offsets(samples: pl.DataFrame, signal: str, offset: pl.Expr) -> pl.DataFrame:
    """Return `host` and its median `offset` in seconds."""
    rows = samples.filter(pl.col("signal") == signal).drop_nulls(["host", "time", "value"])
    return rows.group_by("host").agg(offset=offset.cast(pl.Float64).median()).sort("host")
