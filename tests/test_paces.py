"""Which measure tells ranks apart, and what a trace says of its workers."""

from typing import Any

import polars as pl
import pytest

from collectors.frames import JOBS, OPS, PLACEMENTS, SAMPLES, STEPS, conform
from detectors.paces import rank_paces, traced_paces, traced_waits
from detectors.pauses import job_paces
from detectors.placing import ROLES, rank_roles

NO_ROLES = pl.LazyFrame(schema=ROLES)


def steps(rows: list[dict[str, Any]]) -> pl.LazyFrame:
    """Steps of one attempt."""
    frame = pl.LazyFrame([{"run": "r", "attempt": 0, "host": "h"} | row for row in rows])
    return conform(frame, STEPS)


def paces(rows: list[dict[str, Any]]) -> list[tuple[str | None, float | None]]:
    """Measure and pace of each row, by rank."""
    found = rank_paces(steps(rows), NO_ROLES).collect().sort("rank")
    return found.select("measure", "pace_seconds").rows()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(
            {"compute_seconds": 3.0, "data_seconds": 0.5}, ("busy", 3.5), id="work and data"
        ),
        pytest.param({"compute_seconds": 3.0}, ("busy", 3.0), id="work alone"),
        pytest.param(
            {"step_seconds": 4.0, "comm_seconds": 1.0}, ("not_waiting", 3.0), id="step less waiting"
        ),
        pytest.param({"step_seconds": 4.0}, ("step", 4.0), id="step alone"),
        pytest.param({"comm_seconds": 1.0}, ("wait", 1.0), id="waiting alone"),
        pytest.param({"loss": 1.0}, (None, None), id="nothing"),
    ],
)
def test_measures(row: dict[str, float], expected: tuple[str | None, float | None]) -> None:
    """The first measure of the ladder that the rank reports is taken."""
    assert paces([{"rank": 0, "step": 1} | row]) == [expected]


def test_rare_measure() -> None:
    """A measure that less than half of the rank-steps have does not serve."""
    rows = [{"rank": rank, "step": 1, "step_seconds": 4.0} for rank in range(3)]

    assert paces([rows[0] | {"compute_seconds": 3.0}, *rows[1:]]) == [("step", 4.0)] * 3


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param([4.0, 4.1, 4.0], ("fed", [1.2, 4.1, 1.2]), id="in lockstep"),
        pytest.param([4.0, 6.9, 4.0], ("step", [4.0, 6.9, 4.0]), id="each at its own pace"),
    ],
)
def test_lockstep(seconds: list[float], expected: tuple[str, list[float]]) -> None:
    """Ranks that wait inside the step for one that is starved are told apart by their data."""
    rows = [
        {"rank": at, "step": 1, "step_seconds": told, "data_seconds": 3.0 if at == 1 else 0.1}
        for at, told in enumerate(seconds)
    ]
    found = paces(rows)
    measure, values = expected
    assert found == [(measure, pytest.approx(value)) for value in values]


def test_tokens() -> None:
    """Tokens that explain the pace are divided out, tokens that do not are left alone."""
    loads = [{"rank": at, "step": 1, "tokens": 100.0 * (1 + at)} for at in range(4)]

    alike = paces([row | {"compute_seconds": row["tokens"]} for row in loads])
    fixed = paces([row | {"compute_seconds": 2.0} for row in loads])

    assert [pace for _, pace in alike] == pytest.approx([250.0] * 4)
    assert [pace for _, pace in fixed] == pytest.approx([2.0] * 4)


def test_whole_job_lines() -> None:
    """A line that speaks for the whole job is no rank's pace."""
    assert paces([{"rank": None, "step": 1, "step_seconds": 4.0}]) == []


def test_roles() -> None:
    """A rank has the coordinates of its placement and the model of its GPU."""
    placed = conform(
        pl.LazyFrame(
            {"run": "r", "attempt": 0, "rank": [0, 0, 1], "host": "n1", "index": [0, 0, 1]}
        ).with_columns(pp=pl.Series([None, 3, 1], dtype=pl.Int32)),
        PLACEMENTS,
    )
    samples = conform(
        pl.LazyFrame(
            {"host": "n1", "index": [0, 1], "device": ["A", "B"], "device_kind": "gpu"}
        ).with_columns(model=pl.Series(["H100", None])),
        SAMPLES,
    )
    roles = rank_roles(placed, samples)
    found = rank_paces(steps([{"rank": 0, "step": 1, "step_seconds": 4.0}]), roles).collect()

    assert roles.select("rank", "pp", "gpu", "model").collect().rows() == [
        (0, 3, "A", "H100"),
        (1, 1, None, None),
    ]
    assert found.select("host", "pp", "model").rows() == [("n1", 3, "H100")]


