"""Kill the collector 200 times while it pulls a real Prometheus, and count every sample after it.

Run by hand: `python -m benchmarks.collect_kills [KILLS [SEED]]`; it needs `prometheus` and
`promtool`. A store is filled until it is whole, then the next is begun, until there were enough
kills.
"""

import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import requests

from collectors.storage.store import Store

START = datetime(2026, 1, 5, tzinfo=UTC)
HOURS = 3
STEP_SECONDS = 15
HOSTS, GPUS = 4, 8
METRICS = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_SM_CLOCK")
LINES = 2_000
MAX_FILES = 16
"""A collector is killed when the store has got up to so many files more: the machine's speed does
not matter, and each kind of moment gets its turn."""

MAX_DELAY_SECONDS = 0.05

COLLECT = "import typer; from paceline.commands.collect import collect_command as c; typer.run(c)"
"""The command by itself: `paceline` loads all commands, which takes longer than a window."""
SPAN = ("--since", "2026-01-05T00:00:00", "--until", f"2026-01-05T{HOURS:02d}:00:00")


def history() -> str:
    """Return gauges of all GPUs as OpenMetrics."""
    lines: list[str] = []
    points = HOURS * 3600 // STEP_SECONDS
    for metric in METRICS:
        lines.append(f"# TYPE {metric} gauge")
        lines += [
            f'{metric}{{gpu="{gpu}",UUID="GPU-{host}-{gpu}",Hostname="hx8-00{host}"}} '
            f"{50 + at % 40} {START.timestamp() + STEP_SECONDS * at:.3f}"
            for host in range(HOSTS)
            for gpu in range(GPUS)
            for at in range(points)
        ]
    return "\n".join([*lines, "# EOF", ""])


def log() -> str:
    """Return a trainer's log."""
    return "".join(
        f"[2026-01-05 {at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d}] iteration {at}/ {LINES} "
        "| elapsed time per iteration (ms): 1000.0 | lm loss: 2.0E+00\n"
        for at in range(LINES)
    )


@contextmanager
def prometheus(folder: Path) -> Generator[str, None, None]:
    """Serve the history; gives the address."""
    source = folder / "history.om"
    source.write_text(history(), encoding="utf-8")
    blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=24h"]
    subprocess.run([*blocks, source, folder / "data"], check=True, capture_output=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    (folder / "prometheus.yml").write_text("global: {}\n")
    flags = [
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address={address}",
    ]
    with subprocess.Popen(["prometheus", *flags], stderr=subprocess.DEVNULL) as server:
        try:
            while not is_ready(f"http://{address}"):
                time.sleep(0.2)
            yield f"http://{address}"
        finally:
            server.terminate()


def is_ready(url: str) -> bool:
    """Return whether the server answers."""
    with suppress(requests.RequestException):
        return requests.get(f"{url}/-/ready", timeout=5).ok
    return False


@dataclass(slots=True)
class Figures:
    """What was seen: kills, stores that were filled, rows in them, and rows lost or twice."""

    kills: int = 0
    stores: int = 0
    rows: int = 0
    lost: int = 0
    twice: int = 0


def check(root: Path, figures: Figures) -> None:
    """Count what a whole store holds against what the sources hold."""
    store = Store.open_at(str(root))
    key = ["host", "device", "signal", "time"]
    samples = store.read("samples").group_by(key).len().collect()
    steps = store.read("steps").group_by("step").len().collect()
    wanted = len(METRICS) * HOSTS * GPUS * HOURS * 3600 // STEP_SECONDS
    figures.stores += 1
    figures.rows += int(samples["len"].sum() + steps["len"].sum())
    figures.lost += wanted - samples.height + LINES - steps.height
    figures.twice += samples.filter(pl.col("len") > 1).height
    figures.twice += steps.filter(pl.col("len") > 1).height


def kill_often(kills: int, seed: int, folder: Path, url: str) -> Figures:
    """Fill store after store, killing the collector at random moments."""
    draw, figures = random.Random(seed), Figures()  # noqa: S311 -- moments are no secret
    source = folder / "train.log"
    source.write_text(log(), encoding="utf-8")
    while figures.kills < kills or figures.stores == 0:
        root = folder / f"store-{figures.stores}"
        command = [sys.executable, "-c", COLLECT, str(source), "--store", str(root)]
        command += ["--prometheus", url, *SPAN, "--window", "2m"]
        is_whole = False
        while not is_whole:
            limit = count_files(root) + draw.randint(1, MAX_FILES)
            delay = draw.uniform(0, MAX_DELAY_SECONDS)
            is_whole = fill(command, root, None if figures.kills >= kills else limit, delay)
            figures.kills += not is_whole
            if not is_whole and figures.kills % 25 == 0:
                print(f"{figures.kills} kills", flush=True)
        check(root, figures)
        shutil.rmtree(root)
    return figures


def count_files(root: Path) -> int:
    """Return how many files a store has, those that are being written with them."""
    return sum(1 for folder in root.glob("*/*/") for _ in folder.iterdir())


def fill(command: list[str], root: Path, limit: int | None, delay_seconds: float) -> bool:
    """Run the collector; return whether it ended by itself before it was killed.

    Args:
        command: The collector.
        root: Its store.
        limit: It is killed when the store has so many files; null spares it.
        delay_seconds: Time from then to the kill.
    """
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as collector:
        while collector.poll() is None:
            if limit is not None and count_files(root) >= limit:
                time.sleep(delay_seconds)
                collector.kill()
            time.sleep(0.01)
    assert collector.returncode in {0, -signal.SIGKILL}
    return collector.returncode == 0


def main(kills: int = 200, seed: int = 17) -> None:
    """Print the figures, and fail if a row was lost or stored twice."""
    with tempfile.TemporaryDirectory() as name:
        folder, began = Path(name), time.monotonic()
        with prometheus(folder) as url:
            figures = kill_often(kills, seed, folder, url)
    lasted = time.monotonic() - began
    print(f"MEASURED {figures}, {lasted:.0f} s")
    assert (figures.lost, figures.twice) == (0, 0)


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
