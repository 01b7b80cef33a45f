"""When a task is done again, whatever engine does it."""

from typing import Final

MAX_RETRIES: Final = 3
"""How often a task is done again that was lost with its worker, or whose storage was away."""

PASSING: Final = OSError
"""What may be gone by the next try: a file, a disk or a network that does not answer."""


class LostTaskError(RuntimeError):
    """A task was lost again and again with its worker: killed, out of memory, or its machine."""
