"""Write a planted job as files: step records of each rank, and scrapes of each host's GPUs."""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from benchmarks.planted_jobs import (
    BUSY,
    CLOCK,
    HEAT,
    POWER,
    REASONS,
    TICK_SECONDS,
    Job,
    device_names,
    placements_of,
    steps_of,
)

FIELDS: Final = {
    CLOCK: ("DCGM_FI_DEV_SM_CLOCK", 1e-6),
    POWER: ("DCGM_FI_DEV_POWER_USAGE", 1.0),
    HEAT: ("DCGM_FI_DEV_GPU_TEMP", 1.0),
    BUSY: ("DCGM_FI_DEV_GPU_UTIL", 100.0),
    REASONS: ("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS", 1.0),
}
"""dcgm-exporter's name of a signal, and its unit."""

KEYS: Final = {
    "step_seconds": "step_s",
    "data_seconds": "data_s",
    "compute_seconds": "compute_s",
    "forward_seconds": "forward_s",
    "backward_seconds": "backward_s",
    "comm_seconds": "comm_s",
}


def write_job(job: Job, folder: Path, hidden: tuple[str, ...] = ()) -> None:
    """Write a job below a folder.

    Args:
        job: With its story.
        folder: Made if it is not there.
        hidden: What nobody tells: columns of steps, `end_time`, `coordinates`, `samples`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_steps(job, folder, hidden)
    if "samples" not in hidden:
        write_scrapes(job, folder)


def write_steps(job: Job, folder: Path, hidden: tuple[str, ...]) -> None:
    """Write a file of JSON lines a rank."""
    places = {row["rank"]: row for row in placements_of(job).to_dicts()}
    start = job.shape.start.timestamp()
    for (rank,), part in steps_of(job).partition_by("rank", as_dict=True).items():
        place = places[rank]
        head: dict[str, Any] = {"event": "start", "rank": rank, "host": place["host"], "t": start}
        if "coordinates" not in hidden:
            head |= {"local_rank": place["index"], "world": job.shape.ranks}
            head |= {name: place[name] for name in ("dp", "pp")}
        records = [_record(row, hidden) for row in part.sort("step").to_dicts()]
        lines = [json.dumps(one) for one in (head, *records)]
        (folder / f"rank{rank}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _record(row: dict[str, Any], hidden: tuple[str, ...]) -> dict[str, Any]:
    told = {"step": row["step"], "rank": row["rank"]}
    if "end_time" not in hidden:
        told["t"] = row["end_time"].timestamp()
    return told | {key: round(row[name], 6) for name, key in KEYS.items() if name not in hidden}


def write_scrapes(job: Job, folder: Path) -> None:
    """Write a file of scrapes a host, each sample with its time."""
    hosts = pl.Series([job.shape.host(rank) for rank in range(job.shape.ranks)])
    for host in hosts.unique().sort():
        rows = np.flatnonzero((hosts == host).to_numpy())
        lines = [
            line
            for tick in range(job.signals[CLOCK].shape[1])
            for line in _scrape(job, host, rows, tick)
        ]
        (folder / f"dcgm-{host}.prom").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _scrape(job: Job, host: str, rows: np.ndarray, tick: int) -> list[str]:
    stamp = int((job.shape.start.timestamp() + tick * TICK_SECONDS) * 1000)
    names = device_names(job)
    lines: list[str] = []
    for signal, (field, unit) in FIELDS.items():
        lines.append(f"# TYPE {field} gauge")
        for rank in rows:
            labels = (
                f'gpu="{rank % job.shape.gpus}",UUID="{names[rank]}",'
                f'modelName="{job.models[rank]}",Hostname="{host}"'
            )
            value = job.signals[signal][rank, tick]
            if not np.isnan(value):
                lines.append(f"{field}{{{labels}}} {value * unit:.10g} {stamp}")
    return lines
