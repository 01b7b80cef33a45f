"""`paceline tidy`: keep a store small and quick, in tiers."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console

from collectors.storage.store import Store
from collectors.storage.store_commits import NoStoreError, StoreBusyError, StoreWriteError
from collectors.storage.store_faults import UnreadableStoreError, reading_store
from detectors.peer_summaries import SummaryParams
from paceline.commands.arguments import refused, utc
from paceline.durations import NoDurationError, duration_of
from paceline.progress import progress_bar
from paceline.tidying import Tidied, TidyParams, tidy


def tidy_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    store: Annotated[
        str, typer.Argument(metavar="STORE", help="The store: a folder, or s3://... .")
    ],
    raw: Annotated[
        str, typer.Option(metavar="SPAN", help="Older samples become peer statistics.")
    ] = "7d",
    peers: Annotated[
        str, typer.Option(metavar="SPAN", help="Older peer statistics go; incidents stay.")
    ] = "180d",
    step: Annotated[str, typer.Option(metavar="SPAN", help="Step of the peer statistics.")] = "5m",
    judge: Annotated[  # noqa: FBT002 -- a flag of the command line
        bool, typer.Option("--judge/--no-judge", help="Keep the incidents of days that are over.")
    ] = True,
    as_of: Annotated[
        datetime | None, typer.Option(help="As if it were this time, in UTC; default: now.")
    ] = None,
) -> None:
    """Keep a store quick: incidents for ever, peer statistics for months, samples for days.

    Example: paceline tidy store/ --raw 7d

    Run it once a day, beside collectors. Cut short, it loses nothing: again does what is left. Exit
    0: done. 1: no such store, or it could not be written. 2: bad arguments.
    """
    try:
        params = TidyParams(
            raw=duration_of(raw),
            peers=duration_of(peers),
            is_judging=judge,
            summary=SummaryParams(group_step=duration_of(step)),
        )
    except (NoDurationError, ValueError) as error:
        raise refused(str(error)) from error
    now = datetime.now(UTC) if as_of is None else utc(as_of)
    try:
        with progress_bar("Tidying", Console(stderr=True)) as say, reading_store(store):
            done = tidy(Store.open_at(store), params, now, say)
    except (NoStoreError, UnreadableStoreError, StoreBusyError, StoreWriteError) as error:
        raise refused(str(error), code=1) from error
    typer.echo(_text(done), nl=False)


def _text(done: Tidied) -> str:
    """Return what was done, a line a tier."""
    late = f"; {done.late:,} came later and stay" if done.late else ""
    ordered, joined = sum(done.ordered.values()), sum(done.joined.values())
    return (
        f"Incidents: {done.incidents} of {done.judged} days kept.\n"
        f"Peers: {done.folded} days folded, {done.forgotten} forgotten.\n"
        f"Samples: {done.dropped:,} dropped{late}.\n"
        f"Files: {ordered} days laid in order, {joined} files fewer, {done.unread} deleted.\n"
    )
