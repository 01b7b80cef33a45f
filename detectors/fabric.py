"""What the detectors of links and congestion look at: counters, gauges, cables and port events.

Built once for all of them. Source: fabric reference, sections 5.2, 5.6 and 6.1: readings of a port
that is just starting prove nothing, an end of a link is judged together with the other, and a link
is one link although listings name it from both ends.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import EVENTS, LINKS, SAMPLES, TIME, require, schema_of
from collectors.signals import SIGNALS
from detectors.counters import INTERVALS, CounterParams, counter_intervals, port_readings

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
)

_WINDOWS: Final = schema_of(
    {"host": pl.String, "on": pl.String, "since": TIME, "until": TIME, "reset": pl.Boolean}
)
"""A time in which readings of a port (all ports of a host if `on` is null) are doubtful: `reset`
if counters start again in it, else because the link is only settling."""


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
    intervals = counter_intervals(readings.lazy(), params).collect()
    windows = pl.concat(
        [
            _boot_windows(boots, params),
            _clear_windows(happened, readings),
            _bring_ups(intervals, happened, params),
        ]
    )
    return Fabric(
        intervals=_doubted(intervals, _at_both_ends(windows, ends)),
        readings=readings.filter(~pl.col("signal").is_in(_counters())).select(READINGS.names()),
        ends=ends,
        events=happened,
        boots=boots,
        uncounted=_uncounted(readings),
    )


def _uncounted(readings: pl.DataFrame) -> pl.DataFrame:
    """Return the counters of ports that answered for all of them without a value."""
    told = pl.col("value").is_not_null() | (pl.col("reason") == "saturated")
    counters = readings.filter(
        pl.col("signal").is_in(_counters()), pl.col("device") == pl.col("port")
    )
    never = ~told.fill_null(value=False).any().over("host", "port")
    return counters.filter(never).select(READINGS.names())


def _counters() -> list[str]:
    return [name for name, one in SIGNALS.items() if one.kind == "counter"]


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
    told = (
        samples.filter(pl.col("signal") == "boot_seconds", pl.col("value") > 0)
        .select("host", time=pl.from_epoch(pl.col("value").cast(pl.Int64)).cast(TIME))
        .collect()
    )
    logged = events.filter(pl.col("kind") == "boot").select("host", "time")
    return pl.concat([told, logged]).drop_nulls().unique().sort("host", "time")


def _boot_windows(boots: pl.DataFrame, params: CounterParams) -> pl.DataFrame:
    """Return the boots: a reset of all counters each, and a time of settling after it."""
    whole = boots.with_columns(on=pl.lit(None, pl.String))
    until = pl.col("time") + pl.duration(microseconds=int(params.boot_seconds * 1e6))
    return pl.concat(
        [
            _window(whole, pl.col("time"), reset=True),
            _window(whole, until, reset=False),
        ]
    )


def _clear_windows(events: pl.DataFrame, readings: pl.DataFrame) -> pl.DataFrame:
    """Return the times at which counters were cleared, by log or by the age that ports tell."""
    cleared = events.filter(pl.col("kind") == "counters_cleared").drop_nulls(["host", "time"])
    age = pl.duration(microseconds=(pl.col("value") * 1e6).cast(pl.Int64))
    aged = (
        readings.filter(pl.col("signal") == "seconds_since_clear", pl.col("value") >= 0)
        .select("host", "port", time=(pl.col("time") - age).cast(TIME))
        .unique()
    )
    return pl.concat(
        [
            _window(cleared.with_columns(on="device"), pl.col("time"), reset=True),
            _window(aged.with_columns(on="port"), pl.col("time"), reset=True),
        ]
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
            _window(logged, pl.col("time") + after, reset=False),
            _window(counted, pl.col("until") + after, reset=False),
        ]
    )


def _window(rows: pl.DataFrame, until: pl.Expr, *, reset: bool) -> pl.DataFrame:
    return rows.select("host", "on", since="time", until=until, reset=pl.lit(reset)).cast(_WINDOWS)


def _at_both_ends(windows: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """Return the windows, those of settling at the far end of the cables as well."""
    calm = windows.filter(~pl.col("reset"))
    far = pl.concat(
        [
            calm.filter(pl.col("on").is_null()).join(ends, on="host"),
            calm.join(ends, left_on=["host", "on"], right_on=["host", "port"]).with_columns(
                port="on"
            ),
        ],
        how="diagonal",
    )
    there = far.select("since", "until", "reset", host="far_host", on="far_port")
    return pl.concat([windows, there.select(_WINDOWS.names())]).unique().sort(_WINDOWS.names())


def _doubted(intervals: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Return the intervals with those marked that a window touches."""
    numbered = intervals.with_row_index("row")
    on = pl.col("on").is_null() | (pl.col("on") == pl.col("port"))
    touched = (
        numbered.select("row", "host", "port", "start", "end")
        .join(windows, on="host")
        .filter(on, pl.col("end") >= pl.col("since"), pl.col("start") < pl.col("until"))
        .group_by("row")
        .agg(cleared=pl.col("reset").any(), calm=(~pl.col("reset")).any())
    )
    rows = numbered.join(touched, on="row", how="left", maintain_order="left")
    cleared = pl.col("cleared").fill_null(value=False)
    return rows.with_columns(
        delta=pl.when(~cleared).then("delta"),
        reset=pl.col("reset") | cleared,
        settling=pl.col("calm").fill_null(value=False),
    ).select(INTERVALS.names())
