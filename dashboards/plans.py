"""Boards as tables of panels: one call a panel, one object a board.

This is what a board of your own is written in: what each panel asks and how it shows the answer.
Places, numbers, annotations and links of the fleet's boards come by themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias

from dashboards.fields import Field
from dashboards.jsontree import Json
from dashboards.layout import Section, build_layout
from dashboards.normaliser import build_normal
from dashboards.panels import (
    Caption,
    Columns,
    Plan,
    Query,
    Recipe,
    build_bar_gauge,
    build_heatmap,
    build_stat,
    build_state_timeline,
    build_table,
    build_text,
    build_time_series,
)
from dashboards.variables import Head, build_board

Queries: TypeAlias = Sequence[Query]

STAT_HEIGHT: Final = 4
PLOT_HEIGHT: Final = 8
NOTE_HEIGHT: Final = 5
COLLAPSED_ROWS: Final = frozenset({"Evidence"})
"""Rows that the reader opens: what the others rest on."""

TABLE_FIELD: Final = Field(unit="string")
"""Labels in tables stay as they are; columns of numbers get their units by overrides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPlan:
    """A board as people write it.

    Attributes:
        head: What names it, and how it opens.
        variables: What the reader chooses, the data source and the cluster first.
        rows: Panels by title of their row, in reading order.
        panel_ids: Number of each panel and row by title; given once, never again to another.
        series: Labels of series that it asks beside those that we know, by name.
    """

    head: Head
    variables: tuple[Json, ...]
    rows: Mapping[str, tuple[Plan, ...]]
    panel_ids: Mapping[str, int]
    series: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    def build(self) -> Json:
        """Return the board in its normal form."""
        sections = [
            Section(
                title=title,
                panels=tuple(plan.build() for plan in plans),
                collapsed=title in COLLAPSED_ROWS,
            )
            for title, plans in self.rows.items()
        ]
        board = build_board(self.head, list(self.variables), build_layout(sections))
        return build_normal(board, self.panel_ids)


def now(expr: str, legend: str = "") -> Query:
    """Return a query of what holds now; tables need no legend."""
    return Query(expr=expr, legend=legend, instant=True)


def over(expr: str, legend: str) -> Query:
    """Return a query over the range."""
    return Query(expr=expr, legend=legend)


def plan_stat(title: str, width: int, what: str, queries: Queries, field: Field) -> Plan:
    """Return one number a query on a coloured ground.

    Args:
        title: Unique on the board.
        width: Grid columns, of 24.
        what: What to do with what one sees, in one or two sentences.
        queries: Of what holds now.
        field: Unit and steps.
    """
    return _plan(build_stat, _caption(title, width, what, STAT_HEIGHT), queries, field)


def plan_bars(title: str, width: int, what: str, queries: Queries, field: Field) -> Plan:
    """Return horizontal bars, one a series, in the order of the query; as `plan_stat`."""
    return _plan(build_bar_gauge, _caption(title, width, what), queries, field)


def plan_lines(title: str, width: int, what: str, queries: Queries, field: Field) -> Plan:
    """Return lines over time for up to eight series; as `plan_stat`, with queries over time."""
    return _plan(build_time_series, _caption(title, width, what), queries, field)


def plan_many_lines(title: str, width: int, what: str, queries: Queries, field: Field) -> Plan:
    """Return lines over time beside a table of them; as `plan_lines`."""
    recipe = partial(build_time_series, many=True)
    return _plan(recipe, _caption(title, width, what), queries, field)


def plan_events(title: str, width: int, what: str, queries: Queries, field: Field) -> Plan:
    """Return bars over time, for what happens seldom; as `plan_lines`."""
    recipe = partial(build_time_series, bars=True)
    return _plan(recipe, _caption(title, width, what), queries, field)


def plan_heatmap(title: str, width: int, what: str, queries: Queries, field: Field) -> Plan:
    """Return a row a series over time; the field's limits are the ends of the colour scale."""
    return _plan(build_heatmap, _caption(title, width, what), queries, field)


def plan_lanes(title: str, width: int, what: str, queries: Queries, field: Field) -> Plan:
    """Return a lane of states a series; the field has a word for each state."""
    return _plan(build_state_timeline, _caption(title, width, what), queries, field)


def plan_table(title: str, width: int, what: str, queries: Queries, columns: Columns) -> Plan:
    """Return a table that joins answers of now on the labels that they share."""
    shown = replace(TABLE_FIELD, links=columns.links)
    recipe = partial(build_table, columns=columns)
    return _plan(recipe, _caption(title, width, what), queries, shown)


def plan_note(title: str, width: int, what: str, markdown: str) -> Plan:
    """Return a note in Markdown."""
    return _plan(_build_note(markdown), _caption(title, width, what), (), TABLE_FIELD)


def taller(plan: Plan, height: int) -> Plan:
    """Return the plan with another height, in grid rows."""
    return replace(plan, caption=replace(plan.caption, height=height))


def _build_note(markdown: str) -> Recipe:
    def build(caption: Caption, _queries: Queries, _field: Field) -> Json:
        return build_text(caption, markdown)

    return build


def _caption(title: str, width: int, what: str, height: int = PLOT_HEIGHT) -> Caption:
    return Caption(title=title, description=what, width=width, height=height)


def _plan(recipe: Recipe, caption: Caption, queries: Queries, field: Field) -> Plan:
    return Plan(recipe=recipe, caption=caption, queries=tuple(queries), field=field)
