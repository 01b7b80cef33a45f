"""Ask a Prometheus for more samples than one query may load: by halves, until each half may.

A server refuses a query that would load more than `--query.max-samples` (50 million unless set).
A span is halved in time first; what is too much within a second is shared out by the letters of the
metrics' names, then by digits of addresses: a matcher and its negation leave no rest.
Source: Prometheus documentation, command line flags and selectors of PromQL.
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from collectors.metrics.prometheus import PrometheusServer, RefusedQueryError, fetch_answer
from collectors.metrics.prometheus_answers import Answer
from collectors.metrics.spans import Span

_TOO_MUCH: Final = re.compile(r"too many samples|exceeded.*(?:limit|sample)", re.IGNORECASE)

MIN_SPAN: Final = timedelta(seconds=1)
"""Shorter spans are not halved in time: an exporter is scraped no oftener."""

_SPLITS: Final = (
    *(("__name__", f"(?i:{letter})") for letter in "mpugdblwxnosrthk"),
    *((label, digit) for label in ("instance", "gpu", "device", "port") for digit in "1203456789"),
)
"""A label and what its value may hold, in the order of their use: letters that about half of the
names of metrics have, and then the digits of addresses and devices."""


def fetch_all(server: PrometheusServer, wanted: str, span: Span) -> Answer:
    """Return all samples of a selector in a span, each once, in as many queries as it takes.

    Args:
        server: Where to ask.
        wanted: A selector in PromQL that ends in a brace, without a range.
        span: When.

    Raises:
        UnreachablePrometheusError: No answer after all retries.
        RefusedQueryError: The server refused a query for another reason than its size, or one that
            cannot be made smaller.
    """
    whole = Answer()
    for part in _parts(server, wanted, span, 0):
        whole.absorb(part, span.start.timestamp())
    return whole


def _parts(server: PrometheusServer, wanted: str, span: Span, splits: int) -> Iterator[Answer]:
    """Yield the answers of queries that together hold the span."""
    try:
        yield fetch_answer(server, wanted, span.start, span.end)
    except RefusedQueryError as error:
        if not _TOO_MUCH.search(str(error)):
            raise
        half = (span.end - span.start) / 2
        if half >= MIN_SPAN:
            middle = span.start + half
            yield from _parts(server, wanted, Span(start=span.start, end=middle), splits)
            yield from _parts(server, wanted, Span(start=middle, end=span.end), splits)
            return
        if splits == len(_SPLITS):
            raise
        for narrower in _halves(wanted, *_SPLITS[splits]):
            yield from _parts(server, narrower, span, splits + 1)


def _halves(wanted: str, label: str, held: str) -> tuple[str, str]:
    """Return two selectors that share out the series of one."""
    start, pattern = wanted.removesuffix("}"), f'".*{held}.*"'
    return f"{start},{label}=~{pattern}}}", f"{start},{label}!~{pattern}}}"
