"""What routes reach for: the store, the watch, the settings and the clock of their app."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, cast

from fastapi import Depends, Request

from alerts.service.live import Live
from alerts.service.settings import ServiceSettings
from alerts.storing.incident_store import IncidentStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceParts:
    """What an app is made of.

    Attributes:
        store: The incidents.
        live: The state of now.
        settings: How the service behaves.
        now: The clock.
    """

    store: IncidentStore
    live: Live
    settings: ServiceSettings
    now: Callable[[], datetime]


async def parts_of(request: Request) -> ServiceParts:
    """Return the parts of the app that a request came to."""
    return cast("ServiceParts", request.app.state.parts)


Parts = Annotated[ServiceParts, Depends(parts_of)]
