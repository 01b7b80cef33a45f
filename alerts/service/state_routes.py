"""The state of now over HTTP: findings over all incidents, objectives, sources, hosts."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter
from starlette.responses import Response

from alerts.service.answers import VerdictList, verdict_item
from alerts.service.entity_tags import tagged
from alerts.service.guards import Reader
from alerts.service.incident_routes import IfNoneMatch
from alerts.service.live import NodeState, SloState, SourceState
from alerts.service.parts import Parts
from alerts.service.problems import problems
from alerts.service.request_words import Id, Name
from alerts.storing.verdict_lists import VerdictFilters, find_verdicts
from detectors.verdicts import Kind

MAX_LISTED: Final = 200
"""Findings on one page of the list."""

ROUTES: Final = APIRouter(
    prefix="/api/v1",
    tags=["state"],
    responses=problems(401, 403, 422, 429, 503) | {304: {"description": "As the caller has it"}},
)

_SOURCES: Final = TypeAdapter(list[SourceState])
_NODES: Final = TypeAdapter(list[NodeState])
_SLOS: Final = TypeAdapter(list[SloState])


class VerdictQuery(BaseModel):
    """Which findings are wanted, and which page of them.

    Attributes:
        kind: Those of this kind.
        host: Those on this host.
        lasting: Only those that have not cleared.
        limit: How many at most.
        after: Only those after this one: `next_after` of the page before.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Kind | None = None
    host: Name | None = None
    lasting: bool = False
    limit: int = Field(50, ge=1, le=MAX_LISTED)
    after: Id | None = None


@ROUTES.get("/verdicts", response_model=VerdictList)
def list_verdicts(
    _: Reader,
    parts: Parts,
    wanted: Annotated[VerdictQuery, Query()],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return findings over all incidents, the last to be seen first."""
    filters = VerdictFilters(kind=wanted.kind, host=wanted.host, lasting=wanted.lasting)
    page = find_verdicts(parts.store.engine, filters, limit=wanted.limit, after=wanted.after)
    found = [verdict_item(record) for record in page.records]
    answer = VerdictList(verdicts=found, next_after=page.next_after)
    return tagged(answer.model_dump_json().encode(), if_none_match)


@ROUTES.get("/slo", response_model=list[SloState])
def read_slo(_: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return every objective with its burn rates and what is left of its budget."""
    return tagged(_SLOS.dump_json(list(parts.live.slo_state())), if_none_match)


@ROUTES.get("/sources", response_model=list[SourceState])
def read_sources(_: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return every source with the age of its newest sample."""
    return tagged(_SOURCES.dump_json(list(parts.live.sources())), if_none_match)


@ROUTES.get("/nodes", response_model=list[NodeState])
def read_nodes(_: Reader, parts: Parts, if_none_match: IfNoneMatch = None) -> Response:
    """Return every host with what is known of it."""
    return tagged(_NODES.dump_json(list(parts.live.nodes())), if_none_match)
