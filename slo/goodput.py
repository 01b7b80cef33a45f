"""Where the time of runs went: parts that sum to the wall, goodput, and GPU-hours lost by cause.

Source: progress reference, sections 15.1 to 15.3. We differ from Google's ml-goodput-measurement
(commit 57092cf6): their last step counts only once a job has ended, ours counts when it is
reported; a bucket of theirs that is negative or too large becomes 0, ours is cut where the clock
leaves no room and the cut is nobody's; their ideal step is a mean of steps within three unscaled
median deviations, without those under a second, ours the healthy pace of `slo.training`.
"""

from dataclasses import dataclass, field
from typing import Final

import polars as pl

from collectors.frames import schema_of
from collectors.readings import Reading
from slo.job_reports import job_reports
from slo.ledgers import ledger_of
from slo.lifelines import Clock, accounts_of, stretches_of
from slo.losses import SECONDS_PER_HOUR, run_sizes
from slo.parts import PARTS, PROGRESS_PARTS
from slo.saves import dated_marks, pauses_of
from slo.training import JudgeParams

GOODPUT: Final = schema_of(
    {"run": pl.String, "attempt": pl.Int32, "wall_seconds": pl.Float64}
    | dict.fromkeys((f"{part}_seconds" for part in PARTS), pl.Float64())
    | {
        "goodput_ratio": pl.Float64,
        "observed_ettr": pl.Float64,
        "save_count": pl.Int64,
        "ranks": pl.Int64,
        "gpus": pl.Int64,
        "gpu_hours_lost": pl.Float64,
    }
)
"""One run, or one attempt of it. A part is null where no input could have told it; those that are
not null sum to the wall. `goodput_ratio` is productive over wall. `observed_ettr` is the share in
which nothing had failed and nothing was saved, as the closed form of `slo.reliability` has it.
`save_count` are the checkpoints that were seen, of the whole run.
`gpu_hours_lost` is wall without productive and queue (a job that waits holds no GPU) times `gpus`;
null where their number is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputParams:
    """How time is accounted for.

    Attributes:
        judge: How steps are judged slow.
    """

    judge: JudgeParams = field(default_factory=JudgeParams)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodputReview:
    """What the accounting of a reading gives.

    Attributes:
        runs: `GOODPUT`, one row a run; `attempt` is null.
        attempts: `GOODPUT`, one row an attempt; waits are of the attempt that they led to.
        needs: `run` and `need`: what is unknown, and which input would decide it.
        ledger: `LEDGER`: what both are summed from.
        undated: Runs of which no moment is known, so that they have no wall.
    """

    runs: pl.DataFrame
    attempts: pl.DataFrame
    needs: pl.DataFrame
    ledger: pl.DataFrame
    undated: tuple[str | None, ...]


def budget_goodput(reading: Reading, params: GoodputParams) -> GoodputReview:
    """Return where the time of each run went.

    Args:
        reading: `STEPS`, `JOBS`, `EVENTS` and `PLACEMENTS` of any number of runs. Rows that are
            delivered twice count once, in any order.
        params: How it is accounted for.
    """
    steps, jobs, events = (
        reading.frame(name).lazy().with_columns(pl.col("run").fill_null(""))
        for name in ("steps", "jobs", "events")
    )
    reports = job_reports(steps, params.judge)
    marks = dated_marks(events, steps)
    clock = Clock(reports=reports.lazy(), jobs=jobs, events=events, marks=marks)
    stretches = stretches_of(clock)
    ledger = ledger_of(stretches, reports)
    facts = _facts(clock, stretches.lazy()).collect()
    sizes = (
        run_sizes(steps, reading.placements.lazy(), jobs).select("run", "ranks", "gpus").collect()
    )
    runs, attempts = (_summed(ledger, keys, facts, sizes) for keys in (["run"], ["run", "attempt"]))
    undated = set(steps.select("run").unique().collect()["run"]) - set(runs["run"])
    return GoodputReview(
        runs=_renamed(runs).select(GOODPUT.names()),
        attempts=_renamed(attempts).select(GOODPUT.names()),
        needs=_renamed(_needs(runs)),
        ledger=_renamed(ledger),
        undated=tuple(name or None for name in sorted(undated)),
    )


def _renamed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame in which the run that no source names is null again."""
    return frame.with_columns(run=pl.when(pl.col("run") != "").then("run"))


