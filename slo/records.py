"""Names of what rules record, and selectors of it.

Source: Prometheus, "Recording rules", naming: level, metric, operation. Every objective has the
same names and a label `objective` of its own, so that one panel can draw any of them.
"""

from typing import Final, Literal

from slo.objectives import Objective
from slo.selectors import quoted
from slo.windows import duration

BUDGET: Final = "paceline_slo:budget:ratio"
"""The error budget: the share of events (0-1) that may be bad."""
BUDGET_LEFT: Final = "paceline_slo:budget_left:ratio"
"""What is left of the period's budget: 1 is untouched, 0 is spent, below is overspent."""
PERIOD_BURN: Final = "paceline_slo:period_burn:ratio"
"""Burn rate over the whole period: above 1 the objective is missed."""

Piece = Literal["slice", "sample"]


def record_name(events: str, range_seconds: int) -> str:
    """Return the name of recorded `bad` or `total` events over a window."""
    return f"paceline_slo:{events}:increase{duration(range_seconds)}"


def recorded(objective: Objective, events: str, range_seconds: int) -> str:
    """Return the selector of an objective's recorded events over a window."""
    return of_objective(objective, record_name(events, range_seconds))


def piece_name(events: str, piece: Piece) -> str:
    """Return the name of what is recorded of single slices or samples."""
    return f"paceline_slo:{events}:{piece}"


def recorded_pieces(objective: Objective, events: str, piece: Piece) -> str:
    """Return the selector of an objective's recorded slices or samples."""
    return of_objective(objective, piece_name(events, piece))


def of_objective(objective: Objective, record: str) -> str:
    """Return the selector of an objective's series of a record."""
    return f"{record}{{objective={quoted(objective.name)}}}"
