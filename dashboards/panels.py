"""Recipes of panels: what each kind of picture needs so that it says what we mean.

Each recipe returns a plain panel without id and place; the board's table and layout add those.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dashboards.fields import NO_DATA_TEXT, Field, build_defaults, build_steps
from dashboards.grafana import build_object, build_own_panel, build_plain
from dashboards.jsontree import Json
from dashboards.queries import LABEL_IN_LEGEND

# Above this many series a list below the plot no longer fits and a table stands at its right.
MAX_LISTED_SERIES = 8
# Grafana's own 150 pixels push the last columns of a wide table out of sight.
MIN_COLUMN_PIXELS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """What stands around a panel.

    Attributes:
        title: Unique on its board; the table of ids names the panel by it.
        description: What to do with what one sees, in one or two sentences.
        width: Grid columns, of 24.
        height: Grid rows.
    """

    title: str
    description: str
    width: int
    height: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One PromQL query of a panel.

    Attributes:
        expr: PromQL with the board's variables.
        legend: Name of a series, with labels in double braces; empty only for tables.
        instant: Ask for the newest value alone. A query over the range keeps showing the last
            value of a source that has died, so whatever speaks of now must be instant.
    """

    expr: str
    legend: str = ""
    instant: bool = False


Recipe: TypeAlias = Callable[[Caption, Sequence[Query], Field], Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One panel of a board as a row of its table.

    Attributes:
        recipe: Which picture; options of a recipe are bound by `functools.partial`.
        caption: What stands around it.
        queries: What it asks.
        field: How it shows the answers.
    """

    recipe: Recipe
    caption: Caption
    queries: tuple[Query, ...]
    field: Field

    def build(self) -> Json:
        """Return the panel, without id and place."""
        return self.recipe(self.caption, self.queries, self.field)


def build_stat(caption: Caption, queries: Sequence[Query], field: Field) -> Json:
    """Return one number a query, on a coloured ground."""
    return build_plain(
        "Stat",
        **_frame(caption, queries),
        colorMode="background",
        graphMode="none",
        reduceCalc="lastNotNull",
        noValue=NO_DATA_TEXT,
        format=field.unit,
        thresholds=build_steps(field.steps, field.base),
        extraJson={"fieldConfig": {"defaults": build_defaults(field)}},
    )


def build_bar_gauge(caption: Caption, queries: Sequence[Query], field: Field) -> Json:
    """Return horizontal bars, one a series, in the order of the query."""
    options: Json = {
        "displayMode": "basic",
        "legend": {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": False},
        "maxVizHeight": 300,
        "minVizHeight": 16,
        "minVizWidth": 8,
        "namePlacement": "left",
        "orientation": "horizontal",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "showUnfilled": True,
        "sizing": "auto",
        "valueMode": "color",
    }
    config = {"defaults": build_defaults(field)}
    shape: Json = {"type": "bargauge", "options": options, "fieldConfig": config}
    return build_own_panel(shape, **_frame(caption, queries))


def build_time_series(
    caption: Caption,
    queries: Sequence[Query],
    field: Field,
    *,
    many: bool = False,
    bars: bool = False,
) -> Json:
    """Return lines over time, with the thresholds as dashed lines.

    Args:
        caption: What stands around it.
        queries: One or more queries, each with a legend.
        field: Unit, limits and thresholds; links are kept, words are not used.
        many: Whether more than `MAX_LISTED_SERIES` series are usual; the legend is then a table.
        bars: Whether each value stands for itself, as counts of rare events do.
    """
    defaults = build_defaults(field) | {"color": {"mode": "palette-classic"}}
    return build_plain(
        "TimeSeries",
        **_frame(caption, queries),
        unit=field.unit,
        drawStyle="bars" if bars else "line",
        fillOpacity=80 if bars else 0,
        lineWidth=1,
        showPoints="never",
        legendDisplayMode="table" if many else "list",
        legendPlacement="right" if many else "bottom",
        legendCalcs=["lastNotNull", "max"],
        tooltipMode="multi",
        tooltipSort="desc",
        thresholdsStyleMode="dashed" if field.steps else "off",
        extraJson={"fieldConfig": {"defaults": defaults}},
    )


def build_heatmap(
    caption: Caption, queries: Sequence[Query], field: Field, *, reverse: bool = False
) -> Json:
    """Return one row a series over time, coloured by value on a fixed scale.

    Args:
        caption: What stands around it.
        queries: Over the range; rows sort by number when every legend is a number alone.
        field: Unit, and the two ends of the colour scale.
        reverse: Whether the low end is the one that should stand out.
    """
    options: Json = {
        "calculate": False,
        "cellGap": 0,
        "cellValues": {"unit": field.unit, "decimals": field.decimals},
        "color": _color_scale(field, reverse=reverse),
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto", "value": caption.title},
        "showValue": "never",
        "tooltip": {"mode": "single", "showColorScale": True, "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "axisLabel": _named_labels(queries[0].legend)},
    }
    shape: Json = {
        "type": "heatmap",
        "options": options,
        "fieldConfig": {"defaults": {"custom": {"scaleDistribution": {"type": "linear"}}}},
    }
    return build_own_panel(shape, **_frame(caption, queries, max_data_points=1000))


def _named_labels(legend: str) -> str:
    """Return the labels of a legend, for an axis whose rows are named by it."""
    return ", ".join(LABEL_IN_LEGEND.findall(legend))


def _color_scale(field: Field, *, reverse: bool) -> Json:
    return {
        "mode": "scheme",
        "scheme": "Oranges",
        "scale": "linear",
        "exponent": 0.5,
        "fill": "dark-orange",
        "steps": 64,
        "reverse": reverse,
        "min": field.min_value,
        "max": field.max_value,
    }


def build_state_timeline(caption: Caption, queries: Sequence[Query], field: Field) -> Json:
    """Return one lane a series, coloured by state; every state of `field.mappings` has a word."""
    return build_plain(
        "StateTimeline",
        **_frame(caption, queries),
        mappings=list(field.mappings),
        tooltipMode="multi",
        extraJson={
            "options": {"perPage": 25},
            "fieldConfig": {"defaults": build_defaults(field)},
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """How the answers of a table's queries become its columns.

    Attributes:
        order: Fields from left to right: labels by their name, values as `Value #A`, `Value #B`.
        names: New heads of fields.
        overrides: Looks of single columns, by new head.
        sort_by: Head of the column whose largest value stands on top.
        links: Where a click on a row leads.
        hidden: Fields that only join the answers.
    """

    order: tuple[str, ...]
    names: dict[str, str]
    overrides: tuple[Json, ...]
    sort_by: str
    links: tuple[Json, ...] = ()
    hidden: tuple[str, ...] = ()


def build_table(caption: Caption, queries: Sequence[Query], field: Field, columns: Columns) -> Json:
    """Return a table that joins the answers of instant queries on the labels that they share.

    Args:
        caption: What stands around it.
        queries: Instant queries with the same labels.
        field: Looks of all columns. Its unit is best `string`: any other one writes a label that
            looks like a number, such as a rank, with digits after the point.
        columns: Order, heads and looks of single columns.
    """
    custom: Json = {"inspect": False, "minWidth": MIN_COLUMN_PIXELS}
    merge: Json = {"id": "merge", "options": {}}
    organize: Json = {
        "id": "organize",
        "options": {
            "excludeByName": dict.fromkeys(("Time", *columns.hidden), True),
            "includeByName": {},
            "indexByName": {name: index for index, name in enumerate(columns.order)},
            "renameByName": columns.names,
        },
    }
    return build_plain(
        "Table",
        **_frame(caption, queries, result_format="table"),
        unit=field.unit,
        overrides=list(columns.overrides),
        sortBy=[build_object("TableSortByField", displayName=columns.sort_by, desc=True)],
        transformations=[merge, organize],
        extraJson={"fieldConfig": {"defaults": build_defaults(field) | {"custom": custom}}},
    )


def build_text(caption: Caption, markdown: str) -> Json:
    """Return a note in Markdown; never HTML, which Grafana would have to be told to trust."""
    return build_plain("Text", **_frame(caption, []), content=markdown, mode="markdown")


def _frame(
    caption: Caption,
    queries: Sequence[Query],
    *,
    max_data_points: int | None = None,
    result_format: str = "time_series",
) -> Json:
    targets = [
        build_plain(
            "Target",
            expr=query.expr,
            legendFormat=query.legend,
            instant=query.instant,
            format=result_format,
        )
        for query in queries
    ]
    return {
        "title": caption.title,
        "description": caption.description,
        "gridPos": {"x": 0, "y": 0, "w": caption.width, "h": caption.height},
        "maxDataPoints": max_data_points,
        "targets": targets,
    }
