"""Metric series as they come from an exposition page or an API answer, before they mean anything.

Two tables instead of one: a label set is stored and understood once, however many points it has.
Mappers read `identities` (thousands of rows) and only join and scale `points` (millions of rows).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import polars as pl

from collectors.frames import LABEL, TIME, schema_of

MIN_INEXACT_VALUE: Final = 2.0**53
"""From here on a float64 skips integers, so the printed digits are kept beside the value."""

POINTS: Final = schema_of(
    {
        "series": pl.UInt32,
        "time": TIME,
        "page": pl.UInt32,
        "value": pl.Float64,
        "text": pl.String,
        "reason": pl.String,
        "position": pl.Int64,
    }
)
"""One point. `time` is null on pages without time stamps; there `page` counts the scrapes of the
file from 0 (null elsewhere). `text` holds the printed digits of a number too big for float64, else
null. `value` is null when `reason` says why. `position` is the line, or the record, in the source.
"""

IDENTITIES: Final = schema_of({"series": pl.UInt32, "name": pl.String, "labels": pl.List(LABEL)})
"""One label set. Two rows may be the same series with its labels in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points and the label sets they belong to.

    Attributes:
        points: `POINTS`, in the order of the source.
        identities: `IDENTITIES`.
    """

    points: pl.DataFrame
    identities: pl.DataFrame

    def of_names(self, names: pl.Series) -> "Series":
        """Return the part of the series whose metric is one of `names`."""
        kept = self.identities.filter(pl.col("name").is_in(names.implode()))
        points = self.points.join(kept, on="series", how="semi", maintain_order="left")
        return Series(points=points, identities=kept)


def label_of(*keys: str) -> pl.Expr:
    """Return the value of the first of `keys` that a label set has; an empty value is none.

    Args:
        *keys: Label names in lower case, best first; names are compared without their case,
            since exporters changed the case of `Hostname` and `UUID` over their versions.
    """
    return pl.coalesce([_label(key) for key in keys])


def _label(key: str) -> pl.Expr:
    element = pl.element()
    wanted = element.struct["key"].str.to_lowercase() == key
    value = pl.col("labels").list.eval(element.struct["value"].filter(wanted)).list.last()
    return pl.when(value.str.strip_chars() != "").then(value)


def label_columns(identities: pl.DataFrame, wanted: Mapping[str, tuple[str, ...]]) -> pl.DataFrame:
    """Return `identities` with one more column for each wanted label.

    Args:
        identities: `IDENTITIES`.
        wanted: Column name to label names, best first.
    """
    return identities.with_columns(**{name: label_of(*keys) for name, keys in wanted.items()})


def value_columns(text: pl.Expr) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Return the `value`, `text` and `reason` columns of a printed number.

    Args:
        text: The number as printed; null where the source had none.

    Returns:
        A value that is not finite is null with the reason `non_finite`, no text at all is null
        with the reason `missing`; text that is no number is null without a reason.
    """
    number = text.cast(pl.Float64, strict=False)
    value = pl.when(number.is_finite()).then(number)
    inexact = number.is_finite() & (number.abs() >= MIN_INEXACT_VALUE)
    reason = (
        pl.when(text.is_null())
        .then(pl.lit("missing"))
        .when(number.is_not_null() & ~number.is_finite())
        .then(pl.lit("non_finite"))
    )
    return (
        value.alias("value"),
        pl.when(inexact).then(text).alias("text"),
        reason.alias("reason"),
    )


def number_pages(points: pl.DataFrame) -> pl.DataFrame:
    """Return the points with `page` set where no time stamp tells the scrapes apart.

    A file may hold several scrapes below each other. A series that comes again opens the next
    scrape, unless it only repeats the line before it: that is one exporter's duplicate, and one
    of the two lines goes.
    """
    if points["time"].null_count() == 0:
        return points
    last = pl.col("position").shift().over("series")
    same = (
        (pl.col("position") - last == 1)
        & pl.col("value").eq_missing(pl.col("value").shift().over("series"))
        & pl.col("reason").eq_missing(pl.col("reason").shift().over("series"))
    ).fill_null(value=False)
    untimed = pl.col("time").is_null()
    page = (pl.col("position").cum_count() - 1).over("series").cast(pl.UInt32)
    kept = points.filter(~(untimed & same))
    return kept.with_columns(page=pl.when(untimed).then(page))


def date_pages(points: pl.DataFrame, taken: datetime | None) -> pl.DataFrame:
    """Return the points with the time at which their file was taken where they tell none.

    Args:
        points: `POINTS` of a whole file, its pages numbered.
        taken: When the file was taken; null if nobody knows. Of several scrapes below each other
            it is nobody's time.
    """
    if taken is None or (points["page"].max() or 0):
        return points
    return points.with_columns(
        time=pl.col("time").fill_null(pl.lit(taken, TIME)), page=pl.lit(None, pl.UInt32)
    )


def has_label(key: str) -> pl.Expr:
    """Return whether a label set has `key` (lower case), also with an empty value."""
    names = pl.col("labels").list.eval(pl.element().struct["key"].str.to_lowercase())
    return names.list.contains(key)
