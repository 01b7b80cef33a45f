"""How to lay a day of a store: what a question about one run costs, by layout and length of files.

Run by hand: `python -m benchmarks.store_layout [--runs 24] [--steps 4320]`. The day is SIMULATED,
every figure MEASURED. Layouts: as it comes (a file a window, by time); joined; in order of run,
with files of some lengths; and a partition a run.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl
from deltalake import DeltaTable, write_deltalake

from collectors.storage.store_order import files_of, replace_day

DAY: Final = date(2026, 1, 5)
START: Final = datetime(2026, 1, 5, tzinfo=UTC)
WINDOWS: Final = 48
RANKS: Final = 64
MEGABYTE: Final = 2**20


def run_name(at: int) -> str:
    """Return the name of a run: they begin alike."""
    return f"llama-405b-pretraining-2026-{at:03d}"


def window_of(at: int, runs: int, steps: int) -> pl.DataFrame:
    """Return the rows of a window of the day: steps of each rank of each run, by time."""
    count = steps // WINDOWS
    step = pl.DataFrame({"step": pl.int_range(count, eager=True) + at * count})
    rank = pl.DataFrame({"rank": pl.int_range(RANKS, eager=True, dtype=pl.Int32)})
    run = pl.DataFrame({"run": [run_name(one) for one in range(runs)]})
    seconds = 86_400 / steps
    noise = np.random.default_rng(at)
    return (
        step.join(run, how="cross")
        .join(rank, how="cross")
        .with_columns(
            end_time=pl.lit(START) + pl.duration(milliseconds=pl.col("step") * seconds * 1000),
            host=pl.format("{}-n{}", "run", pl.col("rank") // 8),
            day=pl.lit(DAY),
        )
        .with_columns(step_seconds=pl.Series(noise.normal(seconds, 0.1, count * runs * RANKS)))
    )


def fill(root: str, runs: int, steps: int, partitions: list[str]) -> float:
    """Write the windows one after the other, and return the seconds."""
    begin = time.perf_counter()
    for at in range(WINDOWS):
        rows = window_of(at, runs, steps)
        write_deltalake(root, rows, mode="append", partition_by=partitions)
    return time.perf_counter() - begin


def ordered(root: str, file_bytes: int) -> None:
    """Lay the day in order of run, in files of about some length."""
    table = DeltaTable(root)
    rows = pl.scan_delta(table).sort("run", "host", "rank", "step").collect()
    replace_day(table, rows, DAY, file_bytes=file_bytes)


def told(root: str, name: str, spent: float, run: str) -> str:
    """Return a line: files, bytes, those that may hold the run, and the seconds to read it."""
    table = DeltaTable(root)
    begin = time.perf_counter()
    rows = pl.scan_delta(table).filter(pl.col("run") == run).collect().height
    seconds = time.perf_counter() - begin
    actions = pl.DataFrame(table.get_add_actions(flatten=True))
    if "partition.run" in actions.columns:
        mine = actions.filter(pl.col("partition.run") == run)
        everything = actions.height, int(actions["size_bytes"].sum())
    else:
        files = files_of(table)
        mine = files.filter(pl.lit(run).is_between("min.run", "max.run"))
        everything = files.height, int(files["size_bytes"].sum())
    touched = mine.height, int(mine["size_bytes"].sum())
    return (
        f"{name:<22} {everything[0]:>6} {everything[1] / MEGABYTE:>8.1f} {spent:>8.2f} "
        f"{touched[0]:>8} {touched[1] / MEGABYTE:>8.2f} {seconds:>8.3f} {rows:>9,}"
    )


def main() -> None:
    """Lay the same day in each way, and print what each costs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--steps", type=int, default=4320)
    args = parser.parse_args()
    run = run_name(args.runs // 2)
    print(f"SIMULATED day: {args.runs} runs of {RANKS} ranks, {args.steps} steps; MEASURED")
    print("layout                  files       MB  seconds  touched       MB  seconds      rows")
    with tempfile.TemporaryDirectory() as folder:
        root = str(Path(folder) / "day")
        spent = fill(root, args.runs, args.steps, ["day"])
        print(told(root, "as it comes", spent, run))
        spent = _timed(DeltaTable(root).optimize.compact)
        print(told(root, "joined", spent, run))
        for length in (1, 4, 8, 32, 128):
            spent = _timed(partial(ordered, root, length * MEGABYTE))
            print(told(root, f"in order, {length} MB", spent, run))
        other = str(Path(folder) / "runs")
        spent = fill(other, args.runs, args.steps, ["day", "run"])
        print(told(other, "a partition a run", spent, run))


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
