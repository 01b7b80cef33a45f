"""What a request may say: texts without control characters, times with a zone, bounded numbers."""

from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, StringConstraints

_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9998
"""Beyond it a zone could push a time out of the calendar."""


def _utc(time: datetime) -> datetime:
    """Return a time in UTC."""
    if not _FIRST_YEAR < time.year <= _LAST_YEAR:
        raise ValueError(f"wanted a year after {_FIRST_YEAR} and up to {_LAST_YEAR}")
    return time.astimezone(UTC)


UtcTime = Annotated[AwareDatetime, AfterValidator(_utc)]
"""A time with a zone."""

Name = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")
]
"""A name on one line."""

Prose = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=4000, pattern=r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+$"
    ),
]
"""Text of several lines."""

Id = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z_-]{1,64}$")]
"""An id of ours."""

MAX_WHOLE: Final = 2**31 - 1
"""Largest number that every database takes."""
