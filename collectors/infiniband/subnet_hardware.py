"""Read what exporters say of the hardware behind ports: chips, uptime, temperature, fans, supplies.

Source: prometheus/node_exporter (`node_infiniband_info`), treydock/infiniband_exporter with
ibswinfo. A chip tells how long a tick of the wait counter is; an uptime is when all counters of a
switch began again.
"""

from typing import Final

import polars as pl

from collectors.frames import EVENTS, SAMPLES, conform
from collectors.identity import node_guid
from collectors.infiniband.node_names import nodes_of, port_device
from collectors.infiniband.subnet import guid_directory
from collectors.infiniband.subnet_failures import spell
from collectors.infiniband.wait_ticks import tick_values
from collectors.metrics.run_times import measured_at
from collectors.metrics.samples import MEANINGS, measure, samples_of
from collectors.metrics.series import Series, label_of
from collectors.metrics.target_labels import fill_hosts, host_label
from collectors.readings import Reading, reading_of

_SWITCH: Final = "infiniband_switch_"

GAUGES: Final = (
    ("uptime_seconds", "uptime", 1.0, "node"),
    ("temperature_celsius", "thermal_zone_celsius", 1.0, "node"),
    ("fan_rpm", "fan_speed_hertz", 1.0 / 60.0, "fan"),
    ("power_supply_watts", "power_watts", 1.0, "power_supply"),
)
"""Metric after `infiniband_switch_`, signal, factor, kind of device."""

STATUSES: Final = (
    "power_supply_status_info",
    "power_supply_dc_power_status_info",
    "power_supply_fan_status_info",
    "fan_status_info",
)

_SOUND: Final = r"(?i)^(?:ok|active|present|good)$"

_CHIPS: Final = ("node_infiniband_info", f"{_SWITCH}hardware_info")


def hardware_names() -> pl.Series:
    """Return the names of all metrics that `read_hardware` understands."""
    own = [f"{_SWITCH}{name}" for name in (*(gauge[0] for gauge in GAUGES), *STATUSES)]
    return pl.Series("name", [*own, *_CHIPS, f"{_SWITCH}info", "node_uname_info"])


def read_hardware(series: Series, source: str) -> Reading:
    """Return what exporters say of switches and NICs.

    Args:
        series: Series whose names are among `hardware_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        Samples; an uptime becomes `boot_seconds`, the epoch at which it began, null (`no_time`) on
        a page that does not say when it is. A status that is not sound is an event.
    """
    placed = _placed(series, source)
    measured = measured_at(measure(series.points, _meanings(placed)), placed, series)
    samples = _booted(samples_of(measured, source))
    ticks = _ticks(placed, series).with_columns(source=pl.lit(source))
    return reading_of(
        samples=pl.concat([samples, conform(ticks.lazy(), SAMPLES).collect()]),
        events=_status_events(placed, series, source),
    )


def _placed(series: Series, source: str) -> pl.DataFrame:
    """Return the label sets with the host they are of."""
    labelled = series.identities.with_columns(
        target=label_of("instance"), guid=node_guid(label_of("guid"))
    )
    own, _ = nodes_of(label_of("switch"), is_switch=pl.lit(value=True))
    named = labelled.join(
        guid_directory(series.identities), on="guid", how="left", maintain_order="left"
    )
    of_switch = pl.col("name").str.starts_with(_SWITCH)
    switch = pl.coalesce(own, pl.col("node"), pl.col("guid"))
    hosted = named.with_columns(host=pl.when(of_switch).then(switch).otherwise(host_label()))
    return fill_hosts(hosted, series.identities, source)


def _meanings(placed: pl.DataFrame) -> pl.DataFrame:
    table = pl.DataFrame(
        [(f"{_SWITCH}{name}", *rest) for name, *rest in GAUGES],
        schema=["name", "signal", "factor", "device_kind"],
        orient="row",
    )
    part = pl.coalesce(label_of("fan"), label_of("psu"))
    rows = placed.join(table, on="name", maintain_order="left").with_columns(device=part)
    return conform(rows.lazy(), MEANINGS).collect()


def _booted(samples: pl.DataFrame) -> pl.DataFrame:
    """Return samples with uptimes turned into the time at which they began."""
    is_uptime = pl.col("signal") == "uptime"
    began = pl.col("time").dt.timestamp("us") / 1e6 - pl.col("value")
    no_time = pl.when(is_uptime, pl.col("time").is_null()).then(pl.lit("no_time"))
    return samples.with_columns(
        signal=pl.when(is_uptime).then(pl.lit("boot_seconds")).otherwise("signal"),
        value=pl.when(is_uptime).then(began).otherwise("value"),
        reason=pl.coalesce("reason", no_time),
    )


def _ticks(placed: pl.DataFrame, series: Series) -> pl.DataFrame:
    """Return samples of how long a tick of the wait counter is, by port of a NIC or by switch."""
    chip = pl.coalesce(label_of("hca_type"), label_of("part_number"), label_of("switch"))
    of_nic = pl.col("name") == "node_infiniband_info"
    chips = placed.filter(pl.col("name").is_in(_CHIPS)).select(
        "series",
        "host",
        device=pl.when(of_nic).then(port_device(label_of("device"), pl.lit("1"))),
        device_kind=pl.when(of_nic).then(pl.lit("nic")).otherwise(pl.lit("node")),
        **tick_values(chip),
    )
    seen = series.points.select("series", "time").join(chips, on="series", maintain_order="left")
    keys = ["time", "host", "device_kind", "device"]
    return (
        seen.drop("series")
        .unpivot(index=keys, variable_name="signal")
        .drop_nulls("value")
        .unique([*keys, "signal"], maintain_order=True)
    )


def _status_events(placed: pl.DataFrame, series: Series, source: str) -> pl.DataFrame:
    """Return `EVENTS` of fans and supplies whose status is not sound, one for each of them."""
    wanted = [f"{_SWITCH}{name}" for name in STATUSES]
    status = label_of("status")
    what = pl.col("name").str.strip_prefix(_SWITCH).str.strip_suffix("_info")
    words = [what.str.replace_all("_", " "), label_of("psu", "fan"), pl.lit("is"), status]
    bad = placed.filter(pl.col("name").is_in(wanted), ~status.str.contains(_SOUND)).select(
        "series", "host", message=pl.concat_str(words, separator=" ", ignore_nulls=True)
    )
    points = series.points.filter(pl.col("value") == 1).join(
        bad, on="series", maintain_order="left"
    )
    rows = points.group_by("host", "message", maintain_order=True).agg(
        **spell(),
        kind=pl.lit("warning"),
        code=pl.lit("hardware_status"),
        severity=pl.lit("medium"),
        device_kind=pl.lit("node"),
        source=pl.lit(source),
    )
    return conform(rows.lazy(), EVENTS).collect()
