"""Sort the lines that tell of failures: known families, and clusters of what nobody knows yet.

Source: log diagnosis at Acme, see `detectors.known_failures`. Clusters of the unknown are ours: a
new class of failures shows as one new row. The thresholds are calibrated on lines composed for it,
each on other families than it is judged on (tests/test_triage_accuracy.py).
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import TIME, require, schema_of
from collectors.signatures.failure_lines import FAILURE_LINES
from collectors.signatures.library import SIGNATURES
from detectors.known_failures import (
    MAX_NEAREST,
    NEAREST_LIST,
    family_by_rule,
    library_space,
    nearest_families,
)
from detectors.masked_texts import masked_text
from detectors.text_clusters import find_clusters
from detectors.text_vectors import TextSpace

LINE: Final = schema_of(
    {
        "source": pl.String,
        "position": pl.Int64,
        "time": TIME,
        "host": pl.String,
        "rank": pl.Int32,
        "text": pl.String,
        "block": pl.String,
        "count": pl.Int64,
    }
)
"""The first line of its shape in a row of the triage; `count` is how often the shape was seen."""

TRIAGE: Final = schema_of(
    {
        "family": pl.String,
        "title": pl.String,
        "meaning": pl.String,
        "helped": pl.String,
        "step": pl.String,
        "count": pl.Int64,
        "hosts": pl.List(pl.String),
        "ranks": pl.List(pl.Int32),
        "first": TIME,
        "last": TIME,
        "similarity": pl.Float64,
        "nearest": NEAREST_LIST,
        "lines": pl.List(pl.Struct(dict(LINE))),
    }
)
"""One family of failures, or one cluster of unknown ones, whose `family`, `meaning` and `helped`
are null and whose `title` is its most frequent line. `step`: rule, likeness (no line by a rule),
cluster. `first` and `last` are null where no line has a time. `similarity` is that of the likest
line to this family, null without a wording in common; of a cluster, to the nearest family.
`nearest` are the families that the most frequent line is most like."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageParams:
    """When a line is of a known family, and when two unknown ones are of a kind.

    Attributes:
        min_similarity: Likeness (see `NEAREST`) from which a line that tells of a failure is of a
            family.
        min_quiet_similarity: The same of a line that does not say by its own words that it does.
        min_cluster_similarity: Cosine from which two unknown lines are of a kind.
        max_lines: Lines of a row that are shown.
    """

    min_similarity: float = 0.21
    min_quiet_similarity: float = 0.25
    min_cluster_similarity: float = 0.45
    max_lines: int = 5

    def __post_init__(self) -> None:
        """Refuse thresholds that every line would pass, or none."""
        for name in ("min_similarity", "min_quiet_similarity", "min_cluster_similarity"):
            value = getattr(self, name)
            if not 0.0 < value <= 1.0:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value}")
        if self.max_lines < 1:
            raise ValueError(f"max_lines must be at least 1, got {self.max_lines}")


def find_families(
    lines: pl.LazyFrame, signatures: pl.LazyFrame, params: TriageParams
) -> pl.DataFrame:
    """Return what failures some lines tell of.

    Args:
        lines: `FAILURE_LINES`; a row that is there twice in all its columns is one.
        signatures: `SIGNATURES`, in order of precedence.
        params: The thresholds.

    Returns:
        `TRIAGE`, the first seen first; rows without a time are last, the most frequent before.

    Raises:
        SchemaError: A frame lacks a column.
        ValueError: There is no family at all.
    """
    known = signatures.pipe(require, SIGNATURES).collect()
    if known.is_empty():
        raise ValueError("wanted at least one family of failures, found none; read_signatures()")
    told = lines.pipe(require, FAILURE_LINES).unique().collect()
    space = library_space(known)
    named = name_lines(told, known, space, params)
    grouped = _with_clusters(named, space, params).drop_nulls("group")
    return _rows(grouped, params).join(known, on="family", how="left").pipe(_finished)


