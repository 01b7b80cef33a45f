"""All that is asked of Ray, with types: its own are decorators that take any function.

Source: Ray 2.60, `ray.init`, "Task fault tolerance", "Usage stats collection". Ray is told not to
call home, to show no dashboard, and to listen on loopback: given an address of loopback it takes
another one of the machine, unless it may not make clusters (the switch that it has for desktops).
"""

import logging
import os
from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import ray
import ray._private.ray_constants as switches
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayTaskError,
    WorkerCrashedError,
)

from paceline.engines.tasks import MAX_RETRIES, PASSING, LostTaskError

Part = TypeVar("Part")
Result = TypeVar("Result")

STORE_BYTES: Final = 256 * 2**20
"""Shared memory for what workers hand back; what does not fit goes to disk."""

_RAY: Any = ray
_LOST: Final = (WorkerCrashedError, NodeDiedError, ObjectLostError, OutOfMemoryError)


class NoClusterError(ConnectionError):
    """There is no Ray cluster where one was to be joined."""


def is_running() -> bool:
    """Return whether this process has a cluster already."""
    return bool(_RAY.is_initialized())


def start(address: str | None, workers: int | None) -> None:
    """Start a cluster on loopback, or join one.

    Args:
        address: Of the cluster to join; null starts one.
        workers: How many worker processes to start; null is one a core.

    Raises:
        NoClusterError: There is none to join.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    logging.getLogger("ray").setLevel(logging.ERROR)
    quiet: dict[str, Any] = {"configure_logging": False, "log_to_driver": False}
    switches.ENABLE_RAY_CLUSTER = address is not None
    if address is None:
        _RAY.init(
            address="local",
            num_cpus=workers,
            include_dashboard=False,
            object_store_memory=STORE_BYTES,
            **quiet,
        )
        return
    try:
        _RAY.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise NoClusterError(
            f"no Ray cluster at {address}; `ray start --head` starts one, or use --engine ray"
        ) from error


def stop() -> None:
    """End what was started, or leave what was joined."""
    _RAY.shutdown()


def cores() -> int:
    """Return how many tasks run at a time."""
    return max(1, int(_RAY.cluster_resources().get("CPU", 1)))


def submitter(work: Callable[[Part], Result]) -> Callable[[Part], object]:
    """Return a function that hands a partition to a worker, and says under what to ask for it."""
    options = {"max_retries": MAX_RETRIES, "retry_exceptions": [PASSING]}
    task, shared = _RAY.remote(**options)(_done), _RAY.put(work)
    return lambda partition: task.remote(shared, partition)


def _done(work: Callable[[Part], Result], partition: Part) -> Result:
    return work(partition)


def result(task: object) -> object:
    """Return what a task gave, when it is done.

    Raises:
        LostTaskError: Its workers were lost, one after the other.
        Exception: What the work raised.
    """
    try:
        return _RAY.get(task)
    except RayTaskError as error:
        raise cast("BaseException", error.cause) from error
    except _LOST as error:
        raise LostTaskError(
            f"a task was lost with its worker {MAX_RETRIES + 1} times: killed or out of memory; "
            "give workers more memory, or fewer of them a machine"
        ) from error
