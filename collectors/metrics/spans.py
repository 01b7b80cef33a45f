"""Spans of time on a grid: which windows of an asked span are not covered yet.

All spans are half-open, so that neighbours share no moment and leave none out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Self

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Span:
    """A span of time with a length, from `start` up to and without `end`.

    Attributes:
        start: First moment; with a zone.
        end: First moment after it; with a zone.
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        """Refuse a span that is empty or could mean two."""
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ValueError(f"start and end must have a zone, got {self.start} and {self.end}")
        if self.end <= self.start:
            raise ValueError(f"end must be after start, got {self.start} to {self.end}")

    @classmethod
    def between(cls, start: datetime, end: datetime) -> Self | None:
        """Return the span, or null where it would be empty."""
        return cls(start=start, end=end) if start < end else None


def floor_to(moment: datetime, window: timedelta) -> datetime:
    """Return the last multiple of `window` since 1970 that is not after `moment`."""
    return _EPOCH + (moment - _EPOCH) // window * window


def merged(spans: Iterable[Span]) -> list[Span]:
    """Return the same moments as few spans, in order; spans that touch become one."""
    result: list[Span] = []
    for span in sorted(spans):
        if result and span.start <= result[-1].end:
            last = result.pop()
            result.append(Span(start=last.start, end=max(last.end, span.end)))
        else:
            result.append(span)
    return result


def without(asked: Iterable[Span], covered: Iterable[Span]) -> list[Span]:
    """Return the moments of `asked` that are not in `covered`, as few spans, in order."""
    holes = merged(covered)
    result: list[Span] = []
    for span in merged(asked):
        start = span.start
        for hole in holes:
            if hole.end > start and hole.start < span.end:
                result += [s for s in [Span.between(start, hole.start)] if s]
                start = max(start, hole.end)
        result += [s for s in [Span.between(start, span.end)] if s]
    return result


def windows_of(spans: Iterable[Span], window: timedelta) -> Iterator[Span]:
    """Yield the spans cut at the multiples of `window` since 1970, in order.

    Raises:
        ValueError: `window` is not above 0.
    """
    if window <= timedelta(0):
        raise ValueError(f"window must be above 0, got {window}")
    for span in merged(spans):
        start = span.start
        while start < span.end:
            end = min(floor_to(start, window) + window, span.end)
            yield Span(start=start, end=end)
            start = end
