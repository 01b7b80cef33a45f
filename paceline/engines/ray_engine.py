"""Partitions as tasks of Ray: it places them, and does again what a lost worker had.

Results are taken in the order of the partitions, whichever is done first, and a few more tasks are
handed out than there are workers, so that memory does not grow with the number of partitions.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Final, TypeVar, cast

from paceline.engines import ray_edge

Part = TypeVar("Part")
Result = TypeVar("Result")

TASKS_PER_WORKER: Final = 4
"""Tasks that are handed out and not taken yet: a slow one in front leaves nobody idle at once."""


class RayEngine:
    """Does work on the cluster of this process; made by `started_ray`."""

    def map(self, work: Callable[[Part], Result], partitions: Sequence[Part]) -> Iterator[Result]:
        """Return what the work gives for each partition, in order; see `engines.Engine`."""
        submit, rest = ray_edge.submitter(work), iter(partitions)
        out = deque(submit(one) for one in islice(rest, TASKS_PER_WORKER * ray_edge.cores()))
        while out:
            yield cast("Result", ray_edge.result(out.popleft()))
            out.extend(submit(one) for one in islice(rest, 1))


@contextmanager
def started_ray(address: str | None, workers: int | None) -> Generator[RayEngine, None, None]:
    """Give an engine on a cluster that is started for the block, or joined for it.

    Args:
        address: Of the cluster to join; null starts one on loopback.
        workers: How many worker processes to start; null is one a core.

    Raises:
        NoClusterError: There is none to join.
    """
    if ray_edge.is_running():
        yield RayEngine()
        return
    ray_edge.start(address, workers)
    try:
        yield RayEngine()
    finally:
        ray_edge.stop()
