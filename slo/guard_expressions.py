"""PromQL of what holds a page back at low traffic: the same arithmetic as `slo.guard_conditions`.

Source: as there. The period's events are read from their record, which is at most one interval of
the budget's group old; everything else is as fresh as the pair itself.
"""

from slo.guard_conditions import normal_quantile
from slo.objectives import Objective
from slo.records import recorded
from slo.windows import BurnWindow, exact, spent_budget


def guard_conditions(objective: Objective, window: BurnWindow) -> list[str]:
    """Return what must hold beside the burn rates of a pair, one expression a condition."""
    guard = objective.guard
    bad = recorded(objective, "bad", window.long_seconds)
    conditions: list[str] = []
    if guard.min_bad_count:
        conditions.append(f"{bad} >= {guard.min_bad_count}")
    if guard.by_traffic:
        period = recorded(objective, "total", objective.period_seconds)
        share = spent_budget(window, objective.period_seconds) * objective.budget
        conditions.append(f"{bad}\n  /\n  ({period} > 0)\n  > {exact(share)}")
    if guard.confidence_ratio is not None:
        total = recorded(objective, "total", window.long_seconds)
        bound = wilson_bound(bad, total, guard.confidence_ratio)
        conditions.append(f"{bound}\n  > {exact(objective.threshold(window))}")
    return conditions


def wilson_bound(bad: str, total: str, confidence_ratio: float) -> str:
    """Return the PromQL of the one-sided lower bound of the true ratio behind bad of total."""
    z = normal_quantile(confidence_ratio)
    ratio = f"clamp_max({bad} / ({total} > 0), 1)"
    center = f"{ratio}\n    + {exact(z**2 / 2)} / {total}"
    variance = f"({ratio} - {ratio} * {ratio}) / {total}"
    least = f"{exact(z**2 / 4)} / {total} / {total}"
    spread = f"{exact(z)} * sqrt(\n      {variance}\n      + {least}\n    )"
    return f"(\n    {center}\n    - {spread}\n  )\n  / (1 + {exact(z**2)} / {total})"
