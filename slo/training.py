"""Service-level events of a training run: which steps are judged, and which of them are slow.

Source: the indicator is ours (good steps over judged steps). The baseline is the lowest rolling
median of the run itself, as in the envelope of Gunawi et al., "Fail-Slow at Scale" (FAST '18):
thresholds are calibrated where they are used, never imported. It is causal: a step is judged by
what came before it, so a replay says at each moment what the live service said.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import STEPS, TIME, require, schema_of

STEP_COLUMNS: Final = pl.Schema(
    {
        name: STEPS[name]
        for name in (
            "run",
            "attempt",
            "rank",
            "step",
            "interval_steps",
            "end_time",
            "step_seconds",
            "time_kind",
            "checkpoint_seconds",
            "tokens",
        )
    }
)
"""The part of `STEPS` that judging needs."""

STEP_EVENTS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "step": pl.Int64,
        "interval_steps": pl.Int32,
        "end_time": TIME,
        "step_seconds": pl.Float64,
        "baseline_seconds": pl.Float64,
        "reason": pl.String,
        "slow": pl.Boolean,
    }
)
"""One step of the job (or the last of `interval_steps` reported together). `reason` says why a step
is not judged: no_step, no_time, no_duration, not_a_step_time, warm_up, pause, no_baseline,
periodic_pause; null is judged. `slow` is null when not judged. `baseline_seconds` is what this step
would have taken at the run's healthy pace; null before there is a baseline."""

_MEANS_OVER_LONGER: Final = ("running_mean_since_start", "cumulative")
"""Kinds of time that speak for more than the steps they stand beside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeParams:
    """When a step is judged, and against what.

    Attributes:
        min_slow_ratio: Step time over baseline above which (strictly) a step is slow; above 1.
        warm_up_steps: Steps of each attempt that are not judged.
        warm_up_seconds: Seconds of each attempt that are not judged; both must have passed.
        baseline_steps: Reports in the rolling median.
        min_pause_period_steps: Single slow steps that come back after an equal number of steps, at
            least this many, count as pauses (evaluation, checkpoints nobody told of) from the third
            on. Single slow steps that come more often are a slow job.
    """

    min_slow_ratio: float = 1.1
    warm_up_steps: int = 20
    warm_up_seconds: float = 300.0
    baseline_steps: int = 20
    min_pause_period_steps: int = 20

    def __post_init__(self) -> None:
        """Refuse a ratio that a healthy step would exceed, and a median of nothing."""
        if self.min_slow_ratio <= 1.0:
            raise ValueError(f"min_slow_ratio must be above 1.0, found {self.min_slow_ratio}")
        if self.baseline_steps < 1:
            raise ValueError(f"baseline_steps must be at least 1, found {self.baseline_steps}")


def judge_steps(steps: pl.LazyFrame, params: JudgeParams) -> pl.LazyFrame:
    """Return each step of each run, judged slow or not, or why it is not judged.

    Args:
        steps: `STEP_COLUMNS`, one row a report. With ranks, the slowest rank is the job's step (all
            wait for it); a row without a rank speaks for the job and wins. A null `step_seconds` is
            not told; a null `checkpoint_seconds` is no checkpoint told of.
        params: The rules of judging.

    Returns:
        `STEP_EVENTS`, one row a run, attempt and step, in that order.

    Raises:
        SchemaError: `steps` lacks one of the columns.
    """
    eligible = pl.col("reason").is_null()
    return (
        steps.pipe(require, STEP_COLUMNS)
        .pipe(_job_steps)
        .sort("run", "attempt", "step")
        .with_columns(reason=_unusable())
        .with_columns(reason=pl.coalesce("reason", _warming_up(params)))
        .with_columns(reason=pl.coalesce("reason", _paused()))
        .pipe(_with_baseline, eligible, params)
        .with_columns(
            reason=pl.coalesce(
                "reason", pl.when(pl.col("baseline_seconds").is_null()).then(pl.lit("no_baseline"))
            )
        )
        .pipe(_without_periodic_pauses, params)
        .with_columns(slow=pl.when(eligible).then(_is_slow(params)))
        .select(STEP_EVENTS.names())
    )


def count_unjudged(events: pl.LazyFrame) -> pl.LazyFrame:
    """Return how many steps of each run were not judged, by reason.

    Args:
        events: `STEP_EVENTS`.

    Returns:
        `run`, `reason` and `step_count`, by run and reason; a run with none has no row.
    """
    return (
        events.pipe(require, STEP_EVENTS)
        .drop_nulls("reason")
        .group_by("run", "reason")
        .agg(pl.col("interval_steps").cast(pl.Int64).sum().alias("step_count"))
        .sort("run", "reason")
    )


def _job_steps(steps: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row a step of the job: the job's own report, else its slowest rank's."""
    seconds = pl.col("step_seconds")
    usable = pl.when(seconds.is_finite() & (seconds > 0)).then(seconds)
    tokens = pl.col("tokens")
    for_job = pl.col("rank").is_null()
    return steps.group_by("run", "attempt", "step").agg(
        pl.col("interval_steps").max().fill_null(1),
        pl.col("end_time").max(),
        pl.coalesce(usable.filter(for_job).max(), usable.max()).alias("step_seconds"),
        pl.col("time_kind").is_in(_MEANS_OVER_LONGER).any().alias("_is_mean"),
        (pl.col("checkpoint_seconds").fill_nan(None) > 0).any().alias("_is_paused"),
        pl.when(tokens.is_finite() & (tokens > 0)).then(tokens).max().alias("_tokens"),
    )


