"""Pull series from a Prometheus server, the same ones that its exporters' pages would give.

The connection and the queries are prometheus-api-client's; its answers are taken as bytes and go
to Polars through orjson. Raw samples come from instant queries on `selector[range]`. We differ
from the library's own `get_metric_range_data` where that doubles or loses samples at the seams of
its chunks, rounds times to seconds, leaves label values unescaped, drops warnings and may wait
for ever. Source: Prometheus HTTP API; prometheus-api-client 0.7.2.
"""

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol, Self, cast

import requests
from prometheus_api_client.exceptions import PrometheusApiClientException
from prometheus_api_client.prometheus_connect import PrometheusConnect
from urllib3.util.retry import Retry

from collectors.metrics.metric_files import reading_of_answer
from collectors.metrics.prometheus_answers import Answer, read_answer
from collectors.readings import Reading

READ_BYTES: Final = 2**20
"""Read at once from the connection; the library's own 10 kB cost more than parsing the answer."""

RETRIED_STATUS: Final = (429, 500, 502, 503, 504)

KNOWN_METRICS: Final = (
    "(?i:dcgm)_.+|infiniband_.+|node_(?:infiniband|ethtool|network|cpu|edac|pressure|thermal)_.+"
    "|node_(?:hwmon|cooling|rapl|schedstat|pcidevice|timex)_.+|node_(?:cpu|boot_time|time_seconds)"
    "|node_(?:boot_time_seconds|scrape_collector_success|exporter_build_info|uname_info)|rdma_.+"
)
"""What the mappers can read, as a pattern of metric names."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_LABEL_NAME: Final = r"[a-zA-Z_][a-zA-Z0-9_]*"


class UnreachablePrometheusError(ConnectionError):
    """The server gave no answer within the time and the tries that it had."""


class RefusedQueryError(ValueError):
    """The server answered that it will not, or cannot, run the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrometheusServer:
    """Where a Prometheus is and how patient we are with it.

    Attributes:
        url: Its address, without a path of the API.
        headers: Sent with each request, for instance for authorisation.
        timeout_seconds: Longest wait for a connection, and for the next bytes of an answer.
        max_retries: How often a request is sent again when it fails or the server is busy.
        backoff_seconds: Wait before the second retry; it doubles with each further one.
        chunk: Longest span of one query.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_seconds: float = 30.0
    max_retries: int = 3
    backoff_seconds: float = 0.5
    chunk: timedelta = timedelta(minutes=30)

    def __post_init__(self) -> None:
        """Refuse what would never ask, or wait for ever."""
        if self.timeout_seconds <= 0:
            raise ValueError(f"timeout_seconds must be above 0, got {self.timeout_seconds}")
        if self.chunk < _MILLISECOND:
            raise ValueError(f"chunk must be at least a millisecond, got {self.chunk}")


class _Connection(Protocol):
    """What we use of the library, which does not state its types in full."""

    url: str

    def __enter__(self) -> Self:
        """Open the session."""
        ...

    def __exit__(self, *error: object) -> None:
        """Close the session."""
        ...

    def custom_query(self, query: str, params: Mapping[str, str]) -> object:
        """Run an instant query."""
        ...


class _RawAnswer(requests.Response):
    """An answer whose body comes back unread where the library looks for the result.

    `custom_query` returns `json()["data"]["result"]`: parsed by the standard library, and without
    the warnings beside it. So the whole body is handed over at that place.
    """

    def json(self, **_: object) -> Any:  # noqa: ANN401 -- the type of the method it stands for
        """Return the body where the library unwraps it."""
        return {"data": {"result": self.content}}


class _RawSession(requests.Session):
    """A session that asks for uncompressed answers and leaves them as bytes.

    Compression makes a local answer several times slower than sending it as it is.
    """

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:  # noqa: ANN401 -- the options of the method it stands for
        """Send a request and return its answer, to be read raw."""
        request.headers["Accept-Encoding"] = "identity"
        kwargs["stream"] = True
        response = super().send(request, **kwargs)
        body = b"".join(response.iter_content(READ_BYTES))
        raw = _RawAnswer()
        raw.__dict__.update(response.__dict__, _content=body)
        return raw


def selector(matchers: Mapping[str, str], names: str = KNOWN_METRICS) -> str:
    """Return a PromQL selector.

    Args:
        matchers: Label names to the value each must equal; values are escaped.
        names: A pattern that metric names must match as a whole.

    Raises:
        ValueError: A label name does not follow Prometheus' grammar.
    """
    for name in matchers:
        if not re.fullmatch(_LABEL_NAME, name):
            raise ValueError(f"{name!r} is no label name; wanted letters, digits and underscores")
    equal = [f"{name}={_quoted(value)}" for name, value in sorted(matchers.items())]
    return "{" + ",".join([f"__name__=~{_quoted(names)}", *equal]) + "}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def fetch_answer(server: PrometheusServer, wanted: str, start: datetime, end: datetime) -> Answer:
    """Return all samples of a selector, each once.

    A range of a 2.x server holds both its ends, one of a 3.x server only the later. Times are
    whole milliseconds, so a query at one before the chunk's end whose range is the chunk's length
    holds the chunk on either; what a 2.x server adds before it is dropped by its time.

    Args:
        server: Where to ask.
        wanted: A selector in PromQL, without a range.
        start: First time asked for; with a zone.
        end: First time no longer asked for; with a zone.

    Raises:
        UnreachablePrometheusError: No answer after all retries.
        RefusedQueryError: The server refused the query.
        ValueError: `start` or `end` has no zone, or they are not in order.
    """
    answer = Answer()
    with _connection(server) as connection:
        chunks = list(_chunks(start, end, server.chunk))
        for number, (first, body) in enumerate(_bodies(connection, wanted, chunks), start=1):
            part = Answer()
            read_answer(part, body, number)
            answer.absorb(part, first / 1e3)
    return answer


def _bodies(
    connection: _Connection, wanted: str, chunks: list[tuple[int, int]]
) -> Iterator[tuple[int, bytes]]:
    """Yield each chunk's first millisecond and answer; the next is asked for while one is read."""

    def ask(chunk: tuple[int, int]) -> bytes:
        first, last = chunk
        return _ask(connection, f"{wanted}[{last - first + 1}ms]", last / 1e3)

    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(ask, chunks[0])
        for (first, _), following in zip(chunks, [*chunks[1:], None], strict=True):
            body = coming.result()
            if following is not None:
                coming = pool.submit(ask, following)
            yield first, body


