"""Whom incidents are told to, as the settings name them."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, SecretStr

from alerts.delivery.http_calls import AddressError
from alerts.delivery.letters import Receiver
from alerts.delivery.receivers.alertmanager import AlertmanagerReceiver
from alerts.delivery.receivers.mail import MailReceiver
from alerts.delivery.receivers.pagerduty import PagerDutyReceiver
from alerts.delivery.receivers.slack import SlackReceiver
from alerts.delivery.receivers.webhooks import WebhookReceiver
from alerts.delivery.telling import Places
from paceline.setting_parts import Part, Secret, SettingsError, secret_of

Address: TypeAlias = str | Secret
"""An address as it is, or where it is when whoever knows it may post."""


class _Named(Part):
    name: str = Field(description="What the policy calls it.")


class PagerDutySettings(_Named):
    """PagerDuty, Events API v2."""

    kind: Literal["pagerduty"] = Field(description="`pagerduty`")
    routing_key: Secret = Field(description="Integration key.")
    url: str | None = Field(default=None, description="Another address, for tests.")


class SlackSettings(_Named):
    """A channel of Slack, by its incoming webhook."""

    kind: Literal["slack"] = Field(description="`slack`")
    url: Address = Field(description="Address of the webhook; it is a secret.")


class WebhookSettings(_Named):
    """Anything that takes JSON in the form of Alertmanager's webhook."""

    kind: Literal["webhook"] = Field(description="`webhook`")
    url: Address = Field(description="Where it takes webhooks.")
    token: Secret | None = Field(default=None, description="Bearer token, if it wants one.")


class AlertmanagerSettings(_Named):
    """An Alertmanager, which goes on telling whom it knows."""

    kind: Literal["alertmanager"] = Field(description="`alertmanager`")
    url: Address = Field(description="Its address, without `/api`.")
    token: Secret | None = Field(default=None, description="Bearer token, if it wants one.")


class MailSettings(_Named):
    """A mailbox."""

    kind: Literal["email"] = Field(description="`email`")
    host: str = Field(description="Server that takes mail.")
    port: int = Field(default=587, ge=1, le=65535, description="Its port.")
    sender: str = Field(description="Address that letters come from.")
    recipients: list[str] = Field(min_length=1, description="Addresses that they go to.")
    user: str | None = Field(default=None, description="Whom the server knows us as.")
    password: Secret | None = Field(default=None, description="That user's password.")
    encryption: Literal["starttls", "tls", "none"] = Field(
        default="starttls", description="`none` is for a server on this machine."
    )


ReceiverSettings: TypeAlias = Annotated[
    PagerDutySettings | SlackSettings | WebhookSettings | AlertmanagerSettings | MailSettings,
    Field(discriminator="kind"),
]
"""One receiver; `kind` says which."""


def receiver_of(settings: ReceiverSettings, places: Places, environ: Mapping[str, str]) -> Receiver:
    """Return the receiver that settings name.

    Args:
        settings: The settings.
        places: Where people go on from a message.
        environ: The environment, for secrets.

    Raises:
        SettingsError: A secret is not there, or an address cannot be called.
    """
    try:
        return _made(settings, places, environ)
    except AddressError as error:
        raise SettingsError(f"receiver {settings.name!r}: {error}") from None
    except SettingsError as error:
        raise SettingsError(f"receiver {settings.name!r}: {error}") from error
    except ValueError as error:
        raise SettingsError(f"receiver {settings.name!r}: {error}") from None


def _made(settings: ReceiverSettings, places: Places, environ: Mapping[str, str]) -> Receiver:
    match settings:
        case PagerDutySettings():
            key = secret_of(settings.routing_key, environ)
            usual = PagerDutyReceiver(routing_key=key, places=places)
            if settings.url is None:
                return usual
            return PagerDutyReceiver(routing_key=key, places=places, url=settings.url)
        case SlackSettings():
            return SlackReceiver(url=_address(settings.url, environ), places=places)
        case WebhookSettings():
            return WebhookReceiver(
                url=_address(settings.url, environ),
                name=settings.name,
                token=_if_any(settings.token, environ),
                places=places,
            )
        case AlertmanagerSettings():
            return AlertmanagerReceiver(
                url=_address(settings.url, environ),
                token=_if_any(settings.token, environ),
                places=places,
            )
        case MailSettings():
            return _mailbox(settings, places, environ)


def _mailbox(settings: MailSettings, places: Places, environ: Mapping[str, str]) -> MailReceiver:
    return MailReceiver(
        host=settings.host,
        port=settings.port,
        sender=settings.sender,
        recipients=tuple(settings.recipients),
        user=settings.user,
        password=_if_any(settings.password, environ),
        encryption=settings.encryption,
        places=places,
    )


def _address(address: Address, environ: Mapping[str, str]) -> SecretStr:
    return SecretStr(address) if isinstance(address, str) else secret_of(address, environ)


def _if_any(secret: Secret | None, environ: Mapping[str, str]) -> SecretStr | None:
    return None if secret is None else secret_of(secret, environ)
