"""Patterns without the classes of Unicode find what they found in ASCII."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.lines import LINE_DIALECTS
from collectors.texts.ascii_patterns import ascii_pattern


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param(r"a\d+b", "a[0-9]+b", id="digits"),
        pytest.param(r"[\w.-]*", "[A-Za-z0-9_.-]*", id="letters in a class"),
        pytest.param(r"\bx", r"(?-u:\b)x", id="an end of a word"),
        pytest.param(r"\\d", r"\\d", id="a backslash before a letter"),
        pytest.param(r"[]\d]\d", "[]0-9][0-9]", id="a bracket that is a member"),
        pytest.param(r"[^]\d]\w", "[^]0-9][A-Za-z0-9_]", id="and one after a caret"),
        pytest.param(r"\[\d\]", r"\[[0-9]\]", id="brackets that are plain text"),
        pytest.param(r"\S\s\.", r"\S\s\.", id="nothing else changes"),
    ],
)
def test_classes(pattern: str, expected: str) -> None:
    """Digits, letters and word ends become those of ASCII, wherever they stand."""
    assert ascii_pattern(pattern) == expected


@given(st.lists(st.text(st.characters(max_codepoint=127), max_size=40), max_size=5))
def test_hints_find_the_same(texts: list[str]) -> None:
    """Every hint finds the same lines of ASCII as before."""
    lines = pl.Series("line", texts, dtype=pl.String)
    for dialect in LINE_DIALECTS:
        found = lines.str.contains(ascii_pattern(dialect.hint))
        assert found.equals(lines.str.contains(dialect.hint))
