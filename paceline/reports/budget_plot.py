"""Budgets of an objective along its period: a line for each group of those with the least left."""

from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from paceline.budget_output import group_name, is_judged
from paceline.reports.drawing import ALARM, CALM, MUTED, side_label, svg_of
from slo.budget_reviews import ObjectiveReview

MAX_LINES: Final = 5
_HEIGHT_PIXELS: Final = 210
_LABEL_PIXELS: Final = 15


def budget_plot(review: ObjectiveReview, *, prefix: str) -> str | None:
    """Return the drawing of the budget left over time.

    Args:
        review: The objective.
        prefix: Unique in the page.

    Returns:
        SVG; null when there are fewer than two points, or no group has enough data of the period to
        speak of its budget.
    """
    labels = review.objective.group_labels
    known = review.trend.drop_nulls("budget_left_ratio")
    judged = any(is_judged(row) for row in review.budgets.iter_rows(named=True))
    if not judged or known["time"].n_unique() <= 1:
        return None
    groups = _groups(review, known)
    x = alt.X("time:T", scale=alt.Scale(type="utc"), axis=_axis(known), title=None)
    y = alt.Y("left:Q", axis=alt.Axis(format="%"), title=None)
    zero = alt.Chart({"values": [{"left": 0.0}]}).mark_rule(color=MUTED, strokeDash=[6, 3])
    layers = [zero.encode(y=y)]
    for number, group in enumerate(groups):
        rows = _points(known, group, labels)
        color = ALARM if rows[-1]["left"] < 0 else CALM
        line = alt.Chart({"values": rows}).mark_line(color=color, strokeWidth=2.5)
        name = side_label(group_name(group, labels), color, y=rows[-1]["left"])
        layers += [line.encode(x=x, y=y), _placed(name, number)]
    return svg_of(layers, height=_HEIGHT_PIXELS, prefix=prefix)


def _placed(name: alt.Chart, number: int) -> alt.Chart:
    """Return a name in a row of its own: lines that end together would write over each other."""
    placed: alt.Chart = name.encode(y=alt.value(8 + number * _LABEL_PIXELS))
    return placed


def _axis(trend: pl.DataFrame) -> alt.Axis:
    seconds = (trend["time"].to_list()[-1] - trend["time"].to_list()[0]).total_seconds()
    is_long = abs(seconds) > 2 * 86400
    return alt.Axis(format="%d %b" if is_long else "%d %b %H:%M", grid=False, tickCount=8)


def _groups(review: ObjectiveReview, known: pl.DataFrame) -> list[dict[str, object]]:
    """Return the labels of the groups with the least left now."""
    labels = list(review.objective.group_labels)
    last = (
        known.with_columns(_all=0)
        .sort("time")
        .group_by("_all", *labels)
        .agg(pl.col("budget_left_ratio").last())
    )
    return last.sort("budget_left_ratio", *labels).head(MAX_LINES).drop("_all").to_dicts()


def _points(
    known: pl.DataFrame, group: dict[str, object], labels: Sequence[str]
) -> list[dict[str, float]]:
    """Return the points of one group's line."""
    same = [pl.col(one).eq_missing(pl.lit(group[one], dtype=pl.String)) for one in labels]
    return (
        known.filter(pl.all_horizontal(pl.lit(value=True), *same))
        .select(time=pl.col("time").dt.epoch("ms"), left="budget_left_ratio")
        .sort("time")
        .to_dicts()
    )
