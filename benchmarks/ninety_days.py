"""Ask a store of 90 days of 4,096 GPUs, folded into tiers: lemons, goodput, one incident's page.

Run by hand: `python -m benchmarks.ninety_days [--days 90] [--nodes 512]`. The store is SIMULATED,
and written as it would be after `paceline tidy`. Each command runs in a process of its own, from
its start to its end; the bar is 3 seconds each.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Final

import orjson
import polars as pl

from alerts.blast_radii import RunFacts
from alerts.faults import JoinParams
from alerts.incidents import incident_json, join_incidents
from collectors.frames import conform
from collectors.readings import Reading, join_readings, reading_of
from collectors.storage.store import Store
from collectors.storage.store_tables import KEPT_INCIDENTS
from collectors.storage.store_tiers import PEERS, TierDay, keep_peers, note_day
from detectors.peer_summaries import SummaryParams, fold_devices, fold_groups
from detectors.verdicts import Subject, Verdict

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
ONE_DAY: Final = timedelta(days=1)
GPUS: Final = 8
RUNS: Final = 8
STEP_SECONDS: Final = 20
REPORT_STEPS: Final = 10
"""A job reports every tenth step."""
JOB_NODES: Final = 8
SIGNALS: Final = {"sm_clock_hertz": 1.755e9, "power_watts": 640.0}
BAR_SECONDS: Final = 3.0
LEMONS: Final = 5


def hosts_of(nodes: int) -> list[str]:
    """Return the names of all hosts."""
    return [f"hx8-{at:03d}" for at in range(nodes)]


def jobs_of(day: int, nodes: int) -> Reading:
    """Return a day of jobs on eight nodes each; those of a few nodes fail every third day."""
    begin = START + day * ONE_DAY
    hosts = hosts_of(nodes)
    rows: list[dict[str, object]] = []
    for first in range(0, nodes, JOB_NODES):
        failed = first // JOB_NODES < LEMONS and (day + first) % 3 == 0
        rows.append(
            {
                "run": f"{day:03d}{first:05d}",
                "attempt": 0,
                "name": f"train-{first // JOB_NODES}",
                "user": "ada",
                "state": "NODE_FAIL" if failed else "COMPLETED",
                "submit": begin,
                "start": begin,
                "end": begin + ONE_DAY / (2 if failed else 1),
                "hosts": hosts[first : first + JOB_NODES],
                "gpus": JOB_NODES * GPUS,
                "exit": "0:1" if failed else "0:0",
                "source": "sacct",
            }
        )
    return reading_of(jobs=pl.DataFrame(rows))


def events_of(day: int, nodes: int) -> Reading:
    """Return what kernels say before those jobs end, and harmless lines of others."""
    noon = START + day * ONE_DAY + ONE_DAY / 2 - timedelta(minutes=2)
    lemons = [
        (noon, first * JOB_NODES + 3, "79") for first in range(LEMONS) if (day + first * 8) % 3 == 0
    ]
    others = [
        (noon - timedelta(minutes=at), (at * 37 + day) % nodes, "13") for at in range(nodes // 8)
    ]
    rows = [
        {
            "time": at,
            "host": f"hx8-{node:03d}",
            "device_kind": "gpu",
            "device": "0000:9b:00",
            "kind": "xid",
            "code": code,
            "message": f"NVRM: Xid (PCI:0000:9b:00): {code}",
            "source": "kern.log",
        }
        for at, node, code in (*lemons, *others)
    ]
    return reading_of(events=pl.DataFrame(rows))


def steps_of(day: int) -> Reading:
    """Return a day of steps of each run, one row a step of the whole job."""
    count = 86_400 // STEP_SECONDS // REPORT_STEPS
    report = pl.int_range(count, eager=True) + day * count
    times = (
        pl.DataFrame({"step": report})
        .with_columns(
            end_time=pl.lit(START)
            + pl.duration(seconds=(pl.col("step") + 1) * STEP_SECONDS * REPORT_STEPS),
            step_seconds=STEP_SECONDS + (pl.col("step") * 7919 % 101) / 200.0,
            time_kind=pl.lit("interval_mean"),
            interval_steps=pl.lit(REPORT_STEPS),
            attempt=pl.lit(0),
        )
        .with_columns(step=(pl.col("step") + 1) * REPORT_STEPS)
    )
    runs = pl.DataFrame({"run": [f"llama-{at}" for at in range(RUNS)]}).with_columns(
        source=pl.format("{}.log", "run")
    )
    return reading_of(steps=runs.join(times, how="cross"))


def samples_of(day: int, nodes: int) -> pl.DataFrame:
    """Return an hourly sample of each GPU and signal: its ratios are as many as of any more."""
    gpus = pl.DataFrame({"gpu": range(nodes * GPUS)}).select(
        host=pl.format("hx8-{}", (pl.col("gpu") // GPUS).cast(pl.String).str.zfill(3)),
        device=pl.format("GPU-{}", "gpu"),
        index=(pl.col("gpu") % GPUS).cast(pl.Int32),
        noise=(pl.col("gpu") * 7919 % 1009) / 1009.0,
    )
    times = pl.DataFrame(
        {"time": [START + day * ONE_DAY + timedelta(hours=at) for at in range(24)]}
    )
    signals = pl.DataFrame({"signal": list(SIGNALS), "level": list(SIGNALS.values())})
    rows = gpus.join(times, how="cross").join(signals, how="cross")
    return reading_of(
        samples=rows.with_columns(
            device_kind=pl.lit("gpu"),
            model=pl.lit("H100"),
            value=pl.col("level") * (1.0 + 0.01 * pl.col("noise")),
        )
    ).samples


def incidents_of(days: int) -> Iterator[dict[str, object]]:
    """Yield one incident a day, as it is kept: a GPU of a run, slow for an hour."""
    for day in range(days):
        onset = START + day * ONE_DAY + timedelta(hours=7)
        verdict = Verdict(
            kind="slow",
            level="gpu",
            subject=Subject(run=f"llama-{day % RUNS}", host=f"hx8-{day:03d}", gpu=3),
            confidence="high",
            onset=onset,
            detected=onset + timedelta(minutes=4),
            cleared=onset + timedelta(hours=1),
            slowdown=1.4,
        )
        now = START + (day + 1) * ONE_DAY
        (found,) = join_incidents([verdict], [], RunFacts.unknown(), JoinParams(), now=now)
        yield {
            "id": found.id,
            "onset": found.onset,
            "cleared": found.cleared,
            "run": found.run,
            "title": found.title,
            "judged_until": now,
            "document": orjson.dumps(incident_json(found)).decode(),
        }


def fill(store: Store, days: int, nodes: int) -> str:
    """Write the store, a day at a time, and return the id of an incident."""
    for day in range(days):
        told = join_readings([jobs_of(day, nodes), events_of(day, nodes), steps_of(day)])
        store.append(told, f"day {day}", 1)
        samples = samples_of(day, nodes).lazy()
        tier = TierDay(
            day=(START + day * ONE_DAY).date(), step_seconds=300, sample_count=nodes * GPUS * 48
        )
        params = SummaryParams()
        keep_peers(store, tier, fold_groups(samples, params), fold_devices(samples, params))
        note_day(store, PEERS, tier)
    kept = pl.LazyFrame(list(incidents_of(days)), schema=KEPT_INCIDENTS.schema)
    rows = conform(kept, KEPT_INCIDENTS.schema).collect()
    store.add_rows(KEPT_INCIDENTS.name, rows, "incidents")
    store.compact()
    return str(rows["id"][days // 2])


def seconds_of(arguments: list[str]) -> float:
    """Return how long a command takes, from the start of its process to its end."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "paceline", *arguments], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - begin


def main() -> None:
    """Make the store, ask it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--nodes", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="keep the store here; made if it is not there")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        root = args.folder or Path(scratch) / "store"
        is_new = not root.exists()
        store = Store.open_at(str(root), create=True)
        if is_new:
            fill(store, args.days, args.nodes)
        incident = store.read(KEPT_INCIDENTS.name).collect().sort("onset")["id"][args.days // 2]
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        print(
            f"SIMULATED store: {args.days} days, {args.nodes * GPUS:,} GPUs, {size / 1e6:,.0f} MB; "
            f"MEASURED, median of {args.repeats}, whole process"
        )
        for name, arguments in (
            ("lemons", ["lemons", str(root)]),
            ("goodput", ["goodput", str(root)]),
            ("incident page", ["postmortem", incident, str(root), "--out", f"{scratch}/page"]),
        ):
            taken = median(seconds_of(arguments) for _ in range(args.repeats))
            word = "within" if taken <= BAR_SECONDS else "ABOVE"
            print(f"{name:<14} {taken:6.2f} s, {word} the bar of {BAR_SECONDS:g} s")


if __name__ == "__main__":
    main()
