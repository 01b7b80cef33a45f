"""Tests of numbers in JSON documents."""

import pytest

from collectors.texts.json_numbers import whole_of


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(-3, -3, id="a whole number is kept"),
        pytest.param(2**63 - 1, 2**63 - 1, id="the largest of a column is kept"),
        pytest.param(2**63, None, id="what no column holds is none"),
        pytest.param(True, None, id="true is no number"),
        pytest.param(3.0, None, id="a broken number is none"),
        pytest.param("3", None, id="a text is none"),
        pytest.param([3], None, id="a list is none"),
        pytest.param(None, None, id="null is none"),
    ],
)
def test_whole_numbers(value: object, expected: int | None) -> None:
    """Only a whole number that a column can hold is one."""
    assert whole_of(value) == expected
