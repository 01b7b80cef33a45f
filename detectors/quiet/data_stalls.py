"""Find stalls of the input that come and go: of a store for all ranks, of a host, of a rack.

A loader that runs dry for a few steps makes nobody slow for long, so no level or change of a rank
shows it. Where ranks of many hosts wait for their data in the same steps, it is what they share.
Source: methods reference, sections 6 (60 % of the children, three at least, speak as their parent)
and 8 (storage: the gap before the first forward pass hits many ranks at once, or by node; what
recurs every so many steps is planned); field reference (a storage target is one of the things that
the pace of a cluster hangs on).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from collectors.frames import STEPS, require
from detectors.placing import ROLES
from detectors.promotion import RACK
from detectors.verdicts import Evidence, Kind, Level, Subject, Verdict, verdict_frame

CAUSE: Final = "data_stalls"

JOB: Final = ("run", "attempt")

STEP: Final = (*JOB, "step")

MAX_QUOTED: Final = 3

CHANCE_HOSTS: Final = 4.0
"""Hosts at once over those that stall in the mean step, above which they do not by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StallParams:
    """When waits for data are stalls.

    Attributes:
        min_usual_ratio: A wait over the rank's usual one, at least.
        min_step_ratio: What the wait is longer, over the job's usual step.
        min_share: Of a host's ranks, a rack's hosts or a job's ranks that wait at once.
        min_children: Ranks of a host, hosts of a rack, that are enough for a share.
        min_hosts_share: Of a job's hosts that wait at once where it is the job's matter, even if
            their ranks are no majority.
        min_stalls: Steps that stall.
        max_run_steps: Stalls that last longer are slowness, which other detectors tell.
        max_locked_share: Of the distances between stalls that are the same number of steps, above
            which they are planned: an epoch begins, a shard is opened.
        min_loss: Share of the job's time.
    """

    min_usual_ratio: float = 3.0
    min_step_ratio: float = 0.25
    min_share: float = 0.6
    min_children: int = 3
    min_hosts_share: float = 0.2
    min_stalls: int = 3
    max_run_steps: int = 15
    max_locked_share: float = 0.9
    min_loss: float = 0.005


def find_data_stalls(steps: pl.LazyFrame, roles: pl.LazyFrame, params: StallParams) -> pl.DataFrame:
    """Return the stalls of input by the smallest domain that holds them.

    Args:
        steps: `STEPS`, cleaned; a null `data_seconds` is not told and is no stall.
        roles: `ROLES`, for hosts of ranks that do not tell theirs.
        params: The thresholds.

    Returns:
        `VERDICTS` of cause data_stalls: kind group_slow at level job, or flapping at level rack or
        host; one row a run, attempt and domain. No rank is named. Partition key: run and attempt.

    Raises:
        SchemaError: A frame lacks a column.
    """
    waits = _waits(steps.pipe(require, STEPS), roles.pipe(require, ROLES), params)
    placed = _placed(waits, params)
    found = _recurring(placed, params).collect()
    return verdict_frame(_verdicts(found, params))


def _waits(steps: pl.LazyFrame, roles: pl.LazyFrame, params: StallParams) -> pl.LazyFrame:
    """Return each told wait with its host and rack, and whether it is a stall."""
    keys = ["run", "attempt", "rank"]
    placed = roles.select(*keys, "host").unique(keys, keep="first", maintain_order=True)
    data, usual = pl.col("data_seconds"), pl.col("usual")
    is_long = (data >= params.min_usual_ratio * usual) & (
        data - usual >= params.min_step_ratio * pl.col("usual_step")
    )
    return (
        steps.filter(data.is_finite())
        .drop_nulls("step")
        .join(placed, on=keys, how="left", suffix="_role", nulls_equal=True)
        .with_columns(host=pl.coalesce("host", "host_role"))
        .with_columns(
            rack=pl.col("host").str.extract(RACK),
            usual=data.median().over(keys),
            usual_step=pl.col("step_seconds").median().over(JOB),
        )
        .with_columns(is_stall=is_long.fill_null(value=False), extra=data - usual)
    )


def _placed(waits: pl.LazyFrame, params: StallParams) -> pl.LazyFrame:
    """Return one row a step that stalls, with the level and domain that holds its stalls."""
    stalls = pl.col("is_stall")
    by_host = (
        waits.with_columns(is_paused=(pl.col("checkpoint_seconds") > 0).any().over(STEP))
        .filter(~pl.col("is_paused").fill_null(value=False))
        .group_by(*STEP, "host", "rack")
        .agg(
            pl.col("end_time").min(),
            pl.col("source").min(),
            pl.col("usual_step").first(),
            pl.col("step_seconds").max(),
            ranks=pl.col("rank").is_not_null().sum(),
            whole=pl.col("rank").is_null().any(),
            stalled=stalls.sum(),
            extra=pl.col("extra").filter(stalls).max(),
        )
    )
    is_host = (pl.col("stalled") >= params.min_share * pl.col("ranks")) & (
        pl.col("ranks") >= params.min_children
    )
    is_some = pl.col("stalled") > 0
    hit = pl.col("host").filter(is_some)
    rows = (
        by_host.with_columns(
            is_host=is_host,
            rack_hosts=pl.col("host").n_unique().over([*JOB, "rack"]),
        )
        .group_by(STEP)
        .agg(
            pl.col("end_time").min(),
            pl.col("source").min(),
            pl.col("usual_step").first(),
            pl.col("step_seconds").max(),
            pl.col("extra").max(),
            pl.col("stalled", "ranks").sum(),
            whole=pl.col("whole").any(),
            hosts=pl.col("host").n_unique(),
            hit_hosts=hit.drop_nulls().n_unique(),
            host=hit.sort().first(),
            full=(is_some & pl.col("is_host")).sum(),
            racks=pl.col("rack").filter(is_some).n_unique(),
            rack=pl.col("rack").filter(is_some).sort().first(),
            rack_hosts=pl.col("rack_hosts").filter(is_some).first(),
        )
        .sort(STEP)
    )
    by_chance = CHANCE_HOSTS * (pl.col("hit_hosts").mean().over(JOB) + 0.5)
    return (
        rows.with_columns(by_chance=by_chance)
        .with_columns(level=_level(params))
        .with_columns(
            domain=pl.when(pl.col("level") == "host")
            .then("host")
            .when(pl.col("level") == "rack")
            .then("rack")
        )
    )


