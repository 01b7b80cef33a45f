"""Logging in with a token, and out again."""

import re
from typing import Annotated, Final

from fastapi import APIRouter, Form, Request
from pydantic import StringConstraints
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from alerts.service.guards import SAME_SITE, guard_of
from alerts.service.pages.rendering import whole_page
from alerts.service.pages.views import ReaderView, form_session
from alerts.service.parts import Parts, ServiceParts
from alerts.service.sessions import (
    COOKIE,
    SESSION_SECONDS,
    is_form_token,
    new_session,
    seal_session,
)
from alerts.service.tokens import MAX_SECRET_CHARACTERS, Scope

ROUTES: Final = APIRouter()

_HERE: Final = re.compile(r"/(?!/)[A-Za-z0-9/_.-]{0,200}")
"""A path of ours: what a login may lead to."""


@ROUTES.get("/login")
async def login_page(parts: Parts, next: str = "/") -> Response:  # noqa: A002 -- as the link says
    """Return the page where one logs in."""
    return _login_page(parts, next)


@ROUTES.post("/login")
async def login(
    request: Request,
    parts: Parts,
    token: Annotated[str, Form(max_length=MAX_SECRET_CHARACTERS)],
    next: Annotated[str, Form(), StringConstraints(max_length=200)] = "/",  # noqa: A002 -- as the form says
) -> Response:
    """Check a token and give the browser a login for it.

    Raises:
        HTTPException: 403 for a form of another site, 429 for one try too many.
    """
    if request.headers.get("sec-fetch-site", "none") not in SAME_SITE:
        raise HTTPException(403, "log in on a page of this service")
    try:
        caller = guard_of(request).caller_of_token(token.strip(), is_here=False)
    except HTTPException as error:
        if error.status_code != 401:  # noqa: PLR2004 -- the status of a token that nobody has
            raise
        return _login_page(parts, next, refusal="This token is not known.", status=401)
    if Scope.READ not in caller.scopes:
        refusal = "This token may not read pages: it lacks the scope read."
        return _login_page(parts, next, refusal=refusal, status=403)
    session = new_session(caller.name, parts.now())
    response = RedirectResponse(_place(next), 303)
    response.set_cookie(
        COOKIE,
        seal_session(session, parts.settings.session_key),
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="lax",  # a link in a chat opens the page, a form elsewhere reaches nothing
        secure=parts.settings.is_https,
    )
    return response


@ROUTES.post("/logout")
async def logout(view: ReaderView, form_token: Annotated[str, Form(max_length=100)]) -> Response:
    """End a login in this browser.

    Raises:
        HTTPException: 403 for a form that is not from a page of this login.
    """
    key = view.parts.settings.session_key
    if not is_form_token(form_token, form_session(view.caller), key):
        raise HTTPException(403, "this form is not from a page of your login; reload and try again")
    response = RedirectResponse("/login", 303)
    response.delete_cookie(COOKIE)
    return response


def _login_page(
    parts: ServiceParts, asked: str, *, refusal: str | None = None, status: int = 200
) -> Response:
    told = {"here": "login", "caller": None, "refresh_seconds": None, "now": parts.now()}
    return whole_page(
        "login.html.j2", told | {"next": _place(asked), "refusal": refusal}, status=status
    )


def _place(asked: str) -> str:
    """Return where a login leads: nowhere but here."""
    return asked if _HERE.fullmatch(asked) else "/"
