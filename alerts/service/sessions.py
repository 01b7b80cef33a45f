"""What a browser holds after a login: a signed name with an end, never the token itself.

Source: OWASP, "Cross-Site Request Forgery Prevention": a form carries a token that only the session
can know; the cookie is kept from scripts and from other sites.
"""

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

COOKIE: Final = "paceline_session"
SESSION_SECONDS: Final = 12 * 3600
"""A shift: whoever is on call logs in once."""
_SEALED: Final = re.compile(r"([A-Za-z0-9._@-]{1,64})~(\d{1,11})~([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A login.

    Attributes:
        name: Name of the token that logged in.
        ends: When it is over.
    """

    name: str
    ends: datetime


def new_session(name: str, now: datetime) -> Session:
    """Return a login that begins now."""
    return Session(name=name, ends=now + timedelta(seconds=SESSION_SECONDS))


def seal_session(session: Session, key: bytes) -> str:
    """Return the cookie of a login."""
    told = f"{session.name}~{int(session.ends.timestamp())}"
    return f"{told}~{_mac(key, 'session', told)}"


def open_session(cookie: str, key: bytes, now: datetime) -> Session | None:
    """Return the login of a cookie; null when it is not ours, was changed, or is over."""
    found = _SEALED.fullmatch(cookie)
    if found is None:
        return None
    name, ends, mac = found.groups()
    if not hmac.compare_digest(mac, _mac(key, "session", f"{name}~{ends}")):
        return None
    session = Session(name=name, ends=datetime.fromtimestamp(int(ends), UTC))
    return session if now < session.ends else None


def form_token(session: Session, key: bytes) -> str:
    """Return what every form of a login carries, so that no other site can send one."""
    return _mac(key, "form", seal_session(session, key))


def is_form_token(told: str, session: Session, key: bytes) -> bool:
    """Return whether a form came from a page of this login."""
    wanted = form_token(session, key)
    return hmac.compare_digest(told.encode("utf-8", "replace"), wanted.encode())


def _mac(key: bytes, purpose: str, text: str) -> str:
    """Return a signature for one purpose, in 43 letters that a cookie takes."""
    digest = hmac.new(key, f"{purpose}|{text}".encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
