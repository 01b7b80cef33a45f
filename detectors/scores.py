"""Find the ranks that a scoring tool holds for slow, and those that it could not judge.

Source: nvidia-resiliency-ext (formats of progress streams, section 13.1): a rank is flagged when
its score lies below the threshold, and a score that is NaN lies below nothing, so that such a rank
is never flagged and passes for healthy. We say that it is not known. A score is the tool's opinion
of one window; it is passed on with little confidence, more if the tool repeats it or warns itself.
"""

from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, require
from collectors.texts.event_labels import label_value
from detectors.verdicts import Confidence, Evidence, Subject, Verdict, verdict_frame

_KIND: Final = "perf_score"

_RANK: Final = ("run", "rank")

_KEYS: Final = ("score", "section", "threshold", "flagged", "statistic", "tool")

_NEEDED: Final = "the tool's kernels or sections that all ranks have in common"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreParams:
    """When a score is too low.

    Attributes:
        min_score: Scores below are flagged, this one itself is not; a report that tells its own
            threshold wins. Source: the tool's default.
        min_reports: Reports that flag a rank from which on it is more than one bad window.
        max_named: So many ranks without a score are named one by one; of more the job is told.
    """

    min_score: float = 0.75
    min_reports: int = 2
    max_named: int = 8

    def __post_init__(self) -> None:
        """Refuse a threshold that no score, or every one, would pass."""
        if not 0.0 < self.min_score <= 1.0:
            raise ValueError(f"min_score must be above 0 and at most 1, got {self.min_score}")


def find_scored_ranks(events: pl.LazyFrame, params: ScoreParams) -> pl.DataFrame:
    """Return the ranks with a low score, and those without any.

    Args:
        events: `EVENTS`; those of kind perf_score hold the score as an attribute, NaN where the
            tool had nothing to compare.
        params: The thresholds.

    Returns:
        `VERDICTS`: kind slow at level rank for a low score, kind unknown for a score that is NaN.
        Partition key: run.

    Raises:
        SchemaError: `events` is not an `EVENTS`.
    """
    scores = _scores(events, params)
    ranks = scores.filter(pl.col("rank").is_not_null(), pl.col("statistic").is_null())
    low = [_low(row, params) for row in _flagged(ranks).iter_rows(named=True)]
    blind = _blind(scores, params)
    return verdict_frame([*low, *(_unknown(row) for row in blind.iter_rows(named=True))])


def _scores(events: pl.LazyFrame, params: ScoreParams) -> pl.DataFrame:
    """Return the scores by time, each attribute a column; `low` and `blind` judge them."""
    attribute = {name: label_value(name) for name in _KEYS}
    limit = pl.col("threshold").cast(pl.Float64, strict=False).fill_null(params.min_score)
    score = pl.col("score").cast(pl.Float64, strict=False)
    flagged = pl.col("flagged")
    return (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind") == _KIND)
        .with_columns(**attribute)
        .with_columns(score=score, limit=limit, flagged=flagged.is_not_null())
        .with_columns(
            blind=(score.is_nan() & ~flagged).fill_null(value=False),
            low=(flagged | (score < limit)).fill_null(value=False),
        )
        .sort("run", "time", "source", "position", "rank", "code", "section", "score")
        .collect()
    )


