"""A pattern is found in few texts and in many alike."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.lines import LINE_DIALECTS
from collectors.texts.distinct_texts import digitless_texts, distinct_texts
from collectors.texts.few_texts import MAX_FEW_TEXTS, has_match, matches, names_digits
from collectors.texts.prefixes import PREFIXES

PATTERNS = [one.hint for one in LINE_DIALECTS] + [one.pattern for one in PREFIXES]


@settings(max_examples=50)
@given(st.lists(st.none() | st.text(st.characters(max_codepoint=127), max_size=40), max_size=4))
def test_few_and_many_agree(texts: list[str | None]) -> None:
    """Whether few texts are looked at or many, the same patterns are found."""
    clean = [text and text.replace("\n", " ") for text in texts]
    few = pl.Series("text", clean, dtype=pl.String)
    many = pl.Series("text", [*clean, *[None] * MAX_FEW_TEXTS, ""], dtype=pl.String)
    for pattern in PATTERNS:
        assert has_match(few.extend_constant("", 1), pattern) == has_match(many, pattern)


@pytest.mark.parametrize("count", [1, MAX_FEW_TEXTS, MAX_FEW_TEXTS + 1])
def test_one_text_is_enough(count: int) -> None:
    """One text with a match is enough, the last one as well."""
    texts = pl.Series("text", [None] * (count - 1) + ["step 7"], dtype=pl.String)
    assert has_match(texts, r"\d$")
    assert not has_match(texts, r"^\d")


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        pytest.param(r"step \d+:[0-9a-f]{2,8}$", False, id="classes and counts name no digit"),
        pytest.param(r"HTTP/[\d.]+ 5\d\d", True, id="a status that begins with a five"),
        pytest.param(r"[1-9]\d*", True, id="a number but zero"),
        pytest.param(r" 0x[0-9a-f]+", True, id="the zero of a hexadecimal number"),
    ],
)
def test_digits_that_a_pattern_names(pattern: str, *, named: bool) -> None:
    """A pattern is known to tell one digit from another."""
    assert names_digits(pattern) is named


@settings(max_examples=20)
@given(st.lists(st.text("019 ab:|[]x", max_size=12), max_size=9))
def test_digits_do_not_matter(texts: list[str]) -> None:
    """Patterns that name no digit are found in the same texts with other digits."""
    many = [*texts, *(f"{number} {number}:{number}" for number in range(MAX_FEW_TEXTS + 1))]
    exact = distinct_texts(pl.Series("text", many))
    shapes = digitless_texts(exact)
    for pattern in (one for one in [*PATTERNS, r"\d:\d", r"^[0-9]{2} "] if not names_digits(one)):
        found = matches(shapes.texts, pattern).gather(shapes.numbers)
        assert found.to_list() == matches(pl.Series("text", many), pattern).to_list()
