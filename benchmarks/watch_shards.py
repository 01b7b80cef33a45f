"""Three watches share one replayed fleet for an hour, and are killed again and again.

Three simulated jobs, each on hosts of its own, are one fleet: step records grow in a folder,
scrapes are in a real Prometheus (found on PATH). One process watches it alone; then several share
it, tick by tick, and are killed with SIGKILL at random moments and started again some ticks later.
The list of incidents must be the same: ids, culprits, onsets, states, and when each was first seen.

    python -m benchmarks.watch_shards --kills 20 [--database postgresql+pg8000://...]
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 5, tzinfo=UTC)
JOBS = (("throttled-gpu", 7), ("dirty-link", 8), ("nccl-hang", 9))
ROUNDS = 40
"""Times that those who are left are asked to join what is due, at the end."""


def record(out: Path, args: argparse.Namespace) -> None:
    """Simulate each job, and write its sources under names of its own into one folder."""
    from paceline.simulation.openmetrics import write_openmetrics
    from paceline.simulation.orion import OrionParams, simulate

    params = OrionParams(
        nodes=args.nodes,
        minutes=args.minutes,
        onset_minutes=args.onset,
        fault_minutes=args.fault_minutes,
        gpu_scrape_seconds=60.0,
        fabric_scrape_seconds=120.0,
    )
    for number, (scenario, seed) in enumerate(JOBS, start=1):
        with tempfile.TemporaryDirectory() as one:
            simulate(scenario, Path(one), seed=seed, params=params)
            for path in sorted(Path(one, "sources").rglob("*")):
                if path.is_file():
                    _rename(path, Path(one, "sources"), out / "sources", number)
    write_openmetrics(out / "sources", out / "history.om")


def _rename(path: Path, root: Path, out: Path, number: int) -> None:
    """Copy a file with the hosts and the run of one job."""
    text = path.read_text().replace("W-TRAIN", f"run-{number}").replace("hx8-", f"hx8-{number}")
    name = path.name.replace("hx8-", f"hx8-{number}")
    to = out / path.relative_to(root).parent / (name if name != path.name else f"{number}-{name}")
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(text)


def write_settings(folder: Path, name: str, args: argparse.Namespace, database: str) -> Path:
    """Write the settings of one member, and return where."""
    path = folder / f"{name}.toml"
    server = f'[[prometheus]]\nname = "main"\nurl = "{args.prometheus}"' if args.prometheus else ""
    sharing = "true" if name != "alone" else "false"
    path.write_text(
        f"""
cluster = "orion"
instance = "{name}"
state = "{folder / name}"
database = "{database}"
[[logs]]
name = "progress"
paths = ["{folder / "live"}/*.jsonl"]
{server}
[watch]
tick = "{args.tick:g}s"
patience = "60s"
sharing = {sharing}
"""
    )
    return path


def be_member(settings: Path) -> None:
    """Tick when told to, and say what came of it; a child process does this."""
    import os

    from paceline.settings import load_settings
    from paceline.watching.grid import Due
    from paceline.watching.wiring import wired

    now = START
    with wired(load_settings(settings), os.environ, lambda: now) as parts:
        watch = parts.instance.watch
        last = None if watch.last is None else watch.last.isoformat()
        print(json.dumps({"last": last}), flush=True)
        for line in sys.stdin:
            told = line.split()
            if told[0] == "tick":
                now = datetime.fromisoformat(told[1])
                began = time.process_time()
                parts.instance.tick(Due(at=now, skipped=0))
                answer: dict[str, Any] = {"cpu": time.process_time() - began}
            elif watch.share is not None:
                watch.share.turn(now)
                answer = {}
            if watch.share is not None:
                joined = watch.share.joined
                answer["joined"] = None if joined is None else joined.isoformat()
                answer["groups"] = sorted(watch.share.fences.held)
            print(json.dumps(answer), flush=True)


@dataclass
class Member:
    """A process that ticks when told to."""

    name: str
    settings: Path
    process: "subprocess.Popen[str] | None" = None
    away: int = 0
    cpu_seconds: list[float] = field(default_factory=list)

    def start(self) -> dict[str, Any]:
        """Start, and return what it said first."""
        command = [sys.executable, "-m", "benchmarks.watch_shards", "--child", str(self.settings)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self.answer() or {}

    def tell(self, line: str) -> None:
        """Tell it to do something."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """Return what it said; null when it was killed before it could."""
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.close()
            return None
        told: dict[str, Any] = json.loads(line)
        self.cpu_seconds += [told["cpu"]] if "cpu" in told else []
        return told

    def kill(self) -> None:
        """Kill it without warning."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)

    def bury(self) -> None:
        """Wait until it is over, if it was not seen to be."""
        if self.process is not None:
            self.process.wait()
            self.close()

    def close(self) -> None:
        """Let go of a process that is over."""
        if self.process is not None:
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()
            self.process.wait()
            self.process = None


