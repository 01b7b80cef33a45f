"""Figures that replicas share: who is apart, who never shared them, and what all have in common."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.frames import EVENTS, STEPS, SchemaError, conform
from detectors.placing import ROLES
from detectors.quiet.replica_differences import find_replica_differences
from detectors.quiet.replica_values import ReplicaParams

Floats = npt.NDArray[np.float64]
START = datetime(2026, 1, 5, tzinfo=UTC)
RANKS, COUNT = 16, 100
NO_EVENTS, NO_ROLES = EVENTS.to_frame().lazy(), ROLES.to_frame().lazy()


class Job:
    """Figures of 16 ranks on two hosts: one gradient norm for all, a loss of each one's batch."""

    def __init__(self, seed: int = 3, ranks: int = RANKS) -> None:
        """Draw the figures."""
        rng = np.random.default_rng(seed)
        shared = np.exp(rng.normal(0.0, 0.2, COUNT))
        self.norm: Floats = np.repeat(shared[None, :], ranks, axis=0)
        self.loss: Floats = 2.0 + rng.normal(0.0, 0.05, (ranks, COUNT))

    def steps(self, *, hosts: bool = True) -> pl.LazyFrame:
        """The reports of all ranks."""
        ranks = len(self.norm)
        names = [f"n{rank // 8}" if hosts else None for rank in range(ranks) for _ in range(COUNT)]
        columns: dict[str, Any] = {
            "run": "r",
            "attempt": 0,
            "rank": np.repeat(np.arange(ranks), COUNT),
            "host": names,
            "step": np.tile(np.arange(COUNT), ranks),
            "end_time": [START + timedelta(seconds=4 * at) for at in range(COUNT)] * ranks,
            "loss": self.loss.ravel(),
            "grad_norm": self.norm.ravel(),
        }
        return conform(pl.LazyFrame(columns), STEPS)


Told = tuple[str, str | None, int | None, str, str, int]


def told(steps: pl.LazyFrame, params: ReplicaParams | None = None) -> list[Told]:
    """Level, host, rank, cause, confidence and first step of each finding."""
    rows = find_replica_differences(
        steps, NO_EVENTS, NO_ROLES, params or ReplicaParams()
    ).to_dicts()
    return [
        (
            row["level"],
            row["subject"]["host"],
            row["subject"]["rank"],
            row["cause"],
            row["confidence"],
            row["onset_step"],
        )
        for row in rows
    ]


def norm_of_one(job: Job) -> None:
    """Rank 13 computes another norm from step 60 on."""
    job.norm[13, 60:] *= 1.001


def norm_once(job: Job) -> None:
    """Rank 13 computes another norm once."""
    job.norm[13, 60] *= 1.3


def norm_of_host(job: Job) -> None:
    """Most ranks of a host do, the last of them later."""
    job.norm[8:14, 60:] *= 1.3
    job.norm[13, 60:70] = job.norm[0, 60:70]


def norm_of_half(job: Job) -> None:
    """Half of the ranks do."""
    job.norm[8:, 60:] *= 1.3


def norm_of_stages(job: Job) -> None:
    """Ranks of the first stage tell the norm of their own parameters."""
    job.norm[:4] *= 1.7


def loss_that_drifts(job: Job) -> None:
    """The loss of rank 5 leaves the others' for good."""
    job.loss[5, 50:] += 1.0


def loss_of_other_data(job: Job) -> None:
    """Rank 5 has other data from the first step on."""
    job.loss[5] += 1.0


def loss_of_late_step(job: Job) -> None:
    """Rank 5 drifts before it was with the others for long enough."""
    job.loss[5, 5:] += 1.0


def one_bad_batch(job: Job) -> None:
    """One batch of one rank is odd."""
    job.loss[5, 50] += 4.0


def spike_of_all(job: Job) -> None:
    """A spike of the data that all replicas share."""
    job.loss[:, 50] *= 3.0
    job.norm[:, 50] *= 9.0


def nan_of_one(job: Job) -> None:
    """Rank 5 is the first without a number; once gradients are reduced nobody has one."""
    job.loss[5, 50] = np.nan
    job.loss[:, 51:] = np.nan
    job.norm[:, 50:] = np.nan


def nan_of_all(job: Job) -> None:
    """Nobody has a number from one step to the next."""
    job.loss[:, 50:] = np.nan
    job.norm[:, 50:] = np.nan


def overflow_of_one(job: Job) -> None:
    """Gradients of one rank overflow, as they do where the loss scale is adapted."""
    job.norm[5, 50] = np.inf


def healthy(_: Job) -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param(healthy, [], id="losses of different batches are no difference"),
        pytest.param(
            norm_of_one,
            [("rank", "n1", 13, "replica_differs", "high", 60)],
            id="a norm that all others share, told otherwise from a step on",
        ),
        pytest.param(
            norm_once,
            [("rank", "n1", 13, "replica_differs", "medium", 60)],
            id="once is a suspicion",
        ),
        pytest.param(
            norm_of_host,
            [("host", "n1", None, "replica_differs", "high", 60)],
            id="most ranks of a host are their host",
        ),
        pytest.param(norm_of_half, [], id="of two halves nobody knows which is right"),
        pytest.param(norm_of_stages, [], id="who never agreed tells another thing"),
        pytest.param(
            loss_that_drifts,
            [("rank", "n0", 5, "replica_drifts", "medium", 50)],
            id="a loss that leaves the others' and stays away",
        ),
        pytest.param(loss_of_other_data, [], id="a rank with other data is not sick"),
        pytest.param(loss_of_late_step, [], id="what was never with the others did not leave them"),
        pytest.param(one_bad_batch, [], id="one odd batch accuses nobody"),
        pytest.param(spike_of_all, [], id="a spike that all share accuses nobody"),
        pytest.param(
            nan_of_one,
            [("rank", "n0", 5, "replica_not_a_number", "low", 50)],
            id="the first without a number, while the others have one, is a suspect",
        ),
        pytest.param(nan_of_all, [], id="no number of anybody accuses nobody"),
        pytest.param(overflow_of_one, [], id="an overflow is how a loss scale works"),
    ],
)
def test_findings(story: Any, expected: list[Told]) -> None:
    """A rank whose figures are apart from what its replicas share is a suspect."""
    job = Job()
    story(job)

    assert told(job.steps()) == expected


