"""The app: routes of the API and of the pages around one store, one watch and one clock."""

from collections.abc import Callable
from datetime import datetime
from typing import Final

from fastapi import FastAPI
from starlette.middleware import Middleware

from alerts.service import (
    action_routes,
    form_routes,
    health_routes,
    incident_routes,
    login_routes,
    page_routes,
    state_routes,
    webhook_routes,
)
from alerts.service.body_limits import BodyLimit
from alerts.service.guards import Guard
from alerts.service.live import Live
from alerts.service.parts import ServiceParts
from alerts.service.problems import add_problem_handlers
from alerts.service.response_headers import ResponseHeaders
from alerts.service.settings import ServiceSettings
from alerts.storing.incident_store import IncidentStore

_API: Final = (incident_routes, action_routes, state_routes, webhook_routes, health_routes)
_PAGES: Final = (page_routes, form_routes, login_routes)

_DESCRIPTION: Final = """\
Incidents of training clusters: what slows a job, since when, on what evidence, who works on it.

Every request but `/healthz` and `/readyz` shows a token: `Authorization: Bearer TOKEN`. Scopes are
`read`, `act` and `ingest`. Errors are problems of RFC 9457. A null is not known: never zero, never
healthy.
"""


def create_app(
    store: IncidentStore,
    *,
    live: Live,
    settings: ServiceSettings,
    now: Callable[[], datetime],
) -> FastAPI:
    """Return the service over HTTP; it starts nothing and keeps nothing but counts of requests.

    Args:
        store: The incidents.
        live: The state of now.
        settings: How it behaves.
        now: The clock; aware times.
    """
    app = FastAPI(
        title="Paceline",
        version="1",
        description=_DESCRIPTION,
        openapi_url="/api/v1/openapi.json",
        # The usual pages for an OpenAPI load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(ResponseHeaders),
            Middleware(BodyLimit, max_body_bytes=settings.max_body_bytes),
        ],
    )
    app.state.parts = ServiceParts(store=store, live=live, settings=settings, now=now)
    app.state.guard = Guard(settings, now)
    add_problem_handlers(app)
    for routes in _API:
        app.include_router(routes.ROUTES)
    for routes in _PAGES:
        app.include_router(routes.ROUTES, include_in_schema=False)
    return app
