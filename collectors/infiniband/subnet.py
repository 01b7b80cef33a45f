"""Names, units and links of an InfiniBand subnet, as its exporters' info series tell them.

treydock's exporter counts by GUID and port; who that is stands in other series. Its data counters
were words until 0.9 and are bytes from 0.10 on, under the same names. Source:
treydock/infiniband_exporter (release notes, `collectors/`), guilbaults/infiniband-exporter.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.identity import node_guid
from collectors.infiniband.cables import cables_of
from collectors.infiniband.node_names import nodes_of
from collectors.infiniband.port_fields import WORD_BYTES
from collectors.metrics.series import Series, has_label, label_of

MIN_BYTES_PER_PACKET: Final = 1060.0
"""The largest InfiniBand packet has fewer words: above it the counter is in bytes."""

MAX_WORDS_PER_PACKET: Final = 24.0
"""The smallest InfiniBand packet has more bytes: below it the counter is in words."""

DIRECTORY: Final = schema_of({"guid": pl.String, "node": pl.String, "nic": pl.String})
"""Who a GUID is: a switch (`nic` null) or a NIC of a host."""

INFO_NAMES: Final = (
    "infiniband_exporter_build_info",
    "infiniband_switch_info",
    "infiniband_hca_info",
    "infiniband_switch_uplink_info",
    "infiniband_hca_uplink_info",
    "infiniband_switch_rate_bytes_per_second",
)

_DATA: Final = r"^infiniband_(?:switch|hca)_port_(?:transmit|receive)_data_bytes_total$"

_VERSION: Final = r"^v?(\d+)\.(\d+)"


def guid_directory(identities: pl.DataFrame) -> pl.DataFrame:
    """Return `DIRECTORY`: one row a GUID; the later name wins where a device was renamed."""
    is_info = pl.col("name").is_in(INFO_NAMES)
    switch, hca = label_of("switch"), label_of("hca")
    own = identities.filter(is_info).select(
        guid=label_of("guid"), text=pl.coalesce(switch, hca), is_switch=switch.is_not_null()
    )
    other = identities.filter(is_info).select(
        guid=label_of("uplink_guid"),
        text=label_of("uplink"),
        is_switch=(label_of("uplink_type") == "SW").fill_null(value=False),
    )
    node, nic = nodes_of(pl.col("text"), is_switch=pl.col("is_switch"))
    return (
        pl.concat([other, own])
        .with_columns(guid=node_guid(pl.col("guid")), node=node, nic=nic)
        .drop_nulls(["guid", "node"])
        .unique("guid", keep="last", maintain_order=True)
        .select(DIRECTORY.names())
    )


def data_factors(series: Series) -> pl.DataFrame:
    """Return what one count of treydock's data counters is in bytes, for each scrape target.

    Told by the exporter's version, else by the form of its series (a fork that names the switch
    beside each counter always counts bytes), else by the size of the packets; null if none of the
    three can tell.

    Returns:
        `target` (the label `instance`, may be null) and `data_factor`.
    """
    tagged = series.identities.with_columns(target=label_of("instance"))
    major, minor = (
        label_of("version").str.extract(_VERSION, group).cast(pl.Int64) for group in (1, 2)
    )
    name = pl.col("name")
    is_wide = (major > 0) | (minor >= 10)  # noqa: PLR2004 -- 0.10.0 is the release that multiplied
    version = pl.when(name == "infiniband_exporter_build_info").then(is_wide)
    of_fork = name.str.contains(_DATA) & has_label("switch")
    form = (
        pl.when((name == "infiniband_switch_port_rate_bytes_per_second") | of_fork)
        .then(pl.lit(value=True))
        .when(name == "infiniband_switch_rate_bytes_per_second")
        .then(pl.lit(value=False))
    )
    told = tagged.group_by("target", maintain_order=True).agg(
        version=version.drop_nulls().last(), form=form.drop_nulls().last()
    )
    are_bytes = pl.coalesce("version", "form", "packets")
    return (
        told.join(_packet_test(series, tagged), on="target", how="left", nulls_equal=True)
        .with_columns(data_factor=pl.when(are_bytes).then(1.0).when(~are_bytes).then(WORD_BYTES))
        .select("target", pl.col("data_factor").cast(pl.Float64))
    )


def _packet_test(series: Series, tagged: pl.DataFrame) -> pl.DataFrame:
    """Return by target whether data counts are so large for their packets that they are bytes."""
    pattern = r"^infiniband_(?:switch|hca)_port_(?:transmit|receive)_(data_bytes|packets)_total$"
    kinds = tagged.with_columns(kind=pl.col("name").str.extract(pattern, 1)).drop_nulls("kind")
    totals = series.points.join(kinds.select("series", "kind", "target"), on="series")
    data = pl.col("value").filter(pl.col("kind") == "data_bytes").sum()
    packets = pl.col("value").filter(pl.col("kind") == "packets").sum()
    ratio = pl.when(packets > 0).then(data / packets)
    are_bytes = (
        pl.when(ratio > MIN_BYTES_PER_PACKET)
        .then(pl.lit(value=True))
        .when(ratio < MAX_WORDS_PER_PACKET)
        .then(pl.lit(value=False))
    )
    return totals.group_by("target").agg(packets=are_bytes)


def read_links(identities: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the cables of the subnet, each once however many ends tell of it.

    Args:
        identities: `IDENTITIES` with treydock's `uplink_info` or guilbaults' counters.
        source: The name to quote.

    Returns:
        `LINKS`, in alphabetical order; `rail` is the number in the NIC's device name.
    """
    name = pl.col("name")
    uplinks = identities.filter(name.str.contains(r"^infiniband_(?:switch|hca)_uplink_info$"))
    counted = identities.filter(has_label("local_name") & has_label("remote_name"))
    peers = pl.concat(
        [
            uplinks.select(
                text_a=pl.coalesce(label_of("switch"), label_of("hca")),
                number_a=label_of("port"),
                switch_a=label_of("switch").is_not_null(),
                text_b=label_of("uplink"),
                number_b=label_of("uplink_port"),
                switch_b=label_of("uplink_type") == "SW",
            ),
            counted.select(
                text_a=label_of("local_name"),
                number_a=label_of("local_port"),
                switch_a=label_of("component") == "switch",
                text_b=label_of("remote_name"),
                number_b=label_of("remote_port"),
                switch_b=~label_of("remote_name").str.contains(r"\s"),
            ),
        ]
    )
    untimed = peers.drop_nulls().with_columns(time=pl.lit(None, TIME))
    return cables_of(untimed).with_columns(source=pl.lit(source))
