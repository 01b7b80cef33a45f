"""Pages for people: the list, an incident, its raw lines, the fleet, the runbooks."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from starlette.exceptions import HTTPException
from starlette.responses import Response

from alerts.service.pages.fleet_page import fleet_page
from alerts.service.pages.incident_page import incident_page
from alerts.service.pages.list_page import PAGE_ROWS, SHOWN_STATES, Show, list_rows
from alerts.service.pages.told_incidents import find_evidence, told_incident
from alerts.service.pages.views import ReaderView
from alerts.service.request_words import MAX_WHOLE, Id
from alerts.service.runbooks import KINDS, runbook_html
from alerts.storing.records import IncidentFilters, PageRequest

ROUTES: Final = APIRouter()


@ROUTES.get("/")
def incidents(
    view: ReaderView,
    show: Show = "open",
    before: Annotated[int | None, Query(ge=1, le=MAX_WHOLE)] = None,
) -> Response:
    """Return the list of incidents."""
    filters = IncidentFilters(states=SHOWN_STATES[show])
    found = view.parts.store.find(filters, PageRequest(limit=PAGE_ROWS, before=before))
    told = {"rows": list_rows(found.records), "show": show, "next_before": found.next_before}
    return view.page("incidents.html.j2", "incidents", told)


@ROUTES.get("/incidents/{incident_id}")
def incident(view: ReaderView, incident_id: Id) -> Response:
    """Return the page of an incident."""
    record = view.parts.store.get(incident_id)
    return view.page("incident.html.j2", "incidents", incident_page(view.parts, record))


@ROUTES.get("/incidents/{incident_id}/raw/{key}")
def raw_lines(view: ReaderView, incident_id: Id, key: Id) -> Response:
    """Return the lines that a piece of evidence was read from.

    Raises:
        HTTPException: 404 where the incident rests on no such evidence.
    """
    record = view.parts.store.get(incident_id)
    seen = find_evidence(told_incident(record.body), key)
    if seen is None:
        raise HTTPException(404, "the incident does not rest on this evidence any more")
    told = {"record": record, "seen": seen, "lines": view.parts.live.raw_lines(seen.source)}
    return view.page("raw.html.j2", "incidents", told, is_live=False)


@ROUTES.get("/fleet")
def fleet(view: ReaderView) -> Response:
    """Return the page of the fleet."""
    return view.page("fleet.html.j2", "fleet", fleet_page(view.parts))


@ROUTES.get("/runbooks")
def runbooks(view: ReaderView) -> Response:
    """Return the list of runbooks."""
    return view.page("runbooks.html.j2", "runbooks", {"kinds": KINDS}, is_live=False)


@ROUTES.get("/runbooks/{kind}")
def runbook(view: ReaderView, kind: Id) -> Response:
    """Return a runbook."""
    told = {"kind": kind, "html": runbook_html(kind)}
    return view.page("runbook.html.j2", "runbooks", told, is_live=False)
