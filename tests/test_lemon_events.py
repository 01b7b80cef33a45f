"""Scores open into their events: what each failure adds, and the signals and repairs beside."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest

from collectors.frames import ALIASES, EVENTS, JOBS, PLACEMENTS, conform
from detectors.lemon_events import SCORE_EVENTS, find_score_events
from detectors.lemon_histories import Records
from detectors.lemon_params import LemonParams
from detectors.lemons import LemonReview, review_lemons

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
GPU = {"device_kind": "gpu", "device": "GPU-g"}


def review(events: list[dict[str, Any]], failed: tuple[int, ...]) -> LemonReview:
    """Sixteen nodes with a job a day each; those of n1 and n2 together fail on some days."""
    jobs = [
        {"run": f"{host}.{day}", "start": START + day * DAY, "end": START + (day + 1) * DAY}
        | {"attempt": 0, "state": "COMPLETED", "hosts": [f"n{host}"]}
        for day in range(30)
        for host in range(16)
    ]
    jobs += [
        {"run": f"big.{day}", "start": START + day * DAY, "end": START + (day + 0.5) * DAY}
        | {"attempt": 0, "state": "NODE_FAIL", "hosts": ["n1", "n2"]}
        for day in failed
    ]
    frames = [
        conform(pl.LazyFrame(rows, schema_overrides=schema), schema)
        for rows, schema in ((jobs, JOBS), ([], PLACEMENTS), (events, EVENTS), ([], ALIASES))
    ]
    told = dict(zip(("jobs", "placements", "events", "aliases"), frames, strict=True))
    return review_lemons(Records(**told), LemonParams())


def xid(day: float, **more: Any) -> dict[str, Any]:
    """An Xid of node n1."""
    told = {"kind": "xid", "code": "79", "severity": "critical", "host": "n1"}
    return told | {"time": START + day * DAY, "source": "kern.log"} | more


def opened(found: LemonReview) -> pl.DataFrame:
    """All events of all scores."""
    assert found.history is not None
    return find_score_events(found.history, LemonParams().history.decay)


def test_what_a_score_is_made_of() -> None:
    """Named and shared failures, signals and repairs are told; failures sum to the score's part."""
    events = [xid(4.499), xid(9.0), xid(6.0, kind="repair", code=None, message="riser")]
    found = review(events, failed=(4, 12))
    told = opened(found)
    (failures,) = found.ranking.filter(pl.col("host") == "n1")["failures"]
    of_n1 = told.filter(pl.col("host") == "n1")

    assert told.schema == SCORE_EVENTS
    assert of_n1["kind"].value_counts().sort("kind").rows() == [
        ("failure", 2),
        ("repair", 1),
        ("signal", 2),
    ]
    assert of_n1.filter(pl.col("kind") == "failure").select("run", "is_named").rows() == [
        ("big.12", False),
        ("big.4", True),
    ]
    assert of_n1["counts"].sum() == pytest.approx(failures)


def test_parts_have_scores_of_their_own() -> None:
    """A failure that names a GPU is behind the score of the GPU and of its node."""
    found = review([xid(day + 0.499, **GPU) for day in (2, 9, 20)], failed=(2, 9, 20))
    told = opened(found).filter(pl.col("kind") == "failure", pl.col("host") == "n1")

    assert told.group_by("part").len().sort("part").rows() == [(None, 3), ("GPU-g", 3)]


def test_nothing_happened() -> None:
    """Where nothing failed no score has an event."""
    assert opened(review([], failed=())).is_empty()