def test_precision_recall_and_delay() -> None:
    """Of 12 jobs the 6 with a sick rank are told, at the right rank and at the first step."""
    found: list[list[Told]] = []
    for seed in range(12):
        job = Job(seed)
        if seed % 2:
            job.norm[seed, 40 + seed :] *= 1.0 + 1e-4
        found.append(told(job.steps()))

    assert [len(one) for one in found] == [0, 1] * 6
    assert [(one[0][2], one[0][5]) for one in found if one] == [
        (seed, 40 + seed) for seed in range(1, 12, 2)
    ]


def test_stages_are_compared_apart() -> None:
    """Where stages are known each may tell a norm of its own, and its ranks still share it."""
    job = Job()
    job.norm[:8] *= 1.7
    norm_of_one(job)
    roles = conform(
        pl.LazyFrame(
            {"run": "r", "attempt": 0, "rank": range(RANKS), "pp": [at // 8 for at in range(RANKS)]}
        ),
        ROLES,
    )
    row = find_replica_differences(job.steps(), NO_EVENTS, roles, ReplicaParams()).row(
        0, named=True
    )

    assert told(job.steps()) == []
    assert (row["subject"]["rank"], row["onset_step"], row["peer_count"]) == (13, 60, 7)


def test_a_rank_that_rounds_otherwise() -> None:
    """A rank whose source rounds agrees now and then from the first step on, and is not sick."""
    job = Job()
    job.norm[0] = np.round(job.norm[0], 4)

    assert told(job.steps()) == []


def test_a_file_for_each_rank() -> None:
    """Logs of one printer each speak for the whole job, but their names tell the ranks."""
    job = Job()
    norm_of_one(job)
    source = pl.concat_str(pl.lit("logs/rank"), pl.col("rank"), pl.lit(".log"))
    steps = job.steps().with_columns(source=source, rank=pl.lit(None, dtype=pl.Int32))

    assert told(steps) == [("rank", "n1", 13, "replica_differs", "high", 60)]


def test_two_ranks_name_nobody() -> None:
    """Of two ranks that differ nobody knows which is right."""
    job = Job(ranks=2)
    job.norm[1, 50:] *= 2.0

    assert told(job.steps()) == []


def test_hosts_from_roles() -> None:
    """Where ranks do not tell their host the job's placement does."""
    job = Job()
    norm_of_one(job)
    roles = conform(
        pl.LazyFrame({"run": "r", "attempt": 0, "rank": [13], "host": ["gpu-r1-n9"]}), ROLES
    )
    steps = job.steps(hosts=False)
    row = find_replica_differences(steps, NO_EVENTS, roles, ReplicaParams()).row(0, named=True)

    assert row["subject"]["host"] == "gpu-r1-n9"
    assert row["action"].startswith("take gpu-r1-n9 out of training")
    assert "restore the last checkpoint from before step 60" in row["action"]
    assert told(steps)[0][1] is None


@settings(max_examples=6)
@given(seed=st.integers(0, 2**32 - 1), scale=st.floats(1e-3, 1e3), shift=st.integers(0, 10**6))
def test_properties(seed: int, scale: float, shift: int) -> None:
    """Order, doubled delivery, another unit, another time and other numbers of ranks."""
    job = Job()
    norm_of_one(job)
    steps = job.steps()
    moved = steps.with_columns(
        pl.col("loss", "grad_norm") * scale,
        pl.col("end_time") + timedelta(seconds=shift),
        (pl.lit(100) - pl.col("rank")).cast(pl.Int32).alias("rank"),
        host=pl.lit("x") + pl.col("host"),
        run=pl.lit("s"),
    )
    shuffled = pl.concat([moved, moved]).collect().sample(fraction=1.0, shuffle=True, seed=seed)

    assert told(shuffled.lazy()) == [("rank", "xn1", 87, "replica_differs", "high", 60)]


@pytest.mark.parametrize(("limit", "count"), [(1e-5, 1), (1e-2, 0)])
def test_a_stricter_threshold_finds_no_more(limit: float, count: int) -> None:
    """A larger difference that is taken for the same hides a small one."""
    job = Job()
    norm_of_one(job)

    assert len(told(job.steps(), ReplicaParams(max_difference=limit))) == count


@pytest.mark.parametrize(
    ("params", "message"),
    [
        pytest.param({"min_ranks": 2}, "min_ranks must be 3", id="a choice between two"),
        pytest.param({"min_agreeing_share": 0.5}, "must be a majority", id="no majority"),
    ],
)
def test_refused_params(params: dict[str, Any], message: str) -> None:
    """Thresholds that would accuse by a coin are refused."""
    with pytest.raises(ValueError, match=message):
        ReplicaParams(**params)


def test_refused_frames() -> None:
    """What is no `STEPS` is refused at the door."""
    with pytest.raises(SchemaError):
        find_replica_differences(pl.LazyFrame({"step": [1]}), NO_EVENTS, NO_ROLES, ReplicaParams())
