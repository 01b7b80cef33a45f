"""What all parts of the settings share: strictness, spans of time, and where a secret is."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from paceline.durations import NoDurationError, duration_of


class SettingsError(ValueError):
    """Settings cannot be used; the message is one line with the way out."""


def _span(value: object) -> object:
    """Return a span of time that a text says; whatever else is left to be refused."""
    if not isinstance(value, str):
        return value
    try:
        return duration_of(value)
    except NoDurationError as error:
        raise ValueError(str(error)) from error


Span: TypeAlias = Annotated[timedelta, BeforeValidator(_span)]
"""A span of time, as in `30s`, `5m`, `12h` or `7d`."""


class Part(BaseModel):
    """A part of the settings: no word that is not known, no value that only looks right."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Secret(Part):
    """Where a secret is: exactly one of the two."""

    env: str | None = Field(default=None, description="Environment variable that holds it.")
    file: str | None = Field(default=None, description="File that holds it, and nothing else.")

    @model_validator(mode="after")
    def _is_one(self) -> "Secret":
        if (self.env is None) == (self.file is None):
            raise ValueError("give either env or file, such as {env = 'PACELINE_TOKEN'}")
        return self


def secret_of(secret: Secret, environ: Mapping[str, str]) -> SecretStr:
    """Return a secret from where it is.

    Args:
        secret: Where it is.
        environ: The environment.

    Raises:
        SettingsError: It is not there, or empty; the message names where, never what.
    """
    if secret.env is not None:
        value = environ.get(secret.env, "")
        if not value:
            raise SettingsError(f"the environment variable {secret.env} is not set; export it")
        return SecretStr(value)
    path = Path(secret.file or "")
    try:
        value = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read the secret in {path}: {type(error).__name__}") from None
    if not value:
        raise SettingsError(f"the file {path} is empty; write the secret into it")
    return SecretStr(value)
