"""Look for a pattern in a few texts without building it anew.

Polars keeps few patterns at hand: a look costs the building of the pattern, which for a handful of
lines is nearly all of it. Python keeps those it was given, and for few texts its loop is quicker.
"""

import re
from functools import cache
from typing import Final

import polars as pl

from collectors.texts.ascii_patterns import ascii_pattern

MAX_FEW_TEXTS: Final = 128
"""Up to so many texts a loop is quicker than building a pattern."""

_ANY_DIGIT: Final = r"0-9|\{[0-9]+(?:,[0-9]*)?\}"
"""Digits of a pattern that stand for all digits, or say how often something is repeated."""


def has_match(texts: pl.Series, pattern: str) -> bool:
    """Return whether a pattern is found in any of the texts.

    Args:
        texts: Without line ends; null has no match.
        pattern: One that Rust's `regex` and Python's `re` read alike.
    """
    compiled = _compiled(pattern) if len(texts) <= MAX_FEW_TEXTS else None
    if compiled is None:
        return bool(texts.str.contains(ascii_pattern(pattern)).any())
    return any(text is not None and compiled.search(text) for text in texts.to_list())


def matches(texts: pl.Series, pattern: str) -> pl.Series:
    """Return for each text whether a pattern is found in it; see `has_match`."""
    compiled = _compiled(pattern) if len(texts) <= MAX_FEW_TEXTS else None
    if compiled is None:
        return texts.str.contains(ascii_pattern(pattern)).fill_null(value=False)
    found = [text is not None and compiled.search(text) is not None for text in texts.to_list()]
    return pl.Series(texts.name, found, dtype=pl.Boolean)


@cache
def names_digits(pattern: str) -> bool:
    """Return whether a pattern tells one digit from another, as `5xx` does and `[0-9]{3}` not."""
    return re.search("[0-9]", re.sub(_ANY_DIGIT, "", pattern)) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return the pattern for Python; null for one that only Rust understands."""
    try:
        return re.compile(pattern)
    except re.error:
        return None
