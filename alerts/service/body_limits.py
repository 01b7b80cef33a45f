"""A body that is too large is refused before it is read.

Source: RFC 9110, section 15.5.14. The web framework's own limit answers in plain text; ours says it
as every other error is said.
"""

from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from alerts.service.problems import problem_response

_STATUS: Final = 413


class BodyLimit:
    """A layer around the app that lets no body through that is too large."""

    def __init__(self, app: ASGIApp, *, max_body_bytes: int) -> None:
        """Wrap an app.

        Args:
            app: What answers.
            max_body_bytes: Largest body.
        """
        self._app = app
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 413 to what says that it is too large, and to what turns out to be."""
        if scope["type"] == "http" and self._declared(scope) > self._max_body_bytes:
            response = problem_response(_STATUS, self._detail, {"Connection": "close"})
            await response(scope, receive, send)
            return
        seen_bytes = 0

        async def counted() -> Message:
            nonlocal seen_bytes
            message = await receive()
            seen_bytes += len(message.get("body", b""))
            if seen_bytes > self._max_body_bytes:
                raise HTTPException(_STATUS, self._detail)
            return message

        await self._app(scope, counted, send)

    @property
    def _detail(self) -> str:
        return f"a body may have at most {self._max_body_bytes} bytes"

    def _declared(self, scope: Scope) -> int:
        """Return the length that a request says it has; one that is no number says none."""
        told = Headers(scope=scope).get("content-length", "")
        return int(told) if told.isdecimal() and told.isascii() else 0
