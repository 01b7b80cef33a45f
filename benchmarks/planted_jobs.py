"""A generator of jobs with planted faults and red herrings, as frames: what happened is known.

It shares nothing with the detectors. Unless a story says otherwise: 16 nodes of 8 GPUs, one replica
a node and one pipeline stage a GPU; an hour of steps of 4 s, of which a rank works 3.6 s with 2 %
noise and 1 % silicon spread, a third of it forward; device telemetry every 15 s, clocks in steps of
15 MHz. All figures are SIMULATED.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from collectors.frames import TIME
from collectors.readings import Reading, reading_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

START: Final = datetime(2026, 1, 5, tzinfo=UTC)
GPUS: Final = 8
TICK_SECONDS: Final = 15
WORK_SECONDS: Final = 3.6
COMM_SECONDS: Final = 0.2
STEPS_A_MINUTE: Final = 15

CLOCK, POWER, BUSY = "sm_clock_hertz", "power_watts", "gpu_busy_ratio"
HEAT, REASONS = "gpu_temperature_celsius", "clock_event_reasons"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large a job is and how its hosts are called.

    Attributes:
        dp: Replicas.
        pp: Stages of each; ranks count stages first.
        tp: Ranks that share a stage, next to each other.
        minutes: Of data.
        hosts: Pattern of the name of host `node`, in rack `rack` of four.
        run: Name of the run.
        start: When it begins.
        gpus: GPUs of a host.
        attempt: Of the run.
    """

    dp: int = 16
    pp: int = 8
    tp: int = 1
    minutes: int = 60
    hosts: str = "n{node:02d}"
    run: str = "job"
    start: datetime = START
    gpus: int = GPUS
    attempt: int = 0

    @property
    def ranks(self) -> int:
        """All ranks."""
        return self.dp * self.pp * self.tp

    def host(self, rank: int) -> str:
        """The host of a rank."""
        node = rank // self.gpus
        return self.hosts.format(node=node, rack=node // 4)


@dataclass(slots=True, kw_only=True)
class Job:
    """A job that a story changes before it is told.

    Attributes:
        shape: Its size.
        rng: For the story's own draws.
        data: Seconds of waiting for data, one row a rank, one column a step.
        forward: Seconds of the forward pass.
        backward: Seconds of the backward pass.
        comm: Seconds that the collectives of a step take without any wait.
        pauses: Seconds of checkpoints, told as such.
        signals: Telemetry by signal, one row a GPU, one column a tick.
        models: GPU model of each rank.
        told: Which steps a rank reports.
        clock_offsets: Seconds by which the clock of each rank's host is ahead at a step.
        order: The number that each rank goes by.
        more: Further columns of steps by name, one row a rank.
        extra: Further frames by name, added to the reading.
        renamed_hosts: Hosts that stand in for others, by the name of these.
    """

    shape: Shape
    rng: np.random.Generator
    data: Floats
    forward: Floats
    backward: Floats
    comm: Floats
    pauses: Floats
    signals: dict[str, Floats]
    models: list[str]
    told: npt.NDArray[np.bool_]
    clock_offsets: Floats
    order: Ints
    more: dict[str, Floats] = field(default_factory=dict)
    extra: dict[str, pl.DataFrame] = field(default_factory=dict)
    renamed_hosts: dict[str, str] = field(default_factory=dict)

    @property
    def busy(self) -> Floats:
        """Seconds until a rank has nothing left to do but to wait for the others."""
        return self.data + self.forward + self.backward + self.pauses

    @property
    def total(self) -> Floats:
        """Seconds of each step of the lockstep job."""
        result: Floats = self.busy.max(axis=0) + self.comm
        return result

    def times(self, factor: float | Floats, ranks: Any, steps: slice = slice(None)) -> None:
        """Multiply the work of some ranks in some steps."""
        rows = np.atleast_1d(np.asarray(ranks))
        self.forward[rows, steps] *= factor
        self.backward[rows, steps] *= factor

    def tick(self, step: int) -> int:
        """The tick of telemetry at which a step (from 0) begins, after all that is planted."""
        return int(np.ceil(self.total[:step].sum() / TICK_SECONDS))

    def moment(self, step: int) -> datetime:
        """When a step (from 0) begins."""
        return self.shape.start + timedelta(seconds=float(self.total[:step].sum()))


def healthy_job(seed: int, shape: Shape | None = None) -> Job:
    """Return a job in which nothing happens."""
    size = shape or Shape()
    rng = np.random.default_rng(seed)
    steps, ticks = size.minutes * STEPS_A_MINUTE, size.minutes * 60 // TICK_SECONDS
    cells = (size.ranks, steps)
    silicon = 1.0 + 0.01 * rng.standard_normal((size.ranks, 1))
    work = WORK_SECONDS * silicon * (1.0 + 0.02 * rng.standard_normal(cells))
    return Job(
        shape=size,
        rng=rng,
        data=np.full(cells, 0.005),
        forward=work / 3.0,
        backward=work * 2.0 / 3.0,
        comm=np.full(steps, COMM_SECONDS),
        pauses=np.zeros(cells),
        signals=_healthy_signals(rng, (size.ranks, ticks)),
        models=["NVIDIA H100 80GB HBM3"] * size.ranks,
        told=np.ones(cells, dtype=bool),
        clock_offsets=np.zeros(cells),
        order=np.arange(size.ranks),
    )


def _healthy_signals(rng: np.random.Generator, cells: tuple[int, int]) -> dict[str, Floats]:
    gpus = (cells[0], 1)
    return {
        CLOCK: 1980e6 - 15e6 * rng.binomial(2, 0.15, cells),
        POWER: 690.0 + rng.normal(0.0, 10.0, gpus) + rng.normal(0.0, 6.0, cells),
        HEAT: np.round(62.0 + rng.normal(0.0, 3.0, gpus) + rng.normal(0.0, 1.0, cells)),
        BUSY: np.full(cells, 0.99),
        REASONS: np.zeros(cells),
    }


def reading_of_job(job: Job, hidden: tuple[str, ...] = ()) -> Reading:
    """Return what the frames say of a job.

    Args:
        job: With its story.
        hidden: Columns of steps, or frames, that nobody tells.
    """
    frames = {
        "steps": steps_of(job),
        "placements": placements_of(job),
        "samples": samples_of(job),
        **job.extra,
    }
    if "port_samples" in frames:
        frames["samples"] = pl.concat(
            [frames["samples"], frames.pop("port_samples")], how="diagonal_relaxed"
        )
    kept = {name: frame for name, frame in frames.items() if name not in hidden}
    if "steps" in kept:
        kept["steps"] = kept["steps"].drop(hidden, strict=False)
    if "placements" in kept:
        kept["placements"] = kept["placements"].drop(hidden, strict=False)
    renamed = pl.col("host").replace(job.renamed_hosts)
    return reading_of(
        **{
            name: frame.with_columns(renamed) if "host" in frame.columns else frame
            for name, frame in kept.items()
        }
    )


def steps_of(job: Job) -> pl.DataFrame:
    """Return the steps as each rank's own process tells them."""
    size, (ranks, steps) = job.shape, job.forward.shape
    total = job.total
    start = int(size.start.timestamp() * 1e6)
    ends = start + (np.cumsum(total)[None, :] * 1e6 + job.clock_offsets * 1e6).astype(np.int64)
    columns: dict[str, Any] = {
        "run": size.run,
        "attempt": size.attempt,
        "rank": np.repeat(job.order, steps),
        "host": np.repeat([size.host(rank) for rank in range(ranks)], steps),
        "step": np.tile(np.arange(1, steps + 1), ranks),
        "end_time": pl.Series(ends.ravel()).cast(TIME),
        "step_seconds": np.tile(total, ranks),
        "time_kind": "single_step",
        "data_seconds": job.data.ravel(),
        "forward_seconds": job.forward.ravel(),
        "backward_seconds": job.backward.ravel(),
        "compute_seconds": (job.forward + job.backward).ravel(),
        "comm_seconds": (total - job.busy).ravel(),
        "checkpoint_seconds": job.pauses.ravel(),
        "source": "steps",
        **{name: values.ravel() for name, values in job.more.items()},
    }
    return pl.DataFrame(columns).filter(pl.Series(job.told.ravel()))


def placements_of(job: Job) -> pl.DataFrame:
    """Return where each rank runs."""
    size, at = job.shape, np.arange(job.shape.ranks)
    return pl.DataFrame(
        {
            "run": size.run,
            "attempt": size.attempt,
            "rank": job.order,
            "host": [size.host(rank) for rank in at],
            "index": at % size.gpus,
            "dp": at // (size.pp * size.tp),
            "pp": at // size.tp % size.pp,
            "tp": at % size.tp,
            "source": "placements",
        }
    )


def device_names(job: Job) -> list[str]:
    """Return the UUID of each rank's GPU."""
    return [f"GPU-{rank:08x}-0000-4000-8000-{rank:012x}" for rank in range(job.shape.ranks)]


def samples_of(job: Job) -> pl.DataFrame:
    """Return the telemetry; NaN is a reading without a value."""
    size = job.shape
    ranks, ticks = job.signals[CLOCK].shape if job.signals else (size.ranks, 0)
    start, at = int(size.start.timestamp() * 1e6), np.arange(ranks)
    base = pl.DataFrame(
        {
            "time": pl.Series(np.tile(start + np.arange(ticks) * TICK_SECONDS * 10**6, ranks)).cast(
                TIME
            ),
            "host": np.repeat([size.host(rank) for rank in at], ticks),
            "device_kind": "gpu",
            "device": np.repeat(device_names(job), ticks),
            "index": np.repeat(at % size.gpus, ticks),
            "model": np.repeat(job.models, ticks),
            "run": size.run,
            "source": "telemetry",
        }
    )
    frames = [
        base.with_columns(
            signal=pl.lit(name), value=pl.Series(values.ravel()).fill_nan(None).cast(pl.Float64)
        )
        for name, values in job.signals.items()
    ]
    return pl.concat(frames) if frames else base.head(0)
