"""Work on the next items while the results of those before are taken up."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

WORKERS: Final = 2
"""Items that are worked on at once; one more waits to be taken. Each holds a block of a file."""


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
        for begun in _begun(pool, work, items):
            waiting.append(begun)
            if len(waiting) > WORKERS:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _begun(
    pool: ThreadPoolExecutor, work: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[Future[Result]]:
    """Yield the work on each item, begun; a fault of fetching one stands in its place."""
    try:
        for item in items:
            begun = pool.submit(work, item)
            del item
            yield begun
    except Exception as error:  # noqa: BLE001 -- raised again, when it is its turn
        failed = Future[Result]()
        failed.set_exception(error)
        yield failed
