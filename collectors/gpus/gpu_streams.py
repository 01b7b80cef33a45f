"""From measured fields of GPUs to a reading: what every source of DCGM's or NVML's fields shares.

Exporter pages, `dcgmi dmon` and `nvidia-smi` carry the same fields with the same traps.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, conform
from collectors.gpus.clock_events import throttle_events
from collectors.gpus.ecc_events import ecc_events
from collectors.gpus.exporter_events import health_events, window_xid_events
from collectors.gpus.gpu_flags import flag_events
from collectors.gpus.gpu_presence import find_lost_gpus, gpu_counts, scrape_coverage
from collectors.gpus.last_xids import xid_events
from collectors.gpus.violation_units import unit_warnings
from collectors.metrics.samples import conflict_events, samples_of, settle_duplicates
from collectors.readings import Reading, reading_of
from collectors.texts.blanks import ERROR_REASONS

_PROFILING: Final = (
    "graphics_engine_active_ratio",
    "sm_active_ratio",
    "sm_occupancy_ratio",
    "tensor_active_ratio",
    "dram_active_ratio",
    "fp64_active_ratio",
    "fp32_active_ratio",
    "fp16_active_ratio",
)

MIN_BUSY_RATIO: Final = 0.9
"""GPUs of a host that are this busy cannot all have idle engines: the profiler is lost."""


def read_measured(measured: pl.DataFrame, source: str) -> Reading:
    """Return what measured fields of GPUs say.

    Args:
        measured: `MEASURED`, duplicates included.
        source: The name to quote in evidence.

    Returns:
        A reading with samples, the events that fields alone can show (a change of the last Xid, a
        throttle, a growing count of memory errors, a state, a lost GPU, a source in error) and the
        coverage of each GPU.
    """
    settled, conflicts = settle_duplicates(_name_resets(measured))
    cleaned = _doubt_profiling(_drop_warm_up(settled))
    polled = _poll_times(cleaned)
    lost = find_lost_gpus(polled, source)
    xids = xid_events(cleaned, source)
    events = [
        conflict_events(conflicts, source),
        xids,
        window_xid_events(cleaned, xids, source),
        health_events(cleaned, source),
        throttle_events(cleaned, source),
        ecc_events(cleaned, source),
        flag_events(cleaned, source),
        unit_warnings(cleaned, source),
        _error_events(cleaned, source),
        lost,
    ]
    coverage = [scrape_coverage(polled, source), gpu_counts(polled, lost, source)]
    return reading_of(
        samples=samples_of(cleaned, source),
        events=pl.concat(events),
        coverage=pl.concat(coverage),
    )


def _poll_times(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples at the time their poll began: its GPUs are asked one after the other."""
    first = pl.col("time").min().over("host", "page")
    return measured.with_columns(
        time=pl.when(pl.col("page").is_null()).then("time").otherwise(first)
    )


def _name_resets(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples with a negative NVLink rate called a reset: its counter restarted."""
    reset = (pl.col("signal") == "nvlink_throughput_bytes_per_second") & (
        pl.col("reason") == "out_of_range"
    )
    return measured.with_columns(
        reason=pl.when(reset).then(pl.lit("counter_reset")).otherwise("reason")
    )


def _drop_warm_up(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples without the zero that an NVLink rate begins with."""
    earliest = pl.col("position").sort_by("time", "position").first().over("entity")
    warm_up = (
        (pl.col("signal") == "nvlink_throughput_bytes_per_second")
        & (pl.col("value") == 0)
        & (pl.col("position") == earliest)
    )
    return measured.with_columns(
        value=pl.when(~warm_up.fill_null(value=False)).then("value"),
        reason=pl.when(warm_up).then(pl.lit("warmup")).otherwise("reason"),
    )


def _doubt_profiling(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples with profiling zeros doubted where all GPUs of the host are busy.

    When the profiling module is lost, all its fields read 0 on all GPUs of a host while the
    driver still says that they work.
    """
    scrape = ("host", "time", "page")
    profiling = pl.col("signal").is_in(_PROFILING)
    lost = (
        measured.lazy()
        .filter(profiling | (pl.col("signal") == "gpu_busy_ratio"))
        .group_by(scrape)
        .agg(
            active=pl.col("value").filter(profiling).max(),
            busy=pl.col("value").filter(~profiling).min(),
        )
        .filter((pl.col("active") == 0) & (pl.col("busy") >= MIN_BUSY_RATIO))
        .select(*scrape, doubt=pl.lit(value=True))
        .collect()
    )
    if lost.is_empty():
        return measured
    doubted = measured.join(lost, on=scrape, how="left", nulls_equal=True, maintain_order="left")
    wrong = pl.col("doubt").fill_null(value=False) & profiling & pl.col("reason").is_null()
    return doubted.with_columns(
        value=pl.when(~wrong).then("value"),
        reason=pl.when(wrong).then(pl.lit("prof_unreliable")).otherwise("reason"),
    ).drop("doubt")


def _error_events(measured: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one event for each GPU and each way in which its source failed."""
    rows = (
        measured.lazy()
        .filter(pl.col("reason").is_in(ERROR_REASONS))
        .sort("time", "position", maintain_order=True)
        .group_by("host", "device_kind", "device", "reason", maintain_order=True)
        .agg(
            pl.col("time", "position").first(),
            pl.len().alias("count"),
            last=pl.when(pl.len() > 1).then(pl.col("time").last()),
        )
        .with_columns(
            kind=pl.when(pl.col("reason") == "gpu_lost")
            .then(pl.lit("gpu_lost"))
            .otherwise(pl.lit("gpu_error")),
            code="reason",
            severity=pl.lit("high"),
            message=pl.format("the source answered {} instead of a value", "reason"),
            source=pl.lit(source),
        )
    )
    return conform(rows, EVENTS).collect()
