"""Rank by time: how much longer each rank works than its role's median, as a map of colours.

One row a rank, one column a bin of time. A straggler is a row, a sick node a block of rows, a
trouble of all ranks a column. The cells are one small picture; axes and marks are drawn over it.
"""

import json
from collections.abc import Sequence
from typing import Final

import altair as alt
import polars as pl

from alerts.incidents import Incident
from alerts.titles import subject_text
from detectors.verdicts import Verdict
from paceline.reports.drawing import (
    ALARM,
    HEALTHY,
    WIDTH_PIXELS,
    Drawing,
    png_uri_of,
    side_label,
)
from paceline.reports.suspect_places import rank_rows
from paceline.reports.time_axis import MAX_BINS, TimeAxis, marks_on

RATIO_STOPS: Final = (1.05, 1.15, 1.25, 1.4)
"""Ratios to the role's median at which the colours stand; below the first a cell is as healthy as
the ground, beyond the last all is one colour."""
RATIO_COLORS: Final = ("#fed7aa", "#fb923c", "#dc4a12", "#8f1d1d")
MISSING_COLOR: Final = "#a3acba"
"""Between the grounds of light and dark pages, so that no report is told from healthy on both."""

_ROLE: Final = ("run", "attempt", "measure", "pp", "ep", "model", "step")
_MIN_RANKS: Final = 2
_COLUMN_STEPS: Final = 4
_MAX_LABELS: Final = 12
_MIN_HEIGHT_PIXELS: Final = 110
_MAX_HEIGHT_PIXELS: Final = 360
_ROW_PIXELS: Final = 5


def rank_map(
    paces: pl.DataFrame, axis: TimeAxis, incidents: Sequence[Incident], *, prefix: str
) -> str | None:
    """Return the map of a run's ranks as SVG; null when fewer than two ranks report.

    Args:
        paces: `PACES` of one run.
        axis: The run's axis.
        incidents: What to mark; rows of their first suspects are bracketed and named.
        prefix: Unique in the page.
    """
    drawn = rank_drawing(paces, axis, incidents)
    return None if drawn is None else drawn.svg(prefix)


def rank_drawing(
    paces: pl.DataFrame, axis: TimeAxis, incidents: Sequence[Incident]
) -> Drawing | None:
    """Return the map of a run's ranks.

    Args:
        paces: `PACES` of one run.
        axis: The run's axis.
        incidents: What to mark; rows of their first suspects are bracketed and named.

    Returns:
        The drawing, with the cells as a picture in it; null when fewer than two ranks report.
    """
    ranks: list[int] = paces["rank"].drop_nulls().unique().sort().to_list()
    cells = rank_cells(paces, axis)
    if len(ranks) < _MIN_RANKS or cells.height == 0:
        return None
    height = min(_MAX_HEIGHT_PIXELS, max(_MIN_HEIGHT_PIXELS, _ROW_PIXELS * len(ranks)))
    suspects = [one.suspects[0] for one in incidents if one.suspects]
    layers = (
        _rows(ranks, axis),
        _picture(cells, height),
        *(layer for one in suspects for layer in _bracket(paces, ranks, one)),
        *marks_on(axis, incidents),
    )
    return Drawing(layers=layers, height=height)


def rank_cells(paces: pl.DataFrame, axis: TimeAxis) -> pl.DataFrame:
    """Return the cells of the map.

    Args:
        paces: `PACES` of one run; a null pace is a step not reported.
        axis: The run's axis.

    Returns:
        `row` (the rank's place among all ranks, from 0), `column` and `ratio` (median over the
        bin's steps of the rank's pace to its role's median, above 1 is slow), by row and column:
        every cell of the map; a null ratio is no report.
    """
    pace = pl.col("pace_seconds")
    middle = pace.median().over(_ROLE)
    less_is_worse = pl.col("measure") == "wait"
    ratio = pl.when(less_is_worse).then(middle / pace).otherwise(pace / middle)
    place = pl.col("rank").rank("dense").cast(pl.Int32) - 1
    known = paces.drop_nulls("rank").with_columns(x=axis.column("end_time"), ratio=ratio, row=place)
    columns = column_count(paces)
    told = (
        known.filter(pl.col("ratio").is_finite(), pl.col("x").is_not_null())
        .group_by("row", column=axis.bin_of(pl.col("x"), columns))
        .agg(pl.col("ratio").median())
    )
    grid = known.select(pl.col("row").unique()).join(
        pl.DataFrame({"column": range(columns)}, schema={"column": pl.Int32}), how="cross"
    )
    return grid.join(told, on=["row", "column"], how="left").sort("row", "column")


