"""Find hosts whose GPUs stand still now and then, each host at its own time, by device signals.

Where nobody reports steps, the activity of GPUs tells of pauses that are longer than the time
between two scrapes: those of a host that pauses fall, those of the others spin in a collective.
One host that dips alone may as well be the one that writes checkpoints, so only several hosts with
one period and different phases are a finding. Source: field reference (Imbue: each host collecting
garbage on its own shows as sags); methods reference, sections 1 (a common cadence) and 3.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import polars as pl

from collectors.frames import SAMPLES, require
from detectors.peers import MAD_TO_SIGMA
from detectors.placing import ROLES
from detectors.quiet.periodic_sags import CAUSE, DEVICE_PEERS, MIN_SEEN
from detectors.quiet.rhythms import Rhythm, RhythmParams, find_rhythm
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

ACTIVITIES: Final = ("sm_active_ratio", "gpu_busy_ratio", "power_watts")
"""Signals of how busy a GPU is, the surest first; the first that is there counts."""

MAX_QUOTED: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityParams:
    """When dips of activity are pauses that recur.

    Attributes:
        rhythm: When they recur.
        min_ratio: Activity of the other hosts over that of one that pauses.
        min_noise_ratio: And so many times the noise.
        max_share: Of a host's ticks: what dips more often is slow.
        min_hosts: Hosts of a run that are compared.
        min_pausing: Hosts that pause.
        min_host_dips: Dips of each of them.
        max_together_share: Of them that dip in one tick, at the median dip.
        min_loss: Share of the ticks in which any of them dips, times its depth.
    """

    rhythm: RhythmParams = field(default_factory=RhythmParams)
    min_ratio: float = 1.3
    min_noise_ratio: float = 5.0
    max_share: float = 0.2
    min_hosts: int = 4
    min_pausing: int = 2
    min_host_dips: int = 4
    max_together_share: float = 0.5
    min_loss: float = 0.005


def find_activity_sags(
    samples: pl.LazyFrame, roles: pl.LazyFrame, params: ActivityParams
) -> pl.DataFrame:
    """Return the runs whose hosts pause each at its own time, by the activity of their GPUs.

    Args:
        samples: `SAMPLES`; a null value was not told and is no dip.
        roles: `ROLES`, for the run of hosts whose samples do not tell it.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind imbalance and cause unsynchronised_pauses, at level job, or group where
        the run is not known; no host is named as a culprit. Partition key: host.

    Raises:
        SchemaError: A frame lacks a column.
    """
    known = samples.pipe(require, SAMPLES).filter(
        pl.col("device_kind") == "gpu", pl.col("signal").is_in(ACTIVITIES), pl.col("value") > 0
    )
    there = set(known.select(pl.col("signal").unique()).collect()["signal"])
    chosen = next((name for name in ACTIVITIES if name in there), "")
    rows = known.filter(pl.col("signal") == chosen).drop_nulls(["time", "host"])
    cadence = _cadence(rows)
    if cadence is None:
        return verdict_frame([])
    hosts = _host_ticks(rows, roles.pipe(require, ROLES), cadence)
    dips = _dips(hosts, params).collect()
    whole = hosts.group_by("run").agg(pl.col("tick").n_unique(), pl.col("tick").max().alias("last"))
    ticks = {run: (count, last) for run, count, last in whole.collect().iter_rows()}
    told = (
        _judge(part, ticks[part["run"][0]], cadence, params)
        for part in dips.partition_by("run", maintain_order=True)
    )
    return verdict_frame(one for one in told if one is not None)


def _cadence(rows: pl.LazyFrame) -> float | None:
    """Return the usual seconds between two readings of a device; null where there is none."""
    seconds = (pl.col("time").max() - pl.col("time").min()).dt.total_microseconds() / 1e6
    each = (
        rows.group_by("host", "device")
        .agg(every=seconds / (pl.col("time").n_unique() - 1))
        .filter(pl.col("every").is_finite(), pl.col("every") > 0)
        .collect()["every"]
    )
    return float(np.median(each.to_numpy())) if each.len() else None


def _host_ticks(rows: pl.LazyFrame, roles: pl.LazyFrame, cadence: float) -> pl.LazyFrame:
    """Return the log activity of each host at each tick, with its run as far as it is known."""
    places = (
        roles.drop_nulls(["host", "run"])
        .group_by("host")
        .agg(pl.col("run").unique())
        .filter(pl.col("run").list.len() == 1)
        .select("host", placed=pl.col("run").list.first())
    )
    since = pl.col("time") - pl.col("time").min()
    tick = (since.dt.total_microseconds() / (1e6 * cadence)).round().cast(pl.Int64)
    return (
        rows.with_columns(tick=tick)
        .group_by("run", "host", "tick")
        .agg(pl.col("value").median().log(), pl.col("time").min())
        .join(places, on="host", how="left")
        .with_columns(run=pl.coalesce("run", "placed"))
        .drop("placed")
        .collect()
        .lazy()
    )


def _dips(hosts: pl.LazyFrame, params: ActivityParams) -> pl.LazyFrame:
    """Return the first ticks of dips of a host against the others, with their depth."""
    ratio, host = pl.col("ratio"), ["run", "host"]
    offset = pl.col("value").median().over("run", "tick") - pl.col("value")
    least = pl.max_horizontal(
        pl.lit(params.min_ratio).log(), params.min_noise_ratio * pl.col("noise")
    )
    return (
        hosts.filter(pl.len().over("run", "tick") >= params.min_hosts)
        .with_columns(ratio=offset)
        .with_columns(ratio=ratio - ratio.median().over(host))
        .with_columns(noise=MAD_TO_SIGMA * ratio.abs().median().over("run"))
        .with_columns(is_dip=ratio >= least)
        .filter(pl.col("is_dip").mean().over(host) <= params.max_share)
        .filter("is_dip")
        .sort(*host, "tick", nulls_last=True)
        .filter(pl.col("tick").diff().over(host).fill_null(2) > 1)
        .with_columns(depth=1.0 - (-ratio).exp())
    )


def _judge(
    part: pl.DataFrame, ticks: tuple[int, int], cadence: float, params: ActivityParams
) -> Verdict | None:
    """Return the verdict on the dips of a run's hosts."""
    rows = part.with_columns(thing=pl.col("host").rank("dense").cast(pl.Int64) - 1)
    rows = rows.sort("thing", "tick")
    things, moments = rows["thing"].to_numpy(), rows["tick"].to_numpy() * cadence
    rhythm = find_rhythm(things, moments, ticks[1] * cadence, 1.1 * cadence, params.rhythm)
    if rhythm is None:
        return None
    kept = rows.head(rhythm.is_part.size).filter(pl.Series(rhythm.is_part)).sort("tick", "host")
    count = pl.len().over("host")
    pausing = kept.filter(count >= params.min_host_dips).with_columns(
        together=pl.len().over("tick")
    )
    names = pausing["host"].unique().sort().to_list()
    if len(names) < params.min_pausing:
        return None
    usual = float(np.median(pausing["together"].to_numpy())) / len(names)
    by_tick = pausing.group_by("tick").agg(pl.col("depth").max())
    loss = float(by_tick["depth"].sum()) / ticks[0]
    if usual > params.max_together_share or loss < params.min_loss:
        return None
    return _verdict(pausing, names, rhythm, loss)


