"""Find the single steps in which a job, or one of its hosts, stood still for a moment.

Source: methods reference, sections 3 (ratios to peers, robust scales) and 5; field reference
(Imbue: garbage collection of each host on its own shows as sags of throughput with no fault
anywhere). Planned pauses are no pauses here: all ranks hold them together, so against peers they
vanish, and of whole jobs the marks of a log tell them.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import EVENTS, TIME, require, schema_of
from detectors.paces import PACES
from detectors.pauses import JOB_PACES

JOB: Final = ("run", "attempt")

OWN_MEASURES: Final = ("busy", "not_waiting", "fed")
"""What a rank does by itself: in lockstep the whole step is everybody's."""

PLANNED: Final = ("evaluation", "checkpoint", "checkpoint_start", "checkpoint_load")

MAD_TO_SIGMA: Final = 1.4826

WINDOW: Final = 21
"""Steps around one that tell what is usual there."""

MOMENTS: Final = schema_of(
    {
        "run": pl.String,
        "attempt": pl.Int32,
        "host": pl.String,
        "rank": pl.Int32,
        "step": pl.Int64,
        "end_time": TIME,
        "lost_seconds": pl.Float64,
        "step_seconds": pl.Float64,
        "source": pl.String,
    }
)
"""One row a pause: of a host, of a rank whose host is not known, or of a job (both null).
`lost_seconds` is what the step was longer, `step_seconds` what is usual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MomentParams:
    """When a step holds a pause.

    Attributes:
        min_ratio: A pause makes a step longer by this, at least.
        min_noise_ratio: And by so many times the noise.
        max_share: Of a thing's steps: what pauses more often is slow.
        min_peers: Ranks of a stage that are compared.
    """

    min_ratio: float = 1.05
    min_noise_ratio: float = 5.0
    max_share: float = 0.35
    min_peers: int = 4


def host_moments(paces: pl.LazyFrame, params: MomentParams) -> pl.LazyFrame:
    """Return `MOMENTS` of hosts, from what their ranks do against those of the same part.

    Args:
        paces: `PACES`; measures in which a rank shows the waits of all are left out.
        params: The thresholds.

    Raises:
        SchemaError: `paces` is not a `PACES`.
    """
    peers = [*JOB, "pp", "ep", "model"]
    thing, lane = [*JOB, "host", "rank"], [*JOB, "rank", "measure"]
    log = pl.col("pace_seconds").log()
    ratio = pl.col("ratio")
    # What is slow for long is slow, not pausing: the steps around one tell what is usual.
    around = ratio.rolling_median(WINDOW, center=True, min_samples=WINDOW // 2 + 1)
    least = pl.max_horizontal(
        pl.lit(params.min_ratio).log(), params.min_noise_ratio * pl.col("noise")
    )
    rows = (
        paces.pipe(require, PACES)
        .filter(pl.col("measure").is_in(OWN_MEASURES), pl.col("pace_seconds") > 0)
        .drop_nulls(["end_time", "step"])
        .filter(pl.len().over([*peers, "step"]) >= params.min_peers)
        .with_columns(ratio=log - log.median().over([*peers, "step"]))
        .sort(*lane, "step", "end_time", "host", nulls_last=True)
        .with_columns(ratio=ratio - pl.coalesce(around.over(lane), ratio.median().over(lane)))
        .with_columns(noise=MAD_TO_SIGMA * ratio.abs().median().over(JOB))
        .with_columns(is_pause=ratio >= least)
        .filter(pl.col("is_pause").mean().over([*JOB, "rank"]) <= params.max_share)
        .filter("is_pause")
        .with_columns(rank=pl.when(pl.col("host").is_null()).then("rank"))
    )
    lost = pl.col("pace_seconds") * (1.0 - (-ratio).exp())
    return (
        rows.group_by(*thing, "step")
        .agg(
            pl.col("end_time").min(),
            lost_seconds=lost.max(),
            step_seconds=pl.col("step_seconds").median(),
            source=pl.lit("steps"),
        )
        .select(pl.col(name).cast(kind) for name, kind in MOMENTS.items())
        .sort(*thing, "step", nulls_last=True)
    )


def job_moments_of_pace(
    paces: pl.LazyFrame, events: pl.LazyFrame, params: MomentParams
) -> pl.LazyFrame:
    """Return `MOMENTS` of whole jobs.

    Args:
        paces: `JOB_PACES`; steps with a checkpoint are left out.
        events: `EVENTS`; so are those in which a checkpoint or an evaluation was told.
        params: The thresholds.

    Raises:
        SchemaError: A frame lacks a column.
    """
    seconds = pl.col("step_seconds")
    usual = seconds.rolling_median(WINDOW, center=True, min_samples=WINDOW // 2 + 1).over(JOB)
    excess = pl.col("step_seconds") / pl.col("usual") - 1.0
    noise = MAD_TO_SIGMA * pl.col("excess").abs().median().over(JOB)
    least = pl.max_horizontal(params.min_ratio - 1.0, params.min_noise_ratio * pl.col("noise"))
    return (
        paces.pipe(require, JOB_PACES)
        .filter(~pl.col("paused").fill_null(value=False))
        .drop_nulls(["end_time", "step"])
        .pipe(_without_planned, events.pipe(require, EVENTS))
        .sort(*JOB, "step", "end_time", nulls_last=True)
        .with_columns(usual=usual)
        .with_columns(excess=excess)
        .with_columns(noise=noise)
        .with_columns(is_pause=pl.col("excess") >= least)
        .filter(pl.col("is_pause").mean().over(JOB) <= params.max_share)
        .filter("is_pause")
        .select(
            *JOB,
            pl.lit(None, dtype=pl.String).alias("host"),
            pl.lit(None, dtype=pl.Int32).alias("rank"),
            "step",
            "end_time",
            lost_seconds=seconds - pl.col("usual"),
            step_seconds="usual",
            source=pl.lit("steps"),
        )
    )


def _without_planned(paces: pl.LazyFrame, events: pl.LazyFrame) -> pl.LazyFrame:
    """Return the paces without steps in which a planned pause of their run was told.

    A mark may be printed at the end of the step before as well as in the step.
    """
    marks = (
        events.filter(pl.col("kind").is_in(PLANNED))
        .drop_nulls("time")
        .select("run", mark="time")
        .unique()
        .sort("mark")
    )
    near = paces.sort("end_time").join_asof(
        marks,
        left_on="end_time",
        right_on="mark",
        by="run",
        strategy="backward",
        check_sortedness=False,
    )
    length = pl.duration(microseconds=(2e6 * pl.col("step_seconds")).cast(pl.Int64))
    inside = pl.col("end_time") - pl.col("mark") <= length
    return near.filter(~inside.fill_null(value=False)).drop("mark")
