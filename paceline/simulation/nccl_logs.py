"""What NCCL 2.27 prints when the job comes up: one file a node, behind torchrun's prefix.

INFO lines bear no time in this version. Every process prints its version, its addresses and
devices, then the life of its communicators and, for the job's communicator, the ring it connected.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from paceline.simulation.draws import stream
from paceline.simulation.groups import Group, groups_of
from paceline.simulation.lockstep import Timeline
from paceline.simulation.plan import Plan
from paceline.simulation.scenarios import GPUS_PER_NODE
from paceline.simulation.watchdog import hang_lines

_CHANNELS = 2


def write_nccl_logs(
    plan: Plan, timeline: Timeline, folder: Path, say: Callable[[str], None]
) -> None:
    """Write one log a node into the folder: the start and, in a hang, the watchdogs' reports."""
    folder.mkdir(parents=True, exist_ok=True)
    hang = hang_lines(plan, timeline)
    for node, host in enumerate(plan.machine.hosts):
        lines = [*_start_lines(plan, node), *hang.get(node, [])]
        (folder / f"{host}.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    say(f"NCCL logs of {plan.machine.nodes} nodes")


def _start_lines(plan: Plan, node: int) -> list[str]:
    """Return a node's lines; its processes write at once, so their lines come mixed."""
    ranks = range(node * GPUS_PER_NODE, (node + 1) * GPUS_PER_NODE)
    turns = [list(_process_lines(plan, rank)) for rank in ranks]
    order = np.repeat(np.arange(GPUS_PER_NODE), [len(turn) for turn in turns])
    stream(plan.seed, f"log {node}").shuffle(order)
    waiting = [iter(turn) for turn in turns]
    return [f"[default{local}]:{next(waiting[local])}" for local in order.tolist()]


def _process_lines(plan: Plan, rank: int) -> Iterator[str]:
    """Yield one process' lines, in its order."""
    local, node = rank % GPUS_PER_NODE, rank // GPUS_PER_NODE
    process = plan.machine.process_ids[rank]
    head = f"{plan.machine.hosts[node]}:{process}:{process + 400} [{local}] NCCL INFO "
    address = f"eth0:{plan.machine.addresses[node]}<0>"
    layer = "RoCE" if plan.scenario.fabric == "roce" else "IB"
    devices = " ".join(f"[{nic}]mlx5_{nic}:1/{layer}" for nic in range(GPUS_PER_NODE))
    yield "NCCL version 2.27.7+cuda12.9"
    yield f"{head}Bootstrap: Using {address}"
    yield f"{head}NET/IB : Using {devices} [RO]; OOB {address}"
    yield f"{head}Assigned NET plugin IB to comm"
    yield f"{head}Using network IB"
    for number, group in enumerate(groups_of(plan, rank)):
        yield from _communicator_lines(plan, group, rank, number, head)


def _communicator_lines(
    plan: Plan, group: Group, rank: int, number: int, head: str
) -> Iterator[str]:
    """Yield the life of one communicator; only the job's own shows its channels."""
    place, size = group.ranks.index(rank), len(group.ranks)
    local = rank % GPUS_PER_NODE
    bus = int(plan.machine.pci_bus_ids[rank].split(":")[1], 16)
    pointer = 0x55D0_0000_0000 + plan.machine.process_ids[rank] * 0x10_0000 + number * 0x8000
    identity = int(stream(plan.seed, f"group {group.guid}").integers(1 << 62)) | 1 << 62
    communicator = (
        f"ncclCommInitRankConfig comm {pointer:#x} rank {place} nranks {size} cudaDev {local} "
        f"nvmlDev {local} busId {bus:x}000 commId {identity:#x}"
    )
    yield f"{head}{communicator} - Init START"
    if number == 0:
        yield from _channel_lines(plan, rank, head)
    yield f"{head}{communicator} - Init COMPLETE"
    yield f"{head}{_timings(plan, rank, place, size)}"


def _channel_lines(plan: Plan, rank: int, head: str) -> Iterator[str]:
    """Yield the ring's connection to the next rank: inside the node, or over this rank's rail."""
    after = (rank + 1) % plan.machine.ranks
    local, other = rank % GPUS_PER_NODE, after % GPUS_PER_NODE
    for channel in range(_CHANNELS):
        ring = f"Channel {channel:02d}/0 : {rank}[{local}] -> {after}[{other}]"
        if local < GPUS_PER_NODE - 1:
            yield f"{head}{ring} via P2P/CUMEM"
        else:
            yield f"{head}{ring} [send] via NET/IB/{local}/GDRDMA"
    yield f"{head}Connected all rings, use ring PXN 0 GDR 1"


def _timings(plan: Plan, rank: int, place: int, size: int) -> str:
    draw = stream(plan.seed, f"init {rank} {size}")
    names = ("kernels", "alloc", "bootstrap", "allgathers", "topo", "graphs", "connections", "rest")
    times = [round(float(second), 2) for second in draw.uniform(0.02, 0.6, size=len(names))]
    parts = ", ".join(f"{name} {second:.2f}" for name, second in zip(names, times, strict=True))
    return (
        f"Init timings - ncclCommInitRankConfig: rank {place} nranks {size} "
        f"total {sum(times):.2f} ({parts})"
    )
