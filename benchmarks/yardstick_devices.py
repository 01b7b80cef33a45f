"""Y2, device telemetry: real drives' latency, with faults injected by the rule of the yardsticks.

A verdict counts on the drive-day in which it was detected: it is the first moment at which a causal
detector acts. A host is named by a verdict on it that names none of its devices.
"""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from benchmarks.figures import Figure
from collectors.frames import SAMPLES, conform
from detectors.device_hosts import find_slow_device_hosts
from detectors.devices import DeviceParams, find_slow_devices
from detectors.verdicts import Verdict, verdicts_of

NAME: Final = "Y2 device telemetry"
SLOW: Final = {("host_22", "disk11"), ("host_25", "disk8")}
"""Known slow for their whole life."""

DRIVE_FACTORS: Final = (1.05, 1.10, 1.20, 1.50)
HOST_FACTORS: Final = (1.2, 1.5, 2.0)
CHANCE: Final = 0.02
INTERVAL: Final = timedelta(seconds=15)

Day = tuple[str, str, str]
"""Host, disk and UTC date."""


def figures(data: Path) -> list[Figure]:
    """Return the figures of cluster A; the other cluster is kept back."""
    drives = pl.read_parquet(data / "disk-failslow" / "cluster_A.parquet")
    return [*_raw(drives), *_injected(drives)]


def samples_of(drives: pl.DataFrame) -> pl.DataFrame:
    """Return drives as `SAMPLES`."""
    frame = drives.lazy().select(
        pl.col("time").dt.replace_time_zone("UTC"),
        "host",
        pl.lit("disk").alias("device_kind"),
        pl.col("disk").alias("device"),
        pl.lit("latency_seconds").alias("signal"),
        (pl.col("latency").cast(pl.Float64) / 1000.0).alias("value"),
        pl.lit("drives").alias("source"),
    )
    return conform(frame, SAMPLES).collect()


def _told(drives: pl.DataFrame) -> list[Verdict]:
    samples = samples_of(drives).lazy()
    params = DeviceParams()
    return [
        *verdicts_of(find_slow_devices(samples, params)),
        *verdicts_of(find_slow_device_hosts(samples, params)),
    ]


def _alarms(found: Sequence[Verdict]) -> dict[Day, datetime]:
    """Return the first alarm of each drive-day."""
    alarms: dict[Day, datetime] = {}
    for one in found:
        if one.subject.device is None or one.detected is None:
            continue
        day = (str(one.subject.host), one.subject.device, f"{one.detected:%Y-%m-%d}")
        alarms[day] = min(alarms.get(day, one.detected), one.detected)
    return alarms


def _raw(drives: pl.DataFrame) -> list[Figure]:
    """Return the figures of Y2a: every drive-day of the slow drives, no other."""
    alarms = _alarms(_told(drives))
    days = drives["time"].dt.date().n_unique()
    found = {day for day in alarms if day[:2] in SLOW}
    others = sorted(set(alarms) - found)
    wanted = len(SLOW) * days
    return [
        Figure(
            yardstick=NAME,
            what="raw: slow drive-days alarmed",
            value=f"{len(found)} of {wanted}, {len(others)} others",
            bar="all, no other",
            holds=len(found) == wanted and not others,
            beside="a simple rolling peer ratio finds all",
        )
    ]


def chances(text: str) -> list[float]:
    """Return the three numbers below 1 that the yardstick's rule takes from a text."""
    digest = hashlib.sha256(text.encode()).digest()
    return [int.from_bytes(digest[8 * at : 8 * at + 8]) / 2**64 for at in range(3)]


def plan(drives: pl.DataFrame, cluster: str) -> pl.DataFrame:
    """Return what is injected: host, disk (null: all of them), day, sample and factor."""
    names = (
        drives.select("host", "disk", day=pl.col("time").dt.date().cast(pl.String))
        .unique()
        .sort("host", "day", "disk")
    )
    rows: list[tuple[str, str | None, str, int, float]] = []
    for (host, day), disks in names.group_by("host", "day", maintain_order=True):
        some, at, which = chances(f"host|{cluster}|{host}|{day}")
        if some < CHANCE:
            factor = HOST_FACTORS[int(3 * which)]
            rows.append((str(host), None, str(day), 240 + int(240 * at), factor))
            continue
        for disk in disks["disk"]:
            some, at, which = chances(f"{cluster}|{host}|{disk}|{day}")
            if some < CHANCE and (host, disk) not in SLOW:
                factor = DRIVE_FACTORS[int(4 * which)]
                rows.append((str(host), disk, str(day), 240 + int(240 * at), factor))
    columns = {"host": pl.String, "disk": pl.String, "day": pl.String}
    return pl.DataFrame(
        rows, schema={**columns, "sample": pl.Int64, "factor": pl.Float64}, orient="row"
    )


