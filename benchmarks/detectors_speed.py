"""Measure the device chain on fleets: samples in, verdicts out, beside what people use instead.

Run by hand: `python -m benchmarks.detectors_speed [--repeats 5] [--otava-python PYTHON]`. Fleets
are seeded and made here (SIMULATED): N GPUs in runs of 256, an hour at 15 s, 16 of them 15 % slower
from some tick on, as a Parquet file. Each figure is MEASURED in a process of its own: seconds from
the file to the verdicts, of which the processor (of both cores together) and peak memory of the
process, planted GPUs found, and others named. On a machine that does other work as well the
processor's seconds are the ones to compare.

- `chain` scans the file, as over a store; `chain from a frame` has it in memory first.
- `tick` pushes the hour one scrape after the other and takes the median of the last half hour.
- `naive pandas` is the usual first attempt: z-scores against the run at each tick, their rolling
  median.
- `ruptures` (PELT and the linear kernel) and Apache Otava cut each series of peer ratios; they are
  run on some series, and the figure is for the fleet in proportion. Otava pins an older NumPy, so
  it is asked in an environment of its own, whose interpreter is given.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from collectors.frames import SAMPLES, TIME, conform
from detectors.device_ticks import DeviceTicks
from detectors.devices import DeviceParams, find_slow_devices

if TYPE_CHECKING:
    import pandas as pd

GROUP, TICKS, PLANTED, SLOWDOWN = 256, 240, 16, 1.15
START = datetime(2026, 1, 5, tzinfo=UTC)
SIZES: Final = (4_096, 16_384, 98_304)
SOME_SERIES: Final = 64
SIGNAL: Final = "sm_clock_hertz"

OTAVA: Final = """
import json, sys, time
from otava.analysis import compute_change_points
series = json.load(sys.stdin)
began, busy = time.perf_counter(), time.process_time()
for values in series:
    compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.05)
print(time.perf_counter() - began, time.process_time() - busy)
"""

Floats = npt.NDArray[np.float64]
Spent = tuple[float, float]
"""Seconds, and those of the processor."""


def planted_clocks(gpus: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return SM clocks of a fleet in hertz, one row a GPU, and the GPUs that were made slow."""
    rng = np.random.default_rng(7)
    clocks = 1980e6 * (1.0 + 0.01 * rng.standard_normal((gpus, 1)))
    clocks = clocks * (1.0 + 0.005 * rng.standard_normal((gpus, TICKS)))
    slow = rng.choice(gpus, PLANTED, replace=False)
    for gpu, since in zip(slow, rng.integers(80, 160, PLANTED), strict=True):
        clocks[gpu, since:] /= SLOWDOWN
    return np.round(clocks / 15e6) * 15e6, slow


def fleet(gpus: int) -> tuple[pl.DataFrame, set[str]]:
    """Return `SAMPLES` of a fleet and the names of the GPUs that were made slow."""
    clocks, slow = planted_clocks(gpus)
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
            value=pl.Series(clocks.ravel()),
            device_kind=pl.lit("gpu"),
            model=pl.lit("H100"),
            signal=pl.lit(SIGNAL),
            source=pl.lit("benchmark"),
        )
        .lazy()
    )
    return conform(frame, SAMPLES).collect(), {f"GPU-{gpu}" for gpu in slow}


def chain(samples: pl.LazyFrame) -> set[str]:
    """Return the devices that the product names."""
    verdicts = find_slow_devices(samples, DeviceParams())
    return set(verdicts["subject"].struct.field("device"))


def chain_from_file(file: Path) -> dict[str, Any]:
    """Scan the file, as over a store."""
    return _timed(lambda: chain(pl.scan_parquet(file)))


def chain_from_frame(file: Path) -> dict[str, Any]:
    """Have the frame in memory first."""
    samples = pl.read_parquet(file)
    return _timed(lambda: chain(samples.lazy()))


