"""Runs that skip their steps: how mixed precision begins, and how a run stops to train."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, STEPS, SchemaError, conform
from detectors.quiet.skipped_steps import SkipParams, find_skipped_steps

START = datetime(2026, 1, 5, tzinfo=UTC)
NO_EVENTS = EVENTS.to_frame().lazy()


def job(skipped: Sequence[int | None], interval: int = 10) -> pl.LazyFrame:
    """One report every `interval` steps, with the steps that were skipped since the last."""
    count = len(skipped)
    columns: dict[str, Any] = {
        "run": ["r"] * count,
        "attempt": [0] * count,
        "step": [interval * (at + 1) for at in range(count)],
        "interval_steps": [interval] * count,
        "end_time": [START + timedelta(seconds=40 * at) for at in range(count)],
        "skipped_steps": skipped,
        "source": ["run.log"] * count,
    }
    return conform(pl.LazyFrame(columns, schema_overrides={"skipped_steps": pl.Int32}), STEPS)


def told(steps: pl.LazyFrame, params: SkipParams | None = None) -> list[tuple[str, int]]:
    """Cause and first step of each finding."""
    rows = find_skipped_steps(steps, NO_EVENTS, params or SkipParams()).to_dicts()
    assert all((row["kind"], row["level"]) == ("numerical", "job") for row in rows)
    return [(row["cause"], row["onset_step"]) for row in rows]


@pytest.mark.parametrize(
    ("skipped", "expected"),
    [
        pytest.param([0] * 30, [], id="a run that takes its steps"),
        pytest.param([10, 6] + [0] * 30, [], id="a loss scale falls at the start"),
        pytest.param([10] * 3 + [0] * 30, [], id="and may fall for thirty steps"),
        pytest.param([0, 0, 1, 0] * 9, [], id="one step is skipped when the scale has risen"),
        pytest.param(
            [0] * 20 + [10, 9, 10, 10], [("steps_skipped", 210)], id="a run that stops to train"
        ),
        pytest.param(
            [0] * 20 + [10, 10] + [0] * 20 + [10] * 5,
            [("steps_skipped", 430)],
            id="the longest stretch is told",
        ),
        pytest.param([0] * 20 + [10], [], id="one report is no stretch"),
        pytest.param([10] * 12, [("steps_skipped", 10)], id="a run that never trained"),
        pytest.param([None] * 30, [], id="what nobody tells is no finding"),
        pytest.param([], [], id="no report"),
    ],
)
def test_findings(skipped: list[int | None], expected: list[tuple[str, int]]) -> None:
    """A run that skips nearly all steps for long does not train."""
    assert told(job(skipped)) == expected


def test_words() -> None:
    """The finding says how many steps, and whether any was taken before."""
    rows = [
        find_skipped_steps(job(skipped), NO_EVENTS, SkipParams()).row(0, named=True)
        for skipped in ([0] * 20 + [10] * 4, [10] * 12)
    ]

    assert [row["evidence"][0]["what"] for row in rows] == [
        "40 steps skipped in 4 reports, from step 210 to 240",
        "120 steps skipped in 12 reports, from step 10 to 120, and none was taken before",
    ]


@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), shift=st.integers(0, 10**6))
def test_properties(seed: int, shift: int) -> None:
    """Order, doubled delivery, another time and another name change nothing."""
    steps = job([0] * 20 + [10] * 4)
    moved = steps.with_columns(pl.col("end_time") + timedelta(seconds=shift), run=pl.lit("s"))
    shuffled = pl.concat([moved, moved]).collect().sample(fraction=1.0, shuffle=True, seed=seed)

    assert told(shuffled.lazy()) == [("steps_skipped", 210)]


@pytest.mark.parametrize(("least", "count"), [(20, 1), (60, 0)])
def test_a_stricter_threshold_finds_no_more(least: int, count: int) -> None:
    """A stretch shorter than asked for is none."""
    assert len(told(job([0] * 20 + [10] * 4), SkipParams(min_steps=least))) == count


def test_refused() -> None:
    """A share that healthy runs reach, and a frame without steps, are refused."""
    with pytest.raises(ValueError, match="min_skipped_share must be half"):
        SkipParams(min_skipped_share=0.1)
    with pytest.raises(SchemaError):
        find_skipped_steps(pl.LazyFrame({"step": [1]}), NO_EVENTS, SkipParams())
