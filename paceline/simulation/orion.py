"""Simulate ORION-256 under a scenario, and write what its sources would have written.

The cluster is ILLUSTRATIVE: never built, its figures chosen. Nothing here is shared with the
readers or the detectors: the files are the only thing between them.
"""

from collections.abc import Callable
from pathlib import Path

from paceline.simulation.fabric_infiniband import write_infiniband_page
from paceline.simulation.fabric_roce import write_roce_pages
from paceline.simulation.gpus import write_gpu_pages
from paceline.simulation.lockstep import run_timeline
from paceline.simulation.nccl_logs import write_nccl_logs
from paceline.simulation.plan import plan_simulation
from paceline.simulation.progress_files import write_progress
from paceline.simulation.scenarios import (
    SCENARIOS,
    OrionParams,
    Scenario,
    UnknownScenarioError,
    scenario_named,
)
from paceline.simulation.truth import Truth, tell_truth, write_truth
from paceline.simulation.workload import draw_work

__all__ = [
    "SCENARIOS",
    "OrionParams",
    "Scenario",
    "Truth",
    "UnknownScenarioError",
    "simulate",
]


def _say_nothing(text: str) -> None:
    """Take a line of progress and drop it."""


def simulate(
    scenario: str,
    out: Path,
    *,
    seed: int,
    params: OrionParams | None = None,
    say: Callable[[str], None] = _say_nothing,
) -> Truth:
    """Write a scenario's sources below `out/sources`, and what was planted to `out/truth.json`.

    Args:
        scenario: Name of one of `SCENARIOS`.
        out: The folder to write into; made when it isn't there.
        seed: The same seed writes the same bytes.
        params: Size, rhythm and noise of the cluster; null takes the defaults.
        say: Called with a line of text after each part is written.

    Returns:
        What was planted.

    Raises:
        UnknownScenarioError: No scenario is called so.
        ValueError: The parameters do not fit together.
    """
    plan = plan_simulation(scenario_named(scenario), params or OrionParams(), seed)
    timeline = run_timeline(plan, draw_work(plan))
    sources = out / "sources"
    write_progress(plan, timeline, sources / "progress", say)
    write_gpu_pages(plan, timeline, sources / "dcgm", say)
    write_fabric = write_roce_pages if plan.scenario.fabric == "roce" else write_infiniband_page
    write_fabric(plan, timeline, sources / "fabric", say)
    write_nccl_logs(plan, timeline, sources / "nccl", say)
    truth = tell_truth(plan, timeline)
    write_truth(out / "truth.json", truth)
    return truth
