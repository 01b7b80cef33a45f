"""What the service is told when it is made; nothing in it is read from the environment here."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from alerts.service.token_buckets import Rate
from alerts.service.tokens import Scope, Token

MIN_SESSION_KEY_BYTES: Final = 32


class ServiceSettingsError(ValueError):
    """Settings would make a service that is open to all, or that links to nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How the service behaves.

    Attributes:
        tokens: Who may do what.
        anonymous_scopes: What needs no token; only for a service that is bound to loopback.
        anonymous_rate: How often all without a known token may ask, together.
        session_key: Signs logins of browsers. Two instances share one; without one, a restart logs
            everybody out.
        is_https: Whether browsers reach it over TLS, so that cookies never go without.
        runbook_base_url: Where runbooks are; null for the service's own pages.
        max_body_bytes: Largest body of a request.
        max_tick_age_seconds: A tick older than this makes the service not ready.
        refresh_seconds: How often an open page asks for what changed.
    """

    tokens: Sequence[Token] = ()
    anonymous_scopes: frozenset[Scope] = frozenset()
    anonymous_rate: Rate = field(default_factory=lambda: Rate(per_second=20.0, burst=40))
    session_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    is_https: bool = False
    runbook_base_url: str | None = None
    max_body_bytes: int = 4 * 1024 * 1024
    max_tick_age_seconds: float = 300.0
    refresh_seconds: float = 5.0

    def __post_init__(self) -> None:
        """Refuse settings that cannot be meant."""
        names = [token.name for token in self.tokens]
        if len(set(names)) < len(names):
            raise ServiceSettingsError(f"every token needs a name of its own, found {names}")
        if len(self.session_key) < MIN_SESSION_KEY_BYTES:
            raise ServiceSettingsError(
                f"session_key needs {MIN_SESSION_KEY_BYTES} bytes, found {len(self.session_key)}"
            )
        base = self.runbook_base_url
        if base is not None and urlsplit(base).scheme not in {"http", "https"}:
            raise ServiceSettingsError(
                f"runbook_base_url must begin with http:// or https://, found {base!r}"
            )
