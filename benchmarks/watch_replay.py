"""Replay INC-2291 into the watch, from onset to page to end, in accelerated time.

The step records grow in a folder, the scrapes are in a real Prometheus (found on PATH), the page
goes to a local HTTP receiver. Printed: how long after the onset the detectors and the burn named
it, what the receiver got, and what a tick costs. With `--kill` the process that ticks is killed
with SIGKILL at random moments and started again; the incidents must be the same.

    python -P benchmarks/watch_replay.py --nodes 32 --tick 15
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 5, tzinfo=UTC)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def prometheus(openmetrics: Path, folder: Path) -> Iterator[str]:
    """Serve recorded scrapes from a real server."""
    folder.mkdir()
    blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=24h"]
    subprocess.run(
        [*blocks, str(openmetrics), str(folder / "data")], check=True, capture_output=True
    )
    (folder / "prometheus.yml").write_text("global: {scrape_interval: 15s}\n")
    address = f"127.0.0.1:{free_port()}"
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=10y",
        f"--web.listen-address={address}",
    ]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            wait_for(f"http://{address}/-/ready")
            yield f"http://{address}"
        finally:
            process.terminate()


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    import requests

    for _ in range(300):
        try:
            if requests.get(url, timeout=2).ok:
                return
        except requests.ConnectionError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"{url} did not get ready")


@contextmanager
def receiver() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Take webhooks and keep them."""
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", got
    finally:
        server.shutdown()
        server.server_close()


def write_settings(folder: Path, url: str, hook: str, tick: float) -> Path:
    """Write the settings of a watch, and return where."""
    path = folder / "paceline.toml"
    path.write_text(
        f"""
cluster = "orion"
state = "{folder / "state"}"
[[logs]]
name = "progress"
paths = ["{folder / "live"}/*.jsonl"]
[[prometheus]]
name = "main"
url = "{url}"
[watch]
tick = "{tick:g}s"
patience = "60s"
[[receivers]]
name = "on-call"
kind = "webhook"
url = "{hook}"
"""
    )
    return path


def _same(now: datetime) -> datetime:
    return now


def run_ticks(settings: Path, recording: Path, span: tuple[datetime, datetime]) -> None:
    """Tick from where this instance left off to an end; a child process does this."""
    from alerts.delivery.couriers import deliver_due
    from alerts.delivery.telling import Places
    from paceline.receiver_settings import receiver_of
    from paceline.settings import load_settings
    from paceline.simulation.replays import Replay
    from paceline.watching.grid import Due
    from paceline.watching.wiring import wired

    told = load_settings(settings)
    now = span[0]
    with wired(told, os.environ, lambda: now) as parts:
        replay = Replay.of(recording / "sources/progress", settings.parent / "live")
        receivers = {one.name: receiver_of(one, Places(), {}) for one in told.receivers}
        last = parts.instance.watch.last
        now = now if last is None else last + told.watch.tick
        names = {"commit", "take", "name", "folds", "detectors", "burns", "all"}
        while now <= span[1]:
            replay.advance(now)
            began = time.process_time()
            done = parts.instance.tick(Due(at=now, skipped=0))
            clock = partial(_same, now)
            deliver_due(parts.instance.store.engine, receivers, now=clock, claim_as="replay")
            cost = {name: round(value, 3) for name, value in done.seconds.items() if name in names}
            cost["cpu"] = round(time.process_time() - began, 3)
            print(json.dumps({"now": now.isoformat(), "rows": done.rows, **cost}), flush=True)
            now += told.watch.tick


def child(settings: Path, recording: Path, minutes: tuple[float, float]) -> list[str]:
    """Return the command of a process that ticks."""
    first, last = (str(one) for one in minutes)
    return [sys.executable, "-P", __file__, "--child", str(settings), str(recording), first, last]


