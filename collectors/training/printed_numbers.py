"""Numbers as trainers print them: with commas between thousands, or a word in their place."""

from typing import Final

import polars as pl

NUMBER: Final = r"([-+0-9.,eEnNaAiIfF]+)"
"""What may be a printed number, or one of the words for none: cheap to find, judged when cast."""


def printed_number(text: pl.Expr) -> pl.Expr:
    """Return texts as Float64; null for what is no number.

    Args:
        text: Numbers alone, without blanks; `nan` and `inf` are numbers.
    """
    return text.str.replace_all(",", "", literal=True).cast(pl.Float64, strict=False)


def dict_number(name: str) -> pl.Expr:
    """Return the number under a key of the dict that Python printed into `text`, quoted or not."""
    return printed_number(pl.col("text").str.extract(rf"'{name}': '?{NUMBER}"))
