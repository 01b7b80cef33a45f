"""The budget of an objective: what is left, how fast it goes, when it ends, and whose it is."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import polars as pl

from paceline.budget_output import budget_text
from paceline.library.cards import Card, Shown, text_card
from paceline.library.evidence import Evidence
from paceline.library.parts import fields_of
from paceline.pulling import as_utc
from paceline.series_sources import PrometheusSource, SeriesSource, StepsSource
from paceline.slow_step_causes import slow_step_causes
from slo.budget_reviews import ObjectiveReview, ReviewParams, review_objective
from slo.objectives import Objective
from slo.specs import load_objectives, load_ready

MAX_GROUPS: Final = 10
"""Groups in a card; the frames hold all."""


class SeveralObjectivesError(ValueError):
    """A file holds several objectives, and one was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Budgets(Shown, ObjectiveReview):
    """An objective at one moment, as `paceline slo report` has it.

    Attributes:
        source: Where the series come from.
    """

    source: str

    def card(self) -> Card:
        """Return what is left, how fast it goes, and where bad events come from."""
        return text_card("Budget", budget_text(self.source, [self], MAX_GROUPS))


def budgets(
    evidence: Evidence,
    objective: Objective | str | Path | None = None,
    *,
    as_of: datetime | None = None,
) -> Budgets:
    """Return how much of a budget is left, how fast it goes, when it ends, and whose it is.

    Args:
        evidence: What was opened; of a Prometheus its own series are counted, else steps.
        objective: What is promised, or a file of it; null is the ready objective for steps.
        as_of: The moment; null is the last sample.

    Raises:
        NoSeriesError: Nothing there is counted by the objective; the message says what would be.
        NoHistoryError: Nothing of it lies before the moment.
        SeveralObjectivesError: The file holds more than one.
        FileNotFoundError: There is no such file.
        ValueError: The file cannot be understood; the message says where and the way out.
    """
    wanted, at = the_objective(objective), None if as_of is None else as_utc(as_of)
    source = source_of(evidence, wanted)
    review = review_objective(source.history(wanted), wanted, ReviewParams(), as_of=at)
    if isinstance(source, StepsSource):
        review = with_causes(review, evidence, source)
    return Budgets(**fields_of(review), source=evidence.name)


def the_objective(objective: Objective | str | Path | None) -> Objective:
    """Return the objective that is meant.

    Args:
        objective: The objective, a file of it, or null for the ready one for training steps.

    Raises:
        SeveralObjectivesError: The file holds more than one.
        FileNotFoundError: There is no such file.
        ValueError: The file cannot be understood.
    """
    if objective is None:
        return load_ready()
    if isinstance(objective, Objective):
        return objective
    found = load_objectives(Path(objective))
    if len(found) != 1:
        names = ", ".join(one.name for one in found) or "none"
        raise SeveralObjectivesError(
            f"wanted one objective in {objective}, found {len(found)}: {names}; give one of "
            "`slo.specs.load_objectives` itself"
        )
    return found[0]


def source_of(evidence: Evidence, objective: Objective) -> SeriesSource:
    """Return where the series of an objective are: the Prometheus of the evidence, or its steps."""
    if evidence.pulled is None:
        return StepsSource(name=evidence.name, reading=evidence.reading)
    # The trend looks back over a period, and so does its first point.
    reach = 2 * timedelta(seconds=objective.period_seconds)
    ends = (evidence.pulled.end - reach, evidence.pulled.end)
    return PrometheusSource(name=evidence.pulled.url, ends=ends)


def with_causes(
    review: ObjectiveReview, evidence: Evidence, source: StepsSource
) -> ObjectiveReview:
    """Return a review that also says which hosts and causes stand behind slow steps."""
    begin = review.as_of - timedelta(seconds=review.objective.period_seconds)
    inside = pl.col("end_time").is_between(begin, review.as_of)
    events = source.events(review.objective).filter(inside)
    causes = slow_step_causes(events, evidence.analysis.verdicts)
    return replace(review, contributors=pl.concat([review.contributors, causes]))
