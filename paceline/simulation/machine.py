"""The cluster's parts and their names: hosts, GPUs, NICs, leaf switches, and who sits where.

Rank = 8 * node + GPU. Tensor parallelism stays inside a node, node = 4 * data-parallel replica +
pipeline stage. GPU i talks through NIC i, which is rail i; a leaf switch serves 16 hosts of a rail.
"""

import uuid
from dataclasses import dataclass
from typing import Final

from paceline.simulation.draws import Floats, stream
from paceline.simulation.scenarios import GPUS_PER_NODE, STAGES, OrionParams

RUN: Final = "W-TRAIN"
EPOCH_SECONDS: Final = 1_767_571_200  # 2026-01-05T00:00:00Z, whatever the seed
HOSTS_PER_LEAF: Final = 16
_BUSES: Final = 0xE0
_OUTLIERS_PER_GPU: Final = 1 / 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinates:
    """Where a rank sits: data-parallel replica, pipeline stage, place in its tensor group."""

    dp: int
    pp: int
    tp: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The hardware, as the seed made it.

    Attributes:
        hosts: Names of the nodes.
        addresses: Each node's address on the management network.
        gpu_uuids: By rank.
        pci_bus_ids: By rank, with an 8-digit domain, upper case.
        process_ids: By rank.
        time_factors: By rank, a GPU's compute time over the nominal one; about 1.
        clock_offsets: By node, what a host's clock shows minus the true time, in seconds.
    """

    hosts: tuple[str, ...]
    addresses: tuple[str, ...]
    gpu_uuids: tuple[str, ...]
    pci_bus_ids: tuple[str, ...]
    process_ids: tuple[int, ...]
    time_factors: Floats
    clock_offsets: Floats

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.hosts)

    @property
    def ranks(self) -> int:
        """Number of GPUs, and so of ranks."""
        return len(self.gpu_uuids)


def coordinates_of(rank: int) -> Coordinates:
    """Return where a global rank sits in the job."""
    node = rank // GPUS_PER_NODE
    return Coordinates(dp=node // STAGES, pp=node % STAGES, tp=rank % GPUS_PER_NODE)


def leaf_name(node: int, rail: int) -> str:
    """Return the leaf switch that a node's NIC of that rail is plugged into."""
    return f"leaf-r{rail}-{node // HOSTS_PER_LEAF + 1:02d}"


def leaf_port(node: int) -> int:
    """Return the port of its leaf switches that a node is plugged into."""
    return node % HOSTS_PER_LEAF + 1


def build_machine(params: OrionParams, seed: int) -> Machine:
    """Return the cluster that a seed makes; the same seed makes the same cluster."""
    nodes = params.nodes
    ranks = nodes * GPUS_PER_NODE
    draw = stream(seed, "identity")
    names = [uuid.UUID(bytes=draw.bytes(16), version=4) for _ in range(ranks)]
    first_process = draw.integers(3000, 9000, size=nodes)
    return Machine(
        hosts=tuple(f"hx8-{node + 1:03d}" for node in range(nodes)),
        addresses=tuple(f"10.77.3.{node + 11}" for node in range(nodes)),
        gpu_uuids=tuple(f"GPU-{name}" for name in names),
        pci_bus_ids=_pci_bus_ids(nodes, seed),
        process_ids=tuple(
            int(first_process[rank // GPUS_PER_NODE]) + rank % GPUS_PER_NODE
            for rank in range(ranks)
        ),
        time_factors=_time_factors(ranks, params, seed),
        clock_offsets=_clock_offsets(nodes, params, seed),
    )


def _pci_bus_ids(nodes: int, seed: int) -> tuple[str, ...]:
    draw = stream(seed, "pci")
    return tuple(
        f"00000000:{bus:02X}:00.0"
        for _ in range(nodes)
        for bus in sorted(
            int(bus) for bus in draw.choice(_BUSES, size=GPUS_PER_NODE, replace=False) + 0x10
        )
    )


def _time_factors(ranks: int, params: OrionParams, seed: int) -> Floats:
    """Return the silicon spread: a bell within 2 deviations, and a few slow outliers."""
    draw = stream(seed, "silicon")
    spread = draw.normal(0.0, params.silicon_spread_ratio, size=ranks)
    bound = 2 * params.silicon_spread_ratio
    factors = 1.0 + spread.clip(-bound, bound)
    outliers = draw.choice(ranks, size=max(1, round(ranks * _OUTLIERS_PER_GPU)), replace=False)
    factors[outliers] = 1.0 + draw.uniform(bound, params.silicon_max_ratio, size=len(outliers))
    return factors


def _clock_offsets(nodes: int, params: OrionParams, seed: int) -> Floats:
    draw = stream(seed, "clocks")
    bound = params.clock_offset_seconds
    offsets = draw.uniform(-bound, bound, size=nodes)
    offsets[draw.integers(nodes)] = params.worst_clock_offset_seconds
    return offsets