def _level(params: StallParams) -> pl.Expr:
    """Return which domain holds the stalls of a step; null where it is a rank or two."""
    stalled, ranks = pl.col("stalled"), pl.col("ranks")
    is_whole = pl.col("whole") & (stalled > 0) & (ranks == 0)
    many_ranks = (stalled >= params.min_share * ranks) & (ranks >= params.min_children)
    many_hosts = pl.col("hit_hosts") >= pl.max_horizontal(
        params.min_children, params.min_hosts_share * pl.col("hosts"), "by_chance"
    )
    rack = (
        (pl.col("racks") == 1)
        & (pl.col("hit_hosts") >= params.min_children)
        & (pl.col("hit_hosts") >= params.min_share * pl.col("rack_hosts"))
        & (pl.col("hit_hosts") == pl.col("full"))
        & (pl.col("rack_hosts") < pl.col("hosts"))
    )
    host = (pl.col("hit_hosts") == 1) & (pl.col("full") == 1) & (pl.col("hosts") > 1)
    return (
        pl.when(stalled == 0)
        .then(None)
        .when(host)
        .then(pl.lit("host"))
        .when(rack)
        .then(pl.lit("rack"))
        .when(is_whole | many_ranks | many_hosts)
        .then(pl.lit("job"))
    )


def _recurring(placed: pl.LazyFrame, params: StallParams) -> pl.LazyFrame:
    """Return one row a domain whose stalls come and go often enough."""
    domain = [*JOB, "level", "domain"]
    total = pl.col("step_seconds").sum().over(JOB)
    turn = pl.int_range(pl.len()).over(JOB)
    begins = (pl.col("turn").diff().over(domain).fill_null(2) > 1).cum_sum().over(domain)
    return (
        placed.with_columns(total=total, turn=turn)
        .drop_nulls("level")
        .with_columns(spell=begins)
        .filter(pl.len().over([*domain, "spell"]) <= params.max_run_steps)
        .sort(*domain, "step", nulls_last=True)
        .group_by(domain, maintain_order=True)
        .agg(
            pl.col("end_time", "step", "source", "total", "hosts", "ranks").first(),
            detected=pl.col("end_time").slice(params.min_stalls - 1).first(),
            stalls=pl.len(),
            spells=pl.col("spell").n_unique(),
            extra=pl.col("extra").median(),
            lost=pl.col("extra").sum(),
            hit_hosts=pl.col("hit_hosts").median(),
            stalled=pl.col("stalled").median(),
            steps=pl.col("step"),
            locked=_locked(),
        )
        .filter(
            pl.col("stalls") >= params.min_stalls,
            pl.col("spells") > 1,
            pl.col("lost") >= params.min_loss * pl.col("total"),
        )
    )


def _locked() -> pl.Expr:
    """Return the share of the distances between stalls that are the usual one; two tell nothing."""
    gaps = pl.col("step").unique().sort().diff().drop_nulls()
    return pl.when(gaps.len() > 1).then((gaps == gaps.mode().min()).mean())


def _verdicts(found: pl.DataFrame, params: StallParams) -> Iterator[Verdict]:
    planned = (pl.col("locked") >= params.max_locked_share).fill_null(value=False)
    for row in found.filter(~planned).iter_rows(named=True):
        yield _verdict(row)


def _verdict(row: dict[str, Any]) -> Verdict:
    level: Level = row["level"]
    kind: Kind = "group_slow" if level == "job" else "flapping"
    loss = row["lost"] / row["total"]
    where = f" on {row['hit_hosts']:.0f} hosts" if row["hit_hosts"] else ""
    who = f"{row['stalled']:.0f} of {row['ranks']} ranks{where}"
    what = (
        f"input stalls {row['extra']:.3g} s in {row['stalls']} steps ({row['spells']} times), "
        f"{who if row['ranks'] else 'as the job tells'}; the job loses {loss:.1%} of its time"
    )
    shown = ", ".join(str(step) for step in row["steps"][:MAX_QUOTED])
    source = row["source"] or "steps"
    return Verdict(
        kind=kind,
        level=level,
        subject=Subject(
            run=row["run"],
            attempt=row["attempt"],
            host=row["domain"] if level == "host" else None,
            rack=row["domain"] if level == "rack" else None,
        ),
        onset=row["end_time"],
        detected=row["detected"],
        onset_step=row["step"],
        slowdown=1.0 / (1.0 - min(loss, 0.99)),
        cause=CAUSE,
        confidence="medium",
        peers="the ranks' own usual wait for data",
        peer_count=row["ranks"],
        evidence=(
            Evidence(source=source, time=row["end_time"], what=what),
            Evidence(source=source, time=row["end_time"], what=f"first at the steps {shown}"),
        ),
        action=_ACTIONS[level],
        needed="latency of the store as its clients see it, host by host",
    )


_ACTIONS: Final = {
    "job": "look at the store and its network: all wait for it at once; no rank is at fault",
    "rack": "look at what the hosts of this rack share on the way to the store",
    "host": "look at this host's mount, page cache and loader workers; no GPU is at fault",
}