def _facts(clock: Clock, stretches: pl.LazyFrame) -> pl.LazyFrame:
    """Return which inputs each run has: columns are booleans, named by what they can tell."""
    accounts = (
        accounts_of(clock.jobs)
        .group_by("run")
        .agg(
            has_accounts=pl.lit(value=True),
            has_submit=pl.col("submit").is_not_null().any(),
            has_end=(pl.col("end").is_not_null() & pl.col("state").is_not_null()).any(),
        )
    )
    marks = clock.marks.group_by("run").agg(
        *(
            (pl.col("kind") == kind).any().alias(f"has_{kind}")
            for kind in ("evaluation", "checkpoint", "checkpoint_load")
        ),
        saved_steps=pl.col("step").filter(pl.col("kind") == "checkpoint").drop_nulls().n_unique(),
    )
    reports = clock.reports.group_by("run").agg(
        has_steps=pl.lit(value=True),
        has_pace=pl.col("has_pace").any(),
        has_data=pl.col("has_data").any(),
        has_saving=(pl.col("save") > 0).any(),
        saving_reports=(pl.col("save") > 0).sum(),
    )
    spans = pauses_of(clock.marks, clock.reports, "checkpoint")
    saves = spans.group_by("run").agg(saving_spans=pl.len())
    is_saving = (pl.col("save") > 0) | (pl.col("saving") > 0)
    joined = stretches.group_by("run").agg(
        has_begun=(pl.col("begun") > 0).any(),
        saving_windows=pl.col("window").filter(is_saving).n_unique(),
    )
    for frame in (accounts, marks, reports, saves):
        joined = joined.join(frame, on="run", how="left")
    names = ("saving_spans", "saved_steps", "saving_reports", "saving_windows")
    counts = [pl.col(name) for name in names]
    seen = pl.coalesce(pl.when(count > 0).then(count) for count in counts)
    return joined.with_columns(
        pl.col("^has_.*$").fill_null(value=False), save_count=seen.cast(pl.Int64)
    )


def _could_tell() -> dict[str, pl.Expr]:
    """Return whether a run has an input that could have told a part that is nowhere."""
    has = pl.col
    starts = has("has_accounts") | has("has_begun")
    return {
        "productive": has("has_steps"),
        "straggler": has("has_pace"),
        "data": has("has_data"),
        "save": has("has_checkpoint") | has("has_saving"),
        "evaluation": has("has_evaluation"),
        "replay": has("has_steps"),
        "stall": has("has_steps") & has("has_end"),
        "down": pl.lit(value=True),
        "queue": has("has_submit"),
        "init": has("has_steps") & starts,
        "restore": has("has_checkpoint_load"),
        "unknown": pl.lit(value=True),
    }


def _summed(
    ledger: pl.DataFrame, keys: list[str], facts: pl.DataFrame, sizes: pl.DataFrame
) -> pl.DataFrame:
    """Return the parts of each run, or attempt, in seconds."""
    could = _could_tell()
    told = [
        pl.when((pl.col(part) > 0) | could[part]).then(pl.col(part) / 1e6).alias(f"{part}_seconds")
        for part in PARTS
    ]
    micros = pl.col("micros")
    held = pl.col("wall") - pl.col("productive") - pl.col("queue")
    return (
        ledger.group_by(keys)
        .agg(
            *(micros.filter(pl.col("part") == part).sum().alias(part) for part in PARTS),
            wall=micros.sum(),
        )
        .join(facts, on="run", how="left")
        .join(sizes, on="run", how="left")
        .with_columns(
            *told,
            attempt=pl.col("attempt") if "attempt" in keys else pl.lit(None, pl.Int32),
            wall_seconds=pl.col("wall") / 1e6,
            goodput_ratio=pl.when("has_steps").then(pl.col("productive") / pl.col("wall")),
            observed_ettr=pl.when("has_steps").then(
                pl.sum_horizontal(PROGRESS_PARTS) / pl.col("wall")
            ),
            gpu_hours_lost=pl.when("has_steps").then(
                held / 1e6 * pl.col("gpus") / SECONDS_PER_HOUR
            ),
        )
        .sort(keys)
    )


def _needs(runs: pl.DataFrame) -> pl.DataFrame:
    """Return what is unknown of each run, and what would decide it."""
    has = pl.col
    starts = has("has_accounts") | has("has_begun")
    needs = [
        (~has("has_steps"), "progress: step reports with times would tell it"),
        (
            has("has_steps") & ~has("has_pace"),
            "slow steps: more reports after the warm-up would give a pace to judge by",
        ),
        (
            has("has_steps") & ~has("has_data"),
            "waits for data: data seconds in the step records would tell them",
        ),
        (
            (has("down") > 0) & ~starts,
            "down from init: the scheduler's accounts, or marks of starts, would tell them apart",
        ),
        (
            has("has_accounts") & ~has("has_submit"),
            "queue from down: submit times in the scheduler's accounts would tell them apart",
        ),
        (
            has("has_steps") & (has("unknown") > 0),
            "unknown time: marks of evaluations, saves and ends, with times, would tell it",
        ),
        (
            has("gpus").is_null(),
            "GPU-hours: placements, or how many GPUs the job has, would give them",
        ),
    ]
    told = [
        runs.filter(is_missing).select("run", need=pl.lit(text), order=pl.lit(at))
        for at, (is_missing, text) in enumerate(needs)
    ]
    return pl.concat(told).sort("run", "order").select("run", "need")
