"""`paceline alerts`: check and try an alert policy, and look at what could not be told."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import orjson
import typer
from sqlalchemy import Engine

from alerts.delivery.dead_letters import backlogs, dead_letters, revive_letters
from alerts.incident_documents import IncidentDocumentError, read_incident
from alerts.policies.dry_runs import History, decide_over_history, records_of
from alerts.policies.policies import Policy
from alerts.policies.policy_files import PolicyFileError, read_policy
from alerts.storing.databases import (
    DatabaseBusyError,
    DatabaseUnreachableError,
    DatabaseUrlError,
    DatabaseVersionError,
    open_database,
)
from alerts.storing.incident_store import IncidentStore
from alerts.storing.records import MAX_PAGE, IncidentFilters, IncidentRecord, PageRequest
from paceline.commands.arguments import Format, FormatOption, answer, refused
from paceline.outbox_output import outbox_bytes, outbox_text
from paceline.policy_output import would_send_bytes, would_send_text

PolicyArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="POLICY", help="A policy file, in YAML.")
]

_UNOPENED: Final = (
    DatabaseUrlError,
    DatabaseUnreachableError,
    DatabaseVersionError,
    DatabaseBusyError,
)

app = typer.Typer(
    name="alerts",
    help="Alert policies: check one, and see what it would have sent.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.command("check-policy")
def check_policy_command(path: PolicyArgument) -> None:
    """Check an alert policy, and say in which line what is wrong.

    Example: paceline alerts check-policy policy.yml

    Exit 0: a policy. 2: none.
    """
    policy = _policy(path)
    typer.echo(
        f"{path}: {len(policy.routes)} routes to {len(policy.receivers)} receivers, "
        f"{len(policy.inhibition)} rules of inhibition, {len(policy.maintenance)} planned works"
    )


@app.command("dry-run")
def dry_run_command(
    policy: PolicyArgument,
    analysis: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What `paceline analyze --format json` printed."),
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="URL", help="The incident database of the service.")
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Say what a policy would have sent over a history of incidents, when and to whom.

    Example: paceline alerts dry-run policy.yml --analysis report.json

    Exit 0: ran. 1: no incident there. 2: bad arguments.
    """
    rules = _policy(policy)
    if (analysis is None) == (database is None):
        raise refused("give one history: --analysis FILE or --database URL")
    history = _stored(str(database)) if analysis is None else _analysed(analysis)
    if history is None:
        raise refused("no incident there; analyze more, or let the service run", code=1)
    messages = decide_over_history(history, rules)
    answer(
        output,
        lambda: would_send_bytes(messages),
        lambda: would_send_text(messages, len(history.records)),
    )


@app.command("outbox")
def outbox_command(
    database: Annotated[
        str, typer.Option(metavar="URL", help="The incident database of the service.")
    ],
    revive: Annotated[
        str | None,
        typer.Option(metavar="RECEIVER", help="Try again what this receiver refused."),
    ] = None,
    output: FormatOption = Format.TEXT,
) -> None:
    """Say which letters to receivers wait, and which were refused and why.

    Example: paceline alerts outbox --database sqlite:///incidents.db

    Exit 0: ran. 2: bad arguments.
    """
    engine = _opened(database)
    try:
        if revive is not None:
            keys = [one.key for one in dead_letters(engine) if one.receiver == revive]
            revive_letters(engine, keys, now=datetime.now(UTC))
        waiting, dead = backlogs(engine), dead_letters(engine)
    finally:
        engine.dispose()
    answer(output, lambda: outbox_bytes(waiting, dead), lambda: outbox_text(waiting, dead))


def _policy(path: Path) -> Policy:
    try:
        return read_policy(path)
    except PolicyFileError as error:
        raise refused(str(error)) from error


def _analysed(path: Path) -> History | None:
    """Return the incidents of an analysis; null when it has none."""
    try:
        told: Any = orjson.loads(path.read_bytes())
        incidents = [read_incident(one) for one in told["incidents"]]
    except OSError as error:
        raise refused(f"{path}: {error.strerror}; give a file that can be read") from error
    except (orjson.JSONDecodeError, KeyError, TypeError, IncidentDocumentError) as error:
        raise refused(
            f"{path}: wanted what `paceline analyze --format json` prints, found {error}"
        ) from error
    times = [time for one in incidents for time in (one.as_of, one.detected, one.cleared) if time]
    if not times:
        return None
    return History(records=records_of(incidents, now=max(times)), until=max(times))


def _opened(url: str) -> Engine:
    try:
        return open_database(url)
    except _UNOPENED as error:
        raise refused(str(error)) from error


def _stored(url: str) -> History | None:
    """Return the incidents of a database; null when it has none."""
    engine = _opened(url)
    try:
        store = IncidentStore(engine)
        records = _all_records(store)
        if not records:
            return None
        begin = min(one.onset or one.first_seen for one in records)
        windows = store.maintenance(after=begin)
    finally:
        engine.dispose()
    return History(records=records, windows=windows, until=_newest(records))


def _all_records(store: IncidentStore) -> list[IncidentRecord]:
    found: list[IncidentRecord] = []
    page = PageRequest(limit=MAX_PAGE)
    while True:
        part = store.find(IncidentFilters(), page)
        found += part.records
        if part.next_before is None:
            return found
        page = PageRequest(limit=MAX_PAGE, before=part.next_before)


def _newest(records: list[IncidentRecord]) -> datetime:
    return max(one.updated for one in records)
