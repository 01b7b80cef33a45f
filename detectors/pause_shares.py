"""How much of the time ports are stopped, or stop others: pauses of Ethernet, waits of InfiniBand.

Source: fabric reference, sections 1.2, 3.5 and 6.3; IEEE 802.1Qbb (a pause lasts at most 65535
quanta of 512 bits). Durations are better than frames: from frames only the most that it can have
been is known. Waits are ticks of hardware: without the tick's size they are not known.
"""

from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.infiniband.wait_ticks import LANE_TICK_BYTES, PORT_TICK_BYTES
from detectors.fabric import Fabric
from detectors.growth import PORT, port_growth
from detectors.port_readings import SPEEDS

RECEIVED_SECONDS: Final = ("pause_received_seconds_total", "global_pause_received_seconds_total")
SENT_SECONDS: Final = ("pause_sent_seconds_total", "global_pause_sent_seconds_total")
RECEIVED_FRAMES: Final = ("pause_received_frames_total", "global_pause_received_frames_total")
SENT_FRAMES: Final = ("pause_sent_frames_total", "global_pause_sent_frames_total")
WAITS: Final = ("transmit_wait_ticks_total",)

MAX_PAUSE_BYTES: Final = 65535 * 512 / 8
"""What a port could have sent during the longest pause that one frame can ask for."""

DEFAULT_BYTES_PER_SECOND: Final = 5e10
"""Speed of a port that nothing tells: 400 Gb/s."""

_FAST_LANE: Final = 6e9
_FAST_PORT: Final = 2.4e10
"""Bytes a second from which a lane, or a port of four lanes, is of a generation with short ticks
(HDR, 53 Gb/s a lane); a port of 200 Gb/s cannot be older."""

STOPS: Final = schema_of(
    {
        "host": pl.String,
        "port": pl.String,
        "port_kind": pl.String,
        "bin": TIME,
        "first": TIME,
        "seconds": pl.Float64,
        "received": pl.Float64,
        "sent": pl.Float64,
        "waited": pl.Float64,
        "at_most": pl.Boolean,
    }
)
"""One row a port and bin: shares of the time in which it was told to stop (`received`), told its
peer to stop (`sent`), had data and no credit (`waited`); null where not known. `at_most` says that
pauses are known from their frames alone."""


def stop_shares(fabric: Fabric, bin_seconds: float) -> pl.DataFrame:
    """Return `STOPS`, by port and bin.

    Args:
        fabric: What is known of ports.
        bin_seconds: Width of a bin.
    """
    counted = (*RECEIVED_SECONDS, *SENT_SECONDS, *RECEIVED_FRAMES, *SENT_FRAMES, *WAITS)
    growth = port_growth(fabric.intervals, counted, bin_seconds).join(
        _speeds(fabric), on=["host", "port"], how="left"
    )
    speed = pl.col("speed").fill_null(DEFAULT_BYTES_PER_SECOND)
    rate, signal = pl.col("rate"), pl.col("signal")
    framed = (rate * MAX_PAUSE_BYTES / speed).clip(upper_bound=1.0)
    blocked = rate * pl.col("tick") / pl.col("speed")
    received, sent = (rate.filter(signal.is_in(names)).max() for names in _LASTED)
    received_frames, sent_frames = (framed.filter(signal.is_in(names)).max() for names in _FRAMED)
    return (
        growth.group_by(*PORT, "bin")
        .agg(
            pl.col("first").min(),
            pl.col("seconds").max(),
            received=pl.coalesce(received, received_frames),
            sent=pl.coalesce(sent, sent_frames),
            waited=blocked.filter(signal.is_in(WAITS)).max(),
            at_most=(received.is_null() & sent.is_null()),
        )
        .select(STOPS.names())
        .sort(*PORT, "bin")
    )


_LASTED: Final = (RECEIVED_SECONDS, SENT_SECONDS)
_FRAMED: Final = (RECEIVED_FRAMES, SENT_FRAMES)


def _speeds(fabric: Fabric) -> pl.DataFrame:
    """Return the speed of each port and the bytes of a tick; null where nothing tells."""
    signal, value = pl.col("signal"), pl.col("value")
    known = fabric.readings.filter(value > 0)

    def told(*names: str) -> pl.Expr:
        return value.filter(signal.is_in(names)).max()

    lane_rate, lanes = pl.col("lane_rate"), pl.col("lanes")
    by_generation = (
        pl.when(pl.col("port_kind") == "nic")
        .then(PORT_TICK_BYTES)
        .when((lane_rate >= _FAST_LANE) | (pl.col("speed") >= _FAST_PORT))
        .then(PORT_TICK_BYTES)
        .when(lane_rate < _FAST_LANE)
        .then(LANE_TICK_BYTES * lanes.fill_null(4.0))
    )
    return (
        known.group_by("host", "port")
        .agg(
            pl.col("port_kind").first(),
            speed=told(*SPEEDS),
            lane_rate=told("lane_rate_bytes_per_second"),
            lanes=told("link_width_lanes"),
            told=told("transmit_wait_tick_bytes"),
            lane_told=told("transmit_wait_tick_lane_bytes"),
        )
        .with_columns(speed=pl.coalesce("speed", lane_rate * lanes))
        .with_columns(
            tick=pl.coalesce("told", pl.col("lane_told") * lanes.fill_null(4.0), by_generation)
        )
        .select("host", "port", "speed", "tick")
    )
