"""`paceline slo report`: how much budget is left, how fast it goes, when it ends, whose it is."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import Console

from collectors.sniffing import ReadOptions
from paceline.budget_output import budget_bytes, budget_text
from paceline.commands.arguments import (
    Format,
    FormatOption,
    answer,
    moment,
    refused,
    writing_to,
    zone_name,
)
from paceline.commands.slo.places import UNREADABLE, objectives_of, open_place
from paceline.findings import DetectorParams, find_all
from paceline.progress import progress_bar
from paceline.reports.budget_page import build_budget_page
from paceline.series_sources import SeriesSource, StepsSource
from paceline.slow_step_causes import slow_step_causes
from slo.budget_reviews import ObjectiveReview, ReviewParams, review_objective
from slo.growth import BurnParams, Mode
from slo.objectives import Objective


def report_command(  # noqa: PLR0913, PLR0917 -- one argument an option of the command line
    objectives: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[OBJECTIVE.yml]...",
            help="Files of objectives. Default: the ready objective for training steps.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="PLACE",
            help="Series: logs, a store, a .parquet or .csv of series, or a Prometheus' address.",
        ),
    ] = "",
    as_of: Annotated[
        str | None,
        typer.Option(
            "--as-of", metavar="TIME", help="Report as of then, in UTC; default: the last sample."
        ),
    ] = None,
    zone: Annotated[
        str, typer.Option(help="Zone of the calendar month beside a rolling budget.")
    ] = "UTC",
    top: Annotated[int, typer.Option(min=1, help="How many groups and contributors to show.")] = 10,
    output: FormatOption = Format.TEXT,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for budgets.html and budgets.json.")
    ] = None,
    time_zone: Annotated[
        str, typer.Option("--time-zone", help="Zone of log stamps that carry none.")
    ] = "UTC",
    *,
    parity: Annotated[
        bool,
        typer.Option(
            "--parity",
            help="Judge exactly as Prometheus would: no hold for missing history or faults.",
        ),
    ] = False,
) -> None:
    """Say how much of each error budget is left, how fast it goes, when it ends, and whose it is.

    Example: paceline slo report --from logs/ --out budgets/

    Exit 0: ran. 1: there is nothing to report on. 2: bad arguments.
    """
    wanted = [one for path in objectives or () for one in objectives_of(path)]
    wanted = wanted or objectives_of(None)
    at = moment("--as-of", as_of)
    params = ReviewParams(
        burns=BurnParams(mode=Mode.PARITY if parity else Mode.PRODUCT), zone=zone_name(zone)
    )
    options = ReadOptions(time_zone=zone_name(time_zone))
    place = open_place(source, options, _asked_span(wanted, at), lambda: datetime.now(UTC))
    reviews = _reviews(place, wanted, params, at)
    if out is not None:
        _write(out, place.name, reviews, top)
    answer(
        output,
        lambda: budget_bytes(place.name, reviews),
        lambda: budget_text(place.name, reviews, top),
    )


def _asked_span(
    wanted: list[Objective], as_of: datetime | None
) -> tuple[datetime | None, datetime | None]:
    """Return what to ask a Prometheus for: two periods, for the trend looks back over one."""
    until = as_of or datetime.now(UTC)
    longest = max(one.period_seconds for one in wanted)
    return until - 2 * timedelta(seconds=longest), until


def _reviews(
    place: SeriesSource, wanted: list[Objective], params: ReviewParams, as_of: datetime | None
) -> list[ObjectiveReview]:
    reviews: list[ObjectiveReview] = []
    try:
        for objective in wanted:
            history = place.history(objective)
            review = review_objective(history, objective, params, as_of=as_of)
            reviews.append(_with_causes(review, place))
    except UNREADABLE as error:
        raise refused(str(error), code=1) from error
    return reviews


def _with_causes(review: ObjectiveReview, place: SeriesSource) -> ObjectiveReview:
    """Return a review that also says which hosts and causes stand behind slow steps."""
    if not isinstance(place, StepsSource):
        return review
    begin = review.as_of - timedelta(seconds=review.objective.period_seconds)
    inside = pl.col("end_time").is_between(begin, review.as_of)
    events = place.events(review.objective).filter(inside)
    with progress_bar("Detecting", Console(stderr=True)) as say:
        verdicts = find_all(place.reading, DetectorParams(), say)
    causes = slow_step_causes(events, verdicts)
    return replace(review, contributors=pl.concat([review.contributors, causes]))


def _write(folder: Path, source: str, reviews: list[ObjectiveReview], top: int) -> None:
    with writing_to(folder):
        (folder / "budgets.json").write_bytes(budget_bytes(source, reviews))
        page = build_budget_page(source, reviews, top)
        (folder / "budgets.html").write_text(page, encoding="utf-8")
