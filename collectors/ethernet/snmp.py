"""Read what snmp_exporter walked of a switch's interfaces into samples of its ports.

Names of interfaces are labels, and a look-up that failed leaves them empty: then several ports may
share one label set, and what was counted is nobody's. An index may be another port's after a
reboot. Source: prometheus/snmp_exporter (`if_mib`, `system`), sonic-net/sonic-snmpagent.
"""

from typing import Final

import polars as pl

from collectors.ethernet.port_values import WRAP_64
from collectors.ethernet.snmp_fields import (
    HELPERS,
    NARROW,
    PFC_PRIORITIES,
    PFC_TOTALS,
    SONIC_TOTAL_PRIORITY,
    STATES,
    WRAP_53,
    snmp_fields,
)
from collectors.frames import ALIASES, EVENTS, conform
from collectors.identity import canonical_host
from collectors.metrics.samples import (
    MEANINGS,
    MEASURED,
    conflict_events,
    measure,
    samples_of,
    settle_duplicates,
)
from collectors.metrics.series import Series, label_of
from collectors.metrics.target_labels import host_label
from collectors.readings import Reading, reading_of

_CAPPED_SPEED: Final = 4_294_967_295.0
"""What ifSpeed says of every port faster than it can tell."""

_CISCO: Final = r"(?i)cisco|nx-os"

_PORT: Final = ("host", "device_kind", "device", "signal")


def snmp_names() -> pl.Series:
    """Return the names of all metrics that `read_snmp` understands or leaves out on purpose."""
    return pl.concat([snmp_fields()["name"], pl.Series("name", [*HELPERS, *NARROW])]).unique()


def read_snmp(series: Series, source: str) -> Reading:
    """Return what an SNMP walk says of the ports of switches.

    Args:
        series: Series whose names are among `snmp_names`; others are left out.
        source: The name to quote in evidence.

    Returns:
        Samples, the names of ports as aliases, and a warning for ports that cannot be told apart:
        their values are null (`unnamed_port`, `ambiguous_port`). 32-bit octet counters are not
        read. A wide counter wraps at 2^53 unless its target shows a larger count.
    """
    placed = _placed(series)
    meanings = _with_widths(placed, series)
    points = _with_states(series.points, placed)
    measured = _without_unnamed(measure(points, conform(meanings.lazy(), MEANINGS).collect()))
    clear, doubled = _without_doubles(measured)
    settled, conflicts = settle_duplicates(clear)
    return reading_of(
        samples=samples_of(settled, source),
        events=pl.concat([conflict_events(conflicts, source), _doubts(doubled, source)]),
        aliases=_aliases(placed, series, source),
    )


def _placed(series: Series) -> pl.DataFrame:
    """Return the understood label sets with host, device and what they measure."""
    known = series.identities.join(snmp_fields(), on="name", how="inner", maintain_order="left")
    index = label_of("ifindex")
    named = pl.coalesce(
        label_of("ifname"), label_of("ifdescr"), pl.concat_str(pl.lit("ifIndex"), index)
    )
    is_node = pl.col("signal") == "uptime_seconds"
    placed = known.with_columns(
        host=host_label(),
        target=label_of("instance"),
        index=index.cast(pl.Int32, strict=False),
        port=pl.when(~is_node).then(named),
        device_kind=pl.when(is_node).then(pl.lit("node")).otherwise(pl.lit("switch_port")),
        priority=label_of("cpfcifpriorityvalue", "priority", "prio"),
    )
    return _with_priorities(_with_hosts(placed, series.identities), series.identities).pipe(
        _one_speed
    )