def _unusable() -> pl.Expr:
    """Return why a step's own report cannot be judged."""
    return (
        pl.when(pl.col("step").is_null())
        .then(pl.lit("no_step"))
        .when(pl.col("end_time").is_null())
        .then(pl.lit("no_time"))
        .when(pl.col("step_seconds").is_null())
        .then(pl.lit("no_duration"))
        .when("_is_mean")
        .then(pl.lit("not_a_step_time"))
    )


def _warming_up(params: JudgeParams) -> pl.Expr:
    """Return whether a step belongs to the first steps or the first minutes of its attempt."""
    attempt = ("run", "attempt")
    steps_before = pl.col("interval_steps").cum_sum() - pl.col("interval_steps")
    lasted = pl.col("step_seconds").fill_null(0.0) * pl.col("interval_steps")
    began = pl.col("end_time") - (lasted * 1e6).cast(pl.Duration("us"))
    elapsed = (pl.col("end_time") - began.min()).dt.total_microseconds() / 1e6
    is_early = (steps_before < params.warm_up_steps) | (elapsed <= params.warm_up_seconds)
    return pl.when(is_early.over(attempt)).then(pl.lit("warm_up"))


def _paused() -> pl.Expr:
    """Return whether a rank wrote a checkpoint in the step."""
    return pl.when("_is_paused").then(pl.lit("pause"))


def _with_baseline(steps: pl.LazyFrame, eligible: pl.Expr, params: JudgeParams) -> pl.LazyFrame:
    """Return the steps with the seconds that each would take at the run's healthy pace so far.

    Where every step so far told its tokens, and they vary, the pace is per token.
    """
    tokens = pl.col("_tokens")
    varies = tokens.cum_max() > tokens.cum_min()
    by_tokens = (tokens.is_null().cum_sum() == 0) & varies
    paces = steps.filter(eligible).with_columns(
        _floor=_floor(pl.col("step_seconds"), params).over("run"),
        _token_floor=_floor(pl.col("step_seconds") / tokens, params).over("run"),
        _by_tokens=by_tokens.over("run"),
    )
    expected = (
        pl.when("_by_tokens").then(pl.col("_token_floor") * tokens).otherwise(pl.col("_floor"))
    )
    keys = ["run", "attempt", "step"]
    return steps.join(
        paces.select(*keys, baseline_seconds=expected),
        on=keys,
        how="left",
        maintain_order="left",
        nulls_equal=True,
    )


def _floor(pace: pl.Expr, params: JudgeParams) -> pl.Expr:
    """Return the lowest rolling median of the steps before each step."""
    return pace.rolling_median(params.baseline_steps).cum_min().shift(1).forward_fill()


def _is_slow(params: JudgeParams) -> pl.Expr:
    """Return whether a step took more than it may."""
    return pl.col("step_seconds") > params.min_slow_ratio * pl.col("baseline_seconds")


def _without_periodic_pauses(events: pl.LazyFrame, params: JudgeParams) -> pl.LazyFrame:
    """Return the events with single slow steps that come back like clockwork set aside.

    A slow step is single when the judged step before it was not slow; whether the next one is, is
    not known yet. It is set aside when the last two single ones were as far apart.
    """
    judged = events.filter(pl.col("reason").is_null()).with_columns(_slow=_is_slow(params))
    was_slow = pl.col("_slow").shift(1, fill_value=False).over("run")
    distance = pl.col("step").diff().over("run", "attempt")
    spikes = (
        judged.filter(pl.col("_slow"), ~was_slow)
        .with_columns(_distance=distance)
        .filter(
            pl.col("_distance") == pl.col("_distance").shift(1).over("run", "attempt"),
            pl.col("_distance") >= params.min_pause_period_steps,
        )
    )
    keys = ["run", "attempt", "step"]
    return events.join(
        spikes.select(*keys, _periodic=pl.lit("periodic_pause")),
        on=keys,
        how="left",
        maintain_order="left",
        nulls_equal=True,
    ).with_columns(reason=pl.coalesce("reason", "_periodic"))
