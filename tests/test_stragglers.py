"""The doors of the detectors of steps, and their words."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import SchemaError, conform
from detectors.imbalance import ImbalanceParams, find_imbalance
from detectors.jobs import JobParams, find_slow_jobs
from detectors.paces import PACES
from detectors.pauses import JOB_PACES
from detectors.stragglers import StragglerParams, find_stragglers

START = datetime(2026, 1, 5, tzinfo=UTC)


def paces(**columns: Any) -> pl.DataFrame:
    """Eight ranks of 100 steps; rank 3 takes 1.25 times as long from step 50."""
    rng = np.random.default_rng(9)
    seconds = 1.0 + 0.02 * rng.standard_normal((8, 100))
    seconds[3, 50:] *= 1.25
    step = np.tile(np.arange(100), 8)
    frame = pl.LazyFrame(
        {
            "run": "r",
            "attempt": 0,
            "rank": np.repeat(np.arange(8), 100),
            "host": np.repeat([f"n{at}" for at in range(8)], 100),
            "step": step,
            "end_time": [START + timedelta(seconds=int(at)) for at in step],
            "measure": "busy",
            "pace_seconds": seconds.ravel(),
        }
        | columns
    )
    return conform(frame, PACES).collect()


def told(frame: pl.DataFrame) -> list[tuple[str, int | None, int | None]]:
    """Kind, rank and onset of each finding."""
    rows = find_stragglers(frame.lazy(), StragglerParams()).to_dicts()
    return [(row["kind"], row["subject"]["rank"], row["onset_step"]) for row in rows]


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 99), st.integers(1, 2), st.sampled_from([1.0, 1000.0]))
def test_properties(seed: int, copies: int, unit: float) -> None:
    """Row order, duplicates and the unit of time change nothing."""
    rows = paces().sample(fraction=1.0, shuffle=True, seed=seed)
    rows = pl.concat([rows] * copies).with_columns(pl.col("pace_seconds") * unit)

    assert told(rows) == [("slow", 3, 50)]


@pytest.mark.parametrize(
    ("phases", "cause"),
    [
        pytest.param({"compute": 0.25, "data": 0.0}, "compute", id="it computes longer"),
        pytest.param({"compute": 0.0, "data": 0.25}, "data", id="it waits for data"),
        pytest.param({"compute": 0.12, "data": 0.12}, None, id="both by half"),
    ],
)
def test_cause(phases: dict[str, float], cause: str | None) -> None:
    """The phase that makes up the excess is the cause; a rank that waits less corroborates."""
    sick = (pl.col("rank") == 3) & (pl.col("step") >= 50)
    frame = paces().with_columns(
        compute_seconds=0.8 + pl.when(sick).then(phases["compute"]).otherwise(0.0),
        data_seconds=0.2 + pl.when(sick).then(phases["data"]).otherwise(0.0),
        comm_seconds=pl.when(sick).then(0.1).otherwise(0.4),
    )
    (row,) = find_stragglers(frame.lazy(), StragglerParams()).to_dicts()

    assert row["cause"] == cause
    assert row["evidence"][1]["what"] == ("waits 0.1 s in communication while its peers wait 0.4 s")


def test_weak_level_of_a_small_group() -> None:
    """A mild finding is said with medium confidence."""
    frame = paces().filter(pl.col("step") < 75)
    (row,) = find_stragglers(frame.lazy(), StragglerParams()).to_dicts()

    assert row["confidence"] == "medium"


@pytest.mark.parametrize(
    ("find", "params"),
    [
        pytest.param(find_stragglers, StragglerParams(), id="stragglers"),
        pytest.param(find_imbalance, ImbalanceParams(), id="imbalance"),
        pytest.param(find_slow_jobs, JobParams(), id="jobs"),
    ],
)
def test_doors(find: Any, params: Any) -> None:
    """A frame that does not fit is refused, an empty one finds nothing."""
    schema = JOB_PACES if find is find_slow_jobs else PACES

    with pytest.raises(SchemaError, match="columns do not fit"):
        find(pl.LazyFrame({"run": ["r"]}), params)
    assert find(pl.LazyFrame(schema=schema), params).is_empty()


def test_refused_ratio() -> None:
    """A ratio that every stage would pass is refused."""
    with pytest.raises(ValueError, match=r"min_ratio must be above 1\.0"):
        ImbalanceParams(min_ratio=1.0)


def job(seconds: list[float], **columns: Any) -> list[tuple[str, int | None, int | None]]:
    """Kind and span of a job's findings."""
    frame = pl.LazyFrame(
        {"run": "r", "attempt": 0, "step": range(len(seconds)), "step_seconds": seconds} | columns
    )
    rows = find_slow_jobs(conform(frame, JOB_PACES), JobParams()).to_dicts()
    return [(row["kind"], row["onset_step"], row["cleared_step"]) for row in rows]


