"""What people do on a page: each form is signed for their login, and is done once.

A form is answered by sending the browser back to the incident, so that a reload repeats nothing.
"""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Form
from pydantic import BaseModel, ConfigDict, StringConstraints
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from alerts.service.pages.views import ActorView, View, form_session
from alerts.service.request_words import Id, Prose
from alerts.service.sessions import is_form_token
from alerts.storing.records import IncidentRecord

ROUTES: Final = APIRouter()

Step = Literal["acknowledge", "mitigate", "resolve", "reopen"]


class SignedForm(BaseModel):
    """What every form carries.

    Attributes:
        form_token: Says that a page of this login sent it.
        key: Names this request, so that pressing twice is pressing once.
    """

    model_config = ConfigDict(extra="forbid")

    form_token: Annotated[str, StringConstraints(max_length=100)]
    key: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_-]{1,128}$")]


class NoteForm(SignedForm):
    """A note.

    Attributes:
        note: Its text.
    """

    note: Prose


@ROUTES.post("/incidents/{incident_id}/note")
def write_note(view: ActorView, incident_id: Id, form: Annotated[NoteForm, Form()]) -> Response:
    """Write a note into the history."""
    # Browsers end lines of forms as mail does.
    note = form.note.replace("\r\n", "\n")
    return _back(view.parts.store.act(incident_id, "note", note=note, **_order(view, form)))


@ROUTES.post("/incidents/{incident_id}/take")
def take_over(view: ActorView, incident_id: Id, form: Annotated[SignedForm, Form()]) -> Response:
    """Assign an incident to whoever asks."""
    name, order = view.caller.name, _order(view, form)
    return _back(view.parts.store.act(incident_id, "assign", assignee=name, **order))


@ROUTES.post("/incidents/{incident_id}/{step}")
def take_step(
    view: ActorView, incident_id: Id, step: Step, form: Annotated[SignedForm, Form()]
) -> Response:
    """Acknowledge, mitigate, resolve or reopen an incident."""
    return _back(view.parts.store.act(incident_id, step, **_order(view, form)))


def _order(view: View, form: SignedForm) -> dict[str, Any]:
    """Return who asks, when, and by which name, as the store takes it.

    Raises:
        HTTPException: 403 for a form that is not from a page of this login.
    """
    key = view.parts.settings.session_key
    if not is_form_token(form.form_token, form_session(view.caller), key):
        raise HTTPException(403, "this form is not from a page of your login; reload and try again")
    name = view.caller.name
    return {"actor": name, "at": view.parts.now(), "key": f"{name}:{form.key}"}


def _back(record: IncidentRecord) -> Response:
    """Send the browser back to the incident."""
    return RedirectResponse(f"/incidents/{record.id}", 303)
