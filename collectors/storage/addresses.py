"""Addresses of object storages, also those that went through a path of this machine."""

import re
from typing import Final

_JOINED: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+]+):/(?!/)")


def address_of(root: str) -> str:
    """Return a root as storages want it: a path joins the two slashes of `s3://bucket/folder`.

    Args:
        root: A folder, an address, or an address that was a path for a while.
    """
    return _JOINED.sub(r"\1://", root)


def is_address(root: str) -> bool:
    """Return whether a root lies in an object storage, or is written like one that does."""
    return "://" in address_of(root)
