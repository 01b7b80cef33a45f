"""Who may do what: tokens with scopes, known by their hash alone.

Source: RFC 6750 for how a token is shown. A token is compared as a hash, in a time that does not
depend on where it differs, and against every token there is.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from alerts.service.token_buckets import Rate

MIN_SECRET_CHARACTERS: Final = 16
"""Shorter ones are guessed."""
MAX_SECRET_CHARACTERS: Final = 512
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


class TokenError(ValueError):
    """A token has a name that nobody can be called by, a secret too short, or no scope."""


class Scope(StrEnum):
    """What a token allows."""

    READ = "read"
    ACT = "act"
    INGEST = "ingest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One token.

    Attributes:
        name: Whom the history names: a person, or a program.
        scopes: What it allows.
        digest: SHA-256 of the secret; the secret itself is kept nowhere.
        rate: How often it may ask.
    """

    name: str
    scopes: frozenset[Scope]
    digest: bytes = field(repr=False)
    rate: Rate = field(default_factory=Rate)


def token_of(name: str, secret: str, scopes: Iterable[Scope], rate: Rate | None = None) -> Token:
    """Return a token from its secret.

    Args:
        name: Whom the history names: letters, digits and `._@-`.
        secret: The secret; at least `MIN_SECRET_CHARACTERS` of ASCII without blanks.
        scopes: What it allows.
        rate: How often it may ask; null for the usual rate.

    Raises:
        TokenError: One of them would not do; the message never holds the secret.
    """
    if not _NAME.fullmatch(name):
        raise TokenError(f"a token's name is 1 to 64 letters, digits or ._@-, found {name!r}")
    if not MIN_SECRET_CHARACTERS <= len(secret) <= MAX_SECRET_CHARACTERS or not _is_plain(secret):
        raise TokenError(
            f"the secret of token {name!r} must be {MIN_SECRET_CHARACTERS} to "
            f"{MAX_SECRET_CHARACTERS} characters of ASCII without blanks"
        )
    allowed = frozenset(scopes)
    if not allowed:
        raise TokenError(f"token {name!r} allows nothing; give it one of {[*Scope]}")
    return Token(name=name, scopes=allowed, digest=digest_of(secret), rate=rate or Rate())


def digest_of(secret: str) -> bytes:
    """Return the hash by which a secret is known.

    A plain hash is enough: secrets are long and random, no passwords.
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def find_token(secret: str, tokens: Sequence[Token]) -> Token | None:
    """Return the token of a secret; null when nobody has it."""
    digest = digest_of(secret)
    same = [token for token in tokens if hmac.compare_digest(token.digest, digest)]
    return same[0] if same else None


def _is_plain(secret: str) -> bool:
    return secret.isascii() and secret.isprintable() and " " not in secret
