"""What a rule of the lint gets to see, and what it says."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import promql_parser

from dashboards.jsontree import Json, data_panels_of, variables_of
from dashboards.queries import QueryError, UnknownVariableError, fill_in, parse_query


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One breach, before it is known of which rule.

    Attributes:
        message: What was found, and the way out.
        panel: Id of the panel; None when it is the board's own.
    """

    message: str
    panel: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One query of a panel, parsed.

    Attributes:
        panel: The panel that asks.
        tree: The target as it stands in the board.
        expr: Its syntax tree; None when it is no PromQL.
        error: Why it is no PromQL; empty when it is.
    """

    panel: Json
    tree: Json
    expr: promql_parser.Expr | None
    error: str


@dataclass(frozen=True, kw_only=True)
class Board:
    """One board with its siblings in view.

    Attributes:
        uid: Under which it is listed.
        tree: The board.
        siblings: All boards by uid, this one too.
        known: Labels by name of every series that it may ask.
    """

    uid: str
    tree: Json
    siblings: Mapping[str, Json]
    known: Mapping[str, frozenset[str]]

    @cached_property
    def samples(self) -> dict[str, str]:
        """A recognisable value for each variable of the board."""
        return {name: sample_of(name) for name in variables_of(self.tree)}

    @cached_property
    def targets(self) -> list[Target]:
        """Every query of every data panel."""
        return list(self._read_targets())

    def parsed(self) -> Iterator[tuple[Target, promql_parser.Expr]]:
        """Yield the queries that are PromQL; `target-promql-rule` names the others."""
        for target in self.targets:
            if target.expr is not None:
                yield target, target.expr

    def parse(self, text: str) -> promql_parser.Expr:
        """Return the syntax tree of a text with the board's variables.

        Raises:
            UnknownVariableError: It names a variable that the board does not have.
            QueryError: It is not PromQL.
        """
        return parse_query(fill_in(text, self.samples))

    def _read_targets(self) -> Iterator[Target]:
        for panel in data_panels_of(self.tree):
            for tree in panel.get("targets", []):
                try:
                    expr, error = self.parse(tree.get("expr", "")), ""
                except (QueryError, UnknownVariableError) as problem:
                    expr, error = None, str(problem.args[0])
                yield Target(panel=panel, tree=tree, expr=expr, error=error)


def sample_of(variable: str) -> str:
    """Return the value that stands for a variable while a board is checked."""
    return f"sample_{variable}"
