"""Times as they cross our edge: always with a zone, never guessed.

Source: RFC 3339, which Alertmanager's API v2 asks for. Some versions answer 400 to a time without
a zone, others take it for UTC and silence the wrong hours. A time without one is refused where it
comes in, and never written where it goes out.
"""

from datetime import UTC, datetime


class ZonelessTimeError(ValueError):
    """A time does not say its zone, or is no time at all."""


def parse_zoned_time(text: str) -> datetime:
    """Return a time in UTC from RFC 3339 text.

    Raises:
        ZonelessTimeError: The text has no zone, or is no time.
    """
    wanted = "wanted a time with its zone, as in 2026-01-01T10:00:00Z or 2026-01-01T11:00:00+01:00"
    try:
        # RFC 3339 allows a small t and z, which Python does not.
        found = datetime.fromisoformat(text.upper())
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ZonelessTimeError(f"{wanted}, found {text!r}") from error
    raise ZonelessTimeError(f"{wanted}, found {text!r} without one; add Z if it is UTC")


def zoned(time: datetime) -> datetime:
    """Return an aware time in UTC.

    Raises:
        ZonelessTimeError: The time is naive.
    """
    if time.tzinfo is None:
        raise ZonelessTimeError(
            f"wanted an aware time, found {time.isoformat()} without a zone; say which it is in"
        )
    return time.astimezone(UTC)
