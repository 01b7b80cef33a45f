"""Tests of numbers as trainers print them."""

import math

import polars as pl
import pytest

from collectors.training.printed_numbers import dict_number, printed_number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("1,234,567.5", 1234567.5, id="commas stand between thousands"),
        pytest.param("-2e-4", -2e-4, id="an exponent"),
        pytest.param("inf", math.inf, id="infinity is a number"),
        pytest.param("N/A", None, id="a word is none"),
        pytest.param(None, None, id="what is not printed is none"),
    ],
)
def test_printed_numbers(text: str | None, expected: float | None) -> None:
    """A text is a number if it is one without its commas."""
    texts = pl.DataFrame({"text": [text]}, schema={"text": pl.String})

    assert texts.select(printed_number(pl.col("text"))).item() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{'loss': 2.5, 'epoch': 0.1}", 2.5, id="a number"),
        pytest.param("{'loss': '2.5'}", 2.5, id="a number as text"),
        pytest.param("{'eval_loss': 2.5}", None, id="another key"),
    ],
)
def test_numbers_of_dicts(text: str, expected: float | None) -> None:
    """The number of a key is found, whether it is quoted or not."""
    assert pl.DataFrame({"text": [text]}).select(dict_number("loss")).item() == expected
