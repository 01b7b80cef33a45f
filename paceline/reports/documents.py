"""The report as one HTML page: no script, no network, light, dark and print.

Source: the questions of the reference on page text, in its order. Everything from data is escaped
by the template; only drawings of our own are put in as markup.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

import polars as pl
from jinja2 import Environment

from alerts.incidents import Incident
from alerts.pages import page_text
from alerts.titles import subject_text
from alerts.wording import clock_text, count_text, rate_text
from collectors.texts.templates import filled
from detectors.verdicts import sort_verdicts
from paceline.reports.contents import ReportContents
from paceline.reports.page_templates import page_templates
from paceline.reports.peer_plot import PeerPlot, peer_plots
from paceline.reports.rank_map import MISSING_COLOR, RATIO_COLORS, RATIO_STOPS, rank_map
from paceline.reports.step_plot import step_plot
from paceline.reports.time_axis import TimeAxis, axis_of

MAX_DRAWN_RUNS: Final = 3
"""Runs with drawings: those of the gravest incidents, else the largest."""
MAX_DRAWN_INCIDENTS: Final = 3
"""Incidents of a run that are drawn: the report lists all of them."""
MAX_ROWS: Final = 200
"""Rows of a table; what is left out is counted below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDrawings:
    """The plots of one run.

    Attributes:
        run: The run's name; null when its sources name none.
        steps: Step time against its baseline, as SVG; null when no step was judged.
        ranks: The map of ranks, as SVG; null when fewer than two ranks report.
        suspects: Each drawn incident's title with the suspect against its peers.
    """

    run: str | None
    steps: str | None
    ranks: str | None
    suspects: tuple[tuple[str, tuple[PeerPlot, ...]], ...]


def build_report(contents: ReportContents) -> str:
    """Return the report as an HTML page that needs nothing beside itself.

    Args:
        contents: What was found and read; empty frames leave their plots out, with a word why.
    """
    page = report_templates().get_template("report.html.j2")
    return page.render(
        contents=contents,
        verdicts=sort_verdicts(contents.verdicts)[:MAX_ROWS],
        drawings=run_drawings(contents),
        coverage=coverage_rows(contents.coverage),
        rejects=reject_rows(contents.rejects),
        stops=[f"{stop:.2f}x" for stop in RATIO_STOPS],
        colors=RATIO_COLORS,
        missing=MISSING_COLOR,
        max_rows=MAX_ROWS,
    )


def run_drawings(contents: ReportContents, max_runs: int = MAX_DRAWN_RUNS) -> list[RunDrawings]:
    """Return the plots of the runs that matter most, at most `max_runs`."""
    told = [one.run for one in contents.incidents]
    sizes = contents.paces.group_by("run").agg(pl.col("rank").n_unique())
    largest: list[str | None] = sizes.sort("rank", "run", descending=[True, False])["run"].to_list()
    stepped: list[str | None] = contents.events["run"].unique().sort().to_list()
    runs = list(dict.fromkeys([*told, *largest, *stepped]))
    drawn = (_drawings(contents, run, f"r{number}") for number, run in enumerate(runs))
    return list(islice((one for one in drawn if one is not None), max_runs))


def coverage_rows(coverage: pl.DataFrame) -> pl.DataFrame:
    """Return how much of each signal arrived, the worst first.

    Args:
        coverage: `COVERAGE`.

    Returns:
        `signal`, `source_count`, `entity_count`, `seen`, `expected` and `seen_ratio` (null when
        nothing was expected), by ratio and signal.
    """
    ratio = pl.col("seen") / pl.col("expected")
    return (
        coverage.group_by("signal")
        .agg(
            pl.col("source").n_unique().alias("source_count"),
            pl.col("entity").n_unique().alias("entity_count"),
            pl.col("seen").sum(),
            pl.col("expected").sum(),
        )
        .with_columns(seen_ratio=pl.when(pl.col("expected") > 0).then(ratio))
        .sort("seen_ratio", "signal")
    )


def reject_rows(rejects: pl.DataFrame) -> pl.DataFrame:
    """Return what was not understood, by reason, the most frequent first.

    Args:
        rejects: `REJECTS`.

    Returns:
        `reason`, `line_count`, `source_count` and `example`, one row a reason.
    """
    return (
        rejects.sort("source", "position", "text")
        .group_by("reason", maintain_order=True)
        .agg(
            pl.col("count").fill_null(1).clip(1).sum().alias("line_count"),
            pl.col("source").n_unique().alias("source_count"),
            filled("{}: {}", pl.col("source"), pl.col("text")).first().alias("example"),
        )
        .sort("line_count", "reason", descending=[True, False])
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """What the plots of one run are made of.

    Attributes:
        events: Its `STEP_EVENTS`.
        paces: Its `PACES`.
        incidents: Those that are drawn.
        axis: The axis that all plots share.
    """

    events: pl.DataFrame
    paces: pl.DataFrame
    incidents: tuple[Incident, ...]
    axis: TimeAxis


def run_data(contents: ReportContents, run: str | None) -> RunData | None:
    """Return what the plots of a run are made of; null when nothing of it has a time or a step.

    Args:
        contents: What was found and read.
        run: The run's name; null is what names no run.
    """
    named = pl.col("run").eq_missing(pl.lit(run, dtype=pl.String))
    events, paces = contents.events.filter(named), contents.paces.filter(named)
    incidents = [one for one in contents.incidents if one.run == run][:MAX_DRAWN_INCIDENTS]
    judged = events.filter(pl.col("reason").is_null())
    frames = [(judged, "end_time"), (paces, "end_time")]
    if judged.is_empty() and paces.is_empty():
        frames.append((contents.samples, "time"))
    axis = axis_of(frames, incidents)
    if axis is None:
        return None
    return RunData(events=events, paces=paces, incidents=tuple(incidents), axis=axis)


def _drawings(contents: ReportContents, run: str | None, prefix: str) -> RunDrawings | None:
    """Return the plots of a run; null when it has nothing to draw."""
    data = run_data(contents, run)
    if data is None:
        return None
    samples, axis, incidents = contents.samples, data.axis, data.incidents
    suspects = [
        (one.title, tuple(peer_plots(one, data.paces, samples, axis, prefix=f"{prefix}-{at}")))
        for at, one in enumerate(incidents)
    ]
    drawn = RunDrawings(
        run=run,
        steps=step_plot(data.events, axis, incidents, prefix=f"{prefix}-steps"),
        ranks=rank_map(data.paces, axis, incidents, prefix=f"{prefix}-ranks"),
        suspects=tuple((title, plots) for title, plots in suspects if plots),
    )
    return drawn if drawn.steps or drawn.ranks or drawn.suspects else None


def _summary(incidents: Sequence[Incident]) -> str:
    """Return the state of things in a sentence."""
    if not incidents:
        return "Nothing was found that slows a job, in what could be read."
    pages = [one for one in incidents if one.severity == "page"]
    still = [one for one in incidents if one.state == "open"]
    noun = "incident" if len(incidents) == 1 else "incidents"
    return f"{len(incidents)} {noun}: {len(pages)} worth a page, {len(still)} still open."


def _moment(time: datetime | None) -> str:
    """Return a time without its zone, for a page that says once that all of them are UTC."""
    return clock_text(time).removesuffix(" UTC")


def report_templates() -> Environment:
    """Return the templates with the words that they may use; names from data are escaped."""
    environment = page_templates()
    environment.filters |= {
        "clock": clock_text,
        "moment": _moment,
        "rate": rate_text,
        "count": count_text,
        "summary": _summary,
        "page": page_text,
        "who": subject_text,
    }
    return environment
