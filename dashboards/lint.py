"""Checks boards against the rules of the house, each by its name.

A rule that grafana/dashboard-linter (Apache-2.0) has as well keeps its name there; the code is
ours. Rules look at one board with its siblings in view, and say the way out of what they find.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from dashboards import lint_boards, lint_panels, lint_queries, lint_values
from dashboards.exporters.choices import KNOWN_SERIES
from dashboards.jsontree import Json
from dashboards.linted import Board, Problem

Rule: TypeAlias = Callable[[Board], Iterator[Problem]]

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "board-annotation-rule": lint_boards.check_annotations,
        "board-link-rule": lint_boards.check_links,
        "board-normal-form-rule": lint_boards.check_normal_form,
        "board-refresh-rule": lint_boards.check_refresh,
        "board-size-rule": lint_boards.check_size,
        "board-title-rule": lint_boards.check_title,
        "board-uid-rule": lint_boards.check_uid,
        "panel-datasource-rule": lint_panels.check_data_sources,
        "panel-grid-rule": lint_panels.check_grid,
        "panel-heatmap-rule": lint_panels.check_heatmaps,
        "panel-html-rule": lint_panels.check_texts,
        "panel-id-rule": lint_panels.check_ids,
        "panel-no-data-rule": lint_values.check_no_data,
        "panel-no-targets-rule": lint_panels.check_targets,
        "panel-reducer-rule": lint_values.check_reducers,
        "panel-stale-rule": lint_values.check_staleness,
        "panel-state-rule": lint_values.check_states,
        "panel-threshold-rule": lint_values.check_thresholds,
        "panel-title-description-rule": lint_panels.check_captions,
        "panel-transformation-rule": lint_values.check_transformations,
        "panel-type-rule": lint_panels.check_types,
        "panel-units-rule": lint_values.check_units,
        "string-null-rule": lint_values.check_string_nulls,
        "target-cluster-rule": lint_queries.check_clusters,
        "target-counter-agg-rule": lint_queries.check_counters,
        "target-legend-rule": lint_queries.check_legends,
        "target-metric-rule": lint_queries.check_metrics,
        "target-promql-rule": lint_queries.check_promql,
        "target-rate-interval-rule": lint_queries.check_rate_intervals,
        "target-topk-rule": lint_queries.check_topk,
        "target-zero-fill-rule": lint_queries.check_zero_fill,
        "template-datasource-rule": lint_boards.check_source_variable,
        "template-label-promql-rule": lint_queries.check_variable_queries,
        "template-on-time-change-reload-rule": lint_boards.check_variable_reload,
        "uneditable-dashboard": lint_boards.check_editable,
    }
)

LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "target-instance-rule": "series name a node, not the process that reports it",
        "target-job-rule": "`job` is Prometheus' scrape label; target-cluster-rule stands for it",
        "target-logql-auto-rule": "no board asks Loki; panel-datasource-rule would refuse it",
        "target-logql-rule": "no board asks Loki; panel-datasource-rule would refuse it",
        "template-instance-rule": "as target-instance-rule",
        "template-job-rule": "as target-job-rule",
    }
)
"""Rules of the upstream linter that we do not apply, and why."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Finding:
    """One breach of a rule.

    Attributes:
        board: Its uid.
        panel: Id of the panel; None when it is the board's own.
        rule: Name of the rule in `RULES`.
        message: What was found, and the way out.
    """

    board: str
    panel: int | None
    rule: str
    message: str

    def __str__(self) -> str:
        """Return the finding as one line."""
        place = self.board if self.panel is None else f"{self.board} panel {self.panel}"
        return f"{place}: {self.message} [{self.rule}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """A panel that may break a rule.

    Attributes:
        board: Uid of its board.
        panel: Its id; None for the board itself.
        rule: Name of the rule in `RULES`.
        reason: Why the rule is wrong here.
    """

    board: str
    panel: int | None
    rule: str
    reason: str


EXEMPTIONS: tuple[Exemption, ...] = ()


def check_boards(
    boards: Mapping[str, Json],
    exemptions: Sequence[Exemption] = EXEMPTIONS,
    known: Mapping[str, frozenset[str]] = KNOWN_SERIES,
) -> list[Finding]:
    """Return every breach of every rule, by board, rule and place on the board.

    Args:
        boards: The whole set by uid, since links and titles are checked across it.
        exemptions: Breaches that are meant.
        known: Labels by name of every series that a board may ask.
    """
    meant = {(exempt.board, exempt.panel, exempt.rule) for exempt in exemptions}
    return [
        finding
        for uid in sorted(boards)
        for finding in _findings(Board(uid=uid, tree=boards[uid], siblings=boards, known=known))
        if (finding.board, finding.panel, finding.rule) not in meant
    ]


def _findings(board: Board) -> Iterator[Finding]:
    for name, rule in RULES.items():
        for problem in rule(board):
            yield Finding(board=board.uid, panel=problem.panel, rule=name, message=problem.message)
