"""What the detectors of links and congestion look at: counters, gauges, cables and port events.

Built once for all of them. Source: fabric reference, sections 5.2, 5.6 and 6.1: readings of a port
that is just starting prove nothing, an end of a link is judged together with the other, and a link
is one link although listings name it from both ends.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import polars as pl

from collectors.frames import EVENTS, LINKS, SAMPLES, TIME, require, schema_of
from detectors.counters import (
    COUNTERS,
    CounterParams,
    counter_intervals,
    is_told,
)
from detectors.doubts import DOUBTS, touched
from detectors.logged_counts import logged_intervals
from detectors.port_readings import port_readings

ENDS: Final = schema_of(
    {
        "host": pl.String,
        "port": pl.String,
        "far_host": pl.String,
        "far_port": pl.String,
    }
)
"""One row an end of a cable, with the other end: each cable twice. Of a port that several listings
place differently the newest stays."""

READINGS: Final = schema_of({**SAMPLES, "port": pl.String, "port_kind": pl.String})
"""`SAMPLES` of ports and their parts, with the port that a part belongs to."""

PORT_EVENTS: Final = (
    "link_down",
    "link_up",
    "port_error",
    "link_degraded",
    "pfc_storm",
    "pfc_storm_end",
    "counters_cleared",
    "admin_down",
    "admin_up",
    "boot",
    "link_down_cause",
    "counter_delta",
    "link_bad_signal",
    "link_negotiation_failed",
    "link_training_failed",
    "module_too_hot",
)


LOCK_LOSSES: Final = ("fec_sync_loss", "fec_alignment_loss")
"""Codes of port events that say that a receiver lost the frame of the line code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fabric:
    """All that is known of the ports of a fabric.

    Attributes:
        intervals: `INTERVALS`.
        readings: `READINGS` of gauges and states; a null value is not known and `reason` says why.
        ends: `ENDS`.
        events: `EVENTS` of ports, switches and boots (`PORT_EVENTS`), by time.
        boots: `host` and `time` of each boot that is known.
        uncounted: `READINGS` of ports none of whose counters ever had a value.
    """

    intervals: pl.DataFrame
    readings: pl.DataFrame
    ends: pl.DataFrame
    events: pl.DataFrame
    boots: pl.DataFrame
    uncounted: pl.DataFrame


def fabric_of(
    samples: pl.LazyFrame, events: pl.LazyFrame, links: pl.LazyFrame, params: CounterParams
) -> Fabric:
    """Return what is known of the ports, each part computed once.

    Args:
        samples: `SAMPLES`.
        events: `EVENTS`.
        links: `LINKS`.
        params: How readings of counters are compared.
    """
    readings = port_readings(samples).collect()
    told = events.pipe(require, EVENTS).filter(pl.col("kind").is_in(PORT_EVENTS)).collect()
    happened = told.sort("time", "source", "position", "host", "device", nulls_last=True)
    ends, boots = cable_ends(links), _boots(samples, happened)
    counted = counter_intervals(readings.lazy(), params)
    intervals = pl.concat([counted, logged_intervals(happened)])
    resets = pl.concat([_instants(boots), _clears(happened, readings)])
    calm = pl.concat([_starts(boots, params), _bring_ups(intervals, happened, params)])
    return Fabric(
        intervals=_doubted(intervals, readings, resets, _at_both_ends(calm, ends)),
        readings=readings.filter(~pl.col("signal").is_in(COUNTERS)).select(READINGS.names()),
        ends=ends,
        events=happened,
        boots=boots,
        uncounted=_uncounted(readings),
    )


def _uncounted(readings: pl.DataFrame) -> pl.DataFrame:
    """Return the counters of ports that answered for all of them without a value."""
    counters = readings.filter(pl.col("signal").is_in(COUNTERS), pl.col("device") == pl.col("port"))
    never = ~is_told().any().over("host", "port")
    return counters.filter(never).select(READINGS.names())


def cable_ends(links: pl.LazyFrame) -> pl.DataFrame:
    """Return `ENDS`, by host and port.

    Args:
        links: `LINKS`; a cable with an end that nobody names is left out.
    """
    told = links.pipe(require, LINKS)
    names = ("host", "port", "far_host", "far_port")
    one, other = ("node_a", "port_a"), ("node_b", "port_b")
    both = [
        told.select("time", **dict(zip(names, (*near, *far), strict=True)))
        for near, far in ((one, other), (other, one))
    ]
    return (
        pl.concat(both)
        .drop_nulls(["host", "port", "far_host"])
        .sort("host", "port", "time", "far_host", "far_port", nulls_last=False)
        .unique(["host", "port"], keep="last", maintain_order=True)
        .select(ENDS.names())
        .collect()
    )


