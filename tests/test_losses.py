"""GPU-hours lost: excess of the steps times ranks, and the time in which a run stood still."""

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import JOBS, PLACEMENTS, STEPS, conform
from slo.losses import LOSSES, RUN_SIZES, SPANS, lost_gpu_hours, run_sizes
from slo.training import STEP_EVENTS

Rows = dict[str, list[Any]]

UNTIMED = settings(deadline=None)  # a busy machine is no failure
START = datetime(2026, 1, 5, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return a time so many seconds after the start."""
    return START + timedelta(seconds=seconds)


def events(*seconds: float | None, run: str = "a", interval: int = 1) -> pl.LazyFrame:
    """Return one step each 10 s against a baseline of 10 s; null is a step not judged."""
    rows = {
        "run": [run] * len(seconds),
        "step": list(range(1, len(seconds) + 1)),
        "interval_steps": [interval] * len(seconds),
        "end_time": [at(10 * number) for number in range(1, len(seconds) + 1)],
        "step_seconds": [99.0 if one is None else float(one) for one in seconds],
        "baseline_seconds": [10.0] * len(seconds),
        "reason": ["pause" if one is None else None for one in seconds],
    }
    return conform(pl.LazyFrame(rows), STEP_EVENTS)


def span(start: float, end: float, *, run: str | None = "a", stopped: bool = False) -> pl.LazyFrame:
    """Return one span of a run."""
    row = {"span": ["s"], "run": [run], "start": [at(start)], "end": [at(end)]}
    return conform(pl.LazyFrame(row | {"stopped": [stopped]}), SPANS)


def sizes(ranks: int | None = 360) -> pl.LazyFrame:
    """Return the size of run a; 360 ranks lose a tenth of a GPU-hour each second."""
    return conform(pl.LazyFrame({"run": ["a"], "ranks": [ranks]}), RUN_SIZES)


@pytest.mark.parametrize(
    ("seconds", "bounds", "stopped", "expected"),
    [
        pytest.param([10, 12, 13, 10], (10, 40), False, (4, 5.0, 0.5), id="excess is summed"),
        pytest.param([12, 12, 12, 12], (15, 30), False, (2, 4.0, 0.4), id="only the span counts"),
        pytest.param([12, None, 12], (0, 99), False, (2, 4.0, 0.4), id="a pause loses nothing"),
        pytest.param([9, 9], (0, 99), False, (2, 0.0, 0.0), id="faster than healthy is no loss"),
        pytest.param([None, None], (0, 99), False, (0, None, None), id="nothing judged is null"),
        pytest.param([], (0, 99), False, (0, None, None), id="no steps are null"),
        pytest.param([10, 10], (15, 50), True, (1, 30.0, 3.0), id="a stop counts from the last"),
        pytest.param([10], (20, 50), True, (0, 30.0, 3.0), id="a stop counts within the span"),
        pytest.param([], (0, 50), True, (0, 50.0, 5.0), id="a run that never stepped lost it all"),
        pytest.param([12, 10], (0, 50), True, (2, 32.0, 3.2), id="slow first and then stopped"),
    ],
)
def test_loss(
    seconds: list[float | None],
    bounds: tuple[float, float],
    stopped: bool,
    expected: tuple[int, float | None, float | None],
) -> None:
    """The loss is the judged steps' excess, and the time without steps where a run stopped."""
    found = lost_gpu_hours(span(*bounds, stopped=stopped), events(*seconds), sizes()).collect()

    assert found.schema == LOSSES
    row = found.row(0, named=True)
    assert (row["step_count"], row["lost_seconds"], row["gpu_hours_lost"]) == expected


def test_several_steps_reported_together() -> None:
    """A report that stands for five steps loses five times its excess."""
    found = lost_gpu_hours(span(0, 99), events(12.0, interval=5), sizes()).collect()

    assert found["lost_seconds"].to_list() == [10.0]


@pytest.mark.parametrize(
    ("run", "ranks"),
    [
        pytest.param("a", None, id="a run of unknown size"),
        pytest.param("b", 360, id="a run that is not listed"),
        pytest.param(None, 360, id="a span without a run"),
    ],
)
def test_unknown_size_is_null(run: str | None, ranks: int | None) -> None:
    """Without ranks the loss in GPU-hours is not known, never zero."""
    named = events(12.0).with_columns(run=pl.lit(run, dtype=pl.String))
    found = lost_gpu_hours(span(0, 99, run=run), named, sizes(ranks)).collect()

    row = found.row(0, named=True)
    assert (row["lost_seconds"], row["gpu_hours_lost"]) == (2.0, None)


def test_no_spans_are_no_losses() -> None:
    """Nothing asked, nothing answered, in the right schema."""
    found = lost_gpu_hours(SPANS.to_frame().lazy(), events(12.0), sizes()).collect()

    assert (found.schema, found.height) == (LOSSES, 0)


@UNTIMED
@given(st.lists(st.floats(1.0, 100.0), min_size=1, max_size=20), st.integers(0, 2**32))
def test_row_order_does_not_matter(seconds: list[float], seed: int) -> None:
    """Shuffled steps lose the same, up to the last bits of a float sum."""
    steps = events(*seconds).collect()
    shuffled = steps.sample(fraction=1.0, shuffle=True, seed=seed)
    first, second = (
        lost_gpu_hours(span(0, 999), one.lazy(), sizes()).collect()["lost_seconds"].item()
        for one in (steps, shuffled)
    )

    assert first == pytest.approx(second, abs=1e-9)


def size_of(steps: Rows, placements: Rows, jobs: Rows) -> list[tuple[object, ...]]:
    """Return the sizes that come out of partial rows."""
    frames = [
        conform(pl.LazyFrame(rows), schema)
        for rows, schema in ((steps, STEPS), (placements, PLACEMENTS), (jobs, JOBS))
    ]
    return run_sizes(*frames).collect().rows()


RANKS = {"run": ["a", "a", "a"], "rank": [0, 1, 1], "host": ["h1", "h2", "h2"]}


@pytest.mark.parametrize(
    ("steps", "placements", "jobs", "expected"),
    [
        pytest.param(RANKS, {}, {}, [("a", 2, ["h1", "h2"], 2, 2)], id="ranks that report"),
        pytest.param({}, RANKS, {}, [("a", 2, ["h1", "h2"], 2, 2)], id="ranks that were placed"),
        pytest.param(
            RANKS,
            {},
            {"run": ["a"], "world": [64], "hosts": [["h2", "h9"]]},
            [("a", 64, ["h1", "h2", "h9"], 3, 64)],
            id="the launcher knows more than the logs at hand",
        ),
        pytest.param(
            {"run": ["a"], "rank": [None]},
            {},
            {},
            [("a", None, [], None, None)],
            id="a job-wide line",
        ),
        pytest.param({"run": [None], "rank": [0]}, {}, {}, [], id="a rank of no run"),
        pytest.param(
            {}, {}, {"run": ["a"], "world": [8]}, [("a", 8, [], None, 8)], id="world alone"
        ),
        pytest.param(
            RANKS,
            {},
            {"run": ["a"], "gpus": [16]},
            [("a", 16, ["h1", "h2"], 2, 16)],
            id="the scheduler gave more GPUs than ranks have reported",
        ),
        pytest.param(
            RANKS,
            {},
            {"run": ["a"], "world": [2], "gpus": [16]},
            [("a", 2, ["h1", "h2"], 2, 16)],
            id="a launcher of one process a host, who has many GPUs",
        ),
    ],
)
def test_run_sizes(
    steps: Rows, placements: Rows, jobs: Rows, expected: list[tuple[object, ...]]
) -> None:
    """The launcher's world is believed, else ranks are counted; unknown is null."""
    assert size_of(steps, placements, jobs) == expected


def test_sizes_have_their_schema() -> None:
    """No input gives no rows in the right schema."""
    frames = [schema.to_frame().lazy() for schema in (STEPS, PLACEMENTS, JOBS)]

    assert run_sizes(*frames).collect().schema == RUN_SIZES
