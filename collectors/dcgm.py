"""Read the metrics of dcgm-exporter, from 1.x to those with DCGM 4.6, into samples of GPUs.

Source: NVIDIA/dcgm-exporter renderer, templates and issues; `collectors.dcgm_fields` for names.
"""

from typing import Final

import polars as pl

from collectors.blanks import ERROR_REASONS
from collectors.dcgm_fields import field_names
from collectors.frames import EVENTS, conform
from collectors.gpu_presence import find_lost_gpus, scrape_coverage
from collectors.identity import gpu_device
from collectors.last_xids import xid_events
from collectors.readings import Reading, reading_of
from collectors.samples import (
    MEANINGS,
    conflict_events,
    measure,
    samples_of,
    settle_duplicates,
)
from collectors.series import Series, label_columns
from collectors.target_labels import host_label, workload_label

_LABELS: Final = {
    "uuid": ("uuid", "gpu_uuid"),
    "pci": ("pci_bus_id",),
    "gpu": ("gpu",),
    "model": ("modelname", "model_name"),
    "instance_id": ("gpu_i_id",),
    "vgpu": ("vgpu",),
    "nvlink": ("nvlink",),
    "nvswitch": ("nvswitch",),
    "cpu": ("cpu",),
    "core": ("cpucore",),
}

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


def dcgm_names() -> pl.Series:
    """Return the names of all metrics that `read_dcgm` understands."""
    return field_names()["name"]


def read_dcgm(series: Series, source: str) -> Reading:
    """Return what dcgm-exporter measured.

    Args:
        series: Series whose names are among `dcgm_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        A reading with samples, the events that metrics alone can show (a change of the last Xid,
        a lost GPU, a source in error) and the coverage of each GPU.
    """
    meanings = _meanings(series.identities)
    measured = measure(series.points, meanings)
    settled, conflicts = settle_duplicates(_name_resets(measured))
    cleaned = _doubt_profiling(_drop_warm_up(settled))
    events = [
        conflict_events(conflicts, source),
        xid_events(cleaned, source),
        _error_events(cleaned, source),
        find_lost_gpus(cleaned, source),
    ]
    return reading_of(
        samples=samples_of(cleaned, source),
        events=pl.concat(events),
        coverage=scrape_coverage(cleaned, source),
    )


def _meanings(identities: pl.DataFrame) -> pl.DataFrame:
    """Return `MEANINGS` of the label sets."""
    known = identities.join(field_names(), on="name", how="inner", maintain_order="left")
    labelled = label_columns(known, _LABELS).with_columns(
        host=host_label(),
        run=workload_label(),
        index=pl.col("gpu").cast(pl.Int32, strict=False),
        base=gpu_device(pl.col("uuid"), pl.col("pci"), pl.col("gpu")),
    )
    return conform(labelled.with_columns(_device()).unnest("entity").lazy(), MEANINGS).collect()


def _device() -> pl.Expr:
    """Return kind and name of what a label set measures: a GPU, or a part of it or of the host."""
    is_instance = pl.col("instance_id").is_not_null() & (pl.col("scope") == "instance")
    base = pl.col("base")
    choices = (
        (pl.col("nvswitch").is_not_null() & pl.col("nvlink").is_not_null()).pipe(
            _choice, "nvswitch", pl.format("nvswitch{}/nvlink{}", "nvswitch", "nvlink")
        ),
        pl.col("nvswitch")
        .is_not_null()
        .pipe(_choice, "nvswitch", pl.format("nvswitch{}", "nvswitch")),
        pl.col("core")
        .is_not_null()
        .pipe(_choice, "cpu", pl.format("cpu{}/core{}", pl.col("cpu").fill_null("0"), "core")),
        (pl.col("cpu").is_not_null() & base.is_null()).pipe(
            _choice, "cpu", pl.format("cpu{}", "cpu")
        ),
        pl.col("nvlink")
        .is_not_null()
        .pipe(_choice, "nvlink", pl.format("{}/nvlink{}", base, "nvlink")),
        pl.col("vgpu").is_not_null().pipe(_choice, "vgpu", pl.format("{}/vgpu{}", base, "vgpu")),
        is_instance.pipe(_choice, "mig", pl.format("{}/gi{}", base, "instance_id")),
    )
    return pl.coalesce(*choices, _entity("gpu", base)).alias("entity")


def _choice(condition: pl.Expr, kind: str, device: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(_entity(kind, device))


def _entity(kind: str, device: pl.Expr) -> pl.Expr:
    return pl.struct(pl.lit(kind).alias("device_kind"), device.alias("device"))


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
        .group_by("host", "device_kind", "device", "reason", maintain_order=True)
        .agg(pl.col("time").min(), pl.col("position").min(), pl.len().alias("count"))
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
