"""Quiet faults from the text of real trainers' logs to the findings of all detectors at once."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from collectors.readings import Reading
from detectors.verdicts import Verdict
from paceline.findings import DetectorParams, find_all

Floats = npt.NDArray[np.float64]
Read = Callable[[dict[str, str]], Reading]
START = datetime(2026, 2, 3, 4, 0, tzinfo=UTC)
RNG = np.random.default_rng(7)
COUNT = 160


def losses(count: int = COUNT) -> Floats:
    """A loss that falls."""
    return (1.9 + 8.0 * np.exp(-np.arange(count) / 30.0)) * np.exp(RNG.normal(0.0, 0.01, count))


def megatron(
    loss: Floats, seconds: Floats | float = 4.0, *, every: int = 10, more: Any = None
) -> str:
    """Megatron's lines, one every ten steps; `more` gives further lines after an iteration."""
    each: Floats = np.broadcast_to(seconds, loss.shape)
    ends = np.cumsum(each * every)
    lines: list[str] = []
    for at, (value, end) in enumerate(zip(loss, ends, strict=True)):
        step, time = (at + 1) * every, START + timedelta(seconds=float(end))
        milliseconds = 1000 * float(each[at])
        is_skipped = not np.isfinite(value)
        figures = "" if is_skipped else f" lm loss: {value:.6E} |"
        norm = "" if is_skipped else " grad norm: 1.012 |"
        lines.append(
            f" [{time:%Y-%m-%d %H:%M:%S}] iteration {step:8d}/  100000 | consumed samples: "
            f"{step * 256:12d} | elapsed time per iteration (ms): {milliseconds:.1f} | "
            f"learning rate: 1.000000E-04 | global batch size:   256 |{figures} loss scale: 1.0 |"
            f"{norm} number of skipped iterations: {every if is_skipped else 0:3d} | "
            "number of nan iterations:   0 |"
        )
        lines += more(step) if more else []
    return "\n".join(lines) + "\n"


def trainer(loss: Floats, norm: Floats) -> str:
    """The dicts of Hugging Face's trainer, between its bars."""
    return "".join(
        f"\r {at // 2:3d}%|####  | {10 * at + 10}/1600 [{at // 3:02d}:{at % 3 * 20:02d}<10:00,  "
        f"2.00s/it]{{'loss': {value:.4f}, 'grad_norm': {grad:.4f}, 'learning_rate': 4e-05, "
        f"'epoch': {at / 160:.2f}}}\n"
        for at, (value, grad) in enumerate(zip(loss, norm, strict=True))
    )


def titan(rank: int, seconds: float, text: str) -> str:
    """A line of a rank of torchtitan."""
    time = START + timedelta(seconds=seconds)
    return f"[rank{rank}]:[titan] {time:%Y-%m-%d %H:%M:%S},{rank:03d} - root - INFO - {text}\n"


def titan_log(*, sick: int | None = None, slow: int | None = None) -> str:
    """Eight ranks of torchtitan in one log: each tells steps and saves."""
    loss, norm = losses(50), np.exp(RNG.normal(0.0, 0.2, 50))
    lines: list[str] = []
    for at in range(50):
        for rank in range(8):
            own = norm[at] * (1.02 if rank == sick and at >= 30 else 1.0)
            step = f"step: {10 * at + 10:2d}  loss:  {loss[at]:.5f}  grad_norm:  {own:.4f}"
            lines.append(titan(rank, 40.0 * at, f"{step}  memory: 61.22GiB(77.31%)  tps: 6,512"))
            if at % 8 == 7:
                saving = 14.0 if rank == slow else 4.0 + 0.1 * rank
                what = "saving the checkpoint (or staging if async is enabled)"
                lines.append(titan(rank, 40.0 * at + 1, "Saving" + what[6:] + "."))
                done = f"Finished {what} in {saving:.2f} seconds."
                lines.append(titan(rank, 40.0 * at + 1 + saving, done))
    return "".join(lines)


def marks(step: int) -> list[str]:
    """What Megatron prints after an evaluation."""
    told = f" validation loss at iteration {step} on validation set | lm loss value: 2.1E+00 |"
    return ["-" * 90, told, "-" * 90] if step % 50 == 0 else []


def changed(where: slice, factor: float, count: int = COUNT) -> Floats:
    """A loss, some of it multiplied."""
    values = losses(count)
    values[where] *= factor
    return values


def paused(period: float) -> Floats:
    """Seconds of steps, of which one is longer each time that a period has passed."""
    seconds, now, due = 4.0 * (1.0 + RNG.normal(0.0, 0.005, 500)), 0.0, 20.0
    for at in range(500):
        if now >= due:
            seconds[at] += 1.5
            due += period
        now += float(seconds[at])
    return seconds


def steps_with(extra: float) -> Floats:
    """Seconds of steps, every fiftieth of which is longer."""
    return np.where(np.arange(500) % 50 == 49, 4.0 + extra, 4.0 + RNG.normal(0.0, 0.02, 500))


def named(reading: Reading) -> Reading:
    """The reading, each file as a run."""
    frames: dict[str, Any] = {}
    for name in ("steps", "events", "placements", "jobs"):
        frame = reading.frame(name)
        told = frame.with_columns(run=pl.col("source").str.extract(r"^([^.]+)"))
        if "attempt" in frame.columns:
            told = told.with_columns(pl.col("attempt").fill_null(0))
        frames[name] = told
    return replace(reading, **frames)


def silent(_name: str, _done: int, _all: int) -> None:
    """Say nothing of the progress."""


def short(verdicts: list[Verdict]) -> dict[str, list[tuple[str, int | None, str | None]]]:
    """Level, rank and cause of the findings on each run."""
    found: dict[str, list[tuple[str, int | None, str | None]]] = {}
    for one in verdicts:
        told = (one.level, one.subject.rank, one.cause)
        found.setdefault(str(one.subject.run), []).append(told)
    return found


TAIL = slice(110, None)

NORMS = np.exp(RNG.normal(0.0, 0.3, COUNT))


def test_faults_and_what_looks_like_them(read_texts: Read) -> None:
    """Each fault is told once, at its level; evaluations, saves and other data are no fault."""
    skipping = losses()
    skipping[[0, 1, *range(130, COUNT)]] = np.nan
    reading = read_texts(
        {
            "healthy.log": megatron(losses()),
            "spike.log": megatron(changed(slice(110, 112), 1.7)),
            "diverged.log": megatron(changed(TAIL, 2.4)),
            "other-data.log": megatron(changed(TAIL, 1.4)),
            "skipping.log": megatron(skipping),
            "evaluating.log": megatron(losses(500), steps_with(30.0), every=1, more=marks),
            "saving.log": megatron(losses(500), steps_with(9.0), every=1),
            "cron.log": megatron(losses(500), paused(137.0), every=1),
            "trainer.log": trainer(
                changed(TAIL, 3.0), np.where(np.arange(COUNT) < 110, 1, 5) * NORMS
            ),
            "rough.log": trainer(losses() * NORMS**2, NORMS**3),
            "sick.log": titan_log(sick=5),
            "writer.log": titan_log(slow=3),
        }
    )

    assert short(find_all(named(reading), DetectorParams(), silent)) == {
        "spike": [("job", None, "loss_spike")],
        "diverged": [("job", None, "loss_diverged")],
        "skipping": [("job", None, "steps_skipped")],
        "cron": [("job", None, "periodic_pauses")],
        "trainer": [("job", None, "loss_diverged")],
        "sick": [("rank", 5, "replica_differs")],
        "writer": [("rank", 3, "checkpoint_writer")],
    }