def column_count(paces: pl.DataFrame) -> int:
    """Return how many columns a map has: some steps each, so that a pause leaves none empty."""
    return min(MAX_BINS, max(1, paces["step"].n_unique() // _COLUMN_STEPS))


def _rows(ranks: Sequence[int], axis: TimeAxis) -> alt.Chart:
    """Return the ground of the map: the colour of healthy, and an axis that names ranks."""
    ends = {"x": axis.start, "x2": axis.end, "y": -0.5, "y2": len(ranks) - 0.5}
    step = max(1, -(-len(ranks) // _MAX_LABELS))
    names = json.dumps([str(rank) for rank in ranks])
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[-0.5, len(ranks) - 0.5], reverse=True, nice=False),
        axis=alt.Axis(
            values=list(range(0, len(ranks), step)), labelExpr=f"{names}[datum.value]", grid=False
        ),
        title="rank",
    )
    ground = alt.Chart({"values": [ends]}).mark_rect(color=HEALTHY)
    placed: alt.Chart = ground.encode(x=axis.encoding(), x2="x2:Q", y=y, y2="y2:Q")
    return placed


def _picture(cells: pl.DataFrame, height: int) -> alt.Chart:
    """Return the cells that are no healthy ones, a pixel each, stretched over the whole plot."""
    columns, rows = (cells[name].n_unique() for name in ("column", "row"))
    colors = alt.Scale(domain=list(RATIO_STOPS), range=list(RATIO_COLORS), clamp=True)
    shown = cells.filter(pl.col("ratio").is_null() | (pl.col("ratio") >= RATIO_STOPS[0]))
    base = alt.Chart(
        {"values": shown.to_dicts()}, width=columns, height=rows, background="transparent"
    )
    color = alt.when("datum.ratio === null").then(alt.value(MISSING_COLOR))
    pixels = base.mark_rect(strokeWidth=0, invalid=None).encode(
        x=alt.X("column:O", axis=None, scale=_bands(columns)),
        y=alt.Y("row:O", axis=None, scale=_bands(rows)),
        color=color.otherwise(alt.Color("ratio:Q", scale=colors, legend=None)),
    )
    image = alt.Chart({"values": [{}]}).mark_image(
        width=WIDTH_PIXELS, height=height, aspect=False, align="left", baseline="top"
    )
    uri = alt.value(png_uri_of(pixels))
    placed: alt.Chart = image.encode(x=alt.value(0), y=alt.value(0), url=uri)
    return placed


def _bands(count: int) -> alt.Scale:
    """Return a scale of so many bands of a pixel each, whether or not each has a cell."""
    return alt.Scale(domain=list(range(count)), paddingInner=0, paddingOuter=0)


def _bracket(paces: pl.DataFrame, ranks: Sequence[int], suspect: Verdict) -> list[alt.Chart]:
    """Return a bracket beside the suspect's rows, and its name."""
    own = paces.filter(rank_rows(suspect))["rank"].drop_nulls().unique()
    places = [at for at, rank in enumerate(ranks) if rank in set(own)]
    if not places:
        return []
    span = {"y": min(places) - 0.5, "y2": max(places) + 0.5}
    bar = alt.Chart({"values": [span]}).mark_rule(color=ALARM, strokeWidth=4)
    middle = sum(places) / len(places)
    name = side_label(subject_text(suspect), ALARM, y=middle)
    return [
        bar.encode(x=alt.value(WIDTH_PIXELS + 5), y=alt.Y("y:Q"), y2="y2:Q"),
        name.encode(y=alt.Y("y:Q")),
    ]
