"""Whether the process lives, whether it is of use, and its numbers for Prometheus.

Source: the probes of Kubernetes: a process that lives and is not ready is left alone, not killed.
"""

import logging
from typing import Final, Literal

from fastapi import APIRouter
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response

from alerts.service.guards import Reader
from alerts.service.parts import Parts, ServiceParts
from alerts.service.problems import problems
from alerts.storing.databases import reading

EXPOSITION: Final = "text/plain; version=0.0.4; charset=utf-8"

ROUTES: Final = APIRouter(tags=["health"])

_log: Final = logging.getLogger(__name__)


class Health(BaseModel):
    """The process answers.

    Attributes:
        status: Always `alive`.
    """

    status: Literal["alive"] = "alive"


class Readiness(BaseModel):
    """Whether the service is of use.

    Attributes:
        status: `ready` when all below is well.
        database: Whether the incident database answers.
        last_tick_age_seconds: Since the last tick was done; null before the first.
        max_tick_age_seconds: From which age on the service is not ready.
        shares: How many groups each instance holds of a fleet that they share.
    """

    status: Literal["ready", "not ready"]
    database: Literal["reachable", "unreachable"]
    last_tick_age_seconds: float | None
    max_tick_age_seconds: float
    shares: dict[str, int] = {}


@ROUTES.get("/healthz")
async def healthz() -> Health:
    """Return that the process answers; it says nothing of what it watches."""
    return Health()


@ROUTES.get("/readyz", response_model=Readiness, responses={503: {"model": Readiness}})
def readyz(parts: Parts) -> Response:
    """Return whether the database answers and the last tick is young enough."""
    told = readiness(parts)
    status = 200 if told.status == "ready" else 503
    return Response(told.model_dump_json(), status, media_type="application/json")


@ROUTES.get(
    "/metrics",
    response_class=Response,
    responses=problems(401, 403, 429)
    | {200: {"content": {EXPOSITION: {"schema": {"type": "string"}}}}},
)
def metrics(_: Reader, parts: Parts) -> Response:
    """Return the metric contract in Prometheus' text form."""
    return Response(parts.live.metrics(), media_type=EXPOSITION)


def readiness(parts: ServiceParts) -> Readiness:
    """Return whether the service is of use, and why not."""
    database: Literal["reachable", "unreachable"] = "reachable"
    try:
        with reading(parts.store.engine) as connection:
            connection.execute(select(1))
    except SQLAlchemyError as error:
        _log.warning("the database does not answer: %s", type(error).__name__)
        database = "unreachable"
    tick, max_age = parts.live.last_tick(), parts.settings.max_tick_age_seconds
    # A clock that was set back makes no tick of the future.
    age = None if tick is None else max(0.0, (parts.now() - tick).total_seconds())
    is_ready = database == "reachable" and age is not None and age <= max_age
    return Readiness(
        status="ready" if is_ready else "not ready",
        database=database,
        last_tick_age_seconds=age,
        max_tick_age_seconds=max_age,
        shares=dict(parts.live.shares()),
    )
