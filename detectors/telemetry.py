"""Find devices whose telemetry fell silent or froze while their siblings' goes on.

Source: methods reference, sections 1 and 11; GPU stream reference, section 2.9: a GPU whose series
end is one of the strongest hardware signals, and a frozen exporter shows perfect health.
"""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, SAMPLES, require
from detectors.cleaning import CleaningParams, fresh_gauges
from detectors.silent_devices import silent_gpus
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

NOISY_SIGNALS: Final = ("power_watts", "power_instant_watts")
"""Gauges that never stand still on a live device; clocks and temperatures may."""

SILENCING_XIDS: Final = ("79", "119", "120")
"""Xids after which a GPU answers nobody: off the bus, or its own processor dead."""

MAX_LOSS_APART: Final = timedelta(minutes=15)
"""From a GPU's loss to the first scrape without it, with slow scrapes and drifting clocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryParams:
    """When telemetry counts as lost.

    Attributes:
        cleaning: When a gauge is stale.
    """

    cleaning: CleaningParams = field(default_factory=CleaningParams)


def find_lost_telemetry(
    samples: pl.LazyFrame, events: pl.LazyFrame, params: TelemetryParams
) -> pl.DataFrame:
    """Return the devices that went silent or froze.

    Args:
        samples: `SAMPLES`; a host that is silent as a whole is no finding of this detector, one
            whose power readings all repeat until the data end is.
        events: `EVENTS`; kinds gpu_series_lost and gpu_series_back tell vanished series.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind telemetry_lost: cause `silent` or `stale`, or that of the GPU's loss
        (`gpu_lost`, `xid_79`) where its host's kernel tells it. Partition key: host.
    """
    still = _still_hosts(samples, params)
    hosts = still["host"].to_list()
    gpus = [one for one in _frozen(samples, params) if one.subject.host not in hosts]
    told = [*_silent(events), *gpus, *_frozen_hosts(still)]
    known = {(one.subject.host, one.subject.device) for one in told}
    return verdict_frame([*told, *_silent_in_tables(samples, known)])


def _silent_in_tables(
    samples: pl.LazyFrame, known: set[tuple[str | None, str | None]]
) -> list[Verdict]:
    """Return the GPUs whose readings end while siblings' go on, where nothing else tells of it."""
    return [
        _verdict(
            row,
            "silent",
            None,
            f"no reading for {row['seconds']:.0f} s while its siblings' go on",
        )
        for row in silent_gpus(samples).iter_rows(named=True)
        if (row["host"], row["device"]) not in known
    ]


def _silent(events: pl.LazyFrame) -> list[Verdict]:
    known = events.pipe(require, EVENTS)
    rows = (
        known.filter(pl.col("kind").is_in(["gpu_series_lost", "gpu_series_back"]))
        .sort("host", "device", "time", "kind")
        .with_columns(back=pl.col("time").shift(-1).over("host", "device"))
        .filter(pl.col("kind") == "gpu_series_lost")
        .with_row_index("row")
        .collect()
    )
    losses = _losses(rows, known)
    verdicts = [
        _verdict(row, "silent", row["back"], "its series ended while its siblings' went on")
        for row in rows.iter_rows(named=True)
    ]
    return [
        _with_loss(verdict, losses[at]) if at in losses else verdict
        for at, verdict in enumerate(verdicts)
    ]


def _losses(rows: pl.DataFrame, events: pl.LazyFrame) -> dict[int, dict[str, Any]]:
    """Return what the kernel said of the loss of a GPU, by the row of its silence.

    A GPU that one of the two only numbers may be any of its host: a lost card is not in the list
    of those that are left, so nothing else can tell.
    """
    is_loss = (pl.col("kind") == "gpu_lost") | (
        (pl.col("kind") == "xid") & pl.col("code").is_in(SILENCING_XIDS)
    )
    told = events.filter(is_loss).collect()
    device, other = pl.col("device"), pl.col("device_told")
    same = (device == other).fill_null(value=True)
    numbered = device.str.contains(r"^\d+$") | other.str.contains(r"^\d+$")
    near = (pl.col("time") - pl.col("time_told")).abs() <= MAX_LOSS_APART
    pairs = (
        rows.join(told, on="host", suffix="_told")
        .filter(same | numbered, near.fill_null(value=True))
        .sort(~same, "time_told", "source_told", "position_told", nulls_last=True)
        .unique("row", keep="first", maintain_order=True)
    )
    return {row["row"]: row for row in pairs.iter_rows(named=True)}


