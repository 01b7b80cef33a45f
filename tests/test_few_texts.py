"""A pattern is found in few texts and in many alike."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.lines import LINE_DIALECTS
from collectors.texts.few_texts import MAX_FEW_TEXTS, has_match
from collectors.texts.prefixes import PREFIXES

PATTERNS = [one.hint for one in LINE_DIALECTS] + [one.pattern for one in PREFIXES]


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
