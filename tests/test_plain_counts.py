"""Tests of counts in the texts of documents."""

import pytest

from collectors.texts.plain_counts import count_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("0", 0, id="zero is a count"),
        pytest.param("999999999", 999_999_999, id="nine digits fit into any column"),
        pytest.param("1000000000", None, id="ten digits may not fit"),
        pytest.param("9" * 5000, None, id="more digits than Python turns into a number are none"),
        pytest.param("²", None, id="a superscript is no digit"),
        pytest.param("٣", None, id="a digit of another script is none"),
        pytest.param("-1", None, id="a count has no sign"),
        pytest.param("3\n", None, id="a line end is no part of a count"),
        pytest.param("", None, id="an empty text is no count"),
        pytest.param(None, None, id="what is not said is no count"),
    ],
)
def test_counts(text: str | None, expected: int | None) -> None:
    """A text is a count if it is nothing but a few digits."""
    assert count_of(text) == expected
