"""Incidents over HTTP, for reading: the list, one of them, its history, findings and evidence."""

from typing import Annotated, Final

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from alerts.lifecycle import State
from alerts.service.answers import (
    EvidenceList,
    History,
    HistoryItem,
    IncidentDetail,
    IncidentList,
    VerdictList,
    evidence_of,
    incident_detail,
    incident_list,
    verdict_item,
)
from alerts.service.entity_tags import tagged, version_tag
from alerts.service.guards import Reader
from alerts.service.parts import Parts
from alerts.service.problems import problems
from alerts.service.request_words import MAX_WHOLE, Id, Name, UtcTime
from alerts.storing.records import IncidentFilters, PageRequest
from detectors.verdicts import Kind
from slo.windows import Severity

MAX_LISTED: Final = 200
"""Incidents on one page of the list."""

ROUTES: Final = APIRouter(
    prefix="/api/v1/incidents",
    tags=["incidents"],
    responses=problems(401, 403, 404, 422, 429, 503)
    | {304: {"description": "As the caller has it"}},
)

IfNoneMatch = Annotated[str | None, Header(description="An ETag that the caller has the answer of")]


class IncidentQuery(BaseModel):
    """Which incidents are wanted, and which page of them.

    Attributes:
        state: Any of these states; none for all.
        severity: This severity.
        run: Those that touch this run.
        host: Those with a finding on this host.
        kind: Those with a finding of this kind.
        since: Those that began, or were first seen, at this time or later.
        merged: Also those that are part of another.
        limit: How many at most.
        before: Only numbers below this one: `next_before` of the page before.
    """

    model_config = ConfigDict(extra="forbid")

    state: list[State] = []
    severity: Severity | None = None
    run: Name | None = None
    host: Name | None = None
    kind: Kind | None = None
    since: UtcTime | None = None
    merged: bool = False
    limit: int = Field(50, ge=1, le=MAX_LISTED)
    before: int | None = Field(None, ge=1, le=MAX_WHOLE)

    def filters(self) -> IncidentFilters:
        """Return which incidents are wanted."""
        return IncidentFilters(
            states=self.state,
            severity=self.severity,
            run=self.run,
            host=self.host,
            kind=self.kind,
            since=self.since,
            merged=self.merged,
        )


@ROUTES.get("", response_model=IncidentList)
def list_incidents(
    _: Reader,
    parts: Parts,
    wanted: Annotated[IncidentQuery, Query()],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Return incidents, the newest number first."""
    asked = PageRequest(limit=wanted.limit, before=wanted.before)
    found = incident_list(parts.store.find(wanted.filters(), asked))
    return tagged(found.model_dump_json().encode(), if_none_match)


@ROUTES.get("/{incident_id}", response_model=IncidentDetail)
def read_incident(
    _: Reader, parts: Parts, incident_id: Id, if_none_match: IfNoneMatch = None
) -> Response:
    """Return an incident by its id or by one that it had before; its ETag serves `If-Match`."""
    found = incident_detail(parts.store.get(incident_id))
    body = found.model_dump_json().encode()
    return tagged(body, if_none_match, tag=version_tag(found.version))


@ROUTES.get("/{incident_id}/history", response_model=History)
def read_history(
    _: Reader, parts: Parts, incident_id: Id, if_none_match: IfNoneMatch = None
) -> Response:
    """Return what happened to an incident, in order."""
    entries = [HistoryItem.model_validate(one) for one in parts.store.history(incident_id)]
    return tagged(History(entries=entries).model_dump_json().encode(), if_none_match)


@ROUTES.get("/{incident_id}/verdicts", response_model=VerdictList)
def read_verdicts(
    _: Reader, parts: Parts, incident_id: Id, if_none_match: IfNoneMatch = None
) -> Response:
    """Return the findings of an incident, those that are still told first."""
    found = [verdict_item(one) for one in parts.store.verdicts(incident_id)]
    return tagged(VerdictList(verdicts=found).model_dump_json().encode(), if_none_match)


@ROUTES.get("/{incident_id}/evidence", response_model=EvidenceList)
def read_evidence(
    _: Reader, parts: Parts, incident_id: Id, if_none_match: IfNoneMatch = None
) -> Response:
    """Return what an incident rests on, most telling first."""
    found = [seen for one in parts.store.verdicts(incident_id) for seen in evidence_of(one)]
    return tagged(EvidenceList(evidence=found).model_dump_json().encode(), if_none_match)
