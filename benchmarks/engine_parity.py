"""Local against Ray with two workers on a fleet in a store: equal verdicts, and what Ray costs.

Run: `python -m benchmarks.engine_parity`. The fleet is that of `benchmarks.detectors_speed`, an
hour of SM clocks at 15 s with devices made slow in it, a run of 256 GPUs each. Three ways, each in
a process of its own: local, Ray, and Ray with a worker killed (SIGKILL) again and again in mid-run.
Tables of verdicts are compared bit by bit. The overhead is the wall time of tasks that do nothing,
of which there are as many as partitions.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import polars as pl

from benchmarks.detectors_speed import GROUP, TICKS, fleet
from collectors.readings import Reading
from collectors.storage.store import Store
from detectors.devices import DeviceParams
from paceline.engines.engines import EngineChoice, opened_engine
from paceline.engines.partitions import PeerGroup, StorePlace, peer_groups
from paceline.engines.spread_devices import spread_devices

WORKERS: Final = 2
KILLS: Final = 5
RUNS_A_PART: Final = 8
"""Runs that are stored by one commit, and so lie in one file."""


def store_fleet(root: Path, gpus: int) -> set[str]:
    """Store a fleet, some runs a commit, and return the devices that were made slow."""
    samples, planted = fleet(gpus)
    store = Store.open_at(str(root), create=True)
    runs = samples["run"].unique(maintain_order=True).to_list()
    for number, start in enumerate(range(0, len(runs), RUNS_A_PART), start=1):
        some = samples.filter(pl.col("run").is_in(runs[start : start + RUNS_A_PART]))
        store.append(Reading(samples=some), "benchmark", number)
    return planted


def nothing(_: PeerGroup) -> None:
    """Do nothing: what is left is the engine's own time."""


def workers_of(process: int) -> list[int]:
    """Return the processes below one that do Ray's tasks."""
    parents = dict[int, int]()
    words = dict[int, str]()
    for path in Path("/proc").glob("[0-9]*"):
        try:
            told = (path / "stat").read_text().rsplit(")", 1)[1].split()
            words[int(path.name)] = (path / "cmdline").read_text()
        except OSError:
            continue
        parents[int(path.name)] = int(told[1])
    busy = [one for one, called in words.items() if called.startswith("ray::_done")]
    return [one for one in busy if process in _above(one, parents)]


def _above(process: int, parents: dict[int, int]) -> Iterator[int]:
    while process in parents:
        process = parents[process]
        yield process


@contextmanager
def killing(kills: int) -> Iterator[list[int]]:
    """Kill a busy worker every few seconds while the block runs, and give whom."""
    over, killed = threading.Event(), list[int]()

    def kill() -> None:
        while not over.wait(1.0) and len(killed) < kills:
            for worker in workers_of(os.getpid())[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()


def judge(way: str, root: Path, out: Path) -> None:
    """Judge the fleet one way, write its verdicts, and print what it took."""
    place = StorePlace(root=str(root))
    name = "local" if way == "local" else "ray"
    began = time.perf_counter()
    with opened_engine(EngineChoice(name=name, workers=WORKERS)) as engine:
        print(f"MEASURED {way}: ready after {time.perf_counter() - began:.2f} s", flush=True)
        groups = peer_groups(place)
        list(engine.map(nothing, groups[:WORKERS]))
        began = time.perf_counter()
        list(engine.map(nothing, groups))
        each = (time.perf_counter() - began) / len(groups)
        print(f"MEASURED {way}: {1e3 * each:.2f} ms a partition of nothing, {len(groups)} of them")
        began = time.perf_counter()
        with killing(KILLS if way == "killed" else 0) as killed:
            found = spread_devices(engine, place, DeviceParams(), lambda *_: None)
        took = time.perf_counter() - began
    print(f"MEASURED {way}: {took:.1f} s, {1e3 * took / len(groups):.0f} ms a partition, ", end="")
    print(f"{len(killed)} workers killed, {found.devices.height} verdicts", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF)
    spent = f"{peak.ru_utime + peak.ru_stime:.1f} s of the processor"
    print(f"MEASURED {way}: this process {spent}, peak {peak.ru_maxrss / 1024:.0f} MiB", flush=True)
    found.devices.write_parquet(out)


def main() -> None:
    """Judge the fleet three ways and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=98_304)
    parser.add_argument("--way", choices=["local", "ray", "killed"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.way is not None:
        judge(told.way, told.folder / "store", told.folder / f"{told.way}.parquet")
        return
    with tempfile.TemporaryDirectory() as folder:
        planted = store_fleet(Path(folder, "store"), told.gpus)
        print(f"SIMULATED {told.gpus} GPUs in runs of {GROUP}, {TICKS} ticks of 15 s", flush=True)
        tables = list[pl.DataFrame]()
        for way in ("local", "ray", "killed"):
            called = [sys.executable, "-m", "benchmarks.engine_parity", "--way", way]
            subprocess.run([*called, "--folder", folder], check=True)
            tables.append(pl.read_parquet(Path(folder, f"{way}.parquet")))
        named = set(tables[0]["subject"].struct.field("device"))
        print(f"{len(named & planted)} of {len(planted)} planted, {len(named - planted)} not")
        assert tables[1].equals(tables[0])
        assert tables[2].equals(tables[0])
        print("all three tables of verdicts are equal to the last bit")


if __name__ == "__main__":
    main()
