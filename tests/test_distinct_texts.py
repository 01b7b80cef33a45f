"""Different texts are looked at once, and what they say goes back to all."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.texts.distinct_texts import distinct_texts


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            ["b", "a", "b", "", "a"], ["b", "a", ""], id="in the order in which they come"
        ),
        pytest.param([], [], id="no text has no different ones"),
        pytest.param(["é", "e\u0301"], ["é", "e\u0301"], id="texts that only look alike differ"),
    ],
)
def test_different_texts(texts: list[str], expected: list[str]) -> None:
    """Each text stands once among the different ones."""
    assert distinct_texts(pl.Series(texts, dtype=pl.String)).texts.to_list() == expected


@given(texts=st.lists(st.text(alphabet="ab\u20ac", max_size=3)))
def test_what_was_found_goes_back(texts: list[str]) -> None:
    """A row for each different text becomes one for each text, in their order."""
    few = distinct_texts(pl.Series(texts, dtype=pl.String))
    assert few.spread(few.texts.to_frame("text"))["text"].to_list() == texts
