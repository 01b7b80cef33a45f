"""Pull what the detectors need from a Prometheus, as one more source of an analysis."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
        match: Labels that series must have; empty takes all of the server's.
    """

    url: str
    start: datetime
    end: datetime
    match: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(
        cls, url: str, start: datetime, end: datetime, match: Mapping[str, str] | None = None
    ) -> "PullRequest":
        """Return a request; times without a zone are UTC."""
        return cls(url=url, start=as_utc(start), end=as_utc(end), match=dict(match or {}))


def as_utc(time: datetime) -> datetime:
    """Return a time in UTC; one without a zone is in UTC already."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def pull(request: PullRequest) -> Reading:
    """Return the series of devices and fabrics in the asked span.

    Raises:
        PullError: The server does not answer, or refuses; the message says which.
    """
    server = PrometheusServer(url=request.url)
    end = request.end + timedelta(milliseconds=1)
    try:
        return fetch_reading(server, request.match, request.start, end)
    except (UnreachablePrometheusError, RefusedQueryError, ValueError) as error:
        raise PullError(str(error)) from error