def name_lines(
    lines: pl.DataFrame, signatures: pl.DataFrame, space: TextSpace, params: TriageParams
) -> pl.DataFrame:
    """Return each line with the family that it tells of.

    Args:
        lines: `FAILURE_LINES`.
        signatures: `SIGNATURES`.
        space: `library_space` of them.
        params: The thresholds.

    Returns:
        The lines with `shape`, the masked text; `family`, null for unknown; `step`, rule or
        likeness, null for unknown; `nearest`, see `nearest_families`.
    """
    rules = ("text", "kind", "code")
    ruled = lines.select(rules).unique().with_columns(rule=family_by_rule(signatures))
    shaped = lines.with_columns(shape=masked_text(pl.col("text").fill_null("")))
    shapes = shaped["shape"].unique().sort()
    nearest = nearest_families(shapes, signatures, space)
    best = pl.col("nearest").list.first().struct
    limits = (params.min_similarity, params.min_quiet_similarity)
    enough = pl.when("is_failure").then(limits[0]).otherwise(limits[1])
    like = pl.when(best["similarity"] >= enough).then(best["family"])
    return (
        shaped.join(ruled, on=rules, how="left", nulls_equal=True)
        .join(nearest, on="shape", how="left")
        .with_columns(
            family=pl.coalesce("rule", like),
            step=pl.when(pl.col("rule").is_not_null())
            .then(pl.lit("rule"))
            .when(like.is_not_null())
            .then(pl.lit("likeness")),
        )
        .drop("rule")
    )


def _with_clusters(lines: pl.DataFrame, space: TextSpace, params: TriageParams) -> pl.DataFrame:
    """Return the lines with `group`: a family or a cluster; null of what is no failure at all."""
    unknown = lines.filter(pl.col("family").is_null() & pl.col("is_failure"))
    weights = unknown.group_by("shape").agg(weight=pl.col("count").sum())
    clusters = find_clusters(weights, space, params.min_cluster_similarity)
    unlike = pl.lit("unlike")
    clusters = clusters.select("shape", cluster="cluster: " + pl.col("cluster").fill_null(unlike))
    is_unknown = pl.col("family").is_null() & pl.col("is_failure")
    cluster = pl.when(is_unknown).then("cluster")
    return lines.join(clusters, on="shape", how="left").with_columns(
        group=pl.coalesce("family", cluster), step=pl.col("step").fill_null("cluster")
    )


def _rows(lines: pl.DataFrame, params: TriageParams) -> pl.DataFrame:
    """Return one row a group, of `TRIAGE` without what the library tells."""
    shapes = _shapes(lines)
    return (
        lines.group_by("group")
        .agg(
            pl.col("family").first(),
            pl.col("step").max(),
            pl.col("count").sum(),
            pl.col("host").drop_nulls().unique().sort().alias("hosts"),
            pl.col("rank").drop_nulls().unique().sort().alias("ranks"),
            pl.col("time").min().alias("first"),
            pl.max_horizontal(pl.col("last").max(), pl.col("time").max()).alias("last"),
        )
        .join(_shown(shapes, params), on="group", how="left")
    )


def _shapes(lines: pl.DataFrame) -> pl.DataFrame:
    """Return one line of each shape of a group, the first, the most frequent shapes first."""
    ordered = lines.sort("time", "source", "position", "host", "rank", "text", nulls_last=True)
    parts = [name for name in LINE.names() if name != "count"]
    firsts = ordered.group_by("group", "shape", maintain_order=True).agg(
        pl.col("family", "nearest", *parts).first(), pl.col("count").sum()
    )
    return firsts.sort("count", "text", "shape", descending=[True, False, False])


def _shown(shapes: pl.DataFrame, params: TriageParams) -> pl.DataFrame:
    """Return the lines that each group shows, and whom they are like."""
    return (
        shapes.with_columns(similarity=_own_similarity())
        .group_by("group", maintain_order=True)
        .agg(
            pl.struct(LINE.names()).head(params.max_lines).alias("lines"),
            pl.col("nearest").first(),
            pl.col("text").first().alias("says"),
            pl.col("similarity").max(),
        )
    )


def _own_similarity() -> pl.Expr:
    """Return how like a line is to its group's family, or to the nearest of all if it has none."""
    places = [pl.col("nearest").list.get(at, null_on_oob=True).struct for at in range(MAX_NEAREST)]
    of_own = [
        pl.when(place["family"] == pl.col("family")).then(place["similarity"]) for place in places
    ]
    return (
        pl.when(pl.col("family").is_null())
        .then(places[0]["similarity"])
        .otherwise(pl.coalesce(of_own))
    )


def _finished(rows: pl.DataFrame) -> pl.DataFrame:
    title = pl.coalesce("title", "says")
    ordered = rows.with_columns(title=title).sort(
        "first", "count", "title", descending=[False, True, False], nulls_last=True
    )
    return ordered.select(pl.col(name).cast(kind) for name, kind in TRIAGE.items())
