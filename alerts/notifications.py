"""What Alertmanager's webhook says, version 4: one notification of a group of alerts.

Source: Alertmanager, "Configuration", webhook_config, at 0.25 and 0.34. Later versions add keys:
unknown ones are left alone. A group's list of firing and resolved alerts together is normal, and
its own status says only that something fires. Delivery is at least once and in no order; see
`alerts.alert_episodes` for what is made of that. The API v2 lists alerts in a form of its own.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Final, Literal, cast

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel

from alerts.zoned_times import parse_zoned_time

_NEVER: Final = "0001-01-01T"
"""How the end of a firing alert begins: Go's zero time, in whichever zone and with any fraction."""


class NotificationError(ValueError):
    """A body is not a webhook of Alertmanager, version 4."""


def _time(value: object) -> object:
    """Return a time in UTC, cut to milliseconds; text without a zone is refused.

    The webhook tells nanoseconds and the API milliseconds of the same beginning: left as they are,
    one episode would be two.
    """
    if not isinstance(value, str):
        return value
    time = parse_zoned_time(value)
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def _end(value: object) -> object:
    """Return an end, or null for the zero time that stands for none."""
    is_never = isinstance(value, str) and (not value or value.startswith(_NEVER))
    return None if is_never else _time(value)


class _Part(BaseModel):
    """A part of a notification; keys of later versions are left alone."""

    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _told(cls, fields: object) -> object:
        """Return what is told: a null, as Go writes an empty map, says nothing."""
        if not isinstance(fields, dict):
            return fields
        told = cast("dict[str, object]", fields)
        return {name: value for name, value in told.items() if value is not None}


class NotifiedAlert(_Part):
    """One alert of a notification.

    Attributes:
        status: Whether it fires.
        labels: What it is about; its identity.
        annotations: What is said about it.
        starts_at: When it began to fire, in UTC.
        ends_at: When it stopped, in UTC; null while it fires.
        generator_url: Where it was made; empty when not told.
        fingerprint: Hash of the labels: the same for every episode of one alert.
    """

    status: Literal["firing", "resolved"]
    labels: dict[str, str]
    annotations: dict[str, str] = {}
    starts_at: Annotated[datetime, BeforeValidator(_time)]
    ends_at: Annotated[datetime | None, BeforeValidator(_end)] = None
    generator_url: Annotated[str, Field(alias="generatorURL")] = ""
    fingerprint: Annotated[str, Field(min_length=1)]

    @property
    def event_key(self) -> tuple[str, datetime, str]:
        """What two deliveries of one message share."""
        return (self.fingerprint, self.starts_at, self.status)

    @property
    def episode_key(self) -> tuple[str, datetime]:
        """What all messages about one episode share."""
        return (self.fingerprint, self.starts_at)


class _ListedAlert(_Part):
    """One alert as `GET /api/v2/alerts` lists it; it fires until its end has passed."""

    labels: dict[str, str]
    annotations: dict[str, str] = {}
    starts_at: Annotated[datetime, BeforeValidator(_time)]
    ends_at: Annotated[datetime, BeforeValidator(_time)]
    generator_url: Annotated[str, Field(alias="generatorURL")] = ""
    fingerprint: Annotated[str, Field(min_length=1)]


_LISTED: Final = TypeAdapter(tuple[_ListedAlert, ...])


class Notification(_Part):
    """One message about a group.

    Attributes:
        version: Version of the message; only 4 is known.
        group_key: Alertmanager's name of the group; it promises neither shape nor uniqueness.
        status: `firing` while any alert of the group fires.
        receiver: Whom Alertmanager sends to.
        group_labels: Labels that the group is made by.
        alerts: The alerts, at most as many as `max_alerts` lets through.
        truncated_alerts: How many were left out and will never be delivered.
        external_url: Where Alertmanager answers people.
    """

    version: Literal["4"]
    group_key: str
    status: Literal["firing", "resolved"]
    receiver: str
    group_labels: dict[str, str] = {}
    alerts: tuple[NotifiedAlert, ...]
    truncated_alerts: Annotated[int, Field(ge=0)] = 0
    external_url: Annotated[str, Field(alias="externalURL")] = ""

    @property
    def group_hash(self) -> str:
        """SHA-256 of the group's key: safe to store and to send on, 64 hex characters."""
        return hashlib.sha256(self.group_key.encode()).hexdigest()


def parse_notification(body: bytes) -> Notification:
    """Return the notification that a webhook's body holds.

    Raises:
        NotificationError: The body is not JSON, not version 4, or lacks what every alert has.
    """
    try:
        return Notification.model_validate_json(body)
    except ValidationError as error:
        raise _refusal("a webhook of Alertmanager, version 4", error) from error


def parse_listed_alerts(body: bytes, *, now: datetime) -> tuple[NotifiedAlert, ...]:
    """Return the alerts that the API v2 lists, in the form that the webhook has.

    Args:
        body: The answer of `GET /api/v2/alerts`.
        now: When it was given: what ends later still fires.

    Raises:
        NotificationError: The body is no list of alerts.
    """
    try:
        listed = _LISTED.validate_json(body)
    except ValidationError as error:
        raise _refusal("a list of alerts of Alertmanager's API v2", error) from error
    return tuple(_as_notified(alert, now) for alert in listed)


def _as_notified(alert: _ListedAlert, now: datetime) -> NotifiedAlert:
    """Return a listed alert as a webhook would tell of it."""
    is_over = alert.ends_at <= now
    status = {"status": "resolved"} if is_over else {"status": "firing", "endsAt": None}
    return NotifiedAlert.model_validate(alert.model_dump(by_alias=True) | status)


def _refusal(wanted: str, error: ValidationError) -> NotificationError:
    """Return what is wrong with a body, place by place."""
    wrong = "; ".join(
        f"{'.'.join(map(str, item['loc'])) or 'body'}: {item['msg']}" for item in error.errors()
    )
    return NotificationError(f"wanted {wanted}: {wrong}")


def page_key(objective: str, group: Mapping[str, str], severity: str) -> str:
    """Return the key by which receivers know one page of ours again.

    It rests on what is hurt and never on the text, so that a changed number is no new page. 64 hex
    characters fit every receiver (PagerDuty takes 255, Opsgenie 512).
    """
    # An empty label is as good as none, to Prometheus and so to a page.
    pairs = sorted((name, text) for name, text in group.items() if text)
    parts = [objective, severity, *(text for pair in pairs for text in pair)]
    # Lengths stand before the parts, so that no two lists of parts spell the same text.
    spelled = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(spelled.encode()).hexdigest()
