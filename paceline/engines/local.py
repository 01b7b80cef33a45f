"""One partition after the other in this process: Polars has all cores, memory holds one of them."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from paceline.engines.tasks import MAX_RETRIES, PASSING

Part = TypeVar("Part")
Result = TypeVar("Result")


class LocalEngine:
    """Does work in this process."""

    def map(self, work: Callable[[Part], Result], partitions: Sequence[Part]) -> Iterator[Result]:
        """Return what the work gives for each partition, in order; see `engines.Engine`."""
        for partition in partitions:
            yield _tried(work, partition)


def _tried(work: Callable[[Part], Result], partition: Part) -> Result:
    """Return what the work gives, done again where storage was away."""
    for _ in range(MAX_RETRIES):
        try:
            return work(partition)
        except PASSING:
            continue
    return work(partition)