def _boots(samples: pl.LazyFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Return when hosts and switches booted, as they tell it or as it was logged."""
    signal, value = pl.col("signal"), pl.col("value")
    age = duration_of(value)
    booted = pl.when(signal == "boot_seconds").then(_instant(value)).otherwise(pl.col("time") - age)
    told = (
        samples.filter(signal.is_in(["boot_seconds", "uptime_seconds"]), value > 0)
        .select("host", time=booted.dt.truncate(_BOOT_BUCKET))
        .unique()
        .collect()
    )
    logged = events.filter(pl.col("kind") == "boot").select("host", "time")
    return pl.concat([told, logged]).drop_nulls().unique().sort("host", "time")


_BOOT_BUCKET: Final = "10s"
"""A boot told as an age differs by the delay of each reading."""


def duration_of(seconds: pl.Expr) -> pl.Expr:
    """Return seconds as a duration; null where no duration holds them, as infinity."""
    return pl.duration(microseconds=_microseconds(seconds))


def _instant(seconds: pl.Expr) -> pl.Expr:
    return pl.from_epoch(_microseconds(seconds), time_unit="us").cast(TIME)


def _microseconds(seconds: pl.Expr) -> pl.Expr:
    return (seconds * 1e6).cast(pl.Int64, strict=False)


def _instants(rows: pl.DataFrame) -> pl.DataFrame:
    """Return windows of no length, at `time`: an interval that holds one has a reset in it."""
    on = pl.col("on") if "on" in rows.columns else pl.lit(None, pl.String)
    since = pl.col("time") - pl.duration(microseconds=1)
    return rows.select("host", on=on, since=since, until="time")


def _starts(boots: pl.DataFrame, params: CounterParams) -> pl.DataFrame:
    """Return the times in which hosts and switches are starting."""
    until = pl.col("time") + pl.duration(microseconds=int(params.boot_seconds * 1e6))
    return boots.select("host", on=pl.lit(None, pl.String), since="time", until=until)


def _clears(events: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
    """Return the times at which counters were cleared, by log or by what ports tell of it."""
    cleared = events.filter(pl.col("kind") == "counters_cleared").drop_nulls(["host", "time"])
    signal, value = pl.col("signal"), pl.col("value")
    age = duration_of(value)
    anew = value != value.shift(1).over("host", "port", "signal")
    began = (
        pl.when(signal == "seconds_since_clear", value >= 0)
        .then((pl.col("time") - age).cast(TIME))
        .when(signal == "counters_cleared_seconds", value > 0)
        .then(_instant(value))
        .when(signal == "counters_began_uptime_seconds", anew)
        .then(pl.col("time"))
    )
    told = readings.select("host", "port", time=began).drop_nulls("time").unique()
    return pl.concat(
        [_instants(cleared.with_columns(on="device")), _instants(told.with_columns(on="port"))]
    )


def _bring_ups(
    intervals: pl.DataFrame, events: pl.DataFrame, params: CounterParams
) -> pl.DataFrame:
    """Return the times at which links went down or came up, and the minutes after."""
    moved = events.filter(pl.col("kind").is_in(["link_down", "link_up", "admin_up"]))
    logged = moved.drop_nulls(["host", "device", "time"]).select("host", "time", on="device")
    counted = intervals.filter(
        pl.col("signal") == "link_downed_total", pl.col("min_delta") > 0
    ).select("host", time="start", on="port", until="end")
    after = pl.duration(microseconds=int(params.bring_up_seconds * 1e6))
    return pl.concat(
        [
            logged.select("host", "on", since="time", until=pl.col("time") + after),
            counted.select("host", "on", since="time", until=pl.col("until") + after),
        ]
    )


def _at_both_ends(windows: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """Return the windows, and the same at the far end of the cables."""
    whole = windows.filter(pl.col("on").is_null()).join(ends, on="host")
    single = windows.join(ends, left_on=["host", "on"], right_on=["host", "port"])
    far = [
        part.select(pl.col("far_host").alias("host"), pl.col("far_port").alias("on"), *_SPAN)
        for part in (whole, single)
    ]
    return pl.concat([windows, *far])


_SPAN: Final = ("since", "until")


def _doubted(
    intervals: pl.DataFrame, readings: pl.DataFrame, resets: pl.DataFrame, calm: pl.DataFrame
) -> pl.DataFrame:
    """Return the intervals with those marked that a reset or a time of settling touches."""
    cleared = pl.lit(touched(intervals, _of_ports(resets, intervals)))
    known = ~pl.lit(_rebased(intervals, readings))
    return intervals.with_columns(
        delta=pl.when(~cleared, known).then("delta"),
        min_delta=pl.when(known).then("min_delta"),
        reset=pl.col("reset") | cleared | ~known,
        settling=touched(intervals, _of_ports(calm, intervals)),
    )


def _rebased(intervals: pl.DataFrame, readings: pl.DataFrame) -> pl.Series:
    """Return for each interval whether its two readings count from different clears before it.

    SONiC's tables count from the last clear of the user who asks; another user sees other numbers.
    """
    age = duration_of(pl.col("value"))
    never = pl.when(pl.col("reason") == "not_cleared").then(pl.from_epoch(pl.lit(0)).cast(TIME))
    ages = (
        readings.filter(pl.col("signal") == "seconds_since_clear")
        .select("host", "port", "time", began=pl.coalesce((pl.col("time") - age).cast(TIME), never))
        .drop_nulls()
        .group_by("host", "port", "time")
        .agg(pl.col("began").max())
    )
    keys = ["host", "port"]
    both = intervals.select(*keys, "start", "end").join(
        ages, left_on=[*keys, "start"], right_on=[*keys, "time"], how="left", maintain_order="left"
    )
    told = both.join(
        ages, left_on=[*keys, "end"], right_on=[*keys, "time"], how="left", maintain_order="left"
    )
    before, began = pl.col("began"), pl.col("began_right")
    differs = (began - before).abs() > _SAME_CLEAR
    return told.select((differs & (began <= pl.col("start"))).fill_null(value=False)).to_series()


_SAME_CLEAR: Final = timedelta(minutes=2)
"""Ages in whole minutes place one clear within a minute at either reading."""


def _of_ports(windows: pl.DataFrame, intervals: pl.DataFrame) -> pl.DataFrame:
    """Return windows as `DOUBTS`: one of a whole host is one of each of its ports."""
    ports = intervals.select("host", "port").unique()
    whole = windows.filter(pl.col("on").is_null()).unique().join(ports, on="host")
    single = windows.drop_nulls("on").with_columns(port="on")
    return pl.concat([part.select(DOUBTS.names()) for part in (whole, single)])
