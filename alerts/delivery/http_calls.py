"""Calls over HTTP that tell no secret, follow no redirect and end.

The standard library's client is enough, and knows no `.netrc`, no environment and no log: the
address of a webhook is a secret by itself, and other clients write it into debug logs and errors.
"""

import http.client
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Final, Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from alerts.delivery.answers import Answer, Delivered, Later, Refused
from alerts.delivery.backoff import rest_seconds
from alerts.wording import flat_text

PASSING_STATUSES: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)
"""Refusals that a later try may not meet; so are all from 500 on."""
MAX_TOLD: Final = 200
"""Characters of a refusal that are kept."""


class AddressError(ValueError):
    """An address is no `http://` or `https://` one with a host."""


class NoAnswerError(OSError):
    """A server could not be reached, broke off, or answered too slowly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """How long a call may take, and how much of an answer is read.

    Attributes:
        read_seconds: Longest wait for the connection, and for each next part of the answer.
        total_seconds: Longest time for the whole answer.
        body_bytes: Longest answer.
        ca_file: Certificates of authorities to trust instead of the system's; null is the system's.
    """

    read_seconds: float = 5.0
    total_seconds: float = 15.0
    body_bytes: int = 65_536
    ca_file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """One request.

    Attributes:
        url: Where to; it may hold a secret.
        method: What it asks for.
        body: What is sent; empty is nothing.
        headers: Headers; they may hold secrets.
        limits: When to give up.
    """

    url: SecretStr
    method: Literal["GET", "POST"] = "POST"
    body: bytes = b""
    headers: Mapping[str, SecretStr] = field(default_factory=dict[str, SecretStr])
    limits: HttpLimits = field(default_factory=HttpLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """One answer.

    Attributes:
        status: HTTP status.
        body: As much of it as the limits allow.
        retry_after: The header of that name; null when there was none.
    """

    status: int
    body: bytes
    retry_after: str | None = None


def refuse_address(url: str) -> None:
    """Refuse what cannot be called, without repeating it.

    Raises:
        AddressError: The text is no address.
    """
    try:
        parts = urlsplit(url)
        is_known = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_known = False
    is_plain = url.isascii() and url.isprintable()
    if not (is_known and is_plain) or "@" in url or " " in url:
        raise AddressError(
            "wanted an address as in https://host/path, without a user, found something else"
        )


def call_http(call: HttpCall) -> HttpReply:
    """Return the answer to a call.

    Raises:
        NoAnswerError: None came; the message holds no part of the address.
    """
    parts = urlsplit(call.url.get_secret_value())
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {name: value.get_secret_value() for name, value in call.headers.items()}
    connection = _connection(parts.scheme, parts.netloc, call.limits)
    try:
        connection.request(call.method, target, call.body or None, headers)
        return _read(connection.getresponse(), call.limits)
    except (OSError, http.client.HTTPException) as error:
        # Its own text may hold the address.
        raise NoAnswerError(f"no answer: {type(error).__name__}") from None
    finally:
        connection.close()


def answer_of(reply: HttpReply, *, now: datetime) -> Answer:
    """Return what a status means for a letter."""
    if HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
        return Delivered()
    if reply.status in PASSING_STATUSES or reply.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        rest = rest_seconds(reply.retry_after, now=now)
        return Later(reason=f"answered {reply.status}", rest_seconds=rest)
    return Refused(reason=f"answered {reply.status}: {told(reply.body)}")


def told(body: bytes) -> str:
    """Return the beginning of an answer as one line of printable text."""
    text = body[: 4 * MAX_TOLD].decode("utf-8", "replace")
    return flat_text(text)[:MAX_TOLD].strip() or "nothing"


def _connection(scheme: str, place: str, limits: HttpLimits) -> http.client.HTTPConnection:
    if scheme == "https":
        context = ssl.create_default_context(cafile=limits.ca_file)
        return http.client.HTTPSConnection(place, timeout=limits.read_seconds, context=context)
    return http.client.HTTPConnection(place, timeout=limits.read_seconds)


def _read(response: http.client.HTTPResponse, limits: HttpLimits) -> HttpReply:
    """Return an answer; one that drips in for too long is none."""
    give_up = time.monotonic() + limits.total_seconds
    parts: list[bytes] = []
    size = 0
    while size < limits.body_bytes and (part := response.read1(limits.body_bytes - size)):
        parts.append(part)
        size += len(part)
        if time.monotonic() > give_up:
            raise TimeoutError
    retry_after = response.getheader("Retry-After")
    return HttpReply(status=response.status, body=b"".join(parts), retry_after=retry_after)