def _chunks(start: datetime, end: datetime, chunk: timedelta) -> Iterator[tuple[int, int]]:
    """Yield the first and last millisecond of each chunk of [start, end)."""
    if start.tzinfo is None or end.tzinfo is None:
        raise ValueError(f"start and end must have a zone, got {start} and {end}")
    if end <= start:
        raise ValueError(f"end must be after start, got {start} to {end}")
    first, stop = (-((_EPOCH - moment) // _MILLISECOND) for moment in (start, end))
    length = chunk // _MILLISECOND
    for at in range(first, stop, length):
        yield at, min(at + length, stop) - 1


def _connection(server: PrometheusServer) -> _Connection:
    retry = Retry(
        total=server.max_retries,
        backoff_factor=server.backoff_seconds,
        status_forcelist=RETRIED_STATUS,
        raise_on_status=False,
        respect_retry_after_header=True,
    )
    connection = PrometheusConnect(
        url=server.url.rstrip("/"),
        headers=dict(server.headers),
        retry=retry,
        session=_RawSession(),
        timeout=server.timeout_seconds,  # type: ignore[arg-type]  # requests takes fractions too
    )
    return cast("_Connection", connection)


def _ask(connection: _Connection, query: str, time_seconds: float) -> bytes:
    """Return the body of one answer."""
    try:
        body = connection.custom_query(query, params={"time": f"{time_seconds:.3f}"})
    except requests.RequestException as error:
        raise UnreachablePrometheusError(
            f"no answer from {connection.url}: {error}; check the address and that it is up"
        ) from error
    except PrometheusApiClientException as error:
        raise RefusedQueryError(f"{connection.url} refused {query!r}: {error}") from error
    return cast("bytes", body)


def fetch_reading(
    server: PrometheusServer, matchers: Mapping[str, str], start: datetime, end: datetime
) -> Reading:
    """Return what the server's samples say, read by the same mappers as files.

    Args:
        server: Where to ask.
        matchers: Labels that the series must have; empty for all of the server's.
        start: First time asked for; with a zone.
        end: First time no longer asked for; with a zone.

    Raises:
        UnreachablePrometheusError: No answer after all retries.
        RefusedQueryError: The server refused the query.
        ValueError: An argument is not as described.
    """
    answer = fetch_answer(server, selector(matchers), start, end)
    return reading_of_answer(answer, f"prometheus {server.url}")
