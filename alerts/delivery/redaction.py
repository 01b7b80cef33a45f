"""Secrets out of what others say: a receiver's refusal may quote what it was sent."""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

HIDDEN: Final = "***"
_MIN_LENGTH: Final = 4
"""A shorter secret is none, and would hide half of every sentence."""


def redacted(text: str, secrets: Iterable[SecretStr | None]) -> str:
    """Return a text without any of some secrets, nor the parts of a secret address's path."""
    values = [secret.get_secret_value() for secret in secrets if secret is not None]
    paths = [urlsplit(value).path for value in values if "://" in value]
    parts = [part for path in paths for part in path.split("/")]
    for value in sorted({*values, *paths, *parts}, key=len, reverse=True):
        if len(value) >= _MIN_LENGTH:
            text = text.replace(value, HIDDEN)
    return text