def _verdict(rows: pl.DataFrame, names: list[str], rhythm: Rhythm, loss: float) -> Verdict:
    first: dict[str, Any] = rows.row(0, named=True)
    phases = rows.group_by("host").agg(pl.col("time").first()).sort("time", "host")
    shown = ", ".join(
        f"{host} at {(time - first['time']).total_seconds() % rhythm.seconds:.3g} s"
        for host, time in phases.head(MAX_QUOTED).iter_rows()
    )
    what = (
        f"GPUs of {len(names)} hosts stand still every {rhythm.seconds:.4g} s "
        f"({rhythm.share:.0%} of the times), each host at its own phase: {shown}"
    )
    group = None if first["run"] is not None else " + ".join(names[:MAX_QUOTED])
    return Verdict(
        kind="imbalance",
        level="job" if group is None else "group",
        subject=Subject(run=first["run"], group=group),
        onset=first["time"],
        detected=rows["time"][min(MIN_SEEN, rows.height - 1)],
        slowdown=1.0 / (1.0 - min(loss, 0.99)),
        cause=CAUSE,
        confidence="medium",
        peers=DEVICE_PEERS,
        peer_count=len(names),
        evidence=(Evidence(source="samples", time=first["time"], what=what),),
        action="no device to drain: let all hosts pause at the same time, and look at what runs on "
        "them with that period",
        needed="time of each rank's own work tells how much of a step a pause takes",
    )
