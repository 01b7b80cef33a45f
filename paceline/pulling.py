"""Pull what the detectors need from a Prometheus, as one more source of an analysis."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from collectors.metrics.prometheus import (
    PrometheusServer,
    RefusedQueryError,
    UnreachablePrometheusError,
    fetch_reading,
)
from collectors.readings import Reading


class PullError(ConnectionError):
    """A Prometheus could not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """What to pull.

    Attributes:
        url: The server's base address.
        start: First moment, included.
        end: Last moment, included.
    """

    url: str
    start: datetime
    end: datetime

    @classmethod
    def of(cls, url: str, start: datetime, end: datetime) -> "PullRequest":
        """Return a request; times without a zone are UTC."""
        first, last = (
            time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
            for time in (start, end)
        )
        return cls(url=url, start=first, end=last)


def pull(request: PullRequest) -> Reading:
    """Return the series of devices and fabrics in the asked span.

    Raises:
        PullError: The server does not answer, or refuses; the message says which.
    """
    server = PrometheusServer(url=request.url)
    end = request.end + timedelta(milliseconds=1)
    try:
        return fetch_reading(server, {}, request.start, end)
    except (UnreachablePrometheusError, RefusedQueryError, ValueError) as error:
        raise PullError(str(error)) from error
