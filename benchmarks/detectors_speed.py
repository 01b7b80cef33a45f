"""Measure the device chain on a fleet: rows in, verdicts out, beside a naive chain.

Run: `python -m benchmarks.detectors_speed [--gpus N]` from the root of the repository. The frame is
seeded and made here: N GPUs in runs of 256, an hour at 15 s, 16 of them 15 % slower from some tick.
Prints seconds (best of three), peak memory of the process, and how many planted GPUs were found.
"""

import argparse
import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

import numpy as np
import polars as pl

from collectors.frames import SAMPLES, TIME, conform
from detectors.devices import DeviceParams, find_slow_devices

GROUP, TICKS, PLANTED, SLOWDOWN = 256, 240, 16, 1.15
START = datetime(2026, 1, 5, tzinfo=UTC)


def fleet(gpus: int) -> tuple[pl.DataFrame, set[str]]:
    """Return SM clocks of a fleet and the names of the GPUs that were made slow."""
    rng = np.random.default_rng(7)
    clocks = 1980e6 * (1.0 + 0.01 * rng.standard_normal((gpus, 1)))
    clocks = clocks * (1.0 + 0.005 * rng.standard_normal((gpus, TICKS)))
    slow = rng.choice(gpus, PLANTED, replace=False)
    for gpu, since in zip(slow, rng.integers(80, 160, PLANTED), strict=True):
        clocks[gpu, since:] /= SLOWDOWN
    numbers = pl.DataFrame({"gpu": np.arange(gpus)}).select(
        pl.format("n{}", pl.col("gpu") // 8).alias("host"),
        pl.format("GPU-{}", "gpu").alias("device"),
        (pl.col("gpu") % 8).alias("index"),
        pl.format("run-{}", pl.col("gpu") // GROUP).alias("run"),
    )
    times = pl.Series(START.timestamp() * 1e6 + np.arange(TICKS) * 15e6).cast(pl.Int64).cast(TIME)
    frame = (
        numbers.join(pl.DataFrame({"time": times}), how="cross", maintain_order="left_right")
        .with_columns(
            value=pl.Series(np.round(clocks.ravel() / 15e6) * 15e6),
            device_kind=pl.lit("gpu"),
            model=pl.lit("H100"),
            signal=pl.lit("sm_clock_hertz"),
            source=pl.lit("benchmark"),
        )
        .lazy()
    )
    return conform(frame, SAMPLES).collect(), {f"GPU-{gpu}" for gpu in slow}


def chain(samples: pl.DataFrame) -> set[str]:
    """Return the devices that the product names."""
    verdicts = find_slow_devices(samples.lazy(), DeviceParams())
    return set(verdicts["subject"].struct.field("device"))


def naive(samples: pl.DataFrame) -> set[str]:
    """Return the devices that a rolling median of peer z-scores names: the usual first attempt."""
    group = ["run", "time"]
    centre = pl.col("value").median().over(group)
    scale = 1.4826 * (pl.col("value") - centre).abs().median().over(group)
    score = (
        samples.with_columns(score=(centre - pl.col("value")) / scale)
        .sort("device", "time")
        .with_columns(rolling=pl.col("score").rolling_median(20).over("device"))
    )
    return set(score.filter(pl.col("rolling") > 3.5)["device"])  # noqa: PLR2004 -- the textbook threshold


def best_seconds(work: Callable[[], object]) -> float:
    """Return the least wall time of three runs."""
    times: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=16_384)
    samples, planted = fleet(parser.parse_args().gpus)
    frame_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"rows {samples.height}, memory with the frame {frame_bytes / 1e6:.0f} MB")
    for name, work in (("chain", chain), ("naive", naive)):
        seconds = best_seconds(partial(work, samples))
        found = work(samples)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(
            f"MEASURED {name}: {seconds:.2f} s, peak {peak / 1e6:.0f} MB, "
            f"{len(found & planted)} of {len(planted)} planted, {len(found - planted)} others"
        )


if __name__ == "__main__":
    main()
