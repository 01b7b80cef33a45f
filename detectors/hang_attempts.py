"""Tell the attempts of a run apart in which somebody waited: each hangs for itself.

Source: methods of the NCCL and PyTorch reference, sections 1.3, 1.4 and 12.2. Sequence numbers
begin anew with each attempt, and after a shrunk restart there are fewer ranks: what one attempt
left in a log is compared with nothing of the next. A process whose watchdog fired is torn down, so
a rank that times out in what it entered later is another process.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import polars as pl

from detectors.endings import EndingParams, attempt_begins, in_attempts
from detectors.standings import INIT, WAITING_STATES

MIN_APART: Final = timedelta(seconds=60)
"""What was entered so long after all time-outs is of another process, if the rank had timed out."""

_COMPLAINTS: Final = ("timeout", "barrier")

_MOMENT: Final = "moment"

_PART: Final = "part"

_PLACE: Final = ("source", "position")


@dataclass(frozen=True, slots=True, kw_only=True)
class HangAttempt:
    """What was told of one attempt of each run in which somebody waited.

    Attributes:
        steps: `STEPS`.
        collectives: `COLLECTIVES`.
        events: `EVENTS`.
        alone: Whether no run has another.
    """

    steps: pl.LazyFrame
    collectives: pl.LazyFrame
    events: pl.LazyFrame
    alone: bool


def hang_attempts(
    steps: pl.LazyFrame, collectives: pl.LazyFrame, events: pl.LazyFrame, params: EndingParams
) -> Iterator[HangAttempt]:
    """Yield the attempts in which somebody waited, the earliest first.

    Args:
        steps: `STEPS`.
        collectives: `COLLECTIVES`.
        events: `EVENTS` with their runs: starts and restarts tell attempts, errors who waited.
        params: How long after a restart the attempt before still speaks.

    Yields:
        All that was told, as one, where somebody waited in one attempt of each run at most. Else
        what each attempt tells; rows that no clock and no line above them dates are of the last.
    """
    dated = _dated(collectives, events).collect().lazy()
    begins = [attempt_begins(events, steps, params).select("run", "begin"), _reborn(dated)]
    marks = (
        pl.concat(begins, how="vertical_relaxed")
        .unique()
        .sort("run", "begin")
        .with_columns(segment=pl.int_range(1, pl.len() + 1).over("run"))
    )
    frames = {
        "collectives": in_attempts(dated, _MOMENT, marks),
        "events": in_attempts(events.with_columns(pl.col("time").alias(_MOMENT)), _MOMENT, marks),
        "steps": in_attempts(steps.with_columns(pl.col("end_time").alias(_MOMENT)), _MOMENT, marks),
    }
    parts = _parts(frames["collectives"], frames["events"]).collect()
    last = parts[_PART].max()
    if not isinstance(last, int) or last == 0:
        yield HangAttempt(steps=steps, collectives=collectives, events=events, alone=True)
        return
    placed = {name: _in_parts(frame, parts).collect() for name, frame in frames.items()}
    for part in range(last, -1, -1):
        of_part = {name: _of(frame, part) for name, frame in placed.items()}
        yield HangAttempt(**of_part, alone=False)


def _of(frame: pl.DataFrame, part: int) -> pl.LazyFrame:
    """Return the rows of a part as they came."""
    return frame.filter(pl.col(_PART) == part).drop(_PART, _MOMENT, "segment").lazy()


def _dated(collectives: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return collectives with `moment`: when they were entered, or what stands above them was told.

    All that a dump holds is of the process that wrote it, so its last entry dates all of it.
    """
    dumps = events.filter(pl.col("kind") == "flight_dump").select("source").unique()
    is_dump = dumps.with_columns(is_dump=pl.lit(value=True))
    stamped = pl.concat([collectives.select(*_PLACE, "time"), events.select(*_PLACE, "time")])
    above = stamped.drop_nulls().sort("position").rename({"time": "above"})
    running = pl.duration(microseconds=(pl.col("running_seconds").fill_null(0.0) * 1e6).round())
    entered = (pl.col("time") - running).dt.cast_time_unit("us")
    newest = pl.col("time").max().over("source")
    return (
        collectives.with_columns(pl.col("position").fill_null(0).alias("at"))
        .sort("at", maintain_order=True)
        .join_asof(above, left_on="at", right_on="position", by="source", check_sortedness=False)
        .join(is_dump, on="source", how="left")
        .with_columns(
            pl.when(pl.col("is_dump"))
            .then(newest)
            .otherwise(pl.coalesce(entered, "above"))
            .alias(_MOMENT)
        )
        .drop("at", "above", "is_dump")
    )


def _reborn(dated: pl.LazyFrame) -> pl.LazyFrame:
    """Return `run` and `begin` of attempts that nobody announced: ranks time out once more."""
    begin = pl.col("begin")
    apart = (pl.col(_MOMENT) > begin).fill_null(value=False)
    spell = pl.col("spell")
    return (
        dated.filter(pl.col("state") == "timed_out")
        .drop_nulls(["rank", "time"])
        .sort("run", _MOMENT, "time", "rank")
        .with_columns(begin=pl.col("time").cum_max().shift().over("run") + MIN_APART)
        .with_columns(spell=apart.cum_sum().over("run"))
        .with_columns(again=spell > spell.min().over("run", "rank"))
        .group_by("run", "spell")
        .agg(begin.first(), pl.col("again").any())
        .filter("again")
        .select("run", "begin")
    )


def _parts(collectives: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the `run` and `segment` of attempts in which somebody waited, the last as `part` 0."""
    is_init = (pl.col("operation") == INIT).fill_null(value=False)
    waits = collectives.filter(pl.col("state").is_in(WAITING_STATES), ~is_init)
    errors = (pl.col("kind") == "comm_error") & pl.col("code").is_in(_COMPLAINTS)
    both = [frame.select("run", "segment") for frame in (waits, events.filter(errors))]
    number = pl.col("segment").rank("dense", descending=True).over("run") - 1
    return pl.concat(both).unique().with_columns(number.cast(pl.Int64).alias(_PART))


def _in_parts(frame: pl.LazyFrame, parts: pl.DataFrame) -> pl.LazyFrame:
    """Return rows with `part`; null of what is of an attempt in which nobody waited.

    Of runs in which somebody waited once all is of that one.
    """
    several = parts.filter(pl.col(_PART) > 0).select("run").unique()
    is_several = several.lazy().with_columns(several=pl.lit(value=True))
    undated = pl.col(_MOMENT).is_null() | pl.col("several").is_null()
    return (
        frame.join(parts.lazy(), on=["run", "segment"], how="left", nulls_equal=True)
        .join(is_several, on="run", how="left", nulls_equal=True)
        .with_columns(pl.when(undated).then(0).otherwise(_PART).alias(_PART))
        .drop("several")
    )
