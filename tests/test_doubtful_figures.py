"""Figures that cannot be: one finding a run and kind of figure."""

import polars as pl

from collectors.frames import EVENTS, conform
from detectors.doubtful_figures import find_doubtful_figures


def test_doubtful_figures() -> None:
    """Warnings of readers become findings, folded by run; other warnings are none."""
    rows = [
        {"run": "a", "kind": "warning", "code": "step_timer", "position": at, "message": "m"}
        for at in (1, 2)
    ]
    rows.append({"run": "b", "kind": "warning", "code": "resumed_rate", "message": "m"})
    rows.append({"run": "c", "kind": "warning", "code": "other", "message": "m"})
    found = find_doubtful_figures(conform(pl.LazyFrame(rows), EVENTS)).to_dicts()
    assert [(one["kind"], one["subject"]["run"], one["cause"]) for one in found] == [
        ("telemetry_lost", "a", "step_timer"),
        ("telemetry_lost", "b", "resumed_rate"),
    ]


def test_what_a_store_leaves_out_is_told() -> None:
    """A sample is sure; a stop may be a stall as well as a rollback."""
    rows = [
        {"run": "a", "kind": "warning", "code": code, "position": 1, "message": "m"}
        for code in ("step_stop", "sampled", "steps_not_logged")
    ]
    found = find_doubtful_figures(conform(pl.LazyFrame(rows), EVENTS)).to_dicts()
    assert sorted((one["cause"], one["confidence"]) for one in found) == [
        ("sampled", "high"),
        ("step_stop", "medium"),
        ("steps_not_logged", "high"),
    ]
