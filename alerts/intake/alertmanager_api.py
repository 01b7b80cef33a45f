"""Ask an Alertmanager which alerts it knows: what a truncated message left out, what went quiet.

Source: Alertmanager, API v2, `GET /api/v2/alerts`: it lists what has not ended, in any state that
is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Final, Protocol
from urllib.parse import urlencode

from pydantic import SecretStr

from alerts.delivery.http_calls import (
    HttpCall,
    HttpLimits,
    NoAnswerError,
    call_http,
    refuse_address,
)
from alerts.groups import group_filters
from alerts.notifications import Notification, NotifiedAlert, parse_listed_alerts

_EVERYTHING: Final = [(name, "true") for name in ("active", "silenced", "inhibited", "unprocessed")]
_LIMITS: Final = HttpLimits(body_bytes=64 * 1024 * 1024)


class AlertList(Protocol):
    """Whom to ask for alerts; each call raises `NoAnswerError` or `NotificationError`."""

    def group(self, notification: Notification, *, now: datetime) -> tuple[NotifiedAlert, ...]:
        """Return the alerts of a notification's group."""
        ...

    def everything(self, *, now: datetime) -> tuple[NotifiedAlert, ...]:
        """Return all alerts that have not ended, silenced and inhibited ones with them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertmanagerApi:
    """An Alertmanager.

    Attributes:
        url: Its address, without `/api`; it may hold a secret.
        token: Bearer token; null when it wants none.
        limits: When to give up.
    """

    url: SecretStr
    token: SecretStr | None = None
    limits: HttpLimits = field(default=_LIMITS)

    def __post_init__(self) -> None:
        """Refuse an address that nobody can call."""
        refuse_address(self.url.get_secret_value())

    def group(self, notification: Notification, *, now: datetime) -> tuple[NotifiedAlert, ...]:
        """Return the alerts of a notification's group.

        Raises:
            NoAnswerError: None came, or a refusal.
            NotificationError: The answer is no list of alerts.
        """
        return self._listed(group_filters(notification), now)

    def everything(self, *, now: datetime) -> tuple[NotifiedAlert, ...]:
        """Return all alerts that have not ended, silenced and inhibited ones with them.

        Raises:
            NoAnswerError: None came, or a refusal.
            NotificationError: The answer is no list of alerts.
        """
        return self._listed(_EVERYTHING, now)

    def _listed(self, query: Sequence[tuple[str, str]], now: datetime) -> tuple[NotifiedAlert, ...]:
        base = self.url.get_secret_value().rstrip("/")
        token = self.token and SecretStr(f"Bearer {self.token.get_secret_value()}")
        call = HttpCall(
            url=SecretStr(f"{base}/api/v2/alerts?{urlencode(query)}"),
            method="GET",
            headers={"Authorization": token} if token else {},
            limits=self.limits,
        )
        reply = call_http(call)
        if reply.status != HTTPStatus.OK:
            raise NoAnswerError(f"answered {reply.status}")
        return parse_listed_alerts(reply.body, now=now)
