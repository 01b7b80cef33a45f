"""A text that columns are filled into is `pl.format`'s, and no chunks of theirs end a run."""

from pathlib import Path

import polars as pl
import pytest

from collectors.texts.templates import filled

FRAME = pl.DataFrame(
    {
        "text": ["a", "", None, "é"],
        "whole": [1, None, -3, 4],
        "real": [1.0, 2.5e20, float("nan"), 1e-7],
        "flag": [True, False, None, True],
    }
)


@pytest.mark.parametrize("template", ["{}{}", "{} of {}", "at {}, {} more", "{}/{}!"])
@pytest.mark.parametrize("name", FRAME.columns)
def test_says_what_format_says(template: str, name: str) -> None:
    """Values are written as Polars writes them, and a null makes the whole text null."""
    said = FRAME.select(
        ours=filled(template, name, pl.col("text")), theirs=pl.format(template, name, "text")
    )

    assert said["ours"].to_list() == said["theirs"].to_list()


def test_number_between_words() -> None:
    """A number stands in a gap as it is."""
    assert FRAME.select(filled("{} of {}", "whole", 7)).to_series().to_list() == [
        "1 of 7",
        None,
        "-3 of 7",
        "4 of 7",
    ]


def test_gaps_without_a_column() -> None:
    """A gap that nothing is given for is refused."""
    with pytest.raises(ValueError, match="zip"):
        filled("{} and {}", "text")


def test_columns_in_different_chunks() -> None:
    """A column whose first chunk was filtered away is filled in beside one that has no such."""
    parts = [pl.DataFrame({"name": ["x", "y", "z"]}), pl.DataFrame({"name": ["q", "r"]})]
    shifted = pl.concat(parts, rechunk=False).lazy().with_columns(before=pl.col("name").shift(1))

    told = shifted.filter(pl.col("before").is_not_null()).select(filled("{}>{}", "before", "name"))

    assert told.collect().to_series().to_list() == ["x>y", "y>z", "z>q", "q>r"]


def test_no_reader_formats_several_columns() -> None:
    """No module of the collectors asks `pl.format` for more than one column."""
    found = [
        str(path)
        for path in Path("collectors").rglob("*.py")
        for call in path.read_text(encoding="utf-8").split("pl.format(")[1:]
        if call.split('"')[1].count("{}") > 1
    ]

    assert found == []