def _with_hosts(placed: pl.DataFrame, identities: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets with the name that the switch gives itself, else its address."""
    names = (
        identities.filter(pl.col("name") == "sysName")
        .select(target=label_of("instance"), named=canonical_host(label_of("sysname")))
        .drop_nulls()
        .unique("target", keep="last", maintain_order=True)
    )
    return placed.join(names, on="target", how="left", maintain_order="left").with_columns(
        host=pl.coalesce("host", "named", canonical_host(pl.col("target")))
    )


def _with_priorities(placed: pl.DataFrame, identities: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets with pauses placed on their priority.

    The totals of Cisco's PFC MIB are those of priority 3 on SONiC; they are the port's only where
    the switch calls itself Cisco's. Where the priorities stand beside them they are left out.
    """
    cisco = identities.filter(
        pl.col("name") == "sysDescr", label_of("sysdescr").str.contains(_CISCO)
    ).select(target=label_of("instance"), is_cisco=pl.lit(value=True))
    by_priority = placed.filter(pl.col("name").is_in(list(PFC_PRIORITIES)))
    is_total = pl.col("name").is_in(list(PFC_TOTALS))
    is_sonic = is_total & pl.col("is_cisco").is_null()
    priority = pl.when(is_sonic).then(pl.lit(str(SONIC_TOTAL_PRIORITY))).otherwise("priority")
    detailed = by_priority.select("host", "port", "signal", detailed=pl.lit(value=True)).unique()
    part = pl.concat_str("port", pl.lit("/priority"), "priority", ignore_nulls=False)
    return (
        placed.join(
            cisco.unique(), on="target", how="left", maintain_order="left", nulls_equal=True
        )
        .with_columns(priority=priority)
        .join(detailed, on=["host", "port", "signal"], how="left", maintain_order="left")
        .filter(~(is_total & pl.col("detailed").fill_null(value=False)))
        .with_columns(
            device=pl.when(pl.col("priority").is_null()).then("port").otherwise(part),
            device_kind=pl.when(pl.col("priority").is_null())
            .then("device_kind")
            .otherwise(pl.lit("priority")),
        )
    )


def _one_speed(placed: pl.DataFrame) -> pl.DataFrame:
    """Return the label sets without ifSpeed where ifHighSpeed tells, which is not capped."""
    is_high = pl.col("name") == "ifHighSpeed"
    told = placed.filter(is_high).select("host", "device").unique()
    capped = placed.filter(pl.col("name") == "ifSpeed").join(told, on=["host", "device"])
    return placed.filter(~pl.col("series").is_in(capped["series"].implode()))


def _with_widths(placed: pl.DataFrame, series: Series) -> pl.DataFrame:
    """Return the label sets with the width of their counter.

    A count of 2^53 or more shows that the exporter does not wrap there.
    """
    high = series.points.group_by("series").agg(highest=pl.col("value").max())
    peak = pl.when("wide").then(pl.col("highest")).max().over("target")
    width = pl.when(peak >= WRAP_53).then(WRAP_64).otherwise(WRAP_53)
    return placed.join(high, on="series", how="left", maintain_order="left").with_columns(
        wraps_at=pl.when("wide").then(width).otherwise("wraps_at")
    )


def _with_states(points: pl.DataFrame, placed: pl.DataFrame) -> pl.DataFrame:
    """Return the points with states as 1 or 0, and numbers that stand for nothing taken out."""
    names = placed.select("series", "name")
    value = pl.col("value")
    is_state = pl.col("name").is_in(["ifOperStatus", "ifAdminStatus"])
    state = value.replace_strict(STATES, default=None, return_dtype=pl.Float64)
    no_speed = pl.col("name").is_in(["ifHighSpeed", "ifSpeed"]) & (value == 0)
    capped = (pl.col("name") == "ifSpeed") & (value == _CAPPED_SPEED)
    told = pl.when(is_state).then(state).otherwise(value)
    reason = pl.coalesce(
        "reason",
        pl.when((is_state & state.is_null()) | no_speed).then(pl.lit("unknown")),
        pl.when(capped).then(pl.lit("capped")),
    )
    return (
        points.join(names, on="series", how="inner", maintain_order="left")
        .with_columns(value=pl.when(reason.is_null()).then(told), reason=reason)
        .drop("name")
    )


def _without_unnamed(measured: pl.DataFrame) -> pl.DataFrame:
    is_unnamed = pl.col("device").is_null() & (pl.col("device_kind") != "node")
    return measured.with_columns(
        value=pl.when(~is_unnamed).then("value"),
        exact=pl.when(~is_unnamed).then("exact"),
        reason=pl.when(is_unnamed).then(pl.lit("unnamed_port")).otherwise("reason"),
    )


def _without_doubles(measured: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the samples without the values of ports that share a name, and those samples.

    Two series of one name at one time that say different things are two ports, not one port told
    twice.
    """
    moment = [*_PORT, "time", "page"]
    is_double = (pl.col("series").n_unique().over(moment) > 1) & (
        pl.col("value").n_unique().over(moment) > 1
    )
    marked = measured.with_columns(is_double=is_double & pl.col("device").is_not_null())
    doubt = pl.col("is_double")
    unnamed = pl.col("reason") == "unnamed_port"
    clear = marked.with_columns(
        value=pl.when(~doubt).then("value"),
        exact=pl.when(~doubt).then("exact"),
        reason=pl.when(doubt).then(pl.lit("ambiguous_port")).otherwise("reason"),
    )
    return clear.select(MEASURED.names()), clear.filter(doubt | unnamed.fill_null(value=False))


def _doubts(doubled: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return one warning for each name that no port or more than one port answers to."""
    rows = (
        doubled.lazy()
        .group_by("host", "device_kind", "device", "reason", maintain_order=True)
        .agg(pl.col("time").min(), pl.col("position").min(), count=pl.len())
        .with_columns(
            kind=pl.lit("warning"),
            code=pl.lit("identity_conflict"),
            severity=pl.lit("warning"),
            message=pl.when(pl.col("device").is_null())
            .then(pl.lit("ports without a name share their labels: their counts are nobody's"))
            .otherwise(
                pl.format("several ports are called {}: their counts are nobody's", "device")
            ),
            source=pl.lit(source),
        )
    )
    return conform(rows, EVENTS).collect()


def _aliases(placed: pl.DataFrame, series: Series, source: str) -> pl.DataFrame:
    """Return the further names of ports: their index, and the description that is a name."""
    times = series.points.group_by("series").agg(
        first=pl.col("time").min(), last=pl.col("time").max()
    )
    named = placed.filter(pl.col("device_kind") == "switch_port", label_of("ifname").is_not_null())
    description = label_of("ifdescr")
    is_name = ~description.str.contains(r"\s") & (description != pl.col("port"))
    each = named.join(times, on="series").select(
        "host",
        "device_kind",
        "first",
        "last",
        device="port",
        described=pl.when(is_name).then(description),
        numbered=pl.concat_str(pl.lit("ifIndex"), "index"),
    )
    rows = pl.concat(
        each.select(
            "host", "device_kind", "device", time=when, alias_kind=pl.lit("name"), alias=alias
        )
        for when in ("first", "last")
        for alias in ("described", "numbered")
    )
    told = (
        rows.drop_nulls(["host", "device", "alias"])
        .unique()
        .sort("host", "device", "alias", "time")
    )
    return conform(told.lazy().with_columns(source=pl.lit(source)), ALIASES).collect()
