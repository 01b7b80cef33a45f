"""What became of a letter that was sent: taken, to be tried again, or refused for good."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """The receiver took it, or need not be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """The receiver cannot take it now.

    Attributes:
        reason: What happened, without secrets.
        rest_seconds: How long it asked to be left alone by everyone; null when it did not.
    """

    reason: str
    rest_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The receiver will never take it as it is.

    Attributes:
        reason: What it said, without secrets.
    """

    reason: str


Answer = Delivered | Later | Refused
