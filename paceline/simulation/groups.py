"""The job's process groups: all ranks, the tensor group of a node, and the replicas of a part."""

from dataclasses import dataclass

from paceline.simulation.machine import coordinates_of
from paceline.simulation.plan import Plan
from paceline.simulation.scenarios import GPUS_PER_NODE, STAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One process group.

    Attributes:
        guid: Its name, equal on all members and on no other group.
        name: What the program calls that kind of group.
        local_id: The order in which a member made it; another thing than the guid.
        ranks: Global ranks, in the group's order.
    """

    guid: str
    name: str
    local_id: int
    ranks: tuple[int, ...]


def default_group(plan: Plan) -> Group:
    """Return the group of all ranks."""
    return Group(guid="0", name="default_pg", local_id=0, ranks=tuple(range(plan.machine.ranks)))


def tensor_group(rank: int) -> Group:
    """Return the group of a rank's node."""
    node = rank // GPUS_PER_NODE
    first = node * GPUS_PER_NODE
    return Group(
        guid=str(1 + node),
        name="TENSOR_MODEL_PARALLEL_GROUP",
        local_id=1,
        ranks=tuple(range(first, first + GPUS_PER_NODE)),
    )


def data_group(plan: Plan, rank: int) -> Group:
    """Return the group of the ranks that hold the same part of the model."""
    place = coordinates_of(rank)
    replicas = plan.machine.nodes // STAGES
    return Group(
        guid=str(1 + plan.machine.nodes + place.pp * GPUS_PER_NODE + place.tp),
        name="DATA_PARALLEL_GROUP",
        local_id=2,
        ranks=tuple((dp * STAGES + place.pp) * GPUS_PER_NODE + place.tp for dp in range(replicas)),
    )


def groups_of(plan: Plan, rank: int) -> tuple[Group, Group, Group]:
    """Return a rank's groups in the order in which it makes them."""
    return default_group(plan), tensor_group(rank), data_group(plan, rank)
