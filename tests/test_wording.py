"""Numbers for people: rounded once, and never made up."""

import pytest

from alerts.wording import count_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        pytest.param(0.0, "0", id="none is a number"),
        pytest.param(6010.4, "6010", id="a part of an event is rounded away"),
        pytest.param(None, "?", id="missing"),
        pytest.param(float("nan"), "?", id="no number"),
        pytest.param(float("inf"), "?", id="more than any number"),
    ],
)
def test_count(count: float | None, text: str) -> None:
    """A count is whole, and one that is not known is never written as a number."""
    assert count_text(count) == text
