"""Ask the GPUs whom a standing job waits for, where its collectives do not tell.

Source: methods of the NCCL and PyTorch reference, section 12.2: a GPU that is all busy at far less
than its usual power spins inside a communication kernel, its rank is a victim; one that is idle is
in no kernel: its rank is held up on the host, and is the suspect.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import SAMPLES, require
from detectors.placing import ROLES
from detectors.verdicts import Evidence, Subject, Verdict

_BUSY: Final = "gpu_busy_ratio"

_POWER: Final = "power_watts"


@dataclass(frozen=True, slots=True, kw_only=True)
class HangDeviceParams:
    """When GPUs tell who is held up.

    Attributes:
        max_idle_ratio: Up to so busy a GPU runs no kernel.
        min_spinning_ratio: From here on it runs one all the time.
        max_spinning_power_ratio: Of its usual power, if it only waits.
        min_working_ratio: So busy, at least, was a GPU of the job before it hung.
        max_idle_share: Above this share of the GPUs nobody is named.
        before_seconds: How long before the hang is looked at for what is usual.
    """

    max_idle_ratio: float = 0.05
    min_spinning_ratio: float = 0.95
    max_spinning_power_ratio: float = 0.8
    min_working_ratio: float = 0.3
    max_idle_share: float = 0.25
    before_seconds: float = 900.0


def told_by_devices(
    verdicts: Sequence[Verdict],
    samples: pl.LazyFrame,
    roles: pl.LazyFrame,
    params: HangDeviceParams,
) -> list[Verdict]:
    """Return the findings, hangs that name nobody on the ranks whose GPUs stood idle.

    Args:
        verdicts: Of all detectors over the same inputs.
        samples: `SAMPLES`; GPUs without readings from before and in the hang tell nothing.
        roles: `ROLES`, for the rank of a GPU, and the hosts of a run.
        params: The thresholds.

    Returns:
        The findings in order; such a hang is replaced by one on each rank that was held up, or GPU
        whose rank is not known.

    Raises:
        SchemaError: A frame lacks a column.
    """
    spans = [_open_span(one) for one in verdicts]
    if not any(spans):
        return list(verdicts)
    readings = (
        samples.pipe(require, SAMPLES)
        .filter(pl.col("device_kind") == "gpu", pl.col("signal").is_in([_BUSY, _POWER]))
        .drop_nulls(["time", "host", "device", "value"])
        .collect()
    )
    placed = roles.pipe(require, ROLES).collect()
    return [
        told
        for one, span in zip(verdicts, spans, strict=True)
        for told in (
            _held(one, _devices(readings, span, params), placed, params) if span else [one]
        )
    ]


def _open_span(verdict: Verdict) -> tuple[datetime, datetime] | None:
    """Return from when to when a hang stood that names nobody; null for all other findings."""
    if verdict.kind != "hang" or verdict.level != "job":
        return None
    if verdict.onset is None or verdict.detected is None:
        return None
    return verdict.onset, verdict.detected


def _held(
    verdict: Verdict, devices: pl.DataFrame, roles: pl.DataFrame, params: HangDeviceParams
) -> list[Verdict]:
    """Return a hang on those whose GPUs are idle; as it is where they do not tell."""
    run = verdict.subject.run
    mine = roles.filter(pl.col("run").eq_missing(pl.lit(run, dtype=pl.String)))
    hosts = mine["host"].drop_nulls().unique()
    is_there = pl.lit(hosts.is_empty()) | pl.col("host").is_in(hosts.implode())
    here = devices.filter(is_there)
    idle = here.filter(pl.col("busy") <= params.max_idle_ratio)
    spinning = here.filter(pl.col("busy") >= params.min_spinning_ratio)
    is_split = 0 < idle.height <= params.max_idle_share * here.height
    if not is_split or 2 * spinning.height <= here.height or not _spin(spinning, params):
        return [verdict]
    rows = idle.sort("host", "index", "device", nulls_last=True).to_dicts()
    return [_named(verdict, row, _rank_of(row, mine), spinning.height) for row in rows]


def _devices(
    readings: pl.DataFrame, span: tuple[datetime, datetime], params: HangDeviceParams
) -> pl.DataFrame:
    """Return one row a GPU that worked before the hang: how busy it was in it, and at what power.

    `power` is a ratio to the power before; null where either is not known.
    """
    onset, detected = span
    since = onset - timedelta(seconds=params.before_seconds)
    inside = pl.col("time").is_between(onset + (detected - onset) / 4, detected)
    before = pl.col("time").is_between(since, onset, closed="left")
    is_busy, is_power = pl.col("signal") == _BUSY, pl.col("signal") == _POWER
    return (
        readings.group_by("host", "device")
        .agg(
            pl.col("index").drop_nulls().min(),
            busy=pl.col("value").filter(inside & is_busy).median(),
            worked=pl.col("value").filter(before & is_busy).median(),
            power=pl.col("value").filter(inside & is_power).median()
            / pl.col("value").filter(before & is_power).median(),
        )
        .filter(pl.col("worked") >= params.min_working_ratio, pl.col("busy").is_not_null())
    )


def _spin(spinning: pl.DataFrame, params: HangDeviceParams) -> bool:
    """Return whether busy GPUs only wait: at their usual power they would compute."""
    power = spinning["power"].median()
    return not isinstance(power, float) or power <= params.max_spinning_power_ratio


def _rank_of(row: dict[str, Any], roles: pl.DataFrame) -> int | None:
    """Return the rank that a GPU serves; null where none or several are known."""
    is_gpu = (pl.col("gpu") == row["device"]) | (pl.col("index") == row["index"])
    ranks = roles.filter(pl.col("host") == row["host"], is_gpu)["rank"].drop_nulls().unique()
    return ranks.item() if ranks.len() == 1 else None


def _named(verdict: Verdict, row: dict[str, Any], rank: int | None, spinning: int) -> Verdict:
    """Return a hang on one GPU's rank."""
    what = (
        f"the GPU was {row['busy']:.0%} busy while {spinning} others were busy all the time: its "
        "rank runs no kernel, theirs wait in one"
    )
    return replace(
        verdict,
        level="gpu" if rank is None else "rank",
        subject=Subject(run=verdict.subject.run, host=row["host"], gpu=row["index"], rank=rank),
        cause="host_stalled",
        confidence="medium",
        evidence=(
            Evidence(source="gpu_busy_ratio", time=verdict.onset, what=what),
            *verdict.evidence,
        ),
        alternatives=(),
        needed="the stack trace of this rank's process",
        action="take the stack trace of this rank's process before it is restarted",
    )