def test_roles_by_device() -> None:
    """A placement that names the device alone gets its number and model from telemetry."""
    placed = conform(
        pl.LazyFrame({"run": "r", "attempt": 0, "rank": [0, 1], "host": "n1", "gpu": ["A", "B"]}),
        PLACEMENTS,
    )
    samples = conform(
        pl.LazyFrame(
            {"host": "n1", "index": [4], "device": ["B"], "device_kind": "gpu"}
        ).with_columns(model=pl.lit("H100")),
        SAMPLES,
    )

    assert rank_roles(placed, samples).select("rank", "gpu", "index", "model").collect().rows() == [
        (0, "A", None, None),
        (1, "B", 4, "H100"),
    ]


def test_traced_paces() -> None:
    """A worker's pace is the sum of its compute operations; one that computes nothing has none."""
    row = {"run": "r", "attempt": 0, "step": 1, "dp": 0, "pp": 0}
    ops = [
        {"rank": 0, "family": "compute", "start_seconds": 0.0, "end_seconds": 1.0},
        {"rank": 0, "family": "compute", "start_seconds": 2.0, "end_seconds": 4.0},
        {"rank": 0, "family": "comm", "start_seconds": 4.0, "end_seconds": 4.5},
        {"rank": 1, "family": "comm", "start_seconds": 0.0, "end_seconds": 4.5},
    ]
    found = traced_paces(conform(pl.LazyFrame([row | op for op in ops]), OPS)).collect()

    assert found.select(
        "rank", "measure", "pace_seconds", "comm_seconds", "step_seconds"
    ).rows() == [(0, "busy", 3.0, 0.5, 4.5)]


def test_traced_waits() -> None:
    """Where traces tell communication alone, the wait in one of each operation is the measure."""
    row = {"run": "r", "attempt": 0, "step": 1, "dp": 0, "pp": 0, "family": "comm"}
    ops = [
        {"rank": 0, "operation": "gather", "start_seconds": 0.0, "end_seconds": 1.0},
        {"rank": 0, "operation": "gather", "start_seconds": 2.0, "end_seconds": 4.0},
        {"rank": 0, "operation": "reduce", "start_seconds": 4.0, "end_seconds": 4.5},
        {"rank": 1, "operation": "reduce", "start_seconds": 4.0, "end_seconds": 4.0},
    ]
    frame = conform(pl.LazyFrame([row | op for op in ops]), OPS)
    mixed = pl.concat([frame, frame.with_columns(family=pl.lit("compute"))])

    assert traced_waits(frame).select("rank", "measure", "pace_seconds").collect().rows() == [
        (0, "wait", 2.0)
    ]
    assert traced_waits(mixed).collect().is_empty()


@pytest.mark.parametrize("size", ["samples", "tokens"])
def test_job_paces(size: str) -> None:
    """A job's step is its slowest rank's; a planned ramp of the batch is divided out."""
    rows = [
        {"rank": rank, "step": step, "step_seconds": 2.0 * step + rank, size: 8.0 * step}
        for step in (1, 2, 4)
        for rank in (0, 1)
    ]
    rows[0]["checkpoint_seconds"] = 1.0

    found = job_paces(steps(rows)).collect()

    assert found["step_seconds"].to_list() == pytest.approx([3.0 * 2, 5.0, 9.0 / 2])
    assert found["paused"].to_list() == [True, False, False]


@pytest.mark.parametrize(
    ("ranks", "world", "expected"),
    [
        pytest.param([None], 8, None, id="a line for the whole job"),
        pytest.param([0], None, 1, id="one rank"),
        pytest.param([0], 8, 8, id="one rank of a larger job"),
        pytest.param([0, 1], None, 2, id="two ranks"),
    ],
)
def test_ranks_of_a_job(ranks: list[int | None], world: int | None, expected: int | None) -> None:
    """A job has as many ranks as report, or as its launcher says."""
    rows = steps([{"rank": rank, "step": 1, "step_seconds": 2.0} for rank in ranks])
    jobs = conform(pl.LazyFrame([{"run": "r", "attempt": 0, "world": world}]), JOBS)

    assert job_paces(rows, jobs).collect()["ranks"].to_list() == [expected]
