"""Burn rates, budgets and alert states of many groups over a month: seconds, and peak memory.

MEASURED on the machine it runs on; the series are SIMULATED: counters scraped and evaluated every
minute, one group in ten with an hour's outage. In one run: ours over Parquet files that hold some
groups each, in a process of its own; then a size that a Prometheus can do, asked of both, with the
answers compared. `python -m benchmarks.slo_scale [groups] [days]`; 1000 and 30 if not said.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import requests

from benchmarks.servers import serving
from collectors.frames import TIME
from slo.burn_histories import burn_history
from slo.expressions import alert_condition, total_events
from slo.growth import BurnParams, Mode
from slo.objectives import Objective
from slo.selectors import Selector
from slo.windows import RECOMMENDED_WINDOWS, duration

START = datetime(2026, 1, 1, tzinfo=UTC)
GROUPS_A_FILE = 25
WORKERS = 2
SMALL_GROUPS, SMALL_DAYS = 20, 2
MINUTES_A_DAY = 1440
MAX_POINTS = 11_000
"""What one range query may answer for a series."""

OBJECTIVE = Objective(
    name="scale",
    title="Scale",
    description="",
    service="benchmark",
    target_percent=Decimal("99.9"),
    period_seconds=30 * 86400,
    total=Selector(metric="all_total"),
    bad=Selector(metric="bad_total"),
    group_labels=("run",),
    windows=RECOMMENDED_WINDOWS,
)


def main() -> None:
    """Measure both sizes and print them."""
    groups, days = (int(text) for text in (sys.argv[1:3] or ("1000", "30")))
    if sys.argv[3:]:
        replay(Path(sys.argv[3]), groups, days)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), groups, days)
        command = [sys.executable, "-m", "benchmarks.slo_scale", str(groups), str(days), folder]
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    points = groups * days * MINUTES_A_DAY
    print(f"{points / 1e6:.1f} M points ({groups} groups x {days} d), {told['firings']} firings")
    print(f"{told['seconds']:.1f} s, {told['cpu']:.1f} s of CPU, MEASURED, files read")
    print(f"peak memory {told['bytes'] / 1e9:.2f} GB, MEASURED, own process")
    beside_prometheus()


def replay(folder: Path, groups: int, days: int) -> None:
    """Replay the files, and print what it took as JSON."""
    begun, cpu = time.perf_counter(), time.process_time()
    files = sorted(folder.glob("*.parquet"))
    found = burn_history(
        (pl.read_parquet(file) for file in files),
        OBJECTIVE,
        minutes(days),
        BurnParams(),
        workers=WORKERS,
    )
    assert found.budgets.height == groups
    told = {
        "seconds": time.perf_counter() - begun,
        "cpu": time.process_time() - cpu,
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "firings": found.alerts.height,
    }
    print(json.dumps(told))


def minutes(days: int) -> pl.Series:
    """Return every minute of some days."""
    stop = START + timedelta(days=days)
    times = pl.datetime_range(START, stop, "1m", closed="left", eager=True)
    return times.cast(TIME).alias("time")


def write_files(folder: Path, groups: int, days: int) -> None:
    """Write the counters of all groups, some groups a file."""
    for first in range(0, groups, GROUPS_A_FILE):
        count = min(GROUPS_A_FILE, groups - first)
        pl.concat(counters(first, count, days)).write_parquet(folder / f"{first:06}.parquet")


def counters(first: int, count: int, days: int) -> Iterator[pl.DataFrame]:
    """Give the counters of some groups."""
    times = minutes(days)
    for metric, mean in (("all_total", 100.0), ("bad_total", 0.05)):
        for group in range(first, first + count):
            dice = np.random.default_rng([group, metric == "bad_total"])
            means = np.full(times.len(), mean)
            if metric == "bad_total" and group % 10 == 0:
                begin = int(dice.integers(0, times.len() - 60))
                means[begin : begin + 60] = 50.0
            value = np.cumsum(dice.poisson(means)).astype(np.float64)
            yield pl.DataFrame(
                {"metric": metric, "run": f"run-{group:06}", "time": times, "value": value}
            )


def beside_prometheus() -> None:
    """Ask a real server for the same, at a size that it can do, and compare."""
    series = pl.concat(counters(0, SMALL_GROUPS, SMALL_DAYS))
    times = minutes(SMALL_DAYS)
    begun = time.perf_counter()
    found = burn_history([series], OBJECTIVE, times, BurnParams(mode=Mode.PARITY))
    ours = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as folder, serving(as_text(series), Path(folder)) as url:
        begun = time.perf_counter()
        firing = {
            window: asked(url, alert_condition(OBJECTIVE, window)) for window in OBJECTIVE.windows
        }
        asked(url, total_events(OBJECTIVE, OBJECTIVE.period_seconds))
        theirs = time.perf_counter() - begun
    compare(found.alerts, firing)
    points = SMALL_GROUPS * SMALL_DAYS * MINUTES_A_DAY
    print(f"{points} points ({SMALL_GROUPS} groups x {SMALL_DAYS} d): ours {ours:.2f} s, MEASURED")
    print(f"Prometheus {theirs:.2f} s, MEASURED, {theirs / ours:.0f} times as long; same firings")


def as_text(series: pl.DataFrame) -> str:
    """Return series of counters as OpenMetrics text."""
    lines: list[str] = []
    for metric in ("all_total", "bad_total"):
        lines.append(f"# TYPE {metric.removesuffix('_total')} counter")
        rows = series.filter(pl.col("metric") == metric)
        text = pl.format(
            '{}{{run="{}"}} {} {}', "metric", "run", "value", pl.col("time").dt.epoch("s")
        )
        lines += rows.select(text).to_series().to_list()
    return "\n".join([*lines, "# EOF", ""])


def asked(url: str, query: str) -> dict[tuple[str, float], float]:
    """Return the server's answers by run and time, every minute."""
    found: dict[tuple[str, float], float] = {}
    end = SMALL_DAYS * MINUTES_A_DAY
    for first in range(0, end, MAX_POINTS):
        last = min(end, first + MAX_POINTS) - 1
        span = {"start": START.timestamp() + first * 60, "end": START.timestamp() + last * 60}
        reply = requests.post(
            f"{url}/api/v1/query_range", data={"query": query, "step": "60", **span}, timeout=600
        ).json()
        assert reply["status"] == "success", reply
        for result in reply["data"]["result"]:
            found.update(
                {(result["metric"]["run"], at): float(value) for at, value in result["values"]}
            )
    return found


def compare(alerts: pl.DataFrame, firing: dict[object, dict[tuple[str, float], float]]) -> None:
    """Assert that every alert was active for as long as the server's condition held."""
    for window, held in firing.items():
        assert isinstance(window, type(OBJECTIVE.windows[0]))
        ours = alerts.filter(
            pl.col("severity") == window.severity, pl.col("long_seconds") == window.long_seconds
        )
        for run, active, fired in ours.select("run", "active_at", "fired_at").iter_rows():
            at = active
            while at <= fired:
                assert (run, at.timestamp()) in held, (window.name, run, at)
                at += timedelta(minutes=1)
        runs = {run for run, _ in held}
        missing = set(ours["run"]) - runs
        assert not missing, (duration(window.long_seconds), missing)


if __name__ == "__main__":
    main()
