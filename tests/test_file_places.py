"""Tests of positions that tell the file as well."""

import polars as pl
import pytest

from collectors.texts.file_places import FILE_LINES, are_of_one_file, file_number, file_numbers


def test_a_position_tells_its_file() -> None:
    """The lines of the n-th file count from n times as many as any file has."""
    positions = pl.Series("position", [1, FILE_LINES - 1, FILE_LINES + 1, None], dtype=pl.Int64)
    found = positions.to_frame().select(file_number()).to_series()
    assert found.to_list() == [0, 0, 1, None]
    assert file_numbers(positions).equals(found)


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        pytest.param([], True, id="no lines"),
        pytest.param([1, 2], True, id="lines of the first file"),
        pytest.param([FILE_LINES + 1, FILE_LINES + 9], True, id="lines of another one"),
        pytest.param([9, FILE_LINES + 1], False, id="lines of two"),
    ],
)
def test_one_file(positions: list[int], expected: bool) -> None:
    """Sorted positions are of one file if the first and the last are."""
    assert are_of_one_file(pl.Series(positions, dtype=pl.Int64)) is expected
