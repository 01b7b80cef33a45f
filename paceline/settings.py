"""The settings of the service: one file, TOML or YAML, checked whole before anything starts.

A secret is named, never written: by the environment variable or the file that holds it. What is not
known is refused, so that a word that was mistyped is not a default that nobody wanted.
"""

import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from paceline.receiver_settings import (
    AlertmanagerSettings,
    MailSettings,
    PagerDutySettings,
    ReceiverSettings,
    SlackSettings,
    WebhookSettings,
)
from paceline.setting_parts import Part, Secret, SettingsError, Span
from slo.windows import duration

MIN_TICK: Final = timedelta(seconds=1)


class LogsSettings(Part):
    """Files that are followed: logs, step records, tables and documents."""

    name: str = Field(description="What people call the source; part of metrics and incidents.")
    paths: list[str] = Field(
        min_length=1, description="Files, folders (everything below) and globs; `**` is any depth."
    )
    max_age: Span = Field(
        default=timedelta(minutes=5), description="Older than this, the source counts as silent."
    )
    time_zone: str = Field(default="UTC", description="IANA zone of stamps that carry none.")
    year: int | None = Field(default=None, description="Year of stamps that carry none.")
    host: str | None = Field(default=None, description="Host of files that name none.")


class PrometheusSettings(Part):
    """A Prometheus that is asked for what the exporters of devices and fabrics say."""

    name: str = Field(description="What people call the source; part of metrics and incidents.")
    url: str = Field(pattern=r"^https?://", description="Address of the server.")
    match: dict[str, str] = Field(
        default_factory=dict[str, str], description="Take only series with these labels."
    )
    token: Secret | None = Field(default=None, description="Bearer token, if it wants one.")
    max_age: Span = Field(
        default=timedelta(minutes=3), description="Older than this, the source counts as silent."
    )
    late: Span = Field(
        default=timedelta(minutes=2), description="How much later than its time a sample may come."
    )
    timeout: Span = Field(
        default=timedelta(seconds=10), description="Longest wait for the next bytes of an answer."
    )


class WatchSettings(Part):
    """How often to look, and how far back."""

    tick: Span = Field(default=timedelta(seconds=15), description="Time between two ticks.")
    window: Span = Field(
        default=timedelta(hours=2), description="How far back detectors look; held in memory."
    )
    patience: Span = Field(
        default=timedelta(seconds=5), description="How long a tick waits for a slow Prometheus."
    )
    objectives: list[str] = Field(
        default_factory=list[str],
        description="Files or folders of objectives; none takes the one that comes with Paceline.",
    )
    top_ranks: int = Field(
        default=16, ge=1, le=1000, description="Ranks of each run, and devices, on `/metrics`."
    )
    sharing: bool = Field(
        default=False, description="Share the fleet with the other instances of the database."
    )

    @model_validator(mode="after")
    def _fits(self) -> "WatchSettings":
        if self.tick < MIN_TICK:
            raise ValueError(f"tick must be at least 1s, found {self.tick.total_seconds()}s")
        if self.window < 4 * self.tick:
            raise ValueError("window must be at least four ticks")
        return self


class TokenSettings(Part):
    """Who may use the service's API."""

    name: str = Field(description="Whom the history of an incident names.")
    secret: Secret = Field(description="The token itself; at least 16 characters.")
    scopes: list[Literal["read", "act", "ingest"]] = Field(
        min_length=1, description="What it allows."
    )


class ServiceSettings(Part):
    """The web page and the API."""

    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8765, ge=0, le=65535, description="Port to listen on; 0 is any.")
    tokens: list[TokenSettings] = Field(
        default_factory=list[TokenSettings], description="Who may use it."
    )
    anonymous: list[Literal["read", "act", "ingest"]] | None = Field(
        default=None,
        description="What needs no token, on loopback only; none there is everything.",
    )
    session_key: Secret | None = Field(
        default=None, description="Signs logins; instances share it. None: a restart logs out."
    )
    is_https: bool = Field(default=False, description="Whether browsers reach it over TLS.")
    public_url: str | None = Field(
        default=None, description="How people reach it; messages link to it."
    )
    runbook_base_url: str | None = Field(
        default=None, description="Where runbooks are; none takes the service's own pages."
    )

    @model_validator(mode="after")
    def _is_closed(self) -> "ServiceSettings":
        if self.anonymous and not self.is_local:
            raise ValueError(
                f"anonymous is for loopback, and host is {self.host}: whoever reaches it could use "
                "it; give [[service.tokens]]"
            )
        if not self.is_local and not self.tokens:
            raise ValueError(f"host {self.host} is not loopback: give [[service.tokens]]")
        return self

    @property
    def is_local(self) -> bool:
        """Whether nobody on another machine reaches it."""
        return self.host in {"127.0.0.1", "::1", "localhost"}


