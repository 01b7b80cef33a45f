"""Read what node_exporter knows of a host: interfaces, processors, memory, sensors, its clock.

Source: prometheus/node_exporter; `collectors.hosts.node_fields` for names. Kernel byte counters are
left out: RDMA traffic does not pass through them.
"""

from typing import Final

import polars as pl

from collectors.frames import conform
from collectors.hosts.node_fields import CPU_MODES, node_fields, rapl_domain, rapl_fields
from collectors.identity import pci_address
from collectors.metrics.samples import (
    MEANINGS,
    conflict_events,
    measure,
    samples_of,
    settle_duplicates,
)
from collectors.metrics.series import Series, label_of
from collectors.metrics.target_labels import fill_hosts, host_label
from collectors.readings import Reading, reading_of

UNKNOWN_SPEED: Final = -125_000.0
"""A link of unknown speed: sysfs says -1 Mb/s, the exporter turns that into bytes."""

MIN_CELSIUS: Final = -50.0
"""Colder, or exactly 0, is a sensor that does not work: broken ones say -274 or 0."""

_SENSORS: Final = ("thermal_zone_celsius", "sensor_celsius")

_LEVELS: Final = ("controller", "csrow", "channel")
"""Where memory errors are counted, from the whole to its parts: each level counts all of them."""


def node_names(names: pl.Series) -> pl.Series:
    """Return those of the given names that `read_node` understands."""
    own = pl.Series("name", ["node_uname_info"])
    return pl.concat([node_fields()["name"], rapl_fields(names)["name"], own])


def read_node(series: Series, source: str) -> Reading:
    """Return what node_exporter measured of hosts.

    Args:
        series: Series whose names are among `node_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        A reading with samples. What the kernel does not know is null (`unknown`), and so is a
        temperature that none can be (`bad_sensor`). Memory errors are of the highest level of a
        host that has them; lower ones repeat them and are rejects.
    """
    labelled = _labelled(series.identities, source)
    repeats = _repeated_levels(labelled)
    kept = labelled.join(repeats, on="series", how="anti", maintain_order="left")
    measured = measure(series.points, conform(kept.lazy(), MEANINGS).collect())
    settled, conflicts = settle_duplicates(_without_unknown(measured))
    return reading_of(
        samples=samples_of(settled, source),
        events=conflict_events(conflicts, source),
        rejects=_level_rejects(series.points, repeats, source),
    )


def _labelled(identities: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the label sets of known metrics with signal, host and device."""
    fields = pl.concat([node_fields(), rapl_fields(identities["name"])])
    known = identities.join(fields, on="name", how="inner", maintain_order="left")
    mode = label_of("mode")
    is_time = pl.col("signal") == "cpu_seconds_total"
    named = known.with_columns(
        signal=pl.when(is_time).then(pl.format("cpu_{}_seconds_total", mode)).otherwise("signal"),
        host=host_label(),
        target=label_of("instance"),
        device=_device(),
        factor=pl.lit(1.0),
    ).filter(~is_time | mode.is_in(CPU_MODES))
    return fill_hosts(named, identities, source)


def _device() -> pl.Expr:
    """Return the device that the labels name in the field's way; a node as a whole has none."""
    ways = {
        "device": label_of("device"),
        "cpu": _numbered("cpu"),
        "core": pl.coalesce(
            pl.concat_str(_numbered("package"), pl.lit("/"), _numbered("core")),
            _numbered("core"),
            _numbered("cpu"),
        ),
        "package": _numbered("package"),
        "zone": _numbered("zone"),
        "sensor": pl.concat_str(label_of("chip"), pl.lit("/"), label_of("sensor")),
        "cooler": pl.concat_str(label_of("type"), pl.lit("/"), label_of("name")),
        "controller": _numbered("controller"),
        "csrow": pl.concat_str(_numbered("controller"), pl.lit("/"), _numbered("csrow")),
        "channel": pl.concat_str(
            _numbered("controller"),
            pl.lit("/"),
            _numbered("csrow"),
            pl.lit("/"),
            _numbered("channel"),
        ),
        "domain": pl.concat_str(rapl_domain(pl.col("name")), label_of("index")),
        "pci": _pci(),
    }
    return pl.coalesce(
        *(pl.when(pl.col("naming") == naming).then(named) for naming, named in ways.items())
    )


def _numbered(label: str) -> pl.Expr:
    """Return the label's name and value, once if the value has the name in it (`cpu7`)."""
    return pl.concat_str(pl.lit(label), label_of(label).str.strip_prefix(label))


def _pci() -> pl.Expr:
    """Return the PCI address in four labels of hex digits."""
    segment, bus, device, function = (
        label_of(name) for name in ("segment", "bus", "device", "function")
    )
    joined = pl.concat_str(
        segment.fill_null("0000"), pl.lit(":"), bus, pl.lit(":"), device, pl.lit("."), function
    )
    return pci_address(joined)


def _repeated_levels(labelled: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets of memory errors that a higher level of their host counts as well."""
    level = pl.col("naming").replace_strict(
        {name: place for place, name in enumerate(_LEVELS)}, default=None, return_dtype=pl.Int8
    )
    memory = labelled.with_columns(level=level).drop_nulls("level")
    highest = pl.col("level").min().over("host", "signal")
    return memory.filter(pl.col("level") > highest).select("series", "name")


def _level_rejects(points: pl.DataFrame, repeats: pl.DataFrame, source: str) -> pl.DataFrame:
    return (
        points.join(repeats, on="series", how="inner")
        .group_by("name")
        .agg(pl.col("position").min(), count=pl.len())
        .sort("name")
        .select(
            "position",
            "count",
            source=pl.lit(source),
            text="name",
            reason=pl.lit("repeats the errors that a higher level counts"),
        )
    )


def _without_unknown(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples without numbers that stand for none."""
    value, signal = pl.col("value"), pl.col("signal")
    unknown = ((signal == "network_speed_bytes_per_second") & (value == UNKNOWN_SPEED)) | (
        signal.str.starts_with("pcie_") & (value < 0)
    )
    broken = signal.is_in(_SENSORS) & ((value == 0) | (value < MIN_CELSIUS))
    reason = pl.when(unknown).then(pl.lit("unknown")).when(broken).then(pl.lit("bad_sensor"))
    return measured.with_columns(reason=pl.coalesce("reason", reason)).with_columns(
        value=pl.when(pl.col("reason").is_null()).then("value")
    )