def _with_loss(verdict: Verdict, loss: dict[str, Any]) -> Verdict:
    """Return the finding with the kernel's word on the GPU: it is lost, not its exporter stuck."""
    cause = "gpu_lost" if loss["kind_told"] == "gpu_lost" else f"xid_{loss['code_told']}"
    number = "" if loss["code_told"] is None else f"Xid {loss['code_told']}: "
    what = f"{number}{loss['message_told'] or 'the driver lost the GPU'}"
    said = Evidence(source=loss["source_told"] or "kernel log", time=loss["time_told"], what=what)
    return replace(
        verdict,
        cause=cause,
        confidence="high",
        evidence=(said, *verdict.evidence),
        action="take the host out of service, restart it, and look after the card if it stays lost",
        needed=None,
    )


def _frozen(samples: pl.LazyFrame, params: TelemetryParams) -> list[Verdict]:
    noisy = samples.pipe(require, SAMPLES).filter(pl.col("signal").is_in(NOISY_SIGNALS))
    rows = (
        fresh_gauges(noisy, params.cleaning)
        .filter("stale")
        .group_by("host", "device")
        .agg(
            pl.col("time").min(),
            pl.len().alias("readings"),
            pl.col("signal").min().alias("signal"),
        )
        .sort("host", "device")
        .collect()
    )
    return [
        _verdict(
            row,
            "stale",
            None,
            f"{row['signal']} repeats bit by bit over {row['readings']} readings, siblings move",
        )
        for row in rows.iter_rows(named=True)
    ]


def _still_hosts(samples: pl.LazyFrame, params: TelemetryParams) -> pl.DataFrame:
    """Return the hosts all of whose GPUs repeat their last power until the data end.

    Returns:
        `host`, `time` since when, `readings` and `gpus` that stand still, and `tells`: whether all
        have a fraction. Whole watts of idle GPUs may stand still, so they tell nothing.
    """
    value, time = pl.col("value"), pl.col("time")
    moved = time.filter(value != value.last()).max()
    is_still = (time > moved).fill_null(value=True)
    gpus = (
        samples.pipe(require, SAMPLES)
        .filter(pl.col("signal").is_in(NOISY_SIGNALS), pl.col("device_kind") == "gpu")
        .drop_nulls(["value", "time", "host"])
        .sort("host", "device", "signal", "time", "value")
        .group_by("host", "device", "signal", maintain_order=True)
        .agg(value.last(), readings=is_still.sum(), time=time.filter(is_still).min())
    )
    return (
        gpus.group_by("host")
        .agg(
            pl.col("time").max(),
            pl.col("readings").min(),
            device=pl.lit(None, pl.String),
            gpus=pl.col("device").n_unique(),
            tells=(value % 1 != 0).all(),
        )
        .filter(pl.col("gpus") > 1, pl.col("readings") >= params.cleaning.stale_ticks)
        .sort("host")
        .collect()
    )


def _frozen_hosts(still: pl.DataFrame) -> list[Verdict]:
    """Return the hosts whose exporter is stuck.

    A host engine that was restarted behind its exporter leaves the old values there for ever.
    """
    return [
        replace(
            _verdict(row, "stale", None, _standing(row)),
            level="host",
            action="restart the host engine and the exporter of this host: its GPUs are not known "
            "to be healthy",
            needed="readings of the host's GPUs that move",
        )
        for row in still.filter("tells").iter_rows(named=True)
    ]


def _standing(row: dict[str, Any]) -> str:
    return f"the power of all {row['gpus']} GPUs repeats bit by bit over {row['readings']} readings"


def _verdict(row: dict[str, Any], cause: str, cleared: Any, what: str) -> Verdict:  # noqa: ANN401 -- a time or null, straight from a frame
    return Verdict(
        kind="telemetry_lost",
        level="gpu",
        subject=Subject(host=row["host"], device=row["device"]),
        onset=row["time"],
        detected=row["time"],
        cleared=cleared,
        cause=cause,
        confidence="medium",
        evidence=(Evidence(source="samples", time=row["time"], what=what),),
        action="check the kernel log for this GPU (Xid 79, 119), then the exporter",
        needed="the host's kernel log tells a lost GPU from a stuck exporter",
    )
