"""Who asks, whether they may, and whether not too often.

Source: RFC 6750 for the answers to a token that is missing, unknown or too weak.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final, cast
from urllib.parse import quote

from fastapi import Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes
from starlette.exceptions import HTTPException

from alerts.service.sessions import COOKIE, Session, open_session
from alerts.service.settings import ServiceSettings
from alerts.service.token_buckets import Rate, TokenBucket, full_bucket, take
from alerts.service.tokens import Scope, Token, find_token

ANONYMOUS: Final = "(anonymous)"
"""What the history calls somebody who needed no token; no token can have this name."""

SAME_SITE: Final = frozenset({"same-origin", "none"})
"""What a browser says in `Sec-Fetch-Site` of a page of ours, or of a person; programs say none."""

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})

_BEARER: Final = HTTPBearer(
    auto_error=False, description="A token of the settings, as `Authorization: Bearer TOKEN`."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whoever asks.

    Attributes:
        name: What the history calls them.
        scopes: What they may do.
        session: Their login; null for a program, and for somebody without a token.
    """

    name: str
    scopes: frozenset[Scope]
    session: Session | None = None


class Guard:
    """Knows tokens and logins, and counts requests; one for each app, used from its loop alone."""

    def __init__(self, settings: ServiceSettings, now: Callable[[], datetime]) -> None:
        """Guard an app.

        Args:
            settings: Who may do what.
            now: The clock.
        """
        self._settings = settings
        self._now = now
        self._buckets: dict[str, TokenBucket] = {}

    def caller_of_token(self, secret: str | None, *, is_here: bool) -> Caller:
        """Return who shows a token, after counting the request.

        Args:
            secret: What they show; null for nothing.
            is_here: Whether the request comes from this machine itself; see `comes_from_here`.

        Raises:
            HTTPException: 401 for a token that nobody has, 429 for one request too many.
        """
        token = None if secret is None else find_token(secret, self._settings.tokens)
        if token is None:
            self._count(ANONYMOUS, self._settings.anonymous_rate)
            if secret is not None:
                raise _unauthorized("this token is not known", 'error="invalid_token"')
            return self._anonymous(is_here=is_here)
        self._count(token.name, token.rate)
        return Caller(name=token.name, scopes=token.scopes)

    def caller_of_cookie(self, cookie: str | None, *, is_here: bool) -> Caller:
        """Return whose browser asks, after counting the request; a login that is over is none.

        Args:
            cookie: The cookie of the login; null for none.
            is_here: Whether the request comes from this machine itself; see `comes_from_here`.

        Raises:
            HTTPException: 429 for one request too many.
        """
        session = cookie and open_session(cookie, self._settings.session_key, self._now())
        token = self._token_named(session.name) if session else None
        if not session or token is None:
            self._count(ANONYMOUS, self._settings.anonymous_rate)
            return self._anonymous(is_here=is_here)
        self._count(token.name, token.rate)
        return Caller(name=token.name, scopes=token.scopes, session=session)

    def _anonymous(self, *, is_here: bool) -> Caller:
        """Return somebody without a token; what is open to them is open to this machine alone."""
        scopes = self._settings.anonymous_scopes if is_here else frozenset[Scope]()
        return Caller(name=ANONYMOUS, scopes=scopes)

    def _token_named(self, name: str) -> Token | None:
        return next((token for token in self._settings.tokens if token.name == name), None)

    def _count(self, name: str, rate: Rate) -> None:
        now = self._now()
        bucket = self._buckets.get(name) or full_bucket(rate, now)
        self._buckets[name], wait_seconds = take(bucket, rate, now)
        if wait_seconds:
            detail = f"too many requests; try again in {wait_seconds} s"
            raise HTTPException(429, detail, {"Retry-After": str(wait_seconds)})


def guard_of(request: Request) -> Guard:
    """Return the guard of the app that a request came to."""
    return cast("Guard", request.app.state.guard)


def comes_from_here(request: Request) -> bool:
    """Return whether a request asks for this machine by its own name, and not for another site.

    A page elsewhere may let its own name point at this machine, or send a form to it from within a
    browser of ours: the browser then says so. A link in a chat may be followed.
    """
    is_followed = request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"
    is_ours = request.headers.get("sec-fetch-site", "none") in SAME_SITE
    return request.url.hostname in _LOOPBACK_NAMES and (is_ours or is_followed)


async def caller(
    needed: SecurityScopes,
    request: Request,
    shown: Annotated[HTTPAuthorizationCredentials | None, Security(_BEARER)],
) -> Caller:
    """Return who asks a program's question, or refuse.

    Raises:
        HTTPException: 401 without a known token, 403 where it does not allow this, 429.
    """
    secret = shown.credentials if shown else None
    found = guard_of(request).caller_of_token(secret, is_here=comes_from_here(request))
    missing = set(needed.scopes) - found.scopes
    if missing and shown is None:
        raise _unauthorized("a token is needed: Authorization: Bearer TOKEN")
    if missing:
        raise HTTPException(
            403,
            f"the token lacks the scope {needed.scope_str}",
            {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{needed.scope_str}"'},
        )
    return found


async def page_caller(needed: SecurityScopes, request: Request) -> Caller:
    """Return whose browser asks for a page, or send them to the login.

    Raises:
        HTTPException: 303 to the login, 403 where the login does not allow this, 429.
    """
    cookie = request.cookies.get(COOKIE)
    found = guard_of(request).caller_of_cookie(cookie, is_here=comes_from_here(request))
    if set(needed.scopes) <= found.scopes:
        return found
    if found.session is not None:
        raise HTTPException(403, f"your token lacks the scope {needed.scope_str}")
    asked = request.url.path if request.method == "GET" else "/"
    raise HTTPException(303, "log in first", {"Location": f"/login?next={quote(asked)}"})


def _unauthorized(detail: str, more: str = "") -> HTTPException:
    return HTTPException(401, detail, {"WWW-Authenticate": f"Bearer {more}".strip()})


Reader = Annotated[Caller, Security(caller, scopes=[Scope.READ])]
Actor = Annotated[Caller, Security(caller, scopes=[Scope.ACT])]
Sender = Annotated[Caller, Security(caller, scopes=[Scope.INGEST])]
PageReader = Annotated[Caller, Security(page_caller, scopes=[Scope.READ])]
PageActor = Annotated[Caller, Security(page_caller, scopes=[Scope.READ, Scope.ACT])]
