"""Read the metrics of dcgm-exporter, from 1.x to those with DCGM 4.6, into samples of GPUs.

Source: NVIDIA/dcgm-exporter renderer, templates and issues; `collectors.gpus.dcgm_fields` for
names.
"""

from typing import Final

import polars as pl

from collectors.frames import conform
from collectors.gpus.dcgm_fields import field_names
from collectors.gpus.gpu_aliases import exporter_aliases
from collectors.gpus.gpu_hosts import one_host
from collectors.gpus.gpu_streams import read_measured
from collectors.identity import gpu_device
from collectors.metrics.samples import MEANINGS, measure
from collectors.metrics.scrape_targets import one_target
from collectors.metrics.series import Series, label_columns
from collectors.metrics.target_labels import fill_hosts, host_label, workload_label
from collectors.readings import Reading, join_readings, reading_of
from collectors.sniffing import ReadOptions
from collectors.taken import taken_on
from collectors.texts.templates import filled

_LABELS: Final = {
    "uuid": ("uuid", "gpu_uuid"),
    "pci": ("pci_bus_id",),
    "gpu": ("gpu",),
    "minor": ("device",),
    "model": ("modelname", "model_name"),
    "target": ("instance",),
    "instance_id": ("gpu_i_id",),
    "vgpu": ("vgpu",),
    "nvlink": ("nvlink",),
    "nvswitch": ("nvswitch",),
    "cpu": ("cpu",),
    "core": ("cpucore",),
    "xid": ("xid",),
    "clock_event": ("clock_event", "throttle_reason"),
    "check": ("health_watch",),
    "peer": ("peer_gpu",),
    "status": ("link_status",),
}

_PARTS: Final = (
    ("xid_window_count", "xid", "xid"),
    ("clock_event_window_count", "clock_event", "clock_event"),
    ("health_status", "health", "check"),
    ("p2p_status", "p2p", "peer"),
)
"""Signals that a GPU has several of: the kind of the part, and the label that names it."""

_MIN_HOST_DIGITS: Final = 3
"""Pages are kept in folders called `run12` as well as in those of hosts."""

_P2P_STATES: Final = ("chipset", "gpu", "topology", "regkey", "supported", "unknown")
"""What the words of a link's state hold, in the order of DCGM's numbers from 1; 0 is fine. The
exporter's own numbers were shifted until 2026."""


def dcgm_names() -> pl.Series:
    """Return the names of all metrics that `read_dcgm` understands."""
    return field_names()["name"]


def read_dcgm(series: Series, source: str) -> Reading:
    """Return what dcgm-exporter measured.

    Args:
        series: Series whose names are among `dcgm_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        What `read_measured` finds in it, and the names that GPUs go by.
    """
    labelled, changes = one_host(_labelled(series.identities, source), series.points, source)
    named = labelled.with_columns(_device()).unnest("entity")
    meanings = conform(named.lazy(), MEANINGS).collect()
    points = _true_states(series.points, labelled)
    measured = one_target(measure(points, meanings))
    own = reading_of(events=changes, aliases=exporter_aliases(labelled, series.points, source))
    return join_readings([read_measured(measured, source), own])


def _labelled(identities: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the label sets of known fields with what their labels say."""
    known = identities.join(field_names(), on="name", how="inner", maintain_order="left")
    labelled = label_columns(known, _LABELS).with_columns(
        host=host_label(),
        run=workload_label(),
        index=pl.col("gpu").cast(pl.Int32, strict=False),
        base=gpu_device(pl.col("uuid"), pl.col("pci"), pl.col("gpu")),
    )
    if labelled["target"].null_count() < labelled.height:
        return labelled
    named = taken_on(source, ReadOptions(), _MIN_HOST_DIGITS)
    filled = fill_hosts(labelled, identities, source).drop("nodename")
    return filled.with_columns(host=pl.coalesce("host", pl.lit(named, pl.String)))


def _true_states(points: pl.DataFrame, labelled: pl.DataFrame) -> pl.DataFrame:
    """Return the points with the states of peer links as their label says, not their number."""
    word = pl.col("status").str.to_lowercase()
    state = pl.coalesce(
        pl.when(word == "ok").then(pl.lit(0.0)),
        *(
            pl.when(word.str.contains(part, literal=True)).then(pl.lit(float(number)))
            for number, part in enumerate(_P2P_STATES, start=1)
        ),
    )
    told = labelled.filter(pl.col("signal") == "p2p_status").select("series", state=state)
    if told.is_empty():
        return points
    joined = points.join(told, on="series", how="left", maintain_order="left")
    return joined.with_columns(value=pl.coalesce("state", "value")).drop("state")


def _device() -> pl.Expr:
    """Return kind and name of what a label set measures: a GPU, or a part of it or of the host."""
    return pl.coalesce(*_parts_of_hosts(), *_parts_of_gpus(), _entity("gpu", pl.col("base"))).alias(
        "entity"
    )


def _parts_of_hosts() -> list[pl.Expr]:
    """Return switches, processors, and their parts."""
    has_switch, has_link = pl.col("nvswitch").is_not_null(), pl.col("nvlink").is_not_null()
    core = filled("cpu{}/core{}", pl.col("cpu").fill_null("0"), "core")
    switch = pl.format("nvswitch{}", pl.col("nvswitch").str.strip_prefix("nvswitch"))
    link = filled("{}/nvlink{}", switch, pl.col("nvlink").str.strip_prefix("nvlink"))
    is_cpu = pl.col("cpu").is_not_null() & pl.col("base").is_null()
    return [
        _choice(has_switch & has_link, "nvswitch", link),
        _choice(has_switch, "nvswitch", switch),
        _choice(pl.col("core").is_not_null(), "cpu", core),
        _choice(is_cpu, "cpu", pl.format("cpu{}", "cpu")),
    ]


def _parts_of_gpus() -> list[pl.Expr]:
    """Return links, virtual GPUs, MIG instances, and what a GPU has several of."""
    base = pl.col("base")
    is_instance = pl.col("instance_id").is_not_null() & (pl.col("scope") == "instance")
    several = [
        _choice(
            (pl.col("signal") == signal) & pl.col(label).is_not_null(),
            kind,
            pl.concat_str(base, pl.lit(f"/{kind}:"), label),
        )
        for signal, kind, label in _PARTS
    ]
    return [
        *several,
        _choice(pl.col("nvlink").is_not_null(), "nvlink", filled("{}/nvlink{}", base, "nvlink")),
        _choice(pl.col("vgpu").is_not_null(), "vgpu", filled("{}/vgpu{}", base, "vgpu")),
        _choice(is_instance, "mig", filled("{}/gi{}", base, "instance_id")),
    ]


def _choice(condition: pl.Expr, kind: str, device: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(_entity(kind, device))


def _entity(kind: str, device: pl.Expr) -> pl.Expr:
    return pl.struct(pl.lit(kind).alias("device_kind"), device.alias("device"))
