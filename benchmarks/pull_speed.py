"""Pull 2,000 series of 2 h at 15 s from a real Prometheus: ours beside the client library's frames.

MEASURED on the machine it runs on, side by side in one run, each way in a process of its own so
that peak memory can be told apart. Needs prometheus, promtool and pandas (`pip install pandas`).
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.servers import serving

SERIES, HOURS, STEP_SECONDS = 2_000, 2, 15
START = datetime(2026, 1, 5, tzinfo=UTC)
END = START + timedelta(hours=HOURS)
ROUNDS = 5
METRIC = "DCGM_FI_DEV_GPU_TEMP"


def history() -> str:
    """Return the series as OpenMetrics text."""
    lines = [f"# TYPE {METRIC} gauge"]
    for series in range(SERIES):
        labels = (
            f'gpu="{series % 8}",UUID="GPU-{series:05d}",'
            f'pci_bus_id="00000000:{series % 8:02X}:00.0",'
            f'modelName="NVIDIA H100 80GB HBM3",Hostname="hx8-{series // 8:03d}"'
        )
        for at in range(HOURS * 3600 // STEP_SECONDS):
            stamp = START.timestamp() + at * STEP_SECONDS
            lines.append(f"{METRIC}{{{labels}}} {50 + (at * 7 + series) % 13} {stamp:.0f}")
    return "\n".join([*lines, "# EOF", ""])


def ours(url: str) -> int:
    """Pull with Paceline; return the number of points."""
    from collectors.metrics.prometheus import PrometheusServer, fetch_answer

    server = PrometheusServer(url=url)
    return fetch_answer(server, METRIC, START, END).series().points.height


def library(url: str, *, is_compressed: bool = True) -> int:
    """Pull with the client library's own range data and frame."""
    from prometheus_api_client import MetricRangeDataFrame, PrometheusConnect

    headers = {} if is_compressed else {"Accept-Encoding": "identity"}
    connection = PrometheusConnect(url=url, headers=headers)
    end = END - timedelta(milliseconds=1)
    data = connection.get_metric_range_data(
        METRIC, start_time=START, end_time=end, chunk_size=timedelta(hours=1)
    )
    return len(MetricRangeDataFrame(data))


def library_uncompressed(url: str) -> int:
    """Pull with the client library, told to leave compression off."""
    return library(url, is_compressed=False)


WAYS = {"ours": ours, "library": library, "library, no gzip": library_uncompressed}


def measure(way: str, url: str) -> dict[str, float]:
    """Return median seconds, peak growth of memory in MB and points of one way, in a process."""
    command = [sys.executable, "-m", "benchmarks.pull_speed", way, url]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(printed.splitlines()[-1])


def run_one(way: str, url: str) -> None:
    """Print what one way takes."""
    pull = WAYS[way]
    pull_imports(way)
    before = peak_mb()
    seconds, points = list[float](), 0
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        points = pull(url)
        seconds.append(time.perf_counter() - begun)
    figures = {"seconds": statistics.median(seconds), "grown_mb": peak_mb() - before}
    print(json.dumps(figures | {"points": points}))


def peak_mb() -> float:
    """Return this process' own peak of memory; what getrusage says may be its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def pull_imports(way: str) -> None:
    """Load what a way needs, so that loading is not measured."""
    import collectors.metrics.prometheus

    assert collectors.metrics.prometheus
    if way != "ours":
        import pandas as pd
        import prometheus_api_client

        assert pd
        assert prometheus_api_client


def main() -> None:
    """Run all ways against one server and print the ratios."""
    with tempfile.TemporaryDirectory() as folder, serving(history(), Path(folder)) as url:
        figures = {way: measure(way, url) for way in WAYS}
    for way, figure in figures.items():
        print(
            f"{way:20s} {figure['seconds']:.2f} s, +{figure['grown_mb']:.0f} MB, "
            f"{figure['points']:,} rows (MEASURED)"
        )
    mine = figures["ours"]
    for way in ("library", "library, no gzip"):
        other = figures[way]
        print(
            f"{way}: {other['seconds'] / mine['seconds']:.1f} times our time, "
            f"{other['grown_mb'] / mine['grown_mb']:.1f} times our memory (MEASURED)"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run_one(sys.argv[1], sys.argv[2])
    else:
        main()
