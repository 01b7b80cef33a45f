"""Evidence: what was read for one question, and all that follows from it, worked out once.

Nothing is detected until it is asked for, and nothing twice: an analysis of a large history takes
minutes, and a notebook asks the same evidence many questions.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import polars as pl

from alerts.wording import clock_text, counted_text
from collectors.readings import FRAMES, Reading
from detectors.lemon_histories import Records
from detectors.lemon_params import LemonParams
from detectors.lemons import LemonReview, review_lemons
from paceline.analysis import Analysis, AnalysisParams, analyze, reject_reasons
from paceline.checkups import CheckupParams, NeedCheck, examine
from paceline.fleet_review import FleetParams, FleetReview, review_fleet
from paceline.library.cards import Card, Shown, section
from paceline.output import report_contents
from paceline.pulling import PullRequest
from paceline.reports.contents import ReportContents
from paceline.spans import TIMED, end_of_data

MAX_NAMES: Final = 12
"""Hosts or runs that a card names; the others are counted."""


_OF_RUNS: Final = ("steps", "jobs", "placements", "ops", "collectives", "transfers")
"""Frames that tell of training runs. Logs and scrapes of hosts may bear the name of their folder:
they are nobody's in particular."""

MAX_NEEDS: Final = 6
"""Missing things that a card names; the others are counted."""


class NoDataError(ValueError):
    """What was opened holds nothing that could be read."""


class UnknownRunError(LookupError):
    """No source tells of the run that was asked for."""


def silent(name: str, done: int, count: int) -> None:
    """Take progress and say nothing: a notebook's cell shows its answer alone."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Evidence(Shown):
    """What was read, and what follows from it; worked out when it is first asked for, then kept.

    Attributes:
        name: What people call it.
        reading: The frames, with every run, host and device by one name.
        params: Thresholds of detectors, burns and joining.
        notes: Sentences about where it comes from, such as that it is SIMULATED.
        pulled: The Prometheus that it was pulled from, which also counts what objectives ask for;
            null where there is none.
    """

    name: str
    reading: Reading
    params: AnalysisParams = field(default_factory=AnalysisParams)
    notes: tuple[str, ...] = ()
    pulled: PullRequest | None = None

    @cached_property
    def analysis(self) -> Analysis:
        """Verdicts, burns and incidents, as `paceline analyze` finds them."""
        return analyze(self.reading, self.params, silent)

    @cached_property
    def contents(self) -> ReportContents:
        """What plots are made of."""
        return report_contents(self.analysis, self.name, self.notes)

    @cached_property
    def fleet(self) -> FleetReview:
        """Goodput, failures, rates and intervals, as the commands of the fleet count them."""
        return review_fleet(self.reading, FleetParams())

    @cached_property
    def lemon_review(self) -> LemonReview:
        """Repeat offenders, as `paceline lemons` finds them."""
        return review_lemons(Records.of(self.reading), LemonParams())

    @property
    def runs(self) -> list[str]:
        """Names of the training runs, in order; a run without a name is left out."""
        return _names(self.reading, "run", _OF_RUNS)

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts, in order: those of any row, and those of jobs."""
        listed: list[str] = self.reading.jobs["hosts"].explode().drop_nulls().unique().to_list()
        return sorted({*listed, *_names(self.reading, "host", FRAMES)})

    @property
    def needs(self) -> tuple[NeedCheck, ...]:
        """What detectors look at and do not get, as `paceline doctor` says it of the same data."""
        checkup = examine(self.reading, end_of_data(self.reading), CheckupParams())
        return tuple(one for one in checkup.needs if one.state == "missing")

    def card(self) -> Card:
        """Return what was read, over which time, and what is missing."""
        rejects = reject_reasons(self.reading.rejects)
        missing = [f"{one.need.what}: {one.need.blinds}" for one in self.needs]
        return Card(
            title=f"Evidence: {self.name}",
            notes=self.notes,
            facts=(
                ("span", _span_text(self.reading)),
                ("runs", _named(self.runs)),
                ("hosts", _named(self.hosts)),
                ("rows", _rows_text(self.reading)),
                ("rejected", counted_text(sum(one.count for one in rejects), "line")),
            ),
            sections=(
                section("Rejected", [f"{one.count:,} x {one.reason}" for one in rejects]),
                section("Missing, and what that blinds", _first(missing)),
            ),
        )


def only_run(evidence: Evidence, run: str | None) -> Evidence:
    """Return evidence without the rows of other runs.

    Args:
        evidence: What was read.
        run: The run to keep, with all that is of no training run; null keeps every run.

    Raises:
        UnknownRunError: No source tells of it.
    """
    if run is None:
        return evidence
    named = _names(evidence.reading, "run", FRAMES)
    if run not in named:
        known = ", ".join(named) or "none is named"
        raise UnknownRunError(f"no run '{run}' in {evidence.name}; known: {known}")
    others = [name for name in evidence.runs if name != run]
    mine = ~pl.col("run").is_in(others).fill_null(value=False)
    kept: dict[str, Any] = {
        name: evidence.reading.frame(name).filter(mine)
        for name, schema in FRAMES.items()
        if "run" in schema
    }
    return replace(evidence, reading=replace(evidence.reading, **kept))


def _first(lines: list[str]) -> list[str]:
    """Return the first lines, and how many more there are."""
    left = len(lines) - MAX_NEEDS
    return [*lines[:MAX_NEEDS], *([f"and {left} more, all in `.needs`"] if left > 0 else [])]


def _names(reading: Reading, column: str, names: Iterable[str]) -> list[str]:
    """Return what a column of some frames holds, in order."""
    frames = [reading.frame(name) for name in names if column in FRAMES[name]]
    told: list[str] = (
        pl.concat([frame.get_column(column) for frame in frames])
        .drop_nulls()
        .unique()
        .sort()
        .to_list()
    )
    return told


def _named(names: Sequence[str]) -> str:
    if not names:
        return "none is named"
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"{len(names)}: {', '.join(names[:MAX_NAMES])}{more}"


def _span_text(reading: Reading) -> str:
    """Return the first and the last time of any frame with a clock, or of a job."""
    clocks = (*TIMED, ("jobs", "start"), ("jobs", "end"))
    times = pl.concat([reading.frame(name).get_column(at).rename("time") for name, at in clocks])
    known = times.drop_nulls().sort()
    if known.is_empty():
        return "no source has a clock"
    first, last = known.gather([0, -1]).to_list()
    return f"{clock_text(first)} to {clock_text(last)}"


def _rows_text(reading: Reading) -> str:
    counts = [
        f"{reading.frame(name).height:,} {name}"
        for name in FRAMES
        if name not in {"rejects", "coverage"} and reading.frame(name).height
    ]
    return ", ".join(counts) or "none"
