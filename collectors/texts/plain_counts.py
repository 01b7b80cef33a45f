"""Counts in the texts of documents: whole numbers that fit into any column of our frames."""

import re
from typing import Final

_COUNT: Final = re.compile(r"[0-9]{1,9}")
"""Nine digits fit into 32 bits. Python's own test takes superscripts for digits too."""


def count_of(text: str | None) -> int | None:
    """Return the count that a text is; null for any other text, and for one of ten digits or more.

    Args:
        text: A number without sign, blanks and separators; null is not said.
    """
    return int(text) if text is not None and _COUNT.fullmatch(text) else None
