"""Names, units and links of an InfiniBand subnet, as its exporters' info series tell them.

treydock's exporter counts by GUID and port; who that is stands in other series. Its data counters
were words until 0.9 and are bytes from 0.10 on, under the same names. Source:
treydock/infiniband_exporter (release notes, `collectors/`), guilbaults/infiniband-exporter.
"""

from typing import Final

import polars as pl

from collectors.frames import LINKS, conform, schema_of
from collectors.identity import canonical_host, node_guid
from collectors.port_fields import WORD_BYTES
from collectors.series import Series, label_of

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

_AGGREGATION: Final = r"(?i)aggregation node"
"""The in-network-reduction endpoint of a switch: neither a host nor a cable."""

_VERSION: Final = r"^v?(\d+)\.(\d+)"


def nodes_of(name: pl.Expr, *, is_switch: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """Return the node and its NIC in a node description.

    Args:
        name: `leaf-r3-02`, or `gpu-r3-n07 mlx5_4`; blanks around it do not count.
        is_switch: Whether it is a switch, whose name may hold blanks.
    """
    text = name.str.strip_chars()
    first = canonical_host(text.str.extract(r"^(\S+)", 1))
    nic = text.str.extract(r"^\S+\s+(.+)$", 1)
    node = pl.when(is_switch).then(canonical_host(text)).otherwise(first)
    return node, pl.when(~is_switch).then(nic)


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

    Told by the exporter's version, else by the form of its rate series, else by the size of the
    packets; null if none of the three can tell.

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
    form = (
        pl.when(name == "infiniband_switch_port_rate_bytes_per_second")
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
    counted = identities.filter(name.str.starts_with("infiniband_port"))
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
    return _links(peers.drop_nulls(), source)


def _links(peers: pl.DataFrame, source: str) -> pl.DataFrame:
    cables = peers.filter(
        ~pl.col("text_a").str.contains(_AGGREGATION) & ~pl.col("text_b").str.contains(_AGGREGATION)
    )
    ends = [_end(side) for side in ("a", "b")]
    first, second = (pl.concat_list("a", "b").list.sort().list.get(at) for at in (0, 1))
    rows = (
        cables.lazy()
        .select(a=ends[0], b=ends[1])
        .select(
            node_a=first.str.extract(r"^(.*)\n"),
            port_a=first.str.extract(r"\n(.*)$"),
            node_b=second.str.extract(r"^(.*)\n"),
            port_b=second.str.extract(r"\n(.*)$"),
        )
        .unique()
        .with_columns(
            rail=pl.coalesce("port_a", "port_b").str.extract(r"_(\d+)/").cast(pl.Int32),
            source=pl.lit(source),
        )
        .sort("node_a", "port_a", "node_b", "port_b")
    )
    return conform(rows, LINKS).collect()


def _end(side: str) -> pl.Expr:
    """Return node and port of one end as a text that sorts by node, then port."""
    node, nic = nodes_of(pl.col(f"text_{side}"), is_switch=pl.col(f"switch_{side}"))
    return pl.concat_str(node, pl.lit("\n"), port_device(nic, pl.col(f"number_{side}")))


def port_device(nic: pl.Expr, port: pl.Expr) -> pl.Expr:
    """Return `mlx5_4/1` for a NIC's port, or the one of the two that is known alone."""
    return pl.coalesce(pl.concat_str(nic, pl.lit("/"), port), port, nic)
