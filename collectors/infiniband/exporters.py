"""Read the port counters of InfiniBand exporters into samples of NICs and switch ports.

Three exporters: node_exporter (each host its own NICs), treydock/infiniband_exporter and
guilbaults/infiniband-exporter (the whole subnet from one host). Errors are counted by the port
that receives. A counter at its top is `saturated`; a counter that is not there has no row.
"""

from typing import Final

import polars as pl

from collectors.frames import conform
from collectors.identity import node_guid
from collectors.infiniband.lane_rates import payload_lane_bytes
from collectors.infiniband.node_names import nodes_of, port_device
from collectors.infiniband.port_fields import ACTIVE, port_fields
from collectors.infiniband.subnet import INFO_NAMES, data_factors, guid_directory, read_links
from collectors.metrics.run_times import EXECUTION, measured_at
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

MAX_RATE_RATIO: Final = 1.02
"""More bytes than this times the port's rate cannot have passed: the unit is not what it seems."""

_PORT: Final = ("host", "device_kind", "device")


def infiniband_names() -> pl.Series:
    """Return the names of all metrics that `read_infiniband` understands."""
    names = [*INFO_NAMES, "node_uname_info", EXECUTION]
    return pl.concat([port_fields()["name"], pl.Series("name", names)])


def read_infiniband(series: Series, source: str) -> Reading:
    """Return what the exporters of InfiniBand ports counted.

    Args:
        series: Series whose names are among `infiniband_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        A reading with samples and links. The rate of a port that is down is null (`port_down`);
        data that exceeds the port's rate keeps its value and bears `unit_suspect`.
    """
    known = series.identities.join(port_fields(), on="name", how="inner", maintain_order="left")
    present = set(known["exporter"])
    parts = [MEANINGS.to_frame()]
    if "node" in present:
        parts.append(_node_meanings(known, series, source))
    if "treydock" in present:
        parts.append(_treydock_meanings(known, series))
    if "guilbaults" in present:
        parts.append(_guilbaults_meanings(known))
    meanings = pl.concat(parts)
    measured = measured_at(measure(series.points, meanings), known, series)
    settled, conflicts = settle_duplicates(measured)
    checked = settled.pipe(_with_port_rates).pipe(_hush_down_ports).pipe(_suspect_units)
    return reading_of(
        samples=samples_of(checked, source),
        events=conflict_events(conflicts, source),
        links=read_links(series.identities, source),
    )


def _node_meanings(known: pl.DataFrame, series: Series, source: str) -> pl.DataFrame:
    mine = known.filter(pl.col("exporter") == "node").with_columns(
        host=host_label(),
        target=label_of("instance"),
        device=port_device(label_of("device"), label_of("port")),
        device_kind=pl.lit("nic"),
    )
    return conform(fill_hosts(mine, series.identities, source).lazy(), MEANINGS).collect()


def _treydock_meanings(known: pl.DataFrame, series: Series) -> pl.DataFrame:
    """Return the meanings of series by GUID; one that no info series names is its own host."""
    is_nic = pl.col("name").str.starts_with("infiniband_hca_")
    own = pl.when(is_nic).then(label_of("hca")).otherwise(label_of("switch"))
    own_node, own_nic = nodes_of(own, is_switch=~is_nic)
    port = pl.coalesce(label_of("port"), pl.when(is_nic).then(pl.lit("1")))
    mine = (
        known.filter(pl.col("exporter") == "treydock")
        .with_columns(target=label_of("instance"), guid=node_guid(label_of("guid")), port=port)
        .join(guid_directory(series.identities), on="guid", how="left", maintain_order="left")
        .join(
            data_factors(series), on="target", how="left", nulls_equal=True, maintain_order="left"
        )
        .with_columns(
            host=pl.coalesce("node", own_node, "guid"),
            device=port_device(pl.coalesce("nic", own_nic), pl.col("port")),
            device_kind=pl.when(is_nic).then(pl.lit("nic")).otherwise(pl.lit("switch_port")),
            factor=pl.coalesce("factor", "data_factor"),
        )
    )
    return conform(mine.lazy(), MEANINGS).collect()


