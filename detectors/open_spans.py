"""Find the rank whose record stops inside a span that the others have left.

Source: progress reference, section 4 (structured logs): a start without an end is the rank that
hung. When a job stands, the others may wait inside a span too: then the one that is behind, or
elsewhere than nearly all, is meant.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

import polars as pl

from collectors.frames import EVENTS, STEPS, require
from detectors.quotes import quoted
from detectors.verdicts import Confidence, Subject, Verdict

CLEAR_SECONDS: Final = 60.0
"""A span that stands open this long after the others went on is beyond doubt: records of ranks that
run are seconds apart at most."""


MIN_STEPS_AFTER: Final = 2
"""A record that ends within so many usual steps of a span's start may just have been cut there."""

_LATER: Final = "a later copy of the records: this one ends before the next steps were due"


@dataclass(frozen=True, slots=True, kw_only=True)
class _After:
    """What is known of the time after a span began.

    Attributes:
        end: Of all records; null without clocks.
        usual: Time of a usual step; null if not known.
        ranks: How many ranks are heard.
    """

    end: datetime | None
    usual: timedelta | None
    ranks: int

    def confidence(self, onset: datetime | None) -> Confidence:
        """Return how sure it is that a span which began at `onset` hangs."""
        if onset is None or self.end is None:
            return "medium"
        open_for = self.end - onset
        if open_for >= timedelta(seconds=CLEAR_SECONDS):
            return "high"
        is_cut = self.usual is not None and open_for < MIN_STEPS_AFTER * self.usual
        return "low" if is_cut else "medium"


def find_open_spans(
    steps: pl.LazyFrame, events: pl.LazyFrame, max_suspect_share: float
) -> list[Verdict]:
    """Return the ranks that hang inside a span.

    Args:
        steps: `STEPS`, for the list of ranks.
        events: `EVENTS`; those of kind open_span are spans without an end, one a rank.
        max_suspect_share: Above this share of the ranks nobody is named.

    Returns:
        One verdict of kind hang a rank, by run and rank. Partition key: run.
    """
    told = events.pipe(require, EVENTS).collect()
    spans = told.filter(pl.col("kind") == "open_span").drop_nulls("rank")
    ranks = steps.pipe(require, STEPS).select("run", "rank", "step", "end_time").collect()
    return [
        verdict
        for part in spans.partition_by("run", maintain_order=True)
        for verdict in _judged(part, _of_run(ranks, part), max_suspect_share)
    ]


def _of_run(rows: pl.DataFrame, part: pl.DataFrame) -> pl.DataFrame:
    return rows.join(part.select("run").head(1), on="run", how="semi", nulls_equal=True)


def _judged(spans: pl.DataFrame, steps: pl.DataFrame, max_share: float) -> list[Verdict]:
    last = _standing(spans.with_columns(step=_step()), steps)
    ranks = pl.concat([steps["rank"].drop_nulls(), last["rank"]]).n_unique()
    for suspects in (last, *_odd_ones(last)):
        if 0 < suspects.height <= max_share * ranks:
            times = [time for time in (*steps["end_time"], *last["time"]) if time is not None]
            after = _After(end=max(times, default=None), usual=_usual_step(steps), ranks=ranks)
            return [_verdict(row, after) for row in suspects.sort("rank").to_dicts()]
    return []


def _usual_step(steps: pl.DataFrame) -> timedelta | None:
    """Return the median time from one step of a rank to its next; null if no two are told."""
    ends = steps.drop_nulls(["rank", "end_time"]).sort("rank", "end_time")
    gap = pl.col("end_time").diff().over("rank")
    gaps = ends.select(gap.alias("gap"))["gap"].drop_nulls()
    return cast("timedelta | None", gaps.median())


def _standing(spans: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """Return the last open span of each rank that has finished no step since.

    An earlier attempt's record, and work beside the steps, leave spans open too.
    """
    done = steps.group_by("rank").agg(pl.col("end_time").max())
    last = spans.sort("rank", "time").unique("rank", keep="last", maintain_order=True)
    went_on = (pl.col("end_time") > pl.col("time")).fill_null(value=False)
    return last.join(done, on="rank", how="left", maintain_order="left").filter(~went_on)


def _step() -> pl.Expr:
    named = pl.element().filter(pl.element().struct.field("key") == "step")
    return (
        pl.col("attributes")
        .list.eval(named.struct.field("value"))
        .list.first()
        .cast(pl.Int64, strict=False)
    )


def _odd_ones(spans: pl.DataFrame) -> list[pl.DataFrame]:
    """Return who is a step behind, and who is in another span than most."""
    usual = pl.col("code").mode().sort().first()
    return [
        spans.filter(pl.col("step") < pl.col("step").max()),
        spans.filter(pl.col("code") != usual),
    ]


def _verdict(row: dict[str, Any], after: _After) -> Verdict:
    onset: datetime | None = row["time"]
    confidence = after.confidence(onset)
    what = (
        f"{row['code']} of step {row['step']} was begun and never ended; {after.ranks} ranks heard"
    )
    return Verdict(
        kind="hang",
        level="rank",
        subject=Subject(run=row["run"], host=row["host"], rank=row["rank"]),
        onset=onset,
        onset_step=row["step"],
        detected=onset,
        cause=row["code"],
        confidence=confidence,
        evidence=(quoted(row, what), quoted(row)),
        action="take this rank's stack trace, and the kernel log of its host",
        needed=_LATER if confidence == "low" else None,
    )
