"""Stories that only communication tells: ports that carry less, ranks that come late."""

from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from benchmarks.planted_cases import MINUTE_20, ONE_STAGE, SICK, Case, one, shuffled
from benchmarks.planted_jobs import CLOCK, TICK_SECONDS, Job, Shape
from collectors.frames import TIME

FLAPS: Final = [(start, start + 6) for start in range(12, 228, 18)]
LINK: Final = frozenset({"link", "nic"})
LATE: Final = 5

WORK: Final = (
    *("data_seconds", "compute_seconds", "forward_seconds", "backward_seconds"),
    *("step_seconds", "samples"),
)
"""What is not told where collectives are all that is."""


def late_to_collectives(job: Job) -> None:
    """One rank enters every collective late."""
    job.forward[LATE] += 0.6


def port_rates(job: Job) -> np.ndarray:
    """Bytes a second of each rank's port, which carry alike."""
    cells = job.signals[CLOCK].shape
    return 20e9 * (1.0 + 0.03 * job.rng.standard_normal(cells))


def port_samples(job: Job, rates: np.ndarray, signal: str) -> pl.DataFrame:
    """Telemetry of the ports, a gauge or a counter."""
    ranks, ticks = rates.shape
    start = int(job.shape.start.timestamp() * 1e6)
    values = np.cumsum(rates * TICK_SECONDS, axis=1) if signal.endswith("_total") else rates
    return pl.DataFrame(
        {
            "time": pl.Series(np.tile(start + np.arange(ticks) * TICK_SECONDS * 10**6, ranks)).cast(
                TIME
            ),
            "host": np.repeat([job.shape.host(rank) for rank in range(ranks)], ticks),
            "device_kind": "nic",
            "device": np.repeat([f"mlx5_{rank % 8}" for rank in range(ranks)], ticks),
            "signal": signal,
            "value": values.ravel(),
            "source": "ports",
        }
    )


def ports(signal: str, factor: float, spans: list[tuple[int, int]]) -> Callable[[Job], None]:
    """Return a story: the port of the sick GPU carries less in some spans of ticks."""

    def story(job: Job) -> None:
        rates = port_rates(job)
        for start, stop in spans:
            rates[SICK, start:stop] *= factor
        job.extra["port_samples"] = port_samples(job, rates, signal)

    return story


def late_in_transfers(job: Job) -> None:
    """A profiler times an all-reduce a step at each rank; one enters it 0.6 s late."""
    ranks, steps = job.forward.shape
    late = np.where(np.arange(ranks) == LATE, 0.0, 0.6)[:, None]
    seconds = 0.4 * (1.0 + 0.02 * job.rng.standard_normal((1, steps))) + late
    seconds = seconds * (1.0 + 0.01 * job.rng.standard_normal((ranks, steps)))
    start = int(job.shape.start.timestamp() * 1e6)
    job.extra["transfers"] = pl.DataFrame(
        {
            "run": job.shape.run,
            "host": np.repeat([job.shape.host(rank) for rank in range(ranks)], steps),
            "rank": np.repeat(np.arange(ranks), steps),
            "group": "dp",
            "world": ranks,
            "operation": "AllReduce",
            "sequence": np.tile(np.arange(steps), ranks),
            "seconds": seconds.ravel(),
            "timing": "kernel_gpu",
            "time": pl.Series(np.tile(start + np.arange(steps) * 4_000_000, ranks)).cast(TIME),
            "source": "profiler",
        }
    )


def late_in_traces(job: Job) -> None:
    """A trace of communication alone tells the same."""
    late_in_transfers(job)
    transfers = job.extra.pop("transfers")
    job.extra["ops"] = transfers.select(
        "run",
        "rank",
        attempt=0,
        step=pl.col("sequence") + 1,
        dp=pl.col("rank"),
        pp=0,
        operation=pl.lit("grads-reduce-scatter"),
        family=pl.lit("comm"),
        start_seconds=3.6 - pl.col("seconds"),
        end_seconds=pl.lit(3.6),
        source=pl.lit("trace"),
    )


def lossy(story: Callable[[Job], None], frame: str) -> Callable[[Job], None]:
    """Return a story of which a fifth of the rows is lost, in any order."""

    def told(job: Job) -> None:
        story(job)
        seed = int(job.rng.integers(0, 99))
        job.extra[frame] = job.extra[frame].sample(fraction=0.8, shuffle=True, seed=seed)

    return told


def slow_receiver(job: Job) -> None:
    """An all-to-all between 16 ranks, of which one receives slowly from minute 20 on."""
    size, times = job.shape.ranks, 60
    sender, peer, at = (
        axis.ravel() for axis in np.meshgrid(range(size), range(size), range(times), indexing="ij")
    )
    seconds = 0.02 * (1.0 + 0.05 * np.abs(job.rng.standard_normal(sender.size)))
    seconds *= np.where((peer == LATE) & (at >= times // 3), 1.8, 1.0)
    start = int(job.shape.start.timestamp() * 1e6)
    frame = pl.DataFrame(
        {
            "run": job.shape.run,
            "host": [job.shape.host(int(rank)) for rank in sender],
            "rank": sender,
            "peer_rank": peer,
            "operation": "Send",
            "bytes": 1 << 26,
            "seconds": seconds,
            "time": pl.Series(start + at * 60_000_000).cast(TIME),
            "source": "profiler",
        }
    )
    job.extra["transfers"] = frame.filter(pl.col("rank") != pl.col("peer_rank"))


LINK_CASES: Final[dict[str, Case]] = {
    "D05 late to collectives": Case(
        story=late_to_collectives,
        truth=one("n00/5", onset=-1),
        shape=ONE_STAGE,
        hidden=WORK,
    ),
    **{
        f"D05 late to collectives, {name}": Case(
            story=story, truth=one("n00/5"), shape=ONE_STAGE, hidden=("steps", "samples")
        )
        for name, story in (
            ("by a profiler", late_in_transfers),
            ("by a profiler, a fifth lost", lossy(late_in_transfers, "transfers")),
            ("by a trace", late_in_traces),
            ("by a trace, a fifth lost", lossy(late_in_traces, "ops")),
        )
    },
    "D07 a flapping link": Case(
        story=ports("transmit_bytes_per_second", 0.4, FLAPS),
        truth=one("n03/mlx5_5", kinds=frozenset({"flapping"}), levels=LINK, effect=2.5),
    ),
    "D07 a flapping link, by counters": Case(
        story=ports("transmitted_bytes_total", 0.4, FLAPS),
        truth=one("n03/mlx5_5", kinds=frozenset({"flapping"}), levels=LINK, effect=2.5),
    ),
    "a slow receiver": Case(
        story=slow_receiver,
        truth=one("n05/rank 5", levels=LINK, onset=MINUTE_20, effect=1.8),
        shape=Shape(dp=16, pp=1, gpus=1),
        hidden=("steps", "samples"),
    ),
    "a slow link": Case(
        story=ports("received_bytes_total", 0.6, [(80, 240)]),
        truth=one("n03/mlx5_5", levels=LINK, onset=MINUTE_20, effect=1.667),
    ),
    "D05, shuffled, renumbered, a fifth lost": Case(
        story=shuffled(late_to_collectives),
        truth=one("n00/5", onset=-1),
        shape=ONE_STAGE,
        hidden=WORK,
    ),
}
