"""One request for a page: who asks, what they see, and how it is answered."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.responses import Response

from alerts.service.guards import ANONYMOUS, Caller, PageActor, PageReader
from alerts.service.pages.looks import look_of
from alerts.service.pages.rendering import page_part, whole_page
from alerts.service.parts import Parts, ServiceParts
from alerts.service.sessions import Session, form_token
from alerts.service.tokens import Scope

_PART_HEADER: Final = "x-paceline-part"
_NEVER: Final = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A request for a page.

    Attributes:
        request: The request.
        parts: What the app is made of.
        caller: Whose browser asks.
    """

    request: Request
    parts: ServiceParts
    caller: Caller

    def page(
        self, template: str, here: str, told: Mapping[str, object], *, is_live: bool = True
    ) -> Response:
        """Return a page, or of a live one only what changes on it, as the request asks.

        Args:
            template: Name of the template.
            here: Which entry of the menu it is.
            told: What it shows beside what all pages show.
            is_live: Whether an open page asks again and again.
        """
        seconds = self.parts.settings.refresh_seconds if is_live else None
        whole = {
            **told,
            "here": here,
            "caller": self.caller,
            "can_act": Scope.ACT in self.caller.scopes,
            "form_token": form_token(form_session(self.caller), self.parts.settings.session_key),
            "refresh_seconds": seconds,
            "now": self.parts.now(),
            "look": look_of(self.parts),
        }
        if self.request.headers.get(_PART_HEADER):
            return page_part(template, whole, self.request.headers.get("if-none-match"))
        return whole_page(template, whole)


def form_session(caller: Caller) -> Session:
    """Return the login that forms are signed for; without logins all share one."""
    return caller.session or Session(name=ANONYMOUS, ends=_NEVER)


async def reader_view(request: Request, parts: Parts, caller: PageReader) -> View:
    """Return the request of somebody who may read."""
    return View(request=request, parts=parts, caller=caller)


async def actor_view(request: Request, parts: Parts, caller: PageActor) -> View:
    """Return the request of somebody who may act."""
    return View(request=request, parts=parts, caller=caller)


ReaderView = Annotated[View, Depends(reader_view)]
ActorView = Annotated[View, Depends(actor_view)]
