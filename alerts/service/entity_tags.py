"""Tags that say whether something is still what the caller saw.

Source: RFC 9110, sections 8.8.3 and 13: `If-None-Match` compares weakly and spares an answer,
`If-Match` compares strongly and spares a write over what somebody else wrote.
"""

import hashlib
import re
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

_TAG: Final = re.compile(r'(?:W/)?"([\x21\x23-\x7e\x80-\xff]*)"')
_VERSION: Final = re.compile(r'"v([0-9]{1,9})"')
_CACHING: Final = "private, no-cache"


def version_tag(version: int) -> str:
    """Return the tag of one version of an incident."""
    return f'"v{version}"'


def content_tag(body: bytes) -> str:
    """Return the tag of an answer that has no version of its own."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def tagged(
    body: bytes, told: str | None, *, tag: str | None = None, media_type: str = "application/json"
) -> Response:
    """Return an answer with its tag; 304 without a body where the caller has it already.

    Args:
        body: The answer.
        told: What the request's `If-None-Match` says.
        tag: Its tag; null for one of its content.
        media_type: What the body is.
    """
    tag = tag or content_tag(body)
    headers = {"ETag": tag, "Cache-Control": _CACHING}
    if told is not None and (told.strip() == "*" or tag.strip('"') in _TAG.findall(told)):
        return Response(None, 304, headers)
    return Response(body, 200, headers, media_type)


def wanted_version(told: str | None) -> int | None:
    """Return the version that a request's `If-Match` asks for; null when any will do.

    Raises:
        HTTPException: 412 for a tag that no version ever had.
    """
    if told is None or told.strip() == "*":
        return None
    found = _VERSION.fullmatch(told.strip())
    if found is None:
        raise HTTPException(412, 'If-Match must be the ETag of the incident, as "v3", or *')
    return int(found[1])