GOOD = [1.0 + 0.01 * (at % 3) for at in range(60)]
SLOW = [1.5 * one for one in GOOD]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(GOOD + SLOW, [("group_slow", 60, None)], id="slower than before"),
        pytest.param(GOOD + SLOW + GOOD, [("group_slow", 60, 120)], id="slower for a while"),
        pytest.param(SLOW + GOOD, [], id="slow only at first"),
        pytest.param([*GOOD, 30.0, *GOOD], [], id="one long step"),
        pytest.param(GOOD[:30], [], id="too short"),
    ],
)
def test_slow_jobs(
    seconds: list[float], expected: list[tuple[str, int | None, int | None]]
) -> None:
    """A job is compared with its own earlier pace."""
    assert job(seconds) == expected


@pytest.mark.parametrize(
    ("kept", "kind"),
    [
        pytest.param(1, "slow", id="all steps are reported"),
        pytest.param(2, "slow", id="half of them"),
        pytest.param(3, "unknown", id="a third of them"),
    ],
)
def test_coverage(kept: int, kind: str) -> None:
    """A rank that reports less than half of the steps in question is not judged."""
    frame = pl.concat(
        [
            paces(),
            paces().with_columns(pl.col("step") + 100),
            paces().with_columns(pl.col("step") + 200),
        ]
    ).with_columns(
        pl.when((pl.col("rank") == 3) & (pl.col("step") >= 100))
        .then(1.5)
        .otherwise(1.0 + 0.001 * (pl.col("step") % 7))
        .alias("pace_seconds")
    )
    told = (pl.col("rank") != 3) | (pl.col("step") % kept == 0)
    rows = find_stragglers(frame.filter(told).lazy(), StragglerParams()).to_dicts()

    assert [(row["kind"], row["subject"]["rank"]) for row in rows] == [(kind, 3)]
    assert ("of the steps reported" in rows[0]["evidence"][0]["what"]) == (kept > 1)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        pytest.param([0.01] * 60 + [0.5] * 60, "data", id="the wait for data is the excess"),
        pytest.param([0.01] * 120, None, id="data comes as before"),
        pytest.param([0.01] * 60 + [0.1] * 60, None, id="a part of it"),
        pytest.param([None] * 120, None, id="nobody tells it"),
    ],
)
def test_cause_of_a_slow_job(data: list[float | None], cause: str | None) -> None:
    """A job that slows by what its median rank waits for data is slow by its data."""
    frame = pl.LazyFrame(
        {"run": "r", "attempt": 0, "step": range(120), "step_seconds": GOOD + SLOW}
    ).with_columns(data_seconds=pl.Series(data, dtype=pl.Float64))
    rows = find_slow_jobs(conform(frame, JOB_PACES), JobParams()).to_dicts()

    assert [(row["kind"], row["cause"]) for row in rows] == [("group_slow", cause)]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        pytest.param(None, ("group_slow", None), id="nobody tells its ranks"),
        pytest.param(8, ("group_slow", None), id="a job of several"),
        pytest.param(1, ("unknown", "slower_than_own_past"), id="a job of one"),
    ],
)
def test_a_job_of_one_rank(ranks: int | None, expected: tuple[str, str | None]) -> None:
    """A job without a peer is slower than its own past, which blames nobody."""
    frame = pl.LazyFrame(
        {"run": "r", "attempt": 0, "step": range(120), "step_seconds": GOOD + SLOW}
    ).with_columns(ranks=pl.lit(ranks, pl.Int64))
    rows = find_slow_jobs(conform(frame, JOB_PACES), JobParams()).to_dicts()

    assert [(row["kind"], row["cause"]) for row in rows] == [expected]


def test_paused_steps() -> None:
    """Steps that hold a checkpoint are not compared."""
    seconds = GOOD + SLOW[:20] + GOOD

    assert job(seconds, paused=[60 <= at < 80 for at in range(len(seconds))]) == []


def test_expert_load() -> None:
    """Experts that get more tokens for a while slow as one: an imbalance, nobody's fault."""
    frames = [
        paces(ep=expert, rank=np.repeat(np.arange(8) + 8 * expert, 100)).with_columns(
            pl.when((pl.col("rank") == 8 * expert + 3) & (pl.col("step") >= 50))
            .then(pl.col("pace_seconds") / 1.25)
            .otherwise("pace_seconds")
        )
        for expert in range(4)
    ]
    hot = pl.when((pl.col("ep") == 2) & (pl.col("step") >= 40)).then(1.4).otherwise(1.0)
    frame = pl.concat(frames).with_columns(pl.col("pace_seconds") * hot)
    rows = find_stragglers(frame.lazy(), StragglerParams()).to_dicts()

    assert [(row["kind"], row["subject"]["ep"], row["cause"]) for row in rows] == [
        ("imbalance", 2, "expert_load")
    ]
