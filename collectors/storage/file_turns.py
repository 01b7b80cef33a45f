"""One collector at a time takes files into a store: a growing file has no other order.

A pull needs none of this, since its rows are told apart by what they say. The lock is the operating
system's, so that it is gone with its holder, however that ends. Stores in an object storage have
none: there one collector takes a growing file, and unchanging files are safe by their content.
"""

import fcntl
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from collectors.storage.store import Store

WAIT_SECONDS: Final = 0.2

_NAME: Final = "_files.lock"


@contextmanager
def turn_for_files(store: Store, wait: Callable[[float], None]) -> Generator[None, None, None]:
    """Hold the store's files for one block; wait while another process does.

    Args:
        store: The store.
        wait: Waits some seconds; may raise to give up.
    """
    folder = _folder(store.place.root)
    if folder is None:
        yield
        return
    with (folder / _NAME).open("a") as stream:
        while not _is_locked(stream):
            wait(WAIT_SECONDS)
        yield


def _folder(root: str) -> Path | None:
    parts = urlsplit(root)
    if not parts.scheme:
        return Path(root)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


def _is_locked(stream: IO[str]) -> bool:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
