"""Errors as the service says them: a problem of RFC 9457, without internals and without secrets.

What the caller sent is never said back: it may be a secret that stands in the wrong place.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import InterfaceError, OperationalError
from starlette.exceptions import HTTPException

from alerts.lifecycle import RefusedActionError
from alerts.service.pages.rendering import whole_page
from alerts.service.runbooks import UnknownRunbookError
from alerts.storing.databases import DatabaseBusyError
from alerts.storing.refusals import ReusedKeyError, StaleVersionError, UnknownIncidentError

MEDIA_TYPE: Final = "application/problem+json"
_RETRY_SECONDS: Final = 5
_MAX_WRONG_PLACES: Final = 20

_REFUSALS: Final[Mapping[type[Exception], int]] = {
    UnknownIncidentError: 404,
    UnknownRunbookError: 404,
    RefusedActionError: 409,
    StaleVersionError: 412,
    ReusedKeyError: 422,
}
"""What the store refuses, and the status that says so; subclasses are said alike."""

_log: Final = logging.getLogger(__name__)


PROBLEM_SCHEMA: Final[Mapping[str, Any]] = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "detail", "errors"],
    "properties": {
        "type": {"type": "string", "description": "Always `about:blank`: the status says it."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "description": "The HTTP status."},
        "detail": {"type": "string", "description": "What to do about it."},
        "errors": {
            "type": "array",
            "description": "Which places of the request would not do, and what was wanted.",
            "items": {
                "type": "object",
                "required": ["place", "problem"],
                "properties": {"place": {"type": "string"}, "problem": {"type": "string"}},
            },
        },
    },
}
"""What every error looks like."""


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how the OpenAPI tells of errors with these statuses."""
    return {status: _told(status) for status in statuses}


def _told(status: int) -> dict[str, Any]:
    return {
        "description": HTTPStatus(status).phrase,
        "content": {MEDIA_TYPE: {"schema": PROBLEM_SCHEMA}},
    }


def problem_response(
    status: int,
    detail: str,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] = (),
) -> Response:
    """Return an error as an answer.

    Args:
        status: Its HTTP status.
        detail: What to do about it.
        headers: Headers beside it.
        errors: Which places of the request would not do, as JSON has them.
    """
    told = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "errors": list(errors),
    }
    body = json.dumps(told, separators=(",", ":"))
    return Response(body, status, dict(headers or {}), MEDIA_TYPE)


def add_problem_handlers(app: FastAPI) -> None:
    """Make an app answer every error as a problem, and to browsers as a page."""
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Exception, _broken)
    for broken in (OperationalError, InterfaceError, DatabaseBusyError):
        app.add_exception_handler(broken, _unreachable)
    for kind, status in _REFUSALS.items():
        app.add_exception_handler(kind, partial(_refused_by_store, status))


async def _refused(request: Request, error: Exception) -> Response:
    """Return an error that a route or a guard raised."""
    if not isinstance(error, HTTPException):
        raise error
    return _answer(request, error.status_code, str(error.detail), error.headers)


async def _refused_by_store(status: int, request: Request, error: Exception) -> Response:
    """Return what the store refuses, in its own words."""
    return _answer(request, status, str(error))


async def _invalid(request: Request, error: Exception) -> Response:
    """Return which places of a request would not do, without what stands there."""
    if not isinstance(error, RequestValidationError):
        raise error
    wrong = [
        {"place": ".".join(str(part) for part in one["loc"]), "problem": one["msg"]}
        for one in error.errors()
    ]
    detail = "the request does not fit; see errors"
    return _answer(request, 422, detail, errors=wrong[:_MAX_WRONG_PLACES])


async def _unreachable(request: Request, error: Exception) -> Response:
    """Return that the database does not answer; what it said goes to the log alone."""
    _log.error("the database does not answer: %s", type(error).__name__, exc_info=error)
    headers = {"Retry-After": str(_RETRY_SECONDS)}
    return _answer(request, 503, "the incident database does not answer; try again", headers)


async def _broken(request: Request, error: Exception) -> Response:
    """Return that something of ours is broken; what goes to the log alone."""
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return _answer(request, 500, "the service failed at this; its log says why")


def _answer(
    request: Request,
    status: int,
    detail: str,
    headers: Mapping[str, str] | None = None,
    errors: Sequence[Mapping[str, str]] = (),
) -> Response:
    """Return a problem, or to a browser a page that says it."""
    is_page = "text/html" in request.headers.get("accept", "")
    if not is_page or request.url.path.startswith("/api/") or "Location" in (headers or {}):
        return problem_response(status, detail, headers, errors)
    title = HTTPStatus(status).phrase
    told = {"here": "", "caller": None, "refresh_seconds": None, "title": title, "detail": detail}
    response = whole_page("problem.html.j2", told, status=status)
    response.headers.update(headers or {})
    return response