def watched(
    args: argparse.Namespace, recording: Path, names: Sequence[str], kills: int, database: str
) -> dict[str, Any]:
    """Return what several processes, or one alone, made of the fleet."""
    from paceline.simulation.replays import Replay

    folder = Path(tempfile.mkdtemp(prefix="watch-shards-"))
    url = database or f"sqlite:///{folder / 'incidents.db'}"
    members = [Member(one, write_settings(folder, one, args, url)) for one in names]
    draw = random.Random(args.seed)  # noqa: S311 -- when to kill is no secret
    grid = [START + timedelta(minutes=args.first)]
    while grid[-1] < START + timedelta(minutes=args.last):
        grid.append(grid[-1] + timedelta(seconds=args.tick))
    # None at the last ticks: who is left joins what is due when all is over.
    doomed = Counter(draw.choices(range(1, max(2, len(grid) - 4)), k=kills))
    replay = Replay.of(recording / "sources/progress", folder / "live")
    replay.advance(grid[0])
    owners: Counter[str] = Counter()
    try:
        for member in members:
            member.start()
        killed = 0
        for number, now in enumerate(grid):
            replay.advance(now)
            # One at a time, and never the last: what nobody has seen is left out.
            alive = sum(one.process is not None for one in members)
            kill = int(doomed[number] > 0 and alive > 1)
            killed += _tick(members, now, draw, kill)
            doomed[number + 1] += doomed[number] - kill
            owners.update(one.name for one in members if one.process is not None)
        rounds = _settle(members, grid[-1]) if names != ("alone",) else 0
    finally:
        for member in members:
            member.kill()
            member.close()
    found = {"kept": kept(url), "killed": killed, "rounds": rounds, "ticks": len(grid)}
    found["cpu"] = {one.name: sum(one.cpu_seconds) for one in members}
    found["present"] = dict(owners)
    shutil.rmtree(folder)
    return found


def _tick(members: Sequence[Member], now: datetime, draw: random.Random, kill: int) -> int:
    """Tell all that are there to tick, kill one of them meanwhile, and return how many died."""
    _bring_back(members)
    there = [one for one in members if one.process is not None]
    for member in there:
        member.tell(f"tick {now.isoformat()}")
    timers = [_doom(draw.choice(there), draw, len(there)) for _ in range(kill)]
    for member in there:
        member.answer()
    for timer, victim in timers:
        # It may have been done before its time came: then it dies between two ticks.
        timer.join()
        victim.bury()
    return kill


def _bring_back(members: Sequence[Member]) -> None:
    """Start those again that were away for long enough."""
    for member in members:
        if member.process is None:
            member.away -= 1
            if member.away <= 0:
                member.start()


def _doom(victim: Member, draw: random.Random, count: int) -> tuple[threading.Timer, Member]:
    """Have a member killed at some moment of a tick, and be away for some ticks."""
    victim.away = draw.randint(1, 5)
    usual = max(victim.cpu_seconds[-3:], default=1.0)
    timer = threading.Timer(draw.uniform(0.0, 1.5 * count * usual), victim.kill)
    timer.start()
    return timer, victim


def _settle(members: Sequence[Member], last: datetime) -> int:
    """Ask who is left to join what is due; return how often."""
    for number in range(ROUNDS):
        told = []
        for member in members:
            if member.process is not None:
                member.tell("work")
                told.append((member.answer() or {}).get("joined"))
        if last.isoformat() in told:
            return number + 1
    raise SystemExit("the last tick was never joined")


def kept(url: str) -> list[tuple[Any, ...]]:
    """Return the incidents of a database, without what counts writes."""
    from sqlalchemy import select

    from alerts.storing.databases import open_database, reading
    from alerts.storing.tables import INCIDENTS

    names = "id state severity title onset first_seen detected paged_at resolved_at merged_into"
    columns = [INCIDENTS.c[name] for name in ("number", *names.split())]
    engine = open_database(url)
    with reading(engine) as connection:
        rows = connection.execute(select(*columns).order_by(INCIDENTS.c.number)).all()
    engine.dispose()
    return [tuple(row) for row in rows]


def arguments() -> argparse.Namespace:
    """Return the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=4, help="hosts of each job")
    parser.add_argument("--tick", type=float, default=60.0)
    parser.add_argument("--first", type=float, default=65.0, help="minute of the first tick")
    parser.add_argument("--last", type=float, default=125.0, help="minute of the last tick")
    parser.add_argument("--minutes", type=float, default=130.0)
    parser.add_argument("--onset", type=float, default=75.0)
    parser.add_argument("--fault-minutes", type=float, default=25.0)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--database", default="", help="of those that share; empty is SQLite")
    parser.add_argument("--no-prometheus", action="store_true")
    parser.add_argument("--child")
    args = parser.parse_args()
    args.prometheus = ""
    return args


def main() -> None:
    """Watch alone, watch together under kills, and compare."""
    args = arguments()
    if args.child:
        be_member(Path(args.child))
        return
    from benchmarks.watch_replay import prometheus

    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        recording = Path(name)
        record(recording, args)
        if not args.no_prometheus:
            served = prometheus(recording / "history.om", recording / "prometheus")
            args.prometheus = stack.enter_context(served)
        began = time.monotonic()
        alone = watched(args, recording, ("alone",), 0, "")
        between = time.monotonic()
        names = tuple(f"watch-{number}" for number in range(1, args.members + 1))
        shared = watched(args, recording, names, args.kills, args.database)
        ended = time.monotonic()
    report(alone, shared, between - began, ended - between)
    if alone["kept"] != shared["kept"]:
        raise SystemExit("the incidents differ")


def report(
    alone: Mapping[str, Any], shared: Mapping[str, Any], first: float, second: float
) -> None:
    """Print the figures."""
    for label, found, seconds in (("alone", alone, first), ("shared", shared, second)):
        cpu = {name: round(value, 1) for name, value in found["cpu"].items()}
        print(
            f"MEASURED {label}: {found['ticks']} ticks, {found['killed']} kills, {seconds:.0f} s, "
            f"CPU seconds of ticks {cpu}, ticks that each was there for {found['present']}"
        )
        for row in found["kept"]:
            print(" ", *(str(value) for value in row))
    print("same incidents:", alone["kept"] == shared["kept"])


if __name__ == "__main__":
    main()
