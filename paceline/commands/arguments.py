"""What commands share: formats, times and zones as arguments, and the one line of a refusal."""

from datetime import UTC, datetime
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer


class Format(StrEnum):
    """What is printed."""

    TEXT = "text"
    JSON = "json"


def refused(message: str, *, code: int = 2) -> typer.Exit:
    """Return the exit after one line that says what was wrong and the way out."""
    typer.echo(f"paceline: {message}", err=True)
    return typer.Exit(code)


def zone_name(name: str) -> str:
    """Return the name of a time zone, or refuse it."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise refused(f"no time zone '{name}'; give an IANA name such as Europe/Berlin") from error
    return name


def utc(moment: datetime) -> datetime:
    """Return a time in UTC; one without a zone is in UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def server_address(url: str) -> str:
    """Return the address of a server, or refuse it."""
    if not url.startswith(("http://", "https://")):
        raise refused(f"'{url}' is no address of a server; give one such as http://localhost:9090")
    return url