class Settings(Part):
    """The whole file."""

    cluster: str = Field(default="local", description="Label `cluster` of all metrics.")
    instance: str | None = Field(
        default=None, description="Name of this process; none takes the name of the host."
    )
    state: str = Field(
        default="paceline-state", description="Folder for what a restart goes on with."
    )
    database: str | None = Field(
        default=None,
        description="URL of the incident database, without a password; none is a file in `state`.",
    )
    database_password: Secret | None = Field(default=None, description="Password for it.")
    logs: list[LogsSettings] = Field(
        default_factory=list[LogsSettings], description="Files to follow."
    )
    prometheus: list[PrometheusSettings] = Field(
        default_factory=list[PrometheusSettings], description="Servers to pull from."
    )
    watch: WatchSettings = Field(
        default_factory=WatchSettings, description="How often to look, and how far back."
    )
    service: ServiceSettings | None = Field(
        default=None, description="Web page and API; none runs without."
    )
    policy: str | None = Field(
        default=None, description="File of the policy: who is told of what; none is the usual one."
    )
    receivers: list[ReceiverSettings] = Field(
        default_factory=list[ReceiverSettings], description="Whom incidents are told to."
    )

    @model_validator(mode="after")
    def _has_sources(self) -> "Settings":
        names = [*(one.name for one in self.logs), *(one.name for one in self.prometheus)]
        if not names:
            raise ValueError("nothing to watch: give [[logs]] or [[prometheus]]")
        if len(set(names)) < len(names):
            raise ValueError(f"every source needs a name of its own, found {', '.join(names)}")
        told = [one.name for one in self.receivers]
        if len(set(told)) < len(told):
            raise ValueError(f"every receiver needs a name of its own, found {', '.join(told)}")
        return self


_RECEIVERS: Final[tuple[type[BaseModel], ...]] = (
    PagerDutySettings,
    SlackSettings,
    WebhookSettings,
    AlertmanagerSettings,
    MailSettings,
)


def load_settings(path: Path) -> Settings:
    """Return the settings of a file: TOML, or YAML where its name ends in .yml or .yaml.

    Relative paths in it are relative to the folder that the program runs in.

    Raises:
        SettingsError: It cannot be read, is no TOML or YAML, or does not fit; in one line.
    """
    try:
        told = _parsed(path)
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}; give --config FILE") from error
    except (tomllib.TOMLDecodeError, yaml.YAMLError, UnicodeDecodeError) as error:
        where = " ".join(str(error).split())
        raise SettingsError(f"{path} is no {_kind(path)}: {where}") from None
    try:
        return Settings.model_validate(told)
    except ValidationError as error:
        raise SettingsError(f"{path}: {_first_fault(error)}") from None


def settings_tables() -> dict[str, list[tuple[str, str, str]]]:
    """Return name, default and meaning of each setting, by the part it is in, as docs show them."""
    parts: list[tuple[str, type[BaseModel]]] = [
        ("", Settings),
        ("[[logs]]", LogsSettings),
        ("[[prometheus]]", PrometheusSettings),
        ("[watch]", WatchSettings),
        ("[service]", ServiceSettings),
        ("[[service.tokens]]", TokenSettings),
        *(
            (f"[[receivers]] of kind {one.model_fields['kind'].description}", one)
            for one in _RECEIVERS
        ),
    ]
    return {
        title: [
            (name, _default(item.get_default(call_default_factory=True)), item.description or "")
            for name, item in part.model_fields.items()
        ]
        for title, part in parts
    }


def _default(value: Any) -> str:  # noqa: ANN401 -- a default of any setting
    """Return how a default is written in the file; nothing where there is none."""
    if isinstance(value, timedelta):
        return duration(int(value.total_seconds()))
    is_plain = isinstance(value, str | int) and not isinstance(value, bool)
    if is_plain:
        return str(value)
    return str(value).lower() if isinstance(value, bool) else ""


def _kind(path: Path) -> str:
    return "YAML" if path.suffix in {".yml", ".yaml"} else "TOML"


def _parsed(path: Path) -> object:
    text = path.read_text(encoding="utf-8")
    return yaml.safe_load(text) if _kind(path) == "YAML" else tomllib.loads(text)


def _first_fault(error: ValidationError) -> str:
    """Return the first thing that does not fit, and how many more there are; never a value."""
    faults = error.errors(include_input=False, include_url=False, include_context=False)
    where = ".".join(str(part) for part in faults[0]["loc"]) or "settings"
    what = faults[0]["msg"].removeprefix("Value error, ")
    if faults[0]["type"] == "extra_forbidden":
        what = "no such setting; see docs/guides/run-the-service.md"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{where}: {what}{more}"