def tick(file: Path) -> dict[str, Any]:
    """Push the hour one scrape after the other."""
    scrapes = pl.read_parquet(file).sort("time").partition_by("time", maintain_order=True)
    ticks = DeviceTicks(SIGNAL, seconds=15.0, params=DeviceParams())
    spent = list[Spent]()
    for scrape in scrapes:
        began = now()
        ticks.push(scrape)
        spent.append(since(began))
    found = ticks.verdicts(pl.concat(scrapes))["subject"].struct.field("device")
    wall, processor = (statistics.median(one) for one in zip(*spent[TICKS // 2 :], strict=True))
    return _told((wall, processor), set(found))


def naive_pandas(file: Path) -> dict[str, Any]:
    """Name devices by a rolling median of z-scores against the run: the usual first attempt."""
    import pandas as pd

    some = pl.read_parquet(file, columns=["run", "time", "device", "value"])
    frame = pd.DataFrame({name: some[name].to_numpy() for name in some.columns})
    return _timed(lambda: _naive(frame))


def _naive(frame: "pd.DataFrame") -> set[str]:
    """Return the devices of which the rolling z-score is above the textbook threshold."""
    centre = frame.groupby(["run", "time"])["value"].transform("median")
    away = (frame["value"] - centre).abs()
    scale = 1.4826 * away.groupby([frame["run"], frame["time"]]).transform("median")
    scores = frame.assign(score=(centre - frame["value"]) / scale).sort_values(["device", "time"])
    rolling = scores.groupby("device")["score"].rolling(20).median()
    over = rolling[rolling > 3.5]  # noqa: PLR2004 -- the textbook threshold
    return set(over.index.get_level_values("device"))


def pelt(file: Path) -> dict[str, Any]:
    """Cut each series by PELT of ruptures, every tick a candidate."""
    import ruptures

    return _in_proportion(file, lambda one: ruptures.Pelt(model="l2", jump=1).fit_predict(one, 16))


def kernel(file: Path) -> dict[str, Any]:
    """Cut each series by the linear kernel of ruptures, which is written in C."""
    import ruptures

    return _in_proportion(
        file, lambda one: ruptures.KernelCPD(kernel="linear").fit_predict(one, pen=16)
    )


def otava(file: Path, python: str) -> dict[str, Any]:
    """Cut each series by Apache Otava."""
    some, every = _series(file)
    called = [python, "-c", OTAVA]
    given = json.dumps(some.tolist())
    told = subprocess.run(called, input=given, capture_output=True, text=True, check=False)
    if told.returncode:
        raise RuntimeError(f"Otava did not run in {python}: {told.stderr.strip()[-300:]}")
    wall, processor = (float(one) * every for one in told.stdout.split())
    return {"seconds": wall, "processor": processor, "peak": None, "found": None}


def _series(file: Path) -> tuple[Floats, float]:
    """Return some series of peer ratios, in noises of a tick, and how many times as many are."""
    gpus = pl.scan_parquet(file).select(pl.len()).collect().item() // TICKS
    clocks, _ = planted_clocks(gpus)
    some = np.log(np.median(clocks[:GROUP], axis=0) / clocks[:SOME_SERIES])
    return some / 0.005, gpus / SOME_SERIES


def _in_proportion(file: Path, cut: Callable[[Floats], object]) -> dict[str, Any]:
    some, every = _series(file)
    began = now()
    for one in some:
        cut(one)
    wall, processor = since(began)
    return {
        "seconds": wall * every,
        "processor": processor * every,
        "peak": None,
        "found": None,
    }


def _timed(work: Callable[[], set[str]]) -> dict[str, Any]:
    began = now()
    named = work()
    return _told(since(began), named)


def now() -> Spent:
    """Return the time, and the processor's time of this process."""
    return time.perf_counter(), time.process_time()


def since(began: Spent) -> Spent:
    """Return how long ago that was."""
    return time.perf_counter() - began[0], time.process_time() - began[1]


def _told(spent: Spent, named: set[str]) -> dict[str, Any]:
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    megabytes = int(peak.group(1)) / 1e3 if peak else None
    return {
        "seconds": spent[0],
        "processor": spent[1],
        "peak": megabytes,
        "found": sorted(named),
    }


PARTS: Final[dict[str, Callable[[Path], dict[str, Any]]]] = {
    "chain": chain_from_file,
    "chain from a frame": chain_from_frame,
    "tick": tick,
    "naive pandas": naive_pandas,
    "ruptures PELT": pelt,
    "ruptures linear kernel": kernel,
}

BARS: Final = {
    ("chain", 16_384): "4 s, 700 MB",
    ("chain", 98_304): "30 s, 4,000 MB",
    ("tick", 16_384): "0.060 s",
}

PLAN: Final = (
    *(("chain", gpus) for gpus in SIZES),
    *((part, 16_384) for part in list(PARTS)[1:]),
)


def measured(part: str, file: Path, repeats: int, planted: set[str]) -> str:
    """Return the medians of a part, each time in a new process, as words."""
    told = list[dict[str, Any]]()
    for _ in range(repeats):
        called = [sys.executable, "-m", "benchmarks.detectors_speed", "--part", part]
        run = subprocess.run([*called, "--file", str(file)], capture_output=True, check=True)
        told.append(json.loads(run.stdout))
    wall, processor = (
        statistics.median(one[name] for one in told) for name in ("seconds", "processor")
    )
    least = min(one["seconds"] for one in told)
    words = [f"{wall:.3f} s (least {least:.3f} s), of the processor {processor:.3f} s"]
    if told[0]["peak"] is not None:
        named = set(told[0]["found"])
        words.append(f"peak {max(one['peak'] for one in told):.0f} MB")
        words.append(
            f"{len(named & planted)} of {len(planted)} planted, {len(named - planted)} not"
        )
    return ", ".join(words)


def main() -> None:
    """Print one line a figure; the sizes are in proportion if cost is linear."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--otava-python", help="interpreter of an environment that has Otava")
    parser.add_argument("--part", choices=list(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.part is not None:
        print(json.dumps(PARTS[told.part](told.file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        files = dict[int, tuple[Path, set[str]]]()
        for part, gpus in PLAN:
            if gpus not in files:
                samples, planted = fleet(gpus)
                files[gpus] = (Path(folder, f"{gpus}.parquet"), planted)
                samples.write_parquet(files[gpus][0])
                del samples
            words = measured(part, files[gpus][0], told.repeats, files[gpus][1])
            bar = f" | bar {BARS[part, gpus]}" if (part, gpus) in BARS else ""
            print(f"MEASURED {part}, {gpus} GPUs x {TICKS}: {words}{bar}", flush=True)
        file = files[16_384][0]
        if told.otava_python is None:
            print("Otava: not run, --otava-python is not given")
        else:
            spent = otava(file, told.otava_python)
            words = f"{spent['seconds']:.1f} s, of the processor {spent['processor']:.1f} s"
            print(f"MEASURED Otava, 16384 GPUs x {TICKS}: {words}")


if __name__ == "__main__":
    main()
