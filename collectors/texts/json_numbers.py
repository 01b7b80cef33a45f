"""Numbers in JSON documents: what a column of our frames can hold, and nothing else."""

from typing import Final

_MAX_WHOLE: Final = 2**63 - 1
"""Python reads whole numbers of any length, a column holds 64 bits."""


def whole_of(value: object) -> int | None:
    """Return a whole number that fits into 64 bits; null for anything else, true among it."""
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MAX_WHOLE:
        return None
    return value
