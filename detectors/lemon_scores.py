"""Score nodes and parts by their history of failures: rates, chances, false-discovery rates.

Source: methods reference, section 10. Deciding and ranking are two things: a chance against the
pool decides, a faded count with the rates of its classes ranks.
"""

from typing import Final

import polars as pl

from collectors.frames import schema_of
from detectors.class_rates import ClassParams, class_ratios, name_classes
from detectors.lemon_params import ScoreParams
from detectors.rate_tests import (
    Counts,
    Values,
    bad_chances,
    believed,
    discovery_rates,
    ratio_intervals,
    tail_chances,
)

UNITS: Final = schema_of(
    {
        "host": pl.String,
        "part": pl.String,
        "pool": pl.String,
        "failures": pl.Float64,
        "days": pl.Float64,
        "squared_days": pl.Float64,
        "named_count": pl.UInt32,
        "job_count": pl.UInt32,
        "family_chance": pl.Float64,
    }
)
"""One node, or one part (`part`; its `host` is where it failed last), with its weighted history.
`named_count` is jobs whose end names it, `job_count` those of which it bears half or more.
`family_chance` is how likely its other signals are by luck, 1 for a part."""

RATED: Final = schema_of(
    {
        **UNITS,
        "chance": pl.Float64,
        "q_value": pl.Float64,
        "bad_chance": pl.Float64,
        "ratio_low": pl.Float64,
        "ratio": pl.Float64,
        "ratio_high": pl.Float64,
    }
)
"""`UNITS` with the chance of as many failures by luck, the false-discovery rate at which it stands,
the chance to be of the bad kind, and the rate in units of the pool's with its interval."""


def pools_of(hosts: pl.Series, params: ScoreParams) -> pl.DataFrame:
    """Return `host` and `pool`: hosts named alike but for their numbers are one pool."""
    named = pl.DataFrame({"host": hosts}).with_columns(
        pool=pl.col("host").str.replace_all(r"\d+", "#")
    )
    is_small = pl.len().over("pool") < params.min_pool
    return named.with_columns(pool=pl.when(is_small).then(pl.lit("all")).otherwise("pool"))


def rated(hosts: pl.DataFrame, parts: pl.DataFrame, params: ScoreParams) -> pl.DataFrame:
    """Return `RATED` of nodes and parts.

    Args:
        hosts: `UNITS` of all nodes in use, also those without a failure; `part` is null.
        parts: `UNITS` of the parts that failures name, with `hosts`, all in which they did.
        params: How they are tested.
    """
    found = [RATED.to_frame()]
    for pool in hosts.partition_by("pool", maintain_order=True):
        own = parts.join(pool, on="pool", how="semi")
        found += [_rated_hosts(pool, params), _rated_parts(own, pool, params)]
    both = pl.concat(found)
    if both.is_empty():
        return both
    rates = pl.Series(discovery_rates(both["chance"].to_numpy()))
    return both.with_columns(q_value=rates)


def _counts(units: pl.DataFrame) -> Counts:
    return Counts(
        failures=units["failures"].to_numpy(),
        days=units["days"].to_numpy(),
        squared_days=units["squared_days"].to_numpy(),
    )


def _rated_hosts(pool: pl.DataFrame, params: ScoreParams) -> pl.DataFrame:
    counts = _counts(pool)
    chances = _lucky(counts, params)
    return _with_rates(pool.with_columns(chance=pl.Series(chances)), counts, params)


def _lucky(pool: Counts, params: ScoreParams) -> Values:
    """Return the chance of as many failures as each of a pool has, if it were like the others."""
    failures, days = believed(pool, params.top_share)
    rest_failures = params.prior.failures + failures.sum() - failures
    rest_days = params.prior.days + days.sum() - days
    return tail_chances(pool, rest_failures, rest_days)


def _rated_parts(parts: pl.DataFrame, pool: pl.DataFrame, params: ScoreParams) -> pl.DataFrame:
    """Return `RATED` of parts, against the nodes in which they did not fail.

    A part fails less often than the node that holds eight of it: its pool's rate is an upper bound.
    """
    nodes = _counts(pool)
    failures, days = believed(nodes, params.top_share)
    held = (
        parts.select("part", host="hosts")
        .explode("host", empty_as_null=False, keep_nulls=False)
        .join(pool.select("host", failures=pl.Series(failures), days=pl.Series(days)), on="host")
        .group_by("part")
        .agg(pl.col("failures", "days").sum())
    )
    own = parts.select("part").join(held, on="part", how="left", maintain_order="left").fill_null(0)
    rest_failures = params.prior.failures + failures.sum() - own["failures"].to_numpy()
    rest_days = params.prior.days + days.sum() - own["days"].to_numpy()
    chances = tail_chances(_counts(parts), rest_failures, rest_days)
    return _with_rates(parts.with_columns(chance=pl.Series(chances)), nodes, params)


def _with_rates(units: pl.DataFrame, pool: Counts, params: ScoreParams) -> pl.DataFrame:
    """Return `RATED`, still without q-values."""
    counts = _counts(units)
    low, ratio, high = ratio_intervals(counts, pool, params.coverage)
    return units.with_columns(
        q_value=pl.lit(None, pl.Float64),
        bad_chance=pl.Series(bad_chances(counts, pool, params.top_share)),
        ratio_low=pl.Series(low),
        ratio=pl.Series(ratio),
        ratio_high=pl.Series(high),
    ).select(RATED.names())


def family_chances(counts: pl.DataFrame, params: ScoreParams) -> pl.DataFrame:
    """Return `host` and `family_chance`: how likely all its signals are by luck.

    Args:
        counts: One node and family a row: `pool`, `host`, `family`, weighted `failures`, `days`
            and `squared_days`; nodes without a signal are there too.
        params: How they are tested.

    Returns:
        The chance of all families together: R. Simes, "An improved Bonferroni procedure for
        multiple tests of significance", Biometrika 73 (1986).
    """
    parts = [counts.with_columns(chance=pl.lit(1.0)).clear()]
    for group in counts.partition_by("pool", "family", maintain_order=True):
        chances = _lucky(_counts(group), params)
        parts.append(group.with_columns(chance=pl.Series(chances)))
    rank = pl.int_range(1, pl.len() + 1).over("host")
    return (
        pl.concat(parts)
        .sort("host", "chance")
        .with_columns(simes=pl.col("chance") * pl.len().over("host") / rank)
        .group_by("host", maintain_order=True)
        .agg(family_chance=pl.col("simes").min().clip(0.0, 1.0))
    )


def rank_scores(hosts: pl.DataFrame, params: ClassParams) -> pl.DataFrame:
    """Return `host` and `class_ratio`: what the classes of its name tell of a node.

    Args:
        hosts: `host`, and its `failures` and `days` under the half-life of classes.
        params: How the effects are fitted.
    """
    named, classes = name_classes(hosts, params)
    return hosts.select("host", class_ratio=class_ratios(named, classes, params))
