"""The names that a GPU goes by: wherever a row tells several of them, they are one card's."""

from typing import Final

import polars as pl

from collectors.frames import ALIASES, conform
from collectors.identity import GPU_UUID_PATTERN, pci_address
from collectors.metrics.series import label_of
from collectors.metrics.target_labels import ADDRESS_PATTERN, EXPORTER_PATTERN

_KINDS: Final = ("uuid", "pci", "index", "minor")


def gpu_aliases(named: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the names of GPUs beside the one they are known by.

    Args:
        named: One row a sighting: `time`, `host`, `device` (the canonical name) and, in any
            spelling, those of `uuid`, `pci`, `index` and `minor` that the source has.
        source: The name to quote.

    Returns:
        `ALIASES` at their first sighting; a name that is the device's own is none.
    """
    spelled = named.with_columns(
        pl.lit(None, pl.String).alias(kind) for kind in _KINDS if kind not in named.columns
    ).with_columns(
        uuid=pl.col("uuid").str.strip_chars().str.extract(f"({GPU_UUID_PATTERN})"),
        pci=pci_address(pl.col("pci")),
        index=pl.col("index").cast(pl.String).str.extract(r"^\s*(\d+)\s*$"),
        minor=pl.col("minor").cast(pl.String).str.extract(r"^\s*(?:nvidia)?(\d+)\s*$"),
    )
    rows = spelled.with_columns(device_kind=pl.lit("gpu")).drop_nulls("device")
    return first_seen(
        rows.unpivot(
            on=list(_KINDS),
            index=["time", "host", "device_kind", "device"],
            variable_name="alias_kind",
            value_name="alias",
        ).filter(pl.col("alias") != pl.col("device")),
        source,
    )


def first_seen(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return `ALIASES` of sightings, each once with the time it was first seen at."""
    keys = ["host", "device_kind", "device", "alias_kind", "alias"]
    once = rows.lazy().drop_nulls("alias").group_by(keys).agg(pl.col("time").min())
    named = once.with_columns(source=pl.lit(source)).sort(keys, nulls_last=True)
    return conform(named, ALIASES).collect()


def exporter_aliases(labelled: pl.DataFrame, points: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return the names that the labels of an exporter's series tell.

    Args:
        labelled: Label sets with `series`, `labels`, `base`, `host` and the columns that
            `gpu_aliases` takes.
        points: `POINTS`.
        source: The name to quote.

    Returns:
        `ALIASES` of GPUs, and of hosts the exporter's pod and the address it is scraped at.
    """
    pod, target = label_of("pod"), label_of("exported_instance", "instance")
    first = points.group_by("series").agg(pl.col("time").min())
    seen = labelled.join(first, on="series", how="inner").with_columns(
        pod=pl.when(pod.str.contains(EXPORTER_PATTERN)).then(pod),
        ip=target.str.replace(r":\d+$", "").str.extract(f"({ADDRESS_PATTERN})"),
    )
    cards = seen.filter(pl.col("base").is_not_null()).with_columns(device="base")
    hosts = (
        seen.drop_nulls("host")
        .with_columns(device_kind=pl.lit("node"), device=pl.lit(None, pl.String))
        .unpivot(
            on=["pod", "ip"],
            index=["time", "host", "device_kind", "device"],
            variable_name="alias_kind",
            value_name="alias",
        )
    )
    return pl.concat([gpu_aliases(cards, source), first_seen(hosts, source)])
