"""What commands over objectives are asked about: the objectives, and where their series are."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from rich.console import Console

from collectors.metrics.prometheus import RefusedQueryError, UnreachablePrometheusError
from collectors.sniffing import ReadOptions
from collectors.storage.store_faults import UnreadableStoreError
from paceline.commands.arguments import refused
from paceline.progress import progress_bar
from paceline.series_sources import NoSeriesError, SeriesSource, open_source
from paceline.sources import NoSuchPathError
from slo.histories import SeriesColumnsError
from slo.indicators import MissingColumnError
from slo.objectives import Objective, TooManyGroupsError
from slo.policy_replays import NoHistoryError
from slo.specs import load_objectives, load_ready
from slo.tracks import DuplicateSampleError

DEFAULT_DAYS: Final = 30
"""How far back a Prometheus is asked where no start is given."""

UNREADABLE: Final = (
    NoSuchPathError,
    UnreadableStoreError,
    NoSeriesError,
    NoHistoryError,
    SeriesColumnsError,
    UnreachablePrometheusError,
    RefusedQueryError,
    MissingColumnError,
    DuplicateSampleError,
    TooManyGroupsError,
)
"""Why there is nothing to evaluate; each message says the way out."""


def open_place(
    source: str,
    options: ReadOptions,
    span: tuple[datetime | None, datetime | None],
    now: Callable[[], datetime],
) -> SeriesSource:
    """Return the source that `--from` names, or refuse it.

    Args:
        source: What was given; empty was not.
        options: What logs cannot say of themselves.
        span: What `--start` and `--end` say; a Prometheus is asked for the last month otherwise.
        now: The clock.
    """
    if not source:
        raise refused(
            "wanted --from PLACE, found none; name logs, a store, a file of series, or the address "
            "of a Prometheus, as in --from logs/"
        )
    until = span[1] or now()
    since = span[0] or until - timedelta(days=DEFAULT_DAYS)
    if since >= until:
        raise refused(f"--start {since:%FT%TZ} is not before --end {until:%FT%TZ}; swap them")
    try:
        with progress_bar("Reading", Console(stderr=True)) as say:
            return open_source(source, options, (since, until), say)
    except UNREADABLE as error:
        raise refused(str(error), code=1) from error


def objectives_of(path: Path | None) -> list[Objective]:
    """Return the objectives of a file, or the ready one for steps, or refuse the file."""
    try:
        return [load_ready()] if path is None else load_objectives(path)
    except (OSError, ValueError) as error:
        # Every refusal of a document is one of these, and its message already says the way out.
        raise refused(str(error)) from error
