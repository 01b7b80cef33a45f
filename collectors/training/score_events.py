"""Scores of ranks as events: one row a rank, score and report."""

from collections.abc import Iterable
from typing import Final

import polars as pl

from collectors.frames import LABEL, schema_of
from collectors.texts.label_rows import label_rows
from collectors.training.score_texts import Score

SCORE_KIND: Final = "perf_score"

_ROWS: Final = schema_of(
    {
        "rank": pl.Int64,
        "host": pl.String,
        "code": pl.String,
        "message": pl.String,
        "attributes": pl.List(LABEL),
    }
)

TOOL: Final = "nvidia-resiliency-ext"


def score_rows(scores: Iterable[Score], nodes: dict[str, str]) -> pl.DataFrame:
    """Return `EVENTS` of kind perf_score without time, position and source.

    Args:
        scores: In the order of the report.
        nodes: Host by rank (as text), as far as the report tells.

    Returns:
        `code` is what was scored; `attributes` hold `score` (`nan`: nothing to compare),
        `section` and `threshold` where they are told, and `tool`.
    """
    rows = [
        {
            "rank": one.rank,
            "host": nodes.get(str(one.rank)),
            "code": one.what,
            "message": f"{one.what} score of rank {one.rank}: {one.score}",
            "attributes": labels(score=one.score, section=one.section, threshold=one.threshold),
        }
        for one in scores
    ]
    return pl.DataFrame(rows, schema=_ROWS).with_columns(
        kind=pl.lit(SCORE_KIND), severity=pl.lit("info"), count=pl.lit(1)
    )


def labels(**values: object) -> list[dict[str, str]]:
    """Return attributes of the values that are not null, and the tool that said so."""
    return label_rows(values | {"tool": TOOL})
