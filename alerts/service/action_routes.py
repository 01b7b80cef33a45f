"""What people do to incidents over HTTP; each request is done once, however often it is sent.

Source: the draft on the `Idempotency-Key` header of the IETF's HTTP API working group: the same key
again is the same request, and gets the incident as it stands; for something else it is refused.
"""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Depends, Header
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from alerts.service.answers import EXAMPLE_ID, IncidentDetail, incident_detail
from alerts.service.entity_tags import version_tag, wanted_version
from alerts.service.guards import Actor
from alerts.service.parts import Parts
from alerts.service.problems import problems
from alerts.service.request_words import Id, Name, Prose
from alerts.storing.records import IncidentRecord

MAX_SPLIT: Final = 200
"""Findings that one request may split off."""

ROUTES: Final = APIRouter(
    prefix="/api/v1/incidents",
    tags=["actions"],
    responses=problems(400, 401, 403, 404, 409, 412, 413, 422, 429, 503),
)

Step = Literal["acknowledge", "mitigate", "resolve", "reopen"]


class _Request(BaseModel):
    """A body; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid")


class Remark(_Request):
    """A remark to a step.

    Attributes:
        note: Why; null for no words.
    """

    note: Prose | None = Field(None, examples=["looking at hx8-015"])


class NoteText(_Request):
    """A note.

    Attributes:
        note: Its text.
    """

    note: Prose = Field(examples=["fan 3 of hx8-015 stands still; part is ordered"])


class Assignment(_Request):
    """Who works on it.

    Attributes:
        assignee: Their name; null for nobody.
    """

    assignee: Name | None = Field(examples=["anna"])


class Merging(_Request):
    """What becomes part of this incident.

    Attributes:
        other: Id of the other incident.
    """

    other: Id = Field(examples=[EXAMPLE_ID])


class Splitting(_Request):
    """What becomes an incident of its own.

    Attributes:
        verdicts: Ids of the findings.
    """

    verdicts: list[Id] = Field(min_length=1, max_length=MAX_SPLIT, examples=[[EXAMPLE_ID]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Who asks for a write, when, by which name, and over which version.

    Attributes:
        actor: Who asks.
        at: When.
        key: Names this request; keys of two callers never meet.
        version: Version that they saw; null does not care.
    """

    actor: str
    at: datetime
    key: str
    version: int | None

    def told(self) -> dict[str, Any]:
        """Return it as the store takes it."""
        return {"actor": self.actor, "at": self.at, "key": self.key, "version": self.version}


async def order_of(
    caller: Actor,
    parts: Parts,
    idempotency_key: Annotated[
        str | None,
        Header(pattern=r"^[\x21-\x7e]{1,128}$", description="The same again is done only once"),
    ] = None,
    if_match: Annotated[
        str | None, Header(description="ETag of the incident that the caller saw")
    ] = None,
) -> Order:
    """Return what a request for a write says of itself."""
    key = f"{caller.name}:{idempotency_key or secrets.token_hex(16)}"
    version = wanted_version(if_match)
    return Order(actor=caller.name, at=parts.now(), key=key, version=version)


Ordered = Annotated[Order, Depends(order_of)]


@ROUTES.post("/{incident_id}/note", response_model=IncidentDetail)
def add_note(parts: Parts, order: Ordered, incident_id: Id, told: NoteText) -> Response:
    """Write a note into the history."""
    return _answer(parts.store.act(incident_id, "note", note=told.note, **order.told()))


@ROUTES.post("/{incident_id}/assign", response_model=IncidentDetail)
def assign(parts: Parts, order: Ordered, incident_id: Id, told: Assignment) -> Response:
    """Say who works on it."""
    record = parts.store.act(incident_id, "assign", assignee=told.assignee, **order.told())
    return _answer(record)


@ROUTES.post("/{incident_id}/merge", response_model=IncidentDetail)
def merge(parts: Parts, order: Ordered, incident_id: Id, told: Merging) -> Response:
    """Make another incident part of this one, for all ticks to come."""
    return _answer(parts.store.merge(incident_id, told.other, **order.told()))


@ROUTES.post("/{incident_id}/split", response_model=IncidentDetail)
def split(parts: Parts, order: Ordered, incident_id: Id, told: Splitting) -> Response:
    """Make an incident of its own of some findings, for all ticks to come, and return it."""
    return _answer(parts.store.split(incident_id, told.verdicts, **order.told()))


@ROUTES.post("/{incident_id}/{step}", response_model=IncidentDetail)
def take_step(
    parts: Parts,
    order: Ordered,
    incident_id: Id,
    step: Step,
    told: Annotated[Remark | None, Body()] = None,
) -> Response:
    """Acknowledge, mitigate, resolve or reopen an incident."""
    note = told.note if told else None
    return _answer(parts.store.act(incident_id, step, note=note, **order.told()))


def _answer(record: IncidentRecord) -> Response:
    """Return an incident after a write, with the tag for the next one."""
    body = incident_detail(record).model_dump_json().encode()
    return Response(body, 200, {"ETag": version_tag(record.version)}, "application/json")
