"""Analyse a folder with one log of about 1 MB a rank, and print what that takes.

The logs are made up (SIMULATED): the lives of communicators, their channels, and steps, each a line
of torchtitan behind the runtime's stamp and thirty operations that NCCL logs. Run by hand, in a
temporary folder, which is removed; the process may open 1,024 files:

- `python -m benchmarks.rank_files 4096`: 200 steps in one communicator, 1.1 MB a rank. One rank
  stops three steps before the others, whose watchdogs then time out: it must be named, however many
  there are.
- `python -m benchmarks.rank_files 4096 nested`: 90 steps, 0.5 MB a rank, in three communicators of
  each rank: tensor parallel in its host, sharded across eight hosts, and all. One rank falls silent
  before its tensor group's operation, in which its mates wait; the ranks of the eight hosts wait in
  their shards for those, and all others in the operation of all.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

START: Final = datetime(2031, 2, 3, 4, 5, 6, tzinfo=UTC)
STEPS: Final = 200
OPERATIONS: Final = 30
"""A step; with `STEPS` they make a file about 1 MB long."""

HOST_RANKS: Final = 8

POD_HOSTS: Final = 8
"""Hosts across which a model is sharded."""

NESTED_STEPS: Final = 90

LAG_STEPS: Final = 3
MAX_OPEN_FILES: Final = 1024
POLL_SECONDS: Final = 0.2

Lines = Callable[[int, int], Iterator[str]]
"""What yields the lines of a rank's log, by rank and number of ranks."""


def rank_lines(rank: int, world: int) -> Iterator[str]:
    """Yield what one rank prints until it, or another, stands still."""
    host, gpu = f"hx8-{rank // 8 + 1:03}", rank % 8
    head = f"{host}:{4400 + gpu}:{4680 + gpu} [{gpu}] NCCL INFO "
    comm = f"0x55cd{rank:06x}"
    yield (
        f"{head}ncclCommInitRank comm {comm} rank {rank} nranks {world} cudaDev {gpu} "
        f"nvmlDev {gpu} busId {gpu + 1}b000 commId 0x9e7a479f95a66c31 - Init COMPLETE"
    )
    peer = f"{rank}[{gpu}] -> {(rank + 1) % world}[{(gpu + 1) % 8}] [send] via NET/IB/{gpu}/GDRDMA"
    yield from (f"{head}Channel {at:02}/0 : {peer}" for at in range(16))
    last = STEPS - LAG_STEPS if rank == culprit(world) else STEPS
    for step in range(1, last + 1):
        yield from (operation_line(head, comm, world, step, at) for at in range(OPERATIONS))
        yield step_line(rank, step)
    if last == STEPS:
        yield operation_line(head, comm, world, STEPS + 1, 0)
        yield timeout_line(rank)


def operation_line(head: str, comm: str, world: int, step: int, nth: int) -> str:
    """Return the line of one operation."""
    number = (step - 1) * OPERATIONS + nth
    return (
        f"{head}AllReduce: opCount {number:x} sendbuff 0x7f01{nth:08x} recvbuff 0x7f02{nth:08x} "
        f"count {1_048_576 + nth} datatype 9 op 0 root 0 comm {comm} [nranks={world}] "
        "stream 0x5581aa"
    )


def step_line(rank: int, step: int) -> str:
    """Return torchtitan's line of a step, as a container runtime keeps it."""
    stamp = START + timedelta(seconds=2 * step, microseconds=rank)
    return (
        f"{stamp:%Y-%m-%dT%H:%M:%S.%f}123Z stdout F [rank{rank}]:[titan] "
        f"{stamp:%Y-%m-%d %H:%M:%S},{stamp.microsecond // 1000:03} - root - INFO - step: {step:2}  "
        f"loss:  {8 - step / 100:.5f}  grad_norm:  1.2031  memory: 61.22GiB(77.31%)  tps: 6,512  "
        "tflops: 412.01  mfu: 41.66%"
    )


