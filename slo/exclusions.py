"""Declared maintenance: time that a budget does not pay for, and who said so.

Source: reports to slok/sloth and Kibana that planned work eats the budget while a silence hides the
page only. Results are kept with and without the exclusion, side by side.
"""

from dataclasses import dataclass
from datetime import datetime


class ExclusionError(ValueError):
    """A stretch of maintenance has no length, no zone or nobody behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """One stretch of declared maintenance, `[start, end)`.

    Attributes:
        start: First moment that does not count; aware.
        end: First moment that counts again; aware.
        author: Who declared it.
        reason: What was done.
    """

    start: datetime
    end: datetime
    author: str
    reason: str

    def __post_init__(self) -> None:
        """Refuse what could exclude anything by accident."""
        if self.start.tzinfo is None or self.end.tzinfo is None:
            raise ExclusionError(
                f"maintenance wants times with a zone, as in 2026-01-01T10:00:00Z, found "
                f"{self.start.isoformat()} to {self.end.isoformat()}"
            )
        if self.start >= self.end:
            raise ExclusionError(
                f"maintenance must end after it starts, found {self.start.isoformat()} to "
                f"{self.end.isoformat()}"
            )
        if not self.author.strip():
            raise ExclusionError("maintenance wants an author: somebody answers for the exclusion")
