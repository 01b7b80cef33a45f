"""Fold lines that tell of failures: one row for all that say the same, so that any log fits.

Source: ours. Who would be told apart later is told apart here: by the family whose pattern fits, by
the words once they are masked, by host and rank. What readers know a line as is joined by its place
when they are done with it, which is later than the line was seen.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.signatures.failure_lines import FAILURE_LINES
from detectors.known_failures import family_by_rule
from detectors.masked_texts import alike_text, masked_text

FOLDS: Final = pl.Schema([*FAILURE_LINES.items(), ("fold", pl.UInt64())])
"""Lines that say the same: the first of them, with `count` and `last` of all."""

LABELS: Final = schema_of(
    {
        "fold": pl.UInt64,
        "kind": pl.String,
        "code": pl.String,
        "host": pl.String,
        "rank": pl.Int32,
        "time": TIME,
        "last": TIME,
        "count": pl.Int64,
        "source": pl.String,
        "position": pl.Int64,
    }
)
"""What readers know some lines of a fold as: how many, the first of them and its place."""

_ORDER: Final = ("time", "source", "position", "host", "rank", "text")


def with_folds(lines: pl.DataFrame, signatures: pl.DataFrame) -> pl.DataFrame:
    """Return lines with the fold that each is of.

    Args:
        lines: `FAILURE_LINES` without kinds and codes: what a log says by itself.
        signatures: `SIGNATURES`; lines of two families are never of one fold.
    """
    alike = lines.with_columns(alike=alike_text(pl.col("text").fill_null("")))
    told = alike.unique("alike", keep="first", maintain_order=True).select(
        "alike", rule=family_by_rule(signatures), shape=masked_text(pl.col("text").fill_null(""))
    )
    key = pl.struct("host", "rank", "is_failure", "rule", "shape", pl.col("block").is_null())
    return (
        alike.join(told, on="alike", maintain_order="left")
        .with_columns(fold=key.hash(seed=0))
        .select(FOLDS.names())
    )


def join_folds(rows: pl.DataFrame) -> pl.DataFrame:
    """Return one row a fold.

    Args:
        rows: `FOLDS`, of one line or of many each.

    Returns:
        `FOLDS`, by the first line.
    """
    last = pl.max_horizontal(pl.col("last").max(), pl.col("time").max())
    firsts = [name for name in FAILURE_LINES.names() if name not in {"last", "count"}]
    return (
        rows.sort(_ORDER, nulls_last=True)
        .group_by("fold", maintain_order=True)
        .agg(pl.col(firsts).first(), last=last, count=pl.col("count").sum())
        .select(FOLDS.names())
    )


def join_labels(labels: pl.DataFrame) -> pl.DataFrame:
    """Return what the lines of each fold are known as, each once.

    Args:
        labels: `LABELS`.
    """
    return (
        labels.sort("time", "source", "position", nulls_last=True)
        .group_by("fold", "kind", "code", "host", "rank", maintain_order=True)
        .agg(
            pl.col("time", "source", "position").first(),
            last=pl.max_horizontal(pl.col("last").max(), pl.col("time").max()),
            count=pl.col("count").sum(),
        )
        .select(LABELS.names())
        .sort(LABELS.names(), nulls_last=True)
    )


def labelled_folds(rows: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Return lines with what readers know them as.

    Args:
        rows: `FOLDS`.
        labels: `LABELS` of lines of theirs.

    Returns:
        `FAILURE_LINES`. Where readers know some lines of a fold, those are rows apart; host, rank
        and time that they do not tell are those that the readers told.
    """
    known = join_labels(labels)
    counts = known.group_by("fold").agg(known=pl.col("count").sum())
    rest = (
        rows.join(counts, on="fold", how="left", maintain_order="left")
        .with_columns(pl.col("count") - pl.col("known").fill_null(0))
        .filter(pl.col("count") > 0)
    )
    told = known.join(rows, on="fold", suffix="_line", maintain_order="left").with_columns(
        pl.coalesce(f"{name}_line", name).alias(name) for name in ("host", "rank", "time", "last")
    )
    both = pl.concat([rest.select(FAILURE_LINES.names()), told.select(FAILURE_LINES.names())])
    return both.sort(*_ORDER, "kind", "code", nulls_last=True)
