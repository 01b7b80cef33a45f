"""Spans on a grid: the windows of what is missing, none twice and no moment left out."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.metrics.spans import Span, floor_to, merged, windows_of, without

ZERO = datetime(2026, 1, 5, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def span(start: int, end: int) -> Span:
    """A span in seconds after ZERO."""
    return Span(start=ZERO + start * SECOND, end=ZERO + end * SECOND)


SPANS = st.lists(
    st.tuples(st.integers(-90, 90), st.integers(1, 40)).map(lambda one: span(one[0], sum(one))),
    max_size=6,
)
WINDOWS = st.integers(1, 50).map(lambda seconds: seconds * SECOND)


def moments(spans: Iterable[Span]) -> list[int]:
    """Each second of the spans, in their order."""
    return [
        second
        for one in spans
        for second in range((one.start - ZERO) // SECOND, (one.end - ZERO) // SECOND)
    ]


@given(asked=SPANS, covered=SPANS, window=WINDOWS)
def test_windows_of_what_is_missing(
    asked: list[Span], covered: list[Span], window: timedelta
) -> None:
    """The windows hold each moment that is asked and not covered, once, in order."""
    found = moments(windows_of(without(asked, covered), window))

    assert found == sorted(set(moments(asked)) - set(moments(covered)))


@given(asked=SPANS, window=WINDOWS)
def test_windows_lie_on_the_grid(asked: list[Span], window: timedelta) -> None:
    """No window is longer than the grid's, nor reaches over a multiple of it."""
    ends = [(one.end, floor_to(one.start, window) + window) for one in windows_of(asked, window)]

    assert all(end <= limit for end, limit in ends)


@given(spans=SPANS)
def test_merged_spans(spans: list[Span]) -> None:
    """Merged spans hold the same moments, and do not touch."""
    found = merged(spans)

    assert moments(found) == sorted(set(moments(spans)))
    assert all(one.end < other.start for one, other in pairwise(found))


@given(asked=SPANS, covered=SPANS, window=WINDOWS)
def test_windows_taken_are_covered(
    asked: list[Span], covered: list[Span], window: timedelta
) -> None:
    """After all windows are taken, of whatever length, nothing is missing."""
    taken = list(windows_of(without(asked, covered), window))

    assert without(asked, [*covered, *taken]) == []


def test_windows_are_cut_at_multiples() -> None:
    """A span that starts within a window begins with the rest of it."""
    found = list(windows_of([span(5, 25)], 10 * SECOND))

    assert found == [span(5, 10), span(10, 20), span(20, 25)]


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        pytest.param(ZERO, ZERO, "after start", id="an empty span"),
        pytest.param(ZERO, ZERO - SECOND, "after start", id="a span that ends before it starts"),
        pytest.param(ZERO.replace(tzinfo=None), ZERO, "zone", id="a start without a zone"),
    ],
)
def test_no_span(start: datetime, end: datetime, words: str) -> None:
    """What is no span is refused; asked politely, an empty one is null."""
    with pytest.raises(ValueError, match=words):
        Span(start=start, end=end)
    assert Span.between(ZERO, ZERO) is None
    with pytest.raises(ValueError, match="window"):
        list(windows_of([span(0, 1)], timedelta(0)))
