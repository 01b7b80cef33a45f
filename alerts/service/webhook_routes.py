"""The door for Alertmanager: a message is looked at once, queued, and answered; no more.

Source: Alertmanager, "webhook_config": 2xx is done, 4xx is not repeated within the flush. So only
what can never be understood is refused, and everything else waits in the inbox.
"""

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from alerts.intake.queueing import BodyError, queue_notification
from alerts.notifications import Notification, NotificationError, parse_notification
from alerts.service.guards import Sender
from alerts.service.parts import Parts
from alerts.service.problems import problems

ROUTES: Final = APIRouter(
    prefix="/api/v1", tags=["ingest"], responses=problems(400, 401, 403, 413, 429, 503)
)

EXAMPLE: Final[dict[str, Any]] = {
    "version": "4",
    "groupKey": '{}:{objective="training-steps"}',
    "status": "firing",
    "receiver": "paceline",
    "groupLabels": {"objective": "training-steps"},
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "TrainingStepsBurn", "objective": "training-steps"},
            "annotations": {"summary": "training-steps burns its budget"},
            "startsAt": "2026-01-05T01:26:00Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "fingerprint": "c3a5f0c9b1d2e4f6",
        }
    ],
    "truncatedAlerts": 0,
}


class Queued(BaseModel):
    """A message waits in the inbox.

    Attributes:
        key: By which it is known; the same message has the same one.
    """

    key: str


def webhook_schema() -> dict[str, Any]:
    """Return what a webhook looks like, as one schema without references."""
    schema = Notification.model_json_schema()
    schema["properties"]["alerts"]["items"] = schema.pop("$defs")["NotifiedAlert"]
    return schema


async def body_of(request: Request) -> bytes:
    """Return the body of a request, up to the limit of bodies."""
    return await request.body()


@ROUTES.post(
    "/alertmanager",
    status_code=202,
    description="Queue a notification; what was queued already is queued once.",
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "A webhook of Alertmanager, version 4; unknown keys are left alone.",
            "content": {
                "application/json": {
                    "schema": webhook_schema(),
                    "example": EXAMPLE,
                }
            },
        }
    },
)
def take_webhook(_: Sender, parts: Parts, body: Annotated[bytes, Depends(body_of)]) -> Queued:
    """Queue a notification of Alertmanager.

    Raises:
        HTTPException: 400 for what is no webhook of version 4.
    """
    try:
        parse_notification(body)
        key = queue_notification(parts.store.engine, body, now=parts.now())
    except (NotificationError, BodyError) as error:
        raise HTTPException(400, str(error)) from error
    return Queued(key=key)
