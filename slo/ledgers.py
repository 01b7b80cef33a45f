"""What each stretch of a run's clock was spent on: rows that sum to the wall time exactly.

Source: progress reference, section 15.3. Between two reports the clock leaves some time; what is
known of it is taken off in turn (checkpoints, the steps themselves), and the rest is nobody's.
Amounts are whole microseconds, so that nothing is lost in sums. Old versions of Megatron count
saves and evaluations in the time of a step, newer ones do not; both come out alike.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from slo.job_reports import AMOUNTS

LEDGER: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "time": TIME,
        "part": pl.String,
        "micros": pl.Int64,
    }
)
"""One amount of one part (see `slo.parts`). `time` is when the stretch began, or the report ended.
"""

MAX_MARKED_SHARE: Final = 0.5
"""Where more windows than this hold a mark, a mark explains no slow step: all would be explained.
"""

_WINDOW: Final = ("run", "window")


def ledger_of(stretches: pl.DataFrame, reports: pl.DataFrame) -> pl.DataFrame:
    """Return what the time of each run was spent on.

    Args:
        stretches: `STRETCHES`.
        reports: `REPORTS`.

    Returns:
        `LEDGER`, by run, time and part; the amounts of a run sum to its wall time.
    """
    windows = _windows(reports.lazy())
    last = windows.group_by("run").agg(reports=pl.len().cast(pl.Int64))
    named = (
        stretches.lazy()
        .join(last, on="run", how="left")
        .with_columns(pl.col("reports").fill_null(0))
        .with_columns(_gap_facts())
        .with_columns(part=_part())
    )
    fixed = named.drop_nulls("part").select(*_WINDOW, "part", "micros", time="start")
    filled = _filled(named, windows)
    both = pl.concat([fixed, filled.select(fixed.collect_schema().names())])
    return (
        _with_attempts(both, windows)
        .filter(pl.col("micros") > 0)
        .select(LEDGER.names())
        .sort("run", "time", "part", "attempt", "micros")
        .collect()
    )


def _windows(reports: pl.LazyFrame) -> pl.LazyFrame:
    """Return the sums of reports that end at one time, numbered from 0 in each run."""
    return (
        reports.group_by("run", "end_time")
        .agg(pl.col("attempt").max(), pl.col(AMOUNTS).sum())
        .sort("run", "end_time")
        .with_columns(window=pl.int_range(pl.len(), dtype=pl.Int64).over("run"))
    )


def _gap_facts() -> list[pl.Expr]:
    """Return what is known of the gap, between the lives of attempts, that a stretch lies in."""
    is_dead = (pl.col("stepping") <= 0) & (pl.col("accounts") <= 0)
    has_accounts = (pl.col("accounts") > 0).any().over("run")
    return [
        is_dead.alias("is_dead"),
        is_dead.cum_max().over(_WINDOW).alias("was_dead"),
        is_dead.any().over(_WINDOW).alias("dies"),
        (pl.col("begun").cum_max().over(_WINDOW) > 0).alias("is_begun"),
        (pl.col("broken").max().over(_WINDOW) > 0).alias("breaks"),
        has_accounts.alias("has_accounts"),
        (pl.col("window") == pl.col("reports")).alias("is_last"),
    ]


def _part() -> pl.Expr:
    """Return the part of a stretch; null where steps and what lies between them share it."""
    is_alive = ~pl.col("is_dead")
    return (
        pl.when(is_alive & (pl.col("reports") == 0))
        .then(pl.lit("unknown"))
        .when((pl.col("loading") > 0) & (is_alive | ~pl.col("has_accounts")))
        .then(pl.lit("restore"))
        .when((pl.col("saving") > 0) & (is_alive | ~pl.col("has_accounts")))
        .then(pl.lit("save"))
        .when(pl.col("stepping") > 0)
        .then(None)
        .when(is_alive)
        .then(_alive_part())
        .otherwise(_dead_part())
    )


def _alive_part() -> pl.Expr:
    """Return the part of a stretch in which an attempt lives and does not step."""
    is_tail = pl.col("dies") & ~pl.col("was_dead")
    tail = pl.when("breaks").then(pl.lit("stall")).otherwise(pl.lit("unknown"))
    return (
        pl.when(pl.col("window") == 0)
        .then(pl.lit("init"))
        .when("was_dead")
        .then(pl.lit("init"))
        .when(is_tail | pl.col("is_last"))
        .then(tail)
        .when("is_begun")
        .then(pl.lit("init"))
        .otherwise(pl.lit("down"))
    )


def _dead_part() -> pl.Expr:
    """Return the part of a stretch in which no attempt lives."""
    return (
        pl.when("is_begun")
        .then(pl.lit("init"))
        .when(pl.col("pending") > 0)
        .then(pl.lit("queue"))
        .when(pl.col("is_last") & ~pl.col("has_accounts"))
        .then(pl.lit("unknown"))
        .otherwise(pl.lit("down"))
    )


def _filled(named: pl.LazyFrame, windows: pl.LazyFrame) -> pl.LazyFrame:
    """Return what the open stretches before each report hold: its amounts, as far as they fit."""
    opened = pl.when(pl.col("part").is_null()).then("micros").sum()
    room = named.group_by(_WINDOW).agg(
        opened.alias("room"), pl.col("evaluation", "save").max().name.prefix("has_")
    )
    share = (pl.col("has_evaluation", "has_save") > 0).mean().over("run").name.suffix("_share")
    before = [pl.sum_horizontal(pl.lit(0, pl.Int64), *AMOUNTS[:at]) for at in range(len(AMOUNTS))]
    amounts = [
        pl.min_horizontal(name, (pl.col("room") - taken).clip(0)).alias(name)
        for name, taken in zip(AMOUNTS, before, strict=True)
    ]
    rest = (pl.col("room") - pl.sum_horizontal(AMOUNTS)).clip(0)
    return (
        windows.join(room, on=_WINDOW)
        .with_columns(*amounts, share, rest=rest)
        .with_columns(_labels())
        .rename({"end_time": "time"})
        .unpivot(
            on=[*AMOUNTS, "rest"],
            index=[*_WINDOW, "time", "slow_part", "warm_part", "rest_part"],
            variable_name="amount",
            value_name="micros",
        )
        .with_columns(part=_amount_part())
    )


def _labels() -> list[pl.Expr]:
    """Return what a mark in the window says of time beyond the pace, and of time of nobody."""
    evaluated, saved = pl.col("has_evaluation") > 0, pl.col("has_save") > 0
    mark = (
        pl.when(evaluated & ~saved)
        .then(pl.lit("evaluation"))
        .when(saved & ~evaluated)
        .then(pl.lit("save"))
        .when(saved & evaluated)
        .then(pl.lit("unknown"))
    )
    is_rare = pl.max_horizontal("has_evaluation_share", "has_save_share") <= MAX_MARKED_SHARE
    rare = pl.when(is_rare).then(mark)
    return [
        pl.coalesce(rare, pl.lit("straggler")).alias("slow_part"),
        pl.coalesce(rare, pl.lit("init")).alias("warm_part"),
        pl.coalesce(mark, pl.lit("unknown")).alias("rest_part"),
    ]


def _amount_part() -> pl.Expr:
    """Return the part that an amount belongs to."""
    amount = pl.col("amount")
    return (
        pl.when(amount == "slow")
        .then("slow_part")
        .when(amount == "warm")
        .then("warm_part")
        .when(amount.is_in(["other", "rest"]))
        .then("rest_part")
        .when(amount == "pause")
        .then(pl.lit("save"))
        .otherwise(amount)
    )


def _with_attempts(rows: pl.LazyFrame, windows: pl.LazyFrame) -> pl.LazyFrame:
    """Return rows with their attempt: a hang is of the one before, a wait of the one after."""
    attempts = windows.select("run", "window", "attempt")
    last = windows.group_by("run").agg(last=pl.col("window").max())
    own = pl.when(pl.col("part") == "stall").then(pl.col("window") - 1).otherwise("window")
    return (
        rows.join(last, on="run", how="left")
        .with_columns(window=pl.min_horizontal(own, "last").clip(0))
        .join(attempts, on=["run", "window"], how="left")
    )
