"""Data that came out wrong, and tests that failed by their own word."""

from typing import Any

import polars as pl
import pytest

from collectors.frames import EVENTS, TRANSFERS, SchemaError
from detectors.benchmarks import find_failed_benchmarks
from detectors.corruption import find_corruption
from detectors.verdicts import Verdict, verdicts_of


def transfer(wrong: int | None, **more: Any) -> dict[str, Any]:
    """Return a row of a test."""
    base = {"operation": "all_reduce", "bytes": 1024, "variant": "in_place", "source": "a"}
    return {"wrong_count": wrong, "position": 3, "group": "h1+h2", **base, **more}


def event(kind: str, position: int, group: str | None = "h1+h2", **more: Any) -> dict[str, Any]:
    """Return an event of a test."""
    labels = [{"key": "group", "value": group}] if group else None
    base = {"kind": kind, "position": position, "source": "a", "message": kind}
    return {**base, "attributes": labels, **more}


def frames(
    transfers: list[dict[str, Any]], events: list[dict[str, Any]]
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return rows as frames."""
    return (
        pl.DataFrame(transfers, schema=TRANSFERS).lazy(),
        pl.DataFrame(events, schema=EVENTS).lazy(),
    )


def told(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    """Return kind, level, host, cause and candidates of each finding."""
    found: list[Verdict] = verdicts_of(frame)
    return [(one.kind, one.level, one.subject.host, one.cause, one.alternatives) for one in found]


WRONG = ("numerical", "job", None, "data_corruption")


@pytest.mark.parametrize(
    ("transfers", "events", "expected"),
    [
        pytest.param([transfer(0), transfer(None)], [], [], id="right, or not checked"),
        pytest.param([transfer(3)], [], [(*WRONG, ("h1", "h2"))], id="wrong elements of a size"),
        pytest.param(
            [transfer(3)],
            [event("data_corruption", 9)],
            [(*WRONG, ("h1", "h2"))],
            id="sizes and their sum are one finding",
        ),
        pytest.param(
            [transfer(3), transfer(3, source="b")],
            [],
            [(*WRONG, ("h1", "h2"))] * 2,
            id="two runs are two",
        ),
        pytest.param(
            [transfer(3, group="h1")],
            [],
            [("numerical", "host", "h1", "data_corruption", ())],
            id="a test of one host names it",
        ),
        pytest.param(
            [],
            [event("data_corruption", 9, None, host="h7"), event("data_check", 1)],
            [("numerical", "host", "h7", "data_corruption", ())],
            id="a log of one host names it",
        ),
        pytest.param(
            [transfer(3, group=None, operation=None, variant=None, bytes=None)],
            [],
            [(*WRONG, ())],
            id="nothing else known",
        ),
    ],
)
def test_corruption(
    transfers: list[dict[str, Any]],
    events: list[dict[str, Any]],
    expected: list[tuple[object, ...]],
) -> None:
    """Any wrong element is a finding; no GPU is named."""
    found = find_corruption(*frames(transfers, events))

    assert told(found) == expected
    assert all(one.subject.gpu is None for one in verdicts_of(found))


FAILED = ("job", None, "benchmark_failed")


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param(
            [
                event("benchmark_failure", 1, code="nccl failure", host="h2"),
                event("benchmark_failure", 2, code="failure", host="h1"),
            ],
            [("crash", *FAILED, ("h1", "h2"))],
            id="who complains is a candidate",
        ),
        pytest.param(
            [event("benchmark_failure", 1, code="timeout")],
            [("hang", *FAILED, ())],
            id="a time that ran out",
        ),
        pytest.param(
            [event("benchmark_end", 1, code="below_threshold")],
            [("slow", "job", None, "below_threshold", ("h1", "h2"))],
            id="an average below its limit",
        ),
        pytest.param(
            [event("benchmark_end", 1, "h1", code="below_threshold")],
            [("slow", "host", "h1", "below_threshold", ())],
            id="the same on one host",
        ),
        pytest.param(
            [event("benchmark_end", 1, None, code="below_threshold")],
            [("slow", "job", None, "below_threshold", ())],
            id="the same on nobody knows which",
        ),
        pytest.param(
            [event("benchmark_end", 1), event("benchmark_cut", 2)],
            [],
            id="a good end, and a table that may go on",
        ),
    ],
)
def test_failed_benchmarks(
    events: list[dict[str, Any]], expected: list[tuple[object, ...]]
) -> None:
    """A test that failed is a finding that names nobody."""
    assert told(find_failed_benchmarks(frames([], events)[1])) == expected


def test_other_frames() -> None:
    """A frame of another kind is refused."""
    with pytest.raises(SchemaError, match="columns do not fit"):
        find_corruption(pl.LazyFrame(), frames([], [])[1])
    with pytest.raises(SchemaError, match="columns do not fit"):
        find_failed_benchmarks(pl.LazyFrame())
