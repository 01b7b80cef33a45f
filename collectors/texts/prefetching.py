"""Work on the next items while the results of those before are taken up."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

WORKERS: Final = 2
"""Items that are worked on at once: each holds a block of a file in memory."""


def worked_ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield the result for each item, in their order, some items ahead of who takes them.

    Args:
        work: Done in other threads; the items are fetched in this one.
        items: Any number of them.

    Raises:
        Exception: What fetching or working on an item raises, in its place.
    """
    with ThreadPoolExecutor(WORKERS) as pool:
        waiting = deque[Future[Result]]()
        for item in items:
            waiting.append(pool.submit(work, item))
            del item
            if len(waiting) >= WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
