"""Find devices whose telemetry fell silent or froze while their siblings' goes on.

Source: methods reference, sections 1 and 11; GPU stream reference, section 2.9: a GPU whose series
end is one of the strongest hardware signals, and a frozen exporter shows perfect health.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import polars as pl

from collectors.frames import EVENTS, SAMPLES, require
from detectors.cleaning import CleaningParams, fresh_gauges
from detectors.verdicts import Evidence, Subject, Verdict, verdict_frame

NOISY_SIGNALS: Final = ("power_watts", "power_instant_watts")
"""Gauges that never stand still on a live device; clocks and temperatures may."""


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
        samples: `SAMPLES`; a host that is silent as a whole is no finding of this detector.
        events: `EVENTS`; kinds gpu_series_lost and gpu_series_back tell vanished series.
        params: The thresholds.

    Returns:
        `VERDICTS` of kind telemetry_lost: cause `silent` or `stale`. Partition key: host.
    """
    return verdict_frame([*_silent(events), *_frozen(samples, params)])


def _silent(events: pl.LazyFrame) -> list[Verdict]:
    rows = (
        events.pipe(require, EVENTS)
        .filter(pl.col("kind").is_in(["gpu_series_lost", "gpu_series_back"]))
        .sort("host", "device", "time", "kind")
        .with_columns(back=pl.col("time").shift(-1).over("host", "device"))
        .filter(pl.col("kind") == "gpu_series_lost")
        .collect()
    )
    return [
        _verdict(row, "silent", row["back"], "its series ended while its siblings' went on")
        for row in rows.iter_rows(named=True)
    ]


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
