"""How the memory that Polars lets go of is kept: asked for at start, before Polars is loaded.

Reading a log takes and frees the same tens of megabytes for every block. jemalloc, which Polars
brings, gives freed pages back to the kernel at once, which then clears them anew for each block: a
third of the time of reading. Source: jemalloc's manual, `opt.dirty_decay_ms`, `opt.muzzy_decay_ms`.
"""

import os
from typing import Final

_SETTINGS: Final = "_RJEM_MALLOC_CONF"
"""Where the jemalloc inside of Polars looks for its options."""

KEPT: Final = "dirty_decay_ms:500,muzzy_decay_ms:500"
"""Freed pages stay for five seconds, and are then marked as free to take, not given back."""


def keep_freed_pages() -> None:
    """Let freed memory be used again without asking the kernel; who set options keeps his own."""
    os.environ.setdefault(_SETTINGS, KEPT)