def _guilbaults_meanings(known: pl.DataFrame) -> pl.DataFrame:
    is_switch = (label_of("component") == "switch").fill_null(value=True)
    node, nic = nodes_of(label_of("local_name"), is_switch=is_switch)
    mine = known.filter(pl.col("exporter") == "guilbaults").with_columns(
        host=pl.coalesce(node, node_guid(label_of("local_guid"))),
        device=port_device(nic, label_of("local_port")),
        device_kind=pl.when(is_switch).then(pl.lit("switch_port")).otherwise(pl.lit("nic")),
    )
    return conform(mine.lazy(), MEANINGS).collect()


def _with_port_rates(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples with the rate of ports that only tell lanes and their rate."""
    scrape = [*_PORT, "time", "page"]
    rate, lanes = (
        measured.filter(pl.col("signal") == name)
        for name in ("lane_rate_bytes_per_second", "link_width_lanes")
    )
    wide = lanes.select(*scrape, lanes="value").unique(scrape, keep="last", maintain_order=True)
    joined = rate.join(wide, on=scrape, how="inner", nulls_equal=True, maintain_order="left")
    port_rate = payload_lane_bytes(pl.col("value")) * pl.col("lanes")
    rates = joined.with_columns(
        signal=pl.lit("port_rate_bytes_per_second"),
        value=port_rate,
        entity=pl.col("entity") + int(measured["entity"].max() or 0) + 1,  # type: ignore[arg-type]
    )
    return pl.concat([measured, rates.drop_nulls("value").select(measured.columns)])


def _hush_down_ports(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples without the rates of ports that are not active.

    A port that is down reports the slowest rate there is; it is not a slow link.
    """
    scrape = (*_PORT, "time", "page")
    is_state, is_up = (pl.col("signal") == name for name in ("port_state", "link_up"))
    not_active = (is_state & (pl.col("value") != ACTIVE)) | (is_up & (pl.col("value") == 0))
    states = (
        measured.filter(not_active).select(scrape).unique().with_columns(down=pl.lit(value=True))
    )
    is_down = (pl.col("signal") == "port_rate_bytes_per_second") & pl.col("down")
    return (
        measured.join(states, on=scrape, how="left", nulls_equal=True, maintain_order="left")
        .with_columns(
            value=pl.when(~is_down.fill_null(value=False)).then("value"),
            reason=pl.when(is_down).then(pl.lit("port_down")).otherwise("reason"),
        )
        .drop("down")
    )


def _suspect_units(measured: pl.DataFrame) -> pl.DataFrame:
    """Return the samples with data doubted that no port could have carried since the last one."""
    rates = (
        measured.filter(pl.col("signal") == "port_rate_bytes_per_second")
        .group_by(_PORT)
        .agg(limit=pl.col("value").max())
    )
    is_data = pl.col("signal").is_in(["received_bytes_total", "transmitted_bytes_total"])
    seconds = pl.col("time").diff().dt.total_microseconds() / 1e6
    data = (
        measured.filter(is_data)
        .join(rates, on=_PORT, how="inner", nulls_equal=True)
        .sort("entity", "time", "position")
        .with_columns(rate=(pl.col("value").diff() / seconds).over("entity"))
        .filter(pl.col("rate").is_finite() & (pl.col("rate") > MAX_RATE_RATIO * pl.col("limit")))
        .select("entity", "position", doubt=pl.lit("unit_suspect"))
        .unique()
    )
    keys = ("entity", "position")
    return (
        measured.join(data, on=keys, how="left", maintain_order="left")
        .with_columns(reason=pl.coalesce("reason", "doubt"))
        .drop("doubt")
    )