def _flagged(ranks: pl.DataFrame) -> pl.DataFrame:
    """Return one row a rank that any report flags, with its worst score and how often it was."""
    low = ranks.filter("low").with_columns(
        reports=pl.len().over(*_RANK, "code", "section", "flagged")
    )
    told = ranks.filter(pl.col("score").is_not_nan()).group_by(_RANK).agg(pl.col("score").min())
    rows = low.group_by(_RANK, maintain_order=True).agg(
        pl.col("time", "source", "code", "section", "limit", "tool").first(),
        pl.col("host").drop_nulls().first(),
        pl.col("flagged").any(),
        pl.col("reports").max(),
    )
    well = ranks.filter(~pl.col("low"), ~pl.col("blind"))
    others = ranks.group_by("run").agg(pl.col("rank").filter("blind").n_unique().alias("unscored"))
    usual = (
        ranks.filter(pl.col("score").is_not_nan())
        .group_by("run", "code")
        .agg(pl.col("score").median().alias("usual"))
    )
    lasting = ["run", "rank", "code"]
    cleared = (
        low.group_by(lasting)
        .agg(last=pl.col("time").max())
        .join(well.select(*lasting, "time"), on=lasting, how="left", nulls_equal=True)
        .filter((pl.col("time") > pl.col("last")).fill_null(value=False))
        .group_by(lasting)
        .agg(cleared=pl.col("time").min())
    )
    joined = (
        rows.join(told, on=_RANK, how="left", nulls_equal=True)
        .join(others, on="run", how="left", nulls_equal=True)
        .join(usual, on=["run", "code"], how="left", nulls_equal=True)
        .join(cleared, on=lasting, how="left", nulls_equal=True)
    )
    return joined.sort("run", "rank")


def _low(row: dict[str, Any], params: ScoreParams) -> Verdict:
    is_sure = row["flagged"] or row["reports"] >= params.min_reports
    confidence: Confidence = "medium" if is_sure else "low"
    section = f" of section {row['section']}" if row["section"] else ""
    score = "a score" if row["score"] is None else f"a score of {row['score']:.6g}"
    what = (
        f"{row['tool']} gives rank {row['rank']} {score} ({row['code']}{section}), below "
        f"{row['limit']:g}, in {row['reports']} report(s)"
    )
    usual = "" if row["usual"] is None else f"; the median score is {row['usual']:.6g}"
    without = f"; {row['unscored']} rank(s) have none, and no minimum counts them"
    what += usual + (without if row["unscored"] else "")
    return Verdict(
        kind="slow",
        level="rank",
        subject=Subject(run=row["run"], rank=row["rank"], host=row["host"]),
        onset=row["time"],
        detected=row["time"],
        cleared=row["cleared"],
        slowdown=1.0 / row["score"] if row["score"] else None,
        confidence=confidence,
        peers="the tool's own reference: the fastest rank, or the rank's own best past",
        evidence=(Evidence(source=row["source"] or "scores", time=row["time"], what=what),),
        action="look for device signals of this rank's GPU before anything is swapped",
        needed="step phases or device signals of this rank, to confirm the tool's opinion",
    )


def _blind(scores: pl.DataFrame, params: ScoreParams) -> pl.DataFrame:
    """Return whom nobody scored: ranks, or one row a run where they are many or not named."""
    blind = scores.filter("blind").with_columns(
        pl.col("rank").n_unique().over("run").alias("ranks"),
        pl.col("rank").is_not_null().any().over("run").alias("named"),
    )
    many = (pl.col("ranks") > params.max_named) | ~pl.col("named")
    one = pl.when(~many).then("rank")
    return (
        blind.filter(pl.col("rank").is_not_null() | ~pl.col("named"))
        .with_columns(pl.when(~many).then("host").alias("host"), rank=one)
        .unique(["run", "rank"], keep="first", maintain_order=True)
    )


def _unknown(row: dict[str, Any]) -> Verdict:
    whole = row["rank"] is None
    who = f"{row['ranks']} ranks" if row["named"] else "some rank"
    whom = who if whole else f"rank {row['rank']}"
    what = f"{row['tool']} has no {row['code']} score of {whom}"
    what += ": it is NaN, which lies below no threshold and is left out of the minimum"
    return Verdict(
        kind="unknown",
        level="job" if whole else "rank",
        subject=Subject(run=row["run"], rank=row["rank"], host=row["host"]),
        onset=row["time"],
        detected=row["time"],
        cause="not_scored",
        confidence="low",
        evidence=(Evidence(source=row["source"] or "scores", time=row["time"], what=what),),
        needed=_NEEDED,
    )
