"""Read exporters that give the kernel's own names to InfiniBand counters: Telegraf, gpud, OCI.

`infiniband_port_xmit_data{device,port}` (Telegraf's Prometheus output) and
`..._infiniband_link_downed{device_port="mlx5_4_1"}` (gpud) pass the kernel's words on; the OCI
exporter's `rdma_port_xmit_data{interface}` is in bytes. All are built on the kernel's narrow error
counters. Source: influxdata/telegraf, leptonai/gpud, oracle-quickstart/oci-hpc.
"""

from typing import Final

import polars as pl

from collectors.frames import conform
from collectors.infiniband.exporters import infiniband_names
from collectors.infiniband.node_names import port_device
from collectors.infiniband.port_counters import WIDE_BITS, counter_key, port_counters
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

_KERNEL: Final = r"^(?:[a-z_]*_)?infiniband_([A-Za-z0-9]+_[A-Za-z0-9_]+?)(?:_total)?$"
_OCI: Final = r"^rdma_((?:port_)?(?:xmit|rcv)_(?:data|packets))$"
_GLUED: Final = r"^(.+)_(\d+)$"
_TRAFFIC: Final = r"data|packets|pkts"


def _keyed(names: pl.Series) -> pl.DataFrame:
    """Return `name`, `key`, `is_oci` of those names that are the kernel's."""
    name = pl.col("name")
    oci = name.str.extract(_OCI, 1)
    short = pl.coalesce(
        pl.when(~oci.str.starts_with("port_")).then(pl.concat_str(pl.lit("port_"), oci)),
        oci,
        pl.when(~name.str.contains("^node_")).then(name.str.extract(_KERNEL, 1)),
    )
    other = name.is_in(infiniband_names().implode())
    keyed = names.unique(maintain_order=True).to_frame("name").filter(~other)
    return keyed.with_columns(key=counter_key(short), is_oci=oci.is_not_null()).drop_nulls("key")


def port_exporter_names(names: pl.Series) -> pl.Series:
    """Return those of `names` that `read_port_exporters` understands."""
    known = _keyed(names).join(port_counters(), on="key", maintain_order="left")
    return pl.concat([known["name"], pl.Series("name", ["node_uname_info"])])


def read_port_exporters(series: Series, source: str) -> Reading:
    """Return what exporters of the kernel's counters say of NICs.

    Args:
        series: Series whose names are among `port_exporter_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        Samples. A counter at its classic top is `saturated`.
    """
    fields = _keyed(series.identities["name"]).join(port_counters(), on="key")
    known = series.identities.join(fields, on="name", maintain_order="left")
    glued = label_of("device_port")
    nic = pl.coalesce(label_of("device", "interface", "ib_device"), glued.str.extract(_GLUED, 1))
    port = pl.coalesce(label_of("port"), glued.str.extract(_GLUED, 2))
    words = pl.col("factor").cast(pl.Float64)
    narrow = ~pl.col("key").str.contains(_TRAFFIC) & (pl.col("bits") < WIDE_BITS)
    placed = known.with_columns(
        host=host_label(),
        target=label_of("instance"),
        device=port_device(nic, port),
        device_kind=pl.lit("nic"),
        factor=pl.when("is_oci").then(1.0).otherwise(words),
        top=pl.when(narrow).then(2.0 ** pl.col("bits").cast(pl.Float64) - 1),
    )
    hosted = fill_hosts(placed, series.identities, source)
    measured = measure(series.points, conform(hosted.lazy(), MEANINGS).collect())
    settled, conflicts = settle_duplicates(measured)
    return reading_of(
        samples=samples_of(settled, source), events=conflict_events(conflicts, source)
    )
