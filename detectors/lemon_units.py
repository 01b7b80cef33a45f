"""Count what nodes and parts have behind them, and judge them together.

Source: methods reference, section 10: follow the serial, then the slot. What a flagged part has
done is not held against the nodes that it was in.
"""

from dataclasses import replace
from typing import Final

import polars as pl

from detectors.decayed_counts import DecayParams, exposures_of, with_weights
from detectors.lemon_histories import HALF, FleetHistory
from detectors.lemon_params import GateParams, LemonParams, ScoreParams
from detectors.lemon_scores import UNITS, family_chances, pools_of, rank_scores, rated
from detectors.node_signals import signal_episodes
from detectors.part_stints import REPAIRS

EPISODE_SECONDS: Final = 600.0
"""Signals of one family that follow so soon are one trouble, told twice."""


def _units(failures: pl.LazyFrame, key: str) -> pl.LazyFrame:
    """Return the counts of `UNITS` by host or part."""
    blame = pl.col("blame")
    return failures.group_by(key).agg(
        failures=(blame * pl.col("weight")).sum(),
        named_count=pl.col("run").filter("is_named").n_unique(),
        job_count=pl.col("run").filter(blame >= HALF).n_unique(),
    )


def host_units(
    history: FleetHistory, failures: pl.DataFrame, decay: DecayParams, score: ScoreParams
) -> pl.DataFrame:
    """Return `UNITS` of all nodes that were in use, by host.

    Args:
        history: What happened.
        failures: Which of its failures count.
        decay: How history fades.
        score: How pools are made.
    """
    days = exposures_of(
        history.spans.lazy(), history.repairs.lazy(), history.as_of, decay
    ).collect()
    pools = pools_of(days["host"].sort(), score)
    weighted = with_weights(failures.lazy(), history.repairs.lazy(), history.as_of, decay)
    counts = _units(weighted, "host").collect()
    known = pools.join(days, on="host").join(counts, on="host", how="left")
    families = family_chances(_family_counts(history, known, decay), score)
    return (
        known.join(families, on="host", how="left")
        .with_columns(
            pl.col("failures").fill_null(0.0),
            pl.col("named_count", "job_count").fill_null(0),
            pl.col("family_chance").fill_null(1.0),
            part=pl.lit(None, pl.String),
        )
        .select(UNITS.names())
        .sort("host")
    )


def _family_counts(history: FleetHistory, hosts: pl.DataFrame, decay: DecayParams) -> pl.DataFrame:
    """Return weighted signals by node and family, for every pair of a node and a known family.

    Signals of one family that follow within ten minutes are one trouble.
    """
    episodes = signal_episodes(history.signals.lazy(), EPISODE_SECONDS)
    weighted = with_weights(episodes, history.repairs.lazy(), history.as_of, decay)
    counts = weighted.group_by("host", "family").agg(failures=pl.col("weight").sum()).collect()
    nodes = hosts.select("pool", "host", "days", "squared_days")
    return (
        nodes.join(counts.select("family").unique().sort("family"), how="cross")
        .join(counts, on=["host", "family"], how="left")
        .with_columns(pl.col("failures").fill_null(0.0))
    )


def part_units(history: FleetHistory, hosts: pl.DataFrame, decay: DecayParams) -> pl.DataFrame:
    """Return `UNITS` of the parts that failures name, by part, with `hosts`: where they failed.

    Args:
        history: What happened.
        hosts: `UNITS` of nodes.
        decay: How history fades; a part's own is not cut by repairs of nodes.
    """
    named = history.failures.drop_nulls("part").filter("is_named")
    own = with_weights(named.lazy(), REPAIRS.to_frame().lazy(), history.as_of, decay).collect()
    last = (
        own.sort("part", "time", "host", "run")
        .group_by("part", maintain_order=True)
        .agg(pl.col("host").last(), hosts=pl.col("host").unique().sort())
    )
    days = _part_days(history, named, decay)
    return (
        last.join(_units(own.lazy(), "part").collect(), on="part")
        .join(days, on="part")
        .join(hosts.select("host", "pool"), on="host")
        .with_columns(family_chance=pl.lit(1.0))
        .select(*UNITS.names(), "hosts")
        .sort("part")
    )


def _part_days(history: FleetHistory, named: pl.DataFrame, decay: DecayParams) -> pl.DataFrame:
    """Return `EXPOSURES` by part: the busy times of the hosts that it was in, while it was."""
    stints = history.stints.join(named, on="part", how="semi").lazy()
    spans = (
        stints.rename({"start": "since", "end": "until"})
        .join(history.spans.lazy(), on="host")
        .select(
            host="part",
            start=pl.max_horizontal("start", "since"),
            end=pl.min_horizontal("end", "until"),
        )
        .filter(pl.col("end") > pl.col("start"))
    )
    none = REPAIRS.to_frame().lazy()
    return exposures_of(spans, none, history.as_of, decay).rename({"host": "part"}).collect()


def judged(history: FleetHistory, params: LemonParams) -> pl.DataFrame:
    """Return `RATED` with `is_lemon`, `class_ratio` and `score`, nodes and parts, best first.

    Args:
        history: What happened.
        params: The thresholds.

    Returns:
        `score` ranks: failures as history fades, and a little of what the classes of the node's
        name tell. What flagged parts did is not counted against nodes.
    """
    decay, score, gate = params.history.decay, params.scores, params.gate
    of_users = history.user_hosts.filter(pl.col("chance") < gate.min_user_chance)["host"]
    passes = _passes(gate) & ~pl.col("host").is_in(of_users.implode())
    hosts = host_units(history, history.failures, decay, score)
    parts = part_units(history, hosts, decay)
    first = rated(hosts, parts, score).with_columns(is_lemon=passes)
    bad = first.filter("is_lemon").drop_nulls("part")
    rest = history.failures.join(bad, on="part", how="anti")
    again = host_units(history, rest, decay, score)
    nodes = rated(again, parts, score).filter(pl.col("part").is_null())
    second = pl.concat(
        [
            nodes.with_columns(is_lemon=passes),
            first.filter(pl.col("part").is_not_null()),
        ]
    )
    fast = replace(decay, half_life_days=score.classes.half_life_days)
    classes = rank_scores(host_units(history, history.failures, fast, score), score.classes)
    worth = pl.col("failures") + score.classes.weight * pl.col("class_ratio")
    return (
        second.join(classes, on="host", how="left")
        .with_columns(score=worth)
        .sort("score", "host", "part", descending=[True, False, False], nulls_last=True)
    )


def _passes(gate: GateParams) -> pl.Expr:
    is_named = pl.col("named_count") >= gate.min_named_jobs
    is_told = is_named | (pl.col("family_chance") <= gate.max_family_chance)
    return (
        (pl.col("q_value") <= gate.max_false_share)
        & (pl.col("failures") >= gate.min_failures)
        & (pl.col("job_count") >= gate.min_jobs)
        & is_told
    )