def replay(args: argparse.Namespace, recording: Path, url: str, *, kills: int) -> dict[str, Any]:
    """Return what a replay gave: costs of ticks, webhooks, and the incidents that are kept."""
    folder = Path(tempfile.mkdtemp(prefix="watch-replay-"))
    costs: list[dict[str, Any]] = []
    draw = random.Random(args.seed)  # noqa: S311 -- when to kill is no secret
    with receiver() as (hook, got):
        settings = write_settings(folder, url, hook, args.tick)
        command = child(settings, recording, (args.first, args.minutes))
        for left in range(kills, -1, -1):
            limit = draw.uniform(2.0, 20.0) if left else None
            costs += ticks_of(command, limit)
        time.sleep(0.2)
    found = {"costs": costs, "got": got, "kept": kept_in(folder / "state/incidents.db")}
    shutil.rmtree(folder)
    return found


def ticks_of(command: list[str], limit: float | None) -> list[dict[str, Any]]:
    """Run a process that ticks to its end, or kill it some seconds after its first tick."""
    told: list[dict[str, Any]] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not told and limit is not None:
                threading.Timer(limit, os.kill, [process.pid, signal.SIGKILL]).start()
            told.append(json.loads(line))
    return told


def kept_in(database: Path) -> list[tuple[Any, ...]]:
    """Return the incidents of a database, without what counts writes."""
    import sqlite3

    connection = sqlite3.connect(database)
    rows = connection.execute(
        "SELECT number, id, state, severity, title, onset, first_seen, detected, paged_at, "
        "resolved_at, merged_into FROM incidents ORDER BY number"
    ).fetchall()
    connection.close()
    return rows


def main() -> None:
    """Read the arguments, and be the parent or a child."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--tick", type=float, default=15.0)
    parser.add_argument("--first", type=float, default=45.0, help="minute of the first tick")
    parser.add_argument("--minutes", type=float, default=130.0, help="minute of the last tick")
    parser.add_argument("--fault-minutes", type=float, default=25.0)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--child", nargs=4)
    args = parser.parse_args()
    if args.child:
        settings, recording, first, last = args.child
        span = (START + timedelta(minutes=float(first)), START + timedelta(minutes=float(last)))
        run_ticks(Path(settings), Path(recording), span)
        return
    report(args)


def report(args: argparse.Namespace) -> None:
    """Simulate, replay, and print the figures."""
    from paceline.simulation.openmetrics import write_openmetrics
    from paceline.simulation.orion import OrionParams, simulate

    work = Path(tempfile.mkdtemp(prefix="watch-replay-"))
    params = OrionParams(
        nodes=args.nodes,
        minutes=args.minutes,
        onset_minutes=75.0,
        fault_minutes=args.fault_minutes,
        gpu_scrape_seconds=30.0,
    )
    truth = simulate("throttled-gpu", work, seed=args.seed, params=params)
    write_openmetrics(work / "sources", work / "history.om")
    with prometheus(work / "history.om", work / "prometheus") as url:
        whole = replay(args, work, url, kills=0)
        again = replay(args, work, url, kills=args.kills) if args.kills else whole
    print(f"SIMULATED ORION-256: {args.nodes * 8} GPUs, tick {args.tick:g} s")
    print(f"onset {truth.onset}, cleared {truth.cleared}, culprit {truth.culprit}")
    for row in whole["kept"]:
        print("incident", row)
    for one in whole["got"]:
        print(
            "webhook ",
            one["status"],
            [each["annotations"].get("summary") for each in one["alerts"]],
        )
    first, *later = whole["costs"]
    print(f"first tick: {first['all']:.2f} s, {first['cpu']:.2f} s of CPU")
    for name in ("all", "cpu", "take", "name", "folds", "detectors", "burns", "commit"):
        values = [one[name] for one in later]
        print(f"{name:>10}: median {statistics.median(values):.2f} s, worst {max(values):.2f} s")
    if args.kills:
        print(f"{args.kills} kills: same incidents", again["kept"] == whole["kept"])
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
