"""Find the nodes and GPUs that fail job after job: the lemons of a fleet.

Source: methods reference, section 10, after A. Kokolis and others, "Revisiting Reliability in
Large-Scale Machine Learning Research Clusters" (HPCA 2025), who set thresholds on seven signals by
hand. We test the rate of failures against the pool instead: see `detectors.rate_tests`.
"""

from dataclasses import dataclass

import polars as pl

from detectors.decayed_counts import SECONDS_PER_DAY
from detectors.lemon_histories import FleetHistory, Records, fleet_history, time_span
from detectors.lemon_params import LemonParams
from detectors.lemon_tiers import with_tiers
from detectors.lemon_words import blind_verdict, lemon_verdict
from detectors.verdicts import Verdict, verdict_frame


@dataclass(frozen=True, slots=True, kw_only=True)
class LemonReview:
    """All that a search for lemons gives.

    Attributes:
        verdicts: Lemons, and why nobody can be told.
        ranking: `RATED` with `is_lemon`, `score` and `tier`: nodes and parts, the worst first.
        history: What happened; null where it is too short to judge.
        span_days: Days between the first start of a job and the end of the data.
    """

    verdicts: list[Verdict]
    ranking: pl.DataFrame
    history: FleetHistory | None
    span_days: float


def find_lemons(records: Records, params: LemonParams) -> pl.DataFrame:
    """Return the nodes and GPUs that end jobs again and again.

    Args:
        records: `JOBS`, `PLACEMENTS`, `EVENTS` and `ALIASES` of the whole fleet.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind lemon, at level gpu where a part takes its failures along, else host; of
        kind unknown where jobs fail and hardly any end names a node. Nothing of a short history.
        Partition key: none, a fleet is judged as a whole.

    Raises:
        SchemaError: A frame lacks a column.
    """
    return verdict_frame(review_lemons(records, params).verdicts)


def review_lemons(records: Records, params: LemonParams) -> LemonReview:
    """Return the lemons, and the ranking that they stand in.

    Args:
        records: `JOBS`, `PLACEMENTS`, `EVENTS` and `ALIASES` of the whole fleet.
        params: The thresholds.

    Raises:
        SchemaError: A frame lacks a column.
    """
    span = time_span(records.jobs, params.history.as_of)
    days = 0.0 if span is None else (span[1] - span[0]).total_seconds() / SECONDS_PER_DAY
    if span is None or days < params.min_span_days:
        return LemonReview(verdicts=[], ranking=pl.DataFrame(), history=None, span_days=days)
    # The libraries for statistics take half a second to load, and most analyses need none of it.
    from detectors.lemon_units import judged  # noqa: PLC0415 -- see above

    history = fleet_history(records, span, params.history)
    ranking = with_tiers(judged(history, params), history.repairs, params.tiers)
    sizes = dict(
        ranking.filter(pl.col("part").is_null()).group_by("pool").agg(pl.len()).iter_rows()
    )
    found = [
        lemon_verdict(unit, history, sizes[unit["pool"]])
        for unit in ranking.filter("is_lemon").iter_rows(named=True)
    ]
    return LemonReview(
        verdicts=[*found, *_blindness(history, params)],
        ranking=ranking,
        history=history,
        span_days=days,
    )


def _blindness(history: FleetHistory, params: LemonParams) -> list[Verdict]:
    """Return why nobody can be told, if so: hardly any failure names a node."""
    failed = history.failures["run"].n_unique()
    named = history.failures.filter("is_named")["run"].n_unique()
    unexplained = history.unexplained_count if named == 0 else 0
    told = failed + unexplained
    if told < params.min_failures or named >= params.min_named_share * told:
        return []
    return [blind_verdict(failed, named, history.unexplained_count, history)]
