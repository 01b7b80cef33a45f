"""What commands share: arguments, how they answer, and the one line of a refusal."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import typer

from collectors.hosts.xid_table import XidTableError, load_xid_table

HostOption: TypeAlias = Annotated[
    str | None, typer.Option("--host", metavar="NAME", help="Host of files that name none.")
]
TakenOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--taken", metavar="TIME", help="When files without stamps were taken, in UTC."),
]
BootOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--boot", metavar="TIME", help="When the host of kernel logs started, in UTC."),
]
XidTableOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--xid-table", metavar="FILE", help="What Xids mean, instead of our own table."),
]
HistoryPaths: TypeAlias = Annotated[
    list[Path],
    typer.Argument(metavar="PATH...", help="Accounts, logs and node states, or a store."),
]
OutOption: TypeAlias = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder for a page and the JSON.")
]
TimeZoneOption: TypeAlias = Annotated[
    str, typer.Option("--time-zone", help="Zone of stamps that carry none.")
]
GpusPerNodeOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--gpus-per-node", min=1, help="For jobs of which only the nodes are told."),
]
MinNodesOption: TypeAlias = Annotated[
    int, typer.Option("--min-nodes", min=1, help="Smaller jobs tell nothing of the fleet's rate.")
]


class Format(StrEnum):
    """What is printed."""

    TEXT = "text"
    JSON = "json"


FormatOption: TypeAlias = Annotated[
    Format, typer.Option("--format", help="text for people, json for machines.")
]


def answer(
    output: Format, for_machines: Callable[[], bytes], for_people: Callable[[], str]
) -> None:
    """Print what was asked for, in the form that was asked for."""
    if output is Format.JSON:
        sys.stdout.buffer.write(for_machines())
        sys.stdout.buffer.flush()
    else:
        typer.echo(for_people(), nl=False)


@contextmanager
def writing_to(folder: Path) -> Generator[None, None, None]:
    """Make a folder for what is written in the block, or refuse it in one line."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise refused(f"cannot write to {folder}: {error.strerror}; give another --out") from error


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


def moment(option: str, text: str | None) -> datetime | None:
    """Return the time that an option gives, in UTC, or refuse it; null if it was not given."""
    if text is None:
        return None
    try:
        return utc(datetime.fromisoformat(text))
    except ValueError as error:
        raise refused(
            f"{option} '{text}' is no time; give one such as 2026-01-05T04:00Z"
        ) from error


def host_name(text: str | None) -> str | None:
    """Return the host that an option names, or refuse it; null if it was not given."""
    if text is not None and (not text.strip() or any(sign.isspace() for sign in text.strip())):
        raise refused(f"--host '{text}' is no name of a host; give one such as --host hx8-017")
    return text


def xid_table_file(path: Path | None) -> Path | None:
    """Return the path of a table of Xids, or refuse it; null if it was not given."""
    try:
        load_xid_table(path)
    except OSError as error:
        raise refused(f"--xid-table {path} cannot be read: {error.strerror}") from error
    except (XidTableError, UnicodeDecodeError) as error:
        raise refused(f"--xid-table: {error}") from error
    return path


def server_address(url: str) -> str:
    """Return the address of a server, or refuse it."""
    if not url.startswith(("http://", "https://")):
        raise refused(f"'{url}' is no address of a server; give one such as http://localhost:9090")
    return url
