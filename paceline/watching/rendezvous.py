"""Who owns a group: the member that draws the highest number for it.

Source: Thaler and Ravishankar, "Using name-based mappings to increase hit rates" (1998): highest
random weight. All who know the same members come to the same owner without asking anybody; a member
that goes gives away its own groups and moves no other, one that comes takes its share and no more.
"""

import hashlib
from collections.abc import Iterable


def owner_of(group: str, members: Iterable[str]) -> str | None:
    """Return the member that owns a group; null when there is no member."""
    return max(members, key=lambda member: (weight(group, member), member), default=None)


def weight(group: str, member: str) -> int:
    """Return what a member draws for a group: the same on every machine, for ever."""
    # The length keeps apart names that run into each other.
    text = f"{len(group)}:{group}{member}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
