"""All that is asked of a fleet's history, answered once: goodput, failures, rates, intervals."""

from dataclasses import dataclass, field, replace

import polars as pl

from collectors.readings import Reading
from slo.blast_radius import budget_blast_radii
from slo.failure_costs import CostParams, budget_costs
from slo.failure_domains import budget_domains
from slo.failures import FailureParams, budget_failures
from slo.goodput import GoodputParams, GoodputReview, budget_goodput
from slo.intervals import budget_ettr
from slo.lives import budget_lives
from slo.rates_by_size import FleetRates, RateParams, budget_rates


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetParams:
    """How a fleet's history is judged.

    Attributes:
        goodput: How time is accounted for.
        failures: When an event tells why an attempt ended.
        costs: What is modelled of costs.
        rates: What rates are counted over.
        gpus_per_node: For jobs of which only nodes are told; null leaves their size unknown.
    """

    goodput: GoodputParams = field(default_factory=GoodputParams)
    failures: FailureParams = field(default_factory=FailureParams)
    costs: CostParams = field(default_factory=CostParams)
    rates: RateParams = field(default_factory=RateParams)
    gpus_per_node: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReview:
    """What a fleet's history tells.

    Attributes:
        goodput: Where the time of runs went.
        lives: `LIVES`.
        costs: `COSTS`, one row a failure.
        domains: `DOMAIN_COSTS`: what failures cost by job, GPU, host, rack, switch and storage.
        rates: How often things fail.
        ettr: `EXPECTATIONS`, one row a run.
        radii: `BLAST_RADII`.
    """

    goodput: GoodputReview
    lives: pl.DataFrame
    costs: pl.DataFrame
    domains: pl.DataFrame
    rates: FleetRates
    ettr: pl.DataFrame
    radii: pl.DataFrame


def review_fleet(told: Reading, params: FleetParams) -> FleetReview:
    """Return what a history tells.

    Args:
        told: Accounts, steps, events, placements and links, of any number of runs.
        params: How it is judged.
    """
    gpus = pl.col("hosts").list.len().cast(pl.Int32) * pl.lit(params.gpus_per_node, pl.Int32)
    reading = replace(told, jobs=told.jobs.with_columns(gpus=pl.coalesce("gpus", "world", gpus)))
    goodput = budget_goodput(reading, params.goodput)
    lives = budget_lives(reading)
    failures = budget_failures(lives, reading.events, params.failures)
    rates = budget_rates(lives, failures, params.rates)
    costs = budget_costs(failures, lives, goodput.ledger, params.costs)
    return FleetReview(
        goodput=goodput,
        lives=lives,
        costs=costs,
        domains=budget_domains(costs, reading.links),
        rates=rates,
        ettr=budget_ettr(goodput.runs, lives, rates.interruptions),
        radii=budget_blast_radii(reading, lives),
    )
