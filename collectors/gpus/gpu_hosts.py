"""One host for one GPU: an exporter's host label changes, the card stays where it is.

The label was the exporter pod's name until it learned its node's, differs between templates, and
changes its spelling with versions. Source: NVIDIA/dcgm-exporter version history.
"""

import polars as pl

from collectors.frames import EVENTS, conform


def one_host(
    labelled: pl.DataFrame, points: pl.DataFrame, source: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the label sets with each UUID on one host, and what had to be settled.

    Args:
        labelled: Label sets with `series`, `uuid` and `host`; a null host is not known.
        points: `POINTS`.
        source: The name to quote.

    Returns:
        The label sets: where all hosts of a GPU follow each other in time, the last one holds for
        all of them, and a host that is not known is the GPU's only one. Hosts that name the same
        GPU at the same time stay apart: they are two cards under one name. And `EVENTS` of kind
        `warning`, one a GPU whose hosts were joined.
    """
    hosts = _hosts(labelled, points)
    named = labelled.join(
        hosts.filter(pl.col("apart")).select("uuid", "settled"),
        on="uuid",
        how="left",
        maintain_order="left",
    ).with_columns(host=pl.coalesce("settled", "host"))
    return named.drop("settled"), _changes(hosts.filter(pl.col("apart")), source)


def _hosts(labelled: pl.DataFrame, points: pl.DataFrame) -> pl.DataFrame:
    """Return one row a GPU: its hosts, the last one, and whether they follow each other."""
    times = points.group_by("series").agg(first=pl.col("time").min(), last=pl.col("time").max())
    follows = pl.col("first") > pl.col("last").shift()
    return (
        labelled.select("series", "uuid", "host")
        .drop_nulls()
        .join(times, on="series", how="inner")
        .group_by("uuid", "host")
        .agg(pl.col("first").min(), pl.col("last").max())
        .sort("uuid", "first", "host", nulls_last=False)
        .group_by("uuid", maintain_order=True)
        .agg(
            settled=pl.col("host").last(),
            hosts=pl.col("host").unique().sort(),
            time=pl.col("first").last(),
            apart=follows.fill_null(value=False).slice(1).all(),
        )
    )


def _changes(hosts: pl.DataFrame, source: str) -> pl.DataFrame:
    rows = (
        hosts.lazy()
        .filter(pl.col("hosts").list.len() > 1)
        .with_columns(
            host="settled",
            device_kind=pl.lit("gpu"),
            device="uuid",
            kind=pl.lit("warning"),
            code=pl.lit("host_label_changed"),
            severity=pl.lit("low"),
            message=pl.format("one GPU under several hosts: {}", pl.col("hosts").list.join(", ")),
            source=pl.lit(source),
        )
    )
    return conform(rows, EVENTS).collect()