def timeout_line(rank: int) -> str:
    """Return what the watchdog of a rank says when the operation after its last step hangs."""
    stamp = START + timedelta(seconds=2 * STEPS + 600, microseconds=rank)
    number = (STEPS - LAG_STEPS) * OPERATIONS + 1
    return (
        f"[rank{rank}]:[E{stamp:%m%d %H:%M:%S.%f}000 ProcessGroupNCCL.cpp:632] [Rank {rank}] "
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum={number}, "
        "OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600026 "
        "milliseconds before timing out."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One communicator of a rank.

    Attributes:
        name: What PyTorch calls it.
        guid: What its members call it.
        rank: The printer's rank in it.
        size: How many members it has.
        calls: Operations of a step.
    """

    name: str
    guid: int
    rank: int
    size: int
    calls: int


def groups_of(rank: int, world: int) -> tuple[Group, Group, Group]:
    """Return the groups of a rank, from the innermost: of its host, of its place, of all."""
    host, place = divmod(rank, HOST_RANKS)
    pod, number = divmod(host, POD_HOSTS)
    hosts = world // HOST_RANKS
    size = min(POD_HOSTS, hosts - pod * POD_HOSTS)
    guid = 10 + hosts + pod * HOST_RANKS + place
    return (
        Group(name="tensor", guid=10 + host, rank=place, size=HOST_RANKS, calls=24),
        Group(name="shard", guid=guid, rank=number, size=size, calls=5),
        Group(name="default_pg", guid=0, rank=rank, size=world, calls=1),
    )


def nested_lines(rank: int, world: int) -> Iterator[str]:
    """Yield what a rank prints that works in nested groups until one of them stands still."""
    host, gpu = f"hx8-{rank // HOST_RANKS + 1:03}", rank % HOST_RANKS
    head = f"{host}:{4400 + gpu}:{4680 + gpu} [{gpu}] NCCL INFO "
    groups = groups_of(rank, world)
    comms = [f"0x55cd{one.guid:04x}{rank:06x}" for one in groups]
    for one, comm in zip(groups, comms, strict=True):
        yield (
            f"{head}ncclCommInitRank comm {comm} rank {one.rank} nranks {one.size} cudaDev {gpu} "
            f"nvmlDev {gpu} busId {gpu + 1}b000 commId 0x9e7a479f95a6{one.guid:04x} - Init COMPLETE"
        )
    for step in range(1, NESTED_STEPS + 1):
        for one, comm in zip(groups, comms, strict=True):
            first = (step - 1) * one.calls
            yield from (called(head, comm, one.size, first + at) for at in range(one.calls))
        yield step_line(rank, step)
    yield from waiting_lines(rank, world, head, comms)


def waiting_lines(rank: int, world: int, head: str, comms: list[str]) -> Iterator[str]:
    """Yield what a rank prints in the step that no rank ends: it stands in one of its groups."""
    groups = groups_of(rank, world)
    level = standing_level(rank, world)
    for one, comm in zip(groups[:level], comms, strict=False):
        first = NESTED_STEPS * one.calls
        yield from (called(head, comm, one.size, first + at) for at in range(one.calls))
    if rank != culprit(world):
        one, number = groups[level], NESTED_STEPS * groups[level].calls
        yield called(head, comms[level], one.size, number)
        yield group_timeout_line(rank, one, number + 1)


def standing_level(rank: int, world: int) -> int:
    """Return in which of its groups a rank stands: the first with a rank that does not come."""
    pods = {one // (HOST_RANKS * POD_HOSTS) for one in (rank, culprit(world))}
    hosts = {one // HOST_RANKS for one in (rank, culprit(world))}
    return (len(hosts) > 1) + (len(pods) > 1)


def called(head: str, comm: str, size: int, number: int) -> str:
    """Return the line of one operation of a communicator, by its number there."""
    return (
        f"{head}AllReduce: opCount {number:x} sendbuff 0x7f01{number:08x} recvbuff "
        f"0x7f02{number:08x} count 1048576 datatype 9 op 0 root 0 comm {comm} [nranks={size}] "
        "stream 0x5581aa"
    )


def group_timeout_line(rank: int, group: Group, number: int) -> str:
    """Return what a rank's watchdog says of an operation of a group that hangs."""
    stamp = START + timedelta(seconds=2 * NESTED_STEPS + 600, microseconds=rank)
    return (
        f"[rank{rank}]:[E{stamp:%m%d %H:%M:%S.%f}000 ProcessGroupNCCL.cpp:632] [PG ID 0 PG GUID "
        f"{group.guid}({group.name}) Rank {group.rank}] Watchdog caught collective operation "
        f"timeout: WorkNCCL(SeqNum={number}, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, "
        "Timeout(ms)=600000) ran for 600026 milliseconds before timing out."
    )


def culprit(world: int) -> int:
    """Return the rank that stops before the others."""
    return world * 5 // 8


def write_ranks(folder: Path, world: int, lines: Lines = rank_lines) -> int:
    """Write one log a rank, and return how many bytes that are."""
    size = 0
    for rank in range(world):
        text = "\n".join(lines(rank, world)) + "\n"
        size += (folder / f"rank_{rank:05}.log").write_text(text)
    return size


def few_open_files() -> None:
    """Keep the process that is measured to the usual limit."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))


def analyze(folder: Path, answer: Path) -> tuple[float, float, int]:
    """Analyse a folder in a process of its own.

    Args:
        folder: The logs.
        answer: Where its JSON goes.

    Returns:
        Seconds, most MiB of memory, and most open files.
    """
    words = [sys.executable, "-m", "paceline", "analyze", str(folder), "--format", "json"]
    begun, peak, opened = time.perf_counter(), 0.0, 0
    with answer.open("w") as out:
        process = subprocess.Popen(words, stdout=out, preexec_fn=few_open_files)  # noqa: PLW1509 -- no threads here
        own = Path(f"/proc/{process.pid}")
        while process.poll() is None:
            status = (own / "status").read_text(encoding="ascii")
            if "VmHWM:" in status:
                peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
                opened = max(opened, len(os.listdir(own / "fd")))  # noqa: PTH208 -- entries vanish
            time.sleep(POLL_SECONDS)
    return time.perf_counter() - begun, peak, opened


def named(answer: Path) -> list[str]:
    """Return the findings in few words."""
    found = json.loads(answer.read_text())["verdicts"]
    return [f"{one['kind']} of {one['level']} {one['subject'].get('rank')}" for one in found]


def main(world: int, *, is_nested: bool) -> None:
    """Write the logs, analyse them, print the figures."""
    with tempfile.TemporaryDirectory() as place:
        folder, answer = Path(place) / "job", Path(place) / "answer.json"
        folder.mkdir()
        size = write_ranks(folder, world, nested_lines if is_nested else rank_lines)
        seconds, peak, opened = analyze(folder, answer)
        findings = named(answer)
    print(
        f"SIMULATED {world} files of {size / world / 1e6:.2f} MB: {seconds:.1f} s, "
        f"{size / 1e6 / seconds:.0f} MB/s, peak {peak:.0f} MiB, at most {opened} open files; "
        f"planted rank {culprit(world)}, found {findings[:5]} (MEASURED)"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 64, is_nested="nested" in sys.argv)
