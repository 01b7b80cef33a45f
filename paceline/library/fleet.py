"""Questions of who owns a fleet: lemons, goodput, failures, checkpoint intervals."""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

import polars as pl

from detectors.lemon_histories import Records
from detectors.lemon_params import LemonParams
from detectors.lemons import LemonReview, review_lemons
from paceline.failure_output import failure_text
from paceline.fleet_review import FleetParams, FleetReview, review_fleet
from paceline.goodput_output import goodput_text
from paceline.interval_output import interval_text, plans_of
from paceline.lemon_output import lemon_text, score_text
from paceline.library.cards import Card, Shown, text_card
from paceline.library.evidence import Evidence
from paceline.library.parts import fields_of
from paceline.pulling import as_utc
from slo.intervals import IntervalPlan
from slo.rates_by_size import RateParams

MAX_ROWS: Final = 10
"""Rows of a table in a card; the frames hold all."""


class NoJobsError(ValueError):
    """Nothing tells of any job."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Lemons(Shown, LemonReview):
    """The repeat offenders of a fleet, and the ranking that they stand in.

    Attributes:
        params: The thresholds that they were found with.
    """

    params: LemonParams

    def score(self, node: str) -> str:
        """Return what the score of a node is made of, event by event.

        Raises:
            UnknownNodeError: No job ran there.
        """
        return score_text(self, self.params, node)

    def card(self) -> Card:
        """Return who is flagged and why."""
        return text_card("Lemons", lemon_text(self, self.params, MAX_ROWS))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Goodput(Shown):
    """Where the time of runs went.

    Attributes:
        runs: `GOODPUT`, one row a run: parts that sum to the wall.
        attempts: `GOODPUT`, one row an attempt.
        ettr: `EXPECTATIONS`: observed beside expected ETTR, one row a run.
        needs: `run` and `need`: what is not known, and which input would tell it.
        review: What it is a part of.
    """

    runs: pl.DataFrame
    attempts: pl.DataFrame
    ettr: pl.DataFrame
    needs: pl.DataFrame
    review: FleetReview

    def card(self) -> Card:
        """Return the runs that lost most."""
        return text_card("Goodput", goodput_text(self.review, MAX_ROWS))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Failures(Shown):
    """What ended jobs, what that cost, and how often it happens.

    Attributes:
        costs: `COSTS`, one row a failure.
        domains: `DOMAIN_COSTS`: what failures cost by job, GPU, host, rack, switch and storage.
        by_size: `RATES`: how often jobs of each size fail.
        blast_radii: `BLAST_RADII`: what hangs on each part.
        review: What it is a part of.
    """

    costs: pl.DataFrame
    domains: pl.DataFrame
    by_size: pl.DataFrame
    blast_radii: pl.DataFrame
    review: FleetReview

    def card(self) -> Card:
        """Return causes, costs and rates."""
        return text_card("Failures", failure_text(self.review, MAX_ROWS))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckpointPlans(Shown):
    """How often to save, from the failure rate that was measured.

    Attributes:
        plans: What is known of each run, as in `EXPECTATIONS`, with its plan; the plan is null
            where no interval follows, and the row says what is missing.
        review: What they follow from.
    """

    plans: tuple[tuple[dict[str, Any], IntervalPlan | None], ...]
    review: FleetReview

    @property
    def frame(self) -> pl.DataFrame:
        """One row a plan: `run`, `nodes`, the interval now, and what `IntervalPlan` holds."""
        schema = {"run": pl.String(), "interval_seconds": pl.Float64()}
        schema |= {item.name: pl.Float64() for item in fields(IntervalPlan)}
        rows = [_plan_row(row, plan) for row, plan in self.plans]
        return pl.DataFrame(rows, schema=schema)

    def card(self) -> Card:
        """Return each plan in words."""
        words = interval_text(self.review, list(self.plans), MAX_ROWS)
        return text_card("Checkpoint interval", words)


def lemons(evidence: Evidence, *, as_of: datetime | None = None) -> Lemons:
    """Return the nodes and GPUs that end jobs again and again, over weeks of accounts and logs.

    Args:
        evidence: What was opened; best of a whole fleet, not of one run.
        as_of: Judge as of this time; null is the last job.

    Raises:
        NoJobsError: Nothing tells of any job.
    """
    if evidence.reading.jobs.is_empty():
        raise _no_jobs(evidence)
    params = LemonParams()
    asked = replace(params.history, as_of=None if as_of is None else as_utc(as_of))
    params = replace(params, history=asked)
    review = (
        evidence.lemon_review
        if as_of is None
        else review_lemons(Records.of(evidence.reading), params)
    )
    return Lemons(**fields_of(review), params=params)


def goodput(evidence: Evidence, *, gpus_per_node: int | None = None) -> Goodput:
    """Return where the time of each run went: productive, lost and to what, waiting, not known.

    Args:
        evidence: What was opened.
        gpus_per_node: For jobs of which only nodes are told; null leaves their size unknown.

    Raises:
        NoJobsError: No moment of any run is known.
    """
    review = _review(evidence, FleetParams(gpus_per_node=gpus_per_node))
    if review.goodput.runs.is_empty():
        raise NoJobsError(
            f"no run with a clock in {evidence.name}; give step logs with times, or the "
            "scheduler's accounts"
        )
    return Goodput(
        runs=review.goodput.runs,
        attempts=review.goodput.attempts,
        ettr=review.ettr,
        needs=review.goodput.needs,
        review=review,
    )


def failures(
    evidence: Evidence, *, gpus_per_node: int | None = None, min_nodes: int = 1
) -> Failures:
    """Return what ended jobs, what that cost, how often it happens, and what hangs on each part.

    Args:
        evidence: What was opened.
        gpus_per_node: For jobs of which only nodes are told; null leaves their size unknown.
        min_nodes: Smaller jobs tell nothing of the fleet's rate.

    Raises:
        NoJobsError: No attempt of any job is told.
    """
    params = FleetParams(rates=RateParams(min_nodes=min_nodes), gpus_per_node=gpus_per_node)
    review = _lived(evidence, params)
    return Failures(
        costs=review.costs,
        domains=review.domains,
        by_size=review.rates.by_size,
        blast_radii=review.radii,
        review=review,
    )


def checkpoint_interval(
    evidence: Evidence,
    *,
    nodes: int | None = None,
    write_seconds: float | None = None,
    min_nodes: int = 1,
) -> CheckpointPlans:
    """Return how often to save a checkpoint, from the failure rate that was measured.

    Args:
        evidence: What was opened.
        nodes: Of a job that is planned; null plans for the runs that were seen.
        write_seconds: What a save takes; null takes what was measured.
        min_nodes: Smaller jobs tell nothing of the fleet's rate.

    Raises:
        NoJobsError: No attempt of any job is told.
        ValueError: Nodes or seconds are not above 0.
    """
    for name, told in (("nodes", nodes), ("write_seconds", write_seconds)):
        if told is not None and told <= 0:
            raise ValueError(f"{name} must be above 0, got {told}")
    review = _lived(evidence, FleetParams(rates=RateParams(min_nodes=min_nodes)))
    return CheckpointPlans(plans=tuple(plans_of(review, nodes, write_seconds)), review=review)


def _review(evidence: Evidence, params: FleetParams) -> FleetReview:
    """Return the review of a fleet; that of the usual parameters is worked out once."""
    return evidence.fleet if params == FleetParams() else review_fleet(evidence.reading, params)


def _lived(evidence: Evidence, params: FleetParams) -> FleetReview:
    """Return the review of a fleet, or refuse evidence without an attempt."""
    review = _review(evidence, params)
    if review.lives.is_empty():
        raise _no_jobs(evidence)
    return review


def _no_jobs(evidence: Evidence) -> NoJobsError:
    return NoJobsError(
        f"no job in {evidence.name}; open the scheduler's accounts with it, such as sacct -P"
    )


def _plan_row(row: dict[str, Any], plan: IntervalPlan | None) -> dict[str, object]:
    told: dict[str, object] = {
        name: row.get(name) for name in ("run", "nodes", "interval_seconds", "write_seconds")
    }
    return (
        told
        if plan is None
        else told | {item.name: getattr(plan, item.name) for item in fields(plan)}
    )
