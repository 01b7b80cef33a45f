"""What a Prometheus says of its own targets: which are up, and since when they are not."""

from datetime import datetime, timedelta
from typing import Final

import polars as pl

from collectors.metrics.prometheus import (
    PrometheusServer,
    RefusedQueryError,
    UnreachablePrometheusError,
    fetch_answer,
)
from collectors.metrics.series import Series, label_of
from paceline.checkups import SourceCheck, State
from paceline.pulling import PullError

UP: Final = "up"
"""1 if the last scrape of a target succeeded; Prometheus makes it itself."""

MAX_NAMED: Final = 3


def check_server(url: str, moment: datetime, span: timedelta) -> list[SourceCheck]:
    """Return one check for each job of a server's scrape configuration.

    Args:
        url: The server's address.
        moment: The end of the span looked at; with a zone.
        span: How far back; the last scrape of each target in it counts.

    Raises:
        PullError: The server does not answer, or refuses.
    """
    server = PrometheusServer(url=url)
    try:
        series = fetch_answer(server, UP, moment - span, moment).series()
    except (UnreachablePrometheusError, RefusedQueryError) as error:
        raise PullError(str(error)) from error
    return check_targets(series, moment)


def check_targets(series: Series, moment: datetime) -> list[SourceCheck]:
    """Return one check for each job in series of `up`, by name.

    Args:
        series: The metric `up` with its labels `job` and `instance`.
        moment: When "now" is.
    """
    named = series.identities.select(
        "series", job=label_of("job"), instance=label_of("instance").fill_null("?")
    )
    last = (
        series.points.drop_nulls("value")
        .join(named, on="series")
        .sort("time")
        .group_by("job", "instance", maintain_order=True)
        .agg(pl.col("value").last(), pl.col("time").last())
    )
    jobs = (
        last.sort("job", "instance")
        .group_by("job", maintain_order=True)
        .agg(
            targets=pl.len(),
            down=pl.col("instance").filter(pl.col("value") == 0),
            newest=pl.col("time").filter(pl.col("value") > 0).max(),
        )
    )
    return [_check(row, moment) for row in jobs.iter_rows()]


def _check(
    row: tuple[str | None, int, list[str], datetime | None], moment: datetime
) -> SourceCheck:
    job, targets, down, newest = row
    return SourceCheck(
        name=f"job {job}",
        state=_state(len(down), targets),
        rows=targets,
        rejected=0,
        newest=newest,
        age_seconds=(moment - newest).total_seconds() if newest else None,
        note=_note(down, targets),
    )


def _state(down: int, targets: int) -> State:
    return "ok" if not down else "missing" if down == targets else "part"


def _note(down: list[str], targets: int) -> str:
    if not down:
        return f"{targets} targets up"
    shown = ", ".join(down[:MAX_NAMED])
    more = f" and {len(down) - MAX_NAMED} more" if len(down) > MAX_NAMED else ""
    return f"{len(down)} of {targets} targets down: {shown}{more}; their absence is not health"
