"""The list of boards, and their text as it is committed and shipped."""

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from dashboards.budgets import board as budgets
from dashboards.device import board as device
from dashboards.exporters.choices import Sources, build_sources
from dashboards.fabric import board as fabric
from dashboards.fleet import board as fleet
from dashboards.incident import board as incident
from dashboards.job import board as job
from dashboards.jsontree import Json
from dashboards.lemon import board as lemon
from dashboards.plans import BoardPlan

# One line a board, by uid. A uid is never used again for another board.
BOARDS: Mapping[str, Callable[[Sources], BoardPlan]] = MappingProxyType(
    {
        device.UID: device.build_device_plan,
        fabric.UID: fabric.build_fabric_plan,
        fleet.UID: fleet.build_fleet_plan,
        incident.UID: incident.build_incident_plan,
        job.UID: lambda _sources: job.JOB_PLAN,
        lemon.UID: lemon.build_lemon_plan,
        budgets.UID: lambda _sources: budgets.BUDGET_PLAN,
    }
)


def build_board_trees(sources: Sources | None = None) -> dict[str, Json]:
    """Return every board as plain JSON, by uid.

    Args:
        sources: The exporters to build for; None is the committed choice.
    """
    chosen = sources or build_sources()
    return {uid: build(chosen).build() for uid, build in sorted(BOARDS.items())}


def build_boards(sources: Sources | None = None) -> dict[str, str]:
    """Return every board's text by uid: sorted keys, two spaces, a final newline."""
    return {uid: build_text(board) for uid, board in build_board_trees(sources).items()}


def build_text(board: Json) -> str:
    """Return the one text that a board has."""
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