def injected(drives: pl.DataFrame, planned: pl.DataFrame) -> pl.DataFrame:
    """Return the drives with the planned faults in their latency."""
    day = pl.col("time").dt.date().cast(pl.String)
    passed = (pl.col("time") - pl.col("time").min().over("day")) / INTERVAL
    rows = drives.with_columns(day=day).with_columns(at=passed.round().cast(pl.Int64))
    hosts = planned.filter(pl.col("disk").is_null()).drop("disk")
    rows = rows.join(hosts, on=["host", "day"], how="left").join(
        planned.drop_nulls("disk"), on=["host", "disk", "day"], how="left", suffix="_own"
    )
    since = pl.coalesce("sample", "sample_own")
    factor = pl.when(pl.col("at") >= since).then(pl.coalesce("factor", "factor_own"))
    return rows.with_columns(latency=pl.col("latency") * factor.fill_null(1.0))


def _injected(drives: pl.DataFrame) -> list[Figure]:
    """Return the figures of Y2b."""
    planned = plan(drives, "cluster_A")
    rows = injected(drives, planned)
    told = _told(rows.select(drives.columns))
    starts = dict(
        rows.group_by("day").agg(pl.col("time").min().dt.replace_time_zone("UTC")).iter_rows()
    )
    alarms = {day: round((time - starts[day[2]]) / INTERVAL) for day, time in _alarms(told).items()}
    hosts = {
        (str(one.subject.host), f"{one.detected:%Y-%m-%d}")
        for one in told
        if one.subject.device is None and one.detected is not None
    }
    days = rows.select("host", "disk", "day").unique().height
    return _scores(planned, alarms, hosts, days)


def _scores(
    planned: pl.DataFrame, alarms: dict[Day, int], hosts: set[tuple[str, str]], days: int
) -> list[Figure]:
    confounders = {(row[0], row[2]) for row in planned.iter_rows() if row[1] is None}
    faults = {(row[0], row[1], row[2]): row[3:] for row in planned.iter_rows() if row[1]}
    blamed = [day for day in alarms if (day[0], day[2]) in confounders and day[:2] not in SLOW]
    hits = {day: at for day, at in alarms.items() if day in faults and at >= faults[day][0]}
    false = [
        day
        for day in alarms
        if day not in hits and day[:2] not in SLOW and (day[0], day[2]) not in confounders
    ]
    judged = days - 12 * len(confounders)
    by_factor = {
        factor: [day in hits for day, (_, one) in faults.items() if one == factor]
        for factor in DRIVE_FACTORS
    }
    delays = [at - faults[day][0] for day, at in hits.items() if faults[day][1] == 1.5]  # noqa: PLR2004 -- the strongest factor
    rates = {factor: float(np.mean(found)) for factor, found in by_factor.items()}
    f1 = 2 * len(hits) / (len(hits) + len(false) + len(faults))
    per_thousand = 1000 * len(false) / judged
    delay = float(np.median(delays)) if delays else float("inf")
    other_hosts = hosts - confounders
    return [
        _figure(
            "injected: false alarms per 1000 drive-days",
            f"{per_thousand:.2f} ({len(false)} in {judged})",
            "at most 1.0",
            holds=per_thousand <= 1.0,
            beside="own history 46, peer CUSUM 523, Otava 113, rolling 60 0.97",
        ),
        _figure(
            "injected: recall at 1.5x, median delay",
            f"{rates[1.5]:.2f}, {delay:.0f} samples",
            "0.98, 40 samples",
            holds=rates[1.5] >= 0.98 and delay <= 40,  # noqa: PLR2004 -- the yardstick's own numbers
            beside="rolling 60: 1.00, 38; rolling 120: 0.96, 75",
        ),
        _figure(
            "injected: recall at 1.05x/1.10x/1.20x",
            "/".join(f"{rates[factor]:.2f}" for factor in DRIVE_FACTORS[:3]),
            "0.25 at 1.20x, stretch 0.35",
            holds=rates[1.2] >= 0.25,  # noqa: PLR2004 -- the yardstick's own number
            beside="rolling 60: .02/.00/.12; rolling 120: .02/.04/.18",
        ),
        _figure(
            "injected: F1",
            f"{f1:.3f}",
            "stretch 0.48",
            holds=f1 >= 0.48,  # noqa: PLR2004 -- the yardstick's own number
            beside="own history 0.155, Otava 0.157, rolling 60 0.375, rolling 120 0.402",
        ),
        _figure(
            "injected: drives alarmed on confounded host-days",
            str(len(blamed)),
            "at most 1",
            holds=len(blamed) <= 1,
            beside="own history 329, peer CUSUM 227, Otava 26, rolling 60 1 (of 408)",
        ),
        _figure(
            "injected: confounded host-days named at host level",
            f"{len(confounders & hosts)} of {len(confounders)}, {len(other_hosts)} others",
            "85 %",
            holds=len(confounders & hosts) >= 0.85 * len(confounders),
        ),
    ]


def _figure(what: str, value: str, bar: str, *, holds: bool, beside: str = "") -> Figure:
    return Figure(yardstick=NAME, what=what, value=value, bar=bar, holds=holds, beside=beside)
