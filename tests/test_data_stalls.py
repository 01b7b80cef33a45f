"""Stalls of the input that come and go: of a store, a rack, a host; never of a rank."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import STEPS, SchemaError, conform
from detectors.placing import ROLES
from detectors.quiet.data_stalls import StallParams, find_data_stalls

Floats = npt.NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
HOSTS, EACH, COUNT = 9, 4, 400
RANKS = HOSTS * EACH
NO_ROLES = ROLES.to_frame().lazy()
AT = np.sort(np.random.default_rng(4).choice(COUNT, 10, replace=False))


def waits(seed: int = 1) -> Floats:
    """Seconds that each rank waits for its data at each step: a tenth, rough as it is."""
    return 0.1 * np.exp(np.random.default_rng(seed).normal(0.0, 0.3, (RANKS, COUNT)))


def stalled(ranks: slice, steps: Any, seconds: float = 5.0) -> Floats:
    """The waits, with stalls of some ranks at some steps."""
    data = waits()
    data[ranks, steps] += seconds
    return data


def alone(seed: int = 2) -> Floats:
    """Each rank stalls now and then by itself."""
    rng, data = np.random.default_rng(seed), waits()
    for row in data:
        row[rng.choice(COUNT, 5)] += 5.0
    return data


def job(data: Floats, *, hosts: bool = True) -> pl.LazyFrame:
    """Steps of ranks in lockstep; three hosts are a rack."""
    ranks = len(data)
    seconds = 3.9 + data.max(axis=0)
    ends = [START + timedelta(seconds=float(end)) for end in np.cumsum(seconds)]
    names = [f"gpu-r{rank // EACH // 3}-n{rank // EACH}" for rank in range(ranks)]
    columns: dict[str, Any] = {
        "run": "r",
        "attempt": 0,
        "rank": np.repeat(np.arange(ranks), COUNT),
        "host": [name if hosts else None for name in names for _ in ends],
        "step": np.tile(np.arange(COUNT), ranks),
        "end_time": ends * ranks,
        "step_seconds": np.tile(seconds, ranks),
        "data_seconds": data.ravel(),
    }
    return conform(pl.LazyFrame(columns), STEPS)


Told = tuple[str, str, str | None, int]


def told(
    steps: pl.LazyFrame, params: StallParams | None = None, roles: pl.LazyFrame = NO_ROLES
) -> list[Told]:
    """Kind, level, host or rack, and first step of each finding."""
    rows = find_data_stalls(steps, roles, params or StallParams()).to_dicts()
    assert all(row["cause"] == "data_stalls" and row["subject"]["rank"] is None for row in rows)
    return [
        (
            row["kind"],
            row["level"],
            row["subject"]["host"] or row["subject"]["rack"],
            row["onset_step"],
        )
        for row in rows
    ]


FIRST = int(AT[0])
JOB = [("group_slow", "job", None, FIRST)]
HOST = [("flapping", "host", "gpu-r0-n2", FIRST)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(waits(), [], id="waits that are as they are"),
        pytest.param(stalled(slice(None), AT), JOB, id="all ranks wait for the store at once"),
        pytest.param(
            stalled(slice(0, None, 5), AT), JOB, id="some ranks of most hosts wait at once"
        ),
        pytest.param(stalled(slice(8, 12), AT), HOST, id="all ranks of a host do"),
        pytest.param(
            stalled(slice(0, 12), AT),
            [("flapping", "rack", "r0", FIRST)],
            id="all hosts of a rack do",
        ),
        pytest.param(stalled(slice(13, 14), AT), [], id="one rank is another matter"),
        pytest.param(alone(), [], id="ranks that stall each by itself share nothing"),
        pytest.param(
            stalled(slice(None), slice(99, None, 100)), [], id="an epoch begins every so many steps"
        ),
        pytest.param(stalled(slice(None), 200, 60.0), [], id="one slow step"),
        pytest.param(
            stalled(slice(None), slice(200, 260)), [], id="what lasts is slowness, told elsewhere"
        ),
        pytest.param(stalled(slice(None), AT, 0.5), [], id="stalls that nobody minds"),
    ],
)
def test_findings(data: Floats, expected: list[Told]) -> None:
    """Stalls are told once, at the smallest domain that holds them, and no rank is named."""
    assert told(job(data)) == expected


def test_unknown_hosts() -> None:
    """Without hosts only what most ranks share is told; the placement may name them."""
    roles = conform(
        pl.LazyFrame(
            {
                "run": "r",
                "attempt": 0,
                "rank": range(RANKS),
                "host": [f"h{rank // EACH}" for rank in range(RANKS)],
            }
        ),
        ROLES,
    )

    assert told(job(stalled(slice(None), AT), hosts=False)) == JOB
    assert told(job(stalled(slice(8, 12), AT), hosts=False)) == []
    assert told(job(stalled(slice(8, 12), AT), hosts=False), roles=roles) == [
        ("flapping", "host", "h2", FIRST)
    ]


def test_a_job_that_tells_its_own_wait() -> None:
    """A line for the whole job speaks for the job."""
    steps = job(stalled(slice(None), AT)[:1]).with_columns(
        rank=pl.lit(None, dtype=pl.Int32), host=pl.lit(None, dtype=pl.String)
    )

    assert told(steps) == JOB


def test_checkpoints_are_planned() -> None:
    """A step that holds a checkpoint does not stall."""
    steps = job(stalled(slice(None), AT)).with_columns(
        checkpoint_seconds=pl.when(pl.col("step").is_in(AT.tolist())).then(9.0)
    )

    assert told(steps) == []


def test_words() -> None:
    """The finding says who waits, how often, and what share of the time is lost."""
    row = find_data_stalls(job(stalled(slice(8, 12), AT)), NO_ROLES, StallParams()).row(
        0, named=True
    )

    assert row["slowdown"] == pytest.approx(1.03, abs=0.01)
    assert "4 of 36 ranks on 1 hosts" in row["evidence"][0]["what"]
    assert row["evidence"][1]["what"].startswith(f"first at the steps {FIRST}, {AT[1]}")
    assert row["action"].startswith("look at this host's mount")


def test_precision_recall_and_delay() -> None:
    """Of 8 jobs the 4 whose store stalls are told, at the third stall."""
    jobs = [job(stalled(slice(None), AT) if seed % 2 else waits(seed)) for seed in range(8)]
    rows = [find_data_stalls(one, NO_ROLES, StallParams()).to_dicts() for one in jobs]
    third = jobs[1].filter(pl.col("step") == int(AT[2])).select("end_time").collect().item(0, 0)

    assert [len(one) for one in rows] == [0, 1] * 4
    assert {one[0]["detected"] for one in rows if one} == {third}


@settings(max_examples=4)
@given(seed=st.integers(0, 2**32 - 1), shift=st.integers(0, 10**6), scale=st.floats(0.1, 100.0))
def test_properties(seed: int, shift: int, scale: float) -> None:
    """Order, another unit, another time and other names of runs and ranks change nothing."""
    steps = job(stalled(slice(8, 12), AT))
    moved = steps.with_columns(
        pl.col("end_time") + timedelta(seconds=shift),
        pl.col("data_seconds", "step_seconds") * scale,
        (pl.lit(100) - pl.col("rank")).cast(pl.Int32).alias("rank"),
        run=pl.lit("s"),
    )

    assert told(moved.collect().sample(fraction=1.0, shuffle=True, seed=seed).lazy()) == HOST


@pytest.mark.parametrize(
    "params",
    [
        pytest.param(StallParams(min_stalls=99), id="more stalls"),
        pytest.param(StallParams(min_loss=0.5), id="a larger loss"),
        pytest.param(StallParams(min_step_ratio=9.0), id="longer stalls"),
    ],
)
def test_a_stricter_threshold_finds_no_more(params: StallParams) -> None:
    """Asking for more than there is finds nothing."""
    assert told(job(stalled(slice(None), AT)), params) == []


def test_refused_frames() -> None:
    """What is no `STEPS` is refused at the door; none of them stalls."""
    with pytest.raises(SchemaError):
        find_data_stalls(pl.LazyFrame({"rank": [1]}), NO_ROLES, StallParams())
    assert told(STEPS.to_frame().lazy()) == []
