"""Read the counters of RoCE NICs into samples: ethtool, hardware counters, kernel file names.

An interface counts pauses by priority and errors by lane; their sum is one signal. What a known
fault of an exporter makes zero is no zero. Source: see `collectors.ethernet.roce_fields`;
prometheus/node_exporter PR 3335, oracle-quickstart/oci-hpc.
"""

from typing import Final

import polars as pl

from collectors.ethernet.roce_fields import TYPED, roce_fields
from collectors.frames import conform
from collectors.infiniband.node_names import port_device
from collectors.infiniband.port_fields import TOP_64
from collectors.metrics.samples import MEANINGS, MEASURED, measure, samples_of
from collectors.metrics.series import Series, label_of
from collectors.metrics.target_labels import fill_hosts, host_label
from collectors.readings import Reading, reading_of

FIRST_SOUND_VERSION: Final = (1, 10)
"""Before it node_exporter's ethtool collector read 0 for counters with a dot or blank in their
name; E810 names end in `.nic`."""

_CLEANED: Final = r"^node_ethtool_.*_nic$"
_VERSION: Final = r"^v?(\d+)\.(\d+)"
_BYTES: Final = r"^rdma_.*(?:xmit|rcv|transmit|receive|tx|rx)_?.*(?:data|bytes)"


def roce_names(names: pl.Series) -> pl.Series:
    """Return those of `names` that `read_roce` understands."""
    is_helper = names.is_in(["node_exporter_build_info", "node_uname_info", TYPED])
    is_bytes = names.str.contains(_BYTES)
    return pl.concat([roce_fields(names)["name"], names.filter(is_helper | is_bytes)]).unique()


def read_roce(series: Series, source: str) -> Reading:
    """Return what RoCE NICs counted.

    Args:
        series: Series whose names are among `roce_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        A reading with samples, and rejects for statistics that nobody knows. A zero that the
        exporter's version writes for counters it cannot find is null (`exporter_version`), one for
        a file that is not there `missing_file`.
    """
    typed = _by_type(series.identities)
    fields = roce_fields(typed["name"])
    known = typed.join(fields, on="name", how="inner", maintain_order="left")
    placed = known.with_columns(
        host=host_label(),
        target=label_of("instance"),
        device=port_device(label_of("device", "interface"), label_of("port")),
        device_kind=pl.lit("nic"),
        top=pl.lit(TOP_64),
    )
    hosted = fill_hosts(placed, series.identities, source)
    doubts = pl.concat([_old_exporter(hosted, series), _missing_files(hosted, series)])
    measured = measure(series.points, conform(hosted.lazy(), MEANINGS).collect())
    return reading_of(
        samples=samples_of(_sum_parts(_doubt(measured, doubts)), source),
        rejects=_unknown_types(typed.join(fields, on="name", how="anti"), series.points, source),
    )


def _by_type(identities: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets with the statistic in the name where a label tells it."""
    named = pl.concat_str(pl.lit(TYPED), label_of("type"), separator="/")
    is_typed = pl.col("name") == TYPED
    return identities.with_columns(name=pl.when(is_typed).then(named).otherwise("name"))


def _unknown_types(unread: pl.DataFrame, points: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one reject for each statistic of Showmax's exporter that has no signal."""
    typed = unread.filter(pl.col("name").str.starts_with(f"{TYPED}/"))
    return (
        points.join(typed.select("series", "name"), on="series")
        .group_by("name")
        .agg(pl.col("position").min(), count=pl.len())
        .sort("position", "name")
        .select(
            "position",
            "count",
            source=pl.lit(source),
            text="name",
            reason=pl.lit("unknown statistic"),
        )
    )


def _old_exporter(hosted: pl.DataFrame, series: Series) -> pl.DataFrame:
    """Return the series whose zeros an old node_exporter makes up."""
    cleaned = hosted.filter(pl.col("name").str.contains(_CLEANED))
    if cleaned.is_empty():
        return pl.DataFrame(schema={"series": pl.UInt32, "doubt": pl.String})
    version = label_of("version")
    parts = [version.str.extract(_VERSION, group).cast(pl.Int64) for group in (1, 2)]
    infos = (
        series.identities.filter(pl.col("name") == "node_exporter_build_info")
        .select(target=label_of("instance"), major=parts[0], minor=parts[1])
        .unique("target", keep="last", maintain_order=True)
    )
    major, minor = FIRST_SOUND_VERSION
    is_sound = (pl.col("major") > major) | ((pl.col("major") == major) & (pl.col("minor") >= minor))
    return (
        cleaned.join(infos, on="target", how="left", nulls_equal=True)
        .filter(~is_sound.fill_null(value=False))
        .select("series", doubt=pl.lit("exporter_version"))
    )


def _missing_files(hosted: pl.DataFrame, series: Series) -> pl.DataFrame:
    """Return the series of interfaces that have no byte counters: their zeros are defaults."""
    if "rdma" not in hosted["exporter"]:
        return pl.DataFrame(schema={"series": pl.UInt32, "doubt": pl.String})
    there = (
        series.identities.filter(pl.col("name").str.contains(_BYTES))
        .select(host=host_label(), device=label_of("interface", "device"))
        .unique()
    )
    return (
        hosted.filter(pl.col("exporter") == "rdma")
        .join(there, on=["host", "device"], how="anti", nulls_equal=True)
        .select("series", doubt=pl.lit("missing_file"))
    )


def _doubt(measured: pl.DataFrame, doubts: pl.DataFrame) -> pl.DataFrame:
    """Return the samples without the zeros of series in doubt."""
    is_doubted = (pl.col("value") == 0) & pl.col("doubt").is_not_null()
    return (
        measured.join(doubts, on="series", how="left", maintain_order="left")
        .with_columns(
            value=pl.when(~is_doubted.fill_null(value=False)).then("value"),
            reason=pl.when(is_doubted).then("doubt").otherwise("reason"),
        )
        .select(MEASURED.names())
    )


def _sum_parts(measured: pl.DataFrame) -> pl.DataFrame:
    """Return one sample for each signal of an interface: the sum over priorities or lanes.

    A part without a value leaves the sum without one.
    """
    keys = ("entity", "time", "page")
    repeated = measured.select(keys).is_duplicated()
    once = measured.filter(repeated).unique(("series", *keys), keep="last", maintain_order=True)
    value = pl.col("value")
    sums = once.group_by(keys, maintain_order=True).agg(
        pl.exclude("value", "reason").first(),
        value=pl.when(value.null_count() == 0).then(value.sum()),
        reason=pl.col("reason").drop_nulls().first(),
    )
    whole = pl.concat([measured.filter(~repeated), sums.select(MEASURED.names())])
    return whole.sort("position", maintain_order=True)
