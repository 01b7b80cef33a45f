"""A call over HTTP ends, tells no secret, and what its status means is decided once."""

import socket
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from alerts.delivery.answers import Answer, Delivered, Later, Refused
from alerts.delivery.http_calls import AddressError, HttpLimits, refuse_address
from alerts.delivery.posting import Posting, post_json

NOW = datetime(2026, 1, 5, 10, tzinfo=UTC)
SECRET = "sk-0123456789"  # noqa: S105 - made up
PATIENT = HttpLimits()
HASTY = HttpLimits(read_seconds=0.2, total_seconds=0.3)


def posted(url: str, limits: HttpLimits = PATIENT) -> Answer:
    """What becomes of a post to an address with a secret in it and a token beside it."""
    headers = {"Authorization": SecretStr("Bearer tok-987654")}
    posting = Posting(url=SecretStr(f"{url}/hook/{SECRET}?a=b"), headers=headers, limits=limits)
    return post_json(posting, {"a": 1}, now=NOW)


@pytest.mark.parametrize(
    ("status", "body", "headers", "expected"),
    [
        pytest.param(202, b"", {}, Delivered(), id="accepted"),
        pytest.param(
            429,
            b"",
            {"Retry-After": "7"},
            Later(reason="answered 429", rest_seconds=7.0),
            id="too many requests, with a rest",
        ),
        pytest.param(503, b"", {}, Later(reason="answered 503"), id="a server in trouble"),
        pytest.param(408, b"", {}, Later(reason="answered 408"), id="a request that took too long"),
        pytest.param(
            400, b"bad\n\x1b[1mkey", {}, Refused(reason="answered 400: bad  [1mkey"), id="refused"
        ),
        pytest.param(404, b"", {}, Refused(reason="answered 404: nothing"), id="not there"),
        pytest.param(
            403,
            f"no {SECRET} or tok-987654 at /hook/{SECRET}".encode(),
            {},
            Refused(reason="answered 403: no *** or *** at ***"),
            id="a refusal that quotes secrets",
        ),
        pytest.param(
            302,
            b"",
            {"Location": "http://127.0.0.1:9/"},
            Refused(reason="answered 302: nothing"),
            id="a redirect is not followed",
        ),
    ],
)
def test_statuses(
    http_receiver: Any, status: int, body: bytes, headers: dict[str, str], expected: Answer
) -> None:
    """Success, trouble that passes, and refusals are told apart."""
    http_receiver.answers(status, body, headers)

    assert posted(http_receiver.url) == expected


@pytest.mark.parametrize(
    ("status", "after_seconds", "reason"),
    [
        pytest.param(None, 0.0, "no answer: RemoteDisconnected", id="closed without a word"),
        pytest.param(200, 0.5, "no answer: TimeoutError", id="slower than we wait"),
    ],
)
def test_no_answer(
    http_receiver: Any, status: int | None, after_seconds: float, reason: str
) -> None:
    """What is not answered is tried again."""
    http_receiver.answers(status, after_seconds=after_seconds)

    assert posted(http_receiver.url, HASTY) == Later(reason=reason)


def test_drips() -> None:
    """An answer that comes byte by byte for too long is none."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                for _ in range(10):
                    connection.sendall(b"x")
                    time.sleep(0.1)

        thread = threading.Thread(target=drip)
        thread.start()
        answer = posted(f"http://127.0.0.1:{server.getsockname()[1]}", HASTY)
        thread.join()

    assert answer == Later(reason="no answer: TimeoutError")


def test_nobody_there() -> None:
    """A server that is down is tried again, and the reason holds no address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    assert posted(f"http://127.0.0.1:{port}") == Later(reason="no answer: ConnectionRefusedError")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("ftp://host/x", id="another scheme"),
        pytest.param("https:///x", id="no host"),
        pytest.param("hooks.example/x", id="no scheme"),
        pytest.param("https://[::1/x", id="half a host"),
        pytest.param("https://host:x/", id="no port"),
        pytest.param("https://user:word@host/", id="a password, which would not be sent"),
        pytest.param("https://höst/", id="a letter that is none of an address"),
        pytest.param("https://host/a b\r\nX: y", id="a line break"),
    ],
)
def test_addresses(text: str) -> None:
    """What is no address is refused, and not repeated."""
    with pytest.raises(AddressError) as refusal:
        refuse_address(text)

    assert text not in str(refusal.value)


def test_not_encrypted(http_receiver: Any) -> None:
    """A server that should speak TLS and does not gets nothing."""
    answer = posted(http_receiver.url.replace("http:", "https:"))

    assert (answer, http_receiver.received) == (Later(reason="no answer: SSLError"), [])
