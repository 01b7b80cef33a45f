"""What counters of ports say between two readings: growth, or why it is not known.

Source: fabric reference, sections 5.1 to 5.4. Only a difference between two good readings is
evidence. A counter that fell was reset (its new value is the least it grew by), or it wrapped where
its width says so; a counter at its top is blind; what no port can carry is a bad reading. One reset
makes the interval doubtful for all counters of the port. The newest reading is always the next
baseline.
"""

from dataclasses import dataclass
from typing import Final

import polars as pl

from collectors.frames import TIME, schema_of
from collectors.signals import SIGNALS
from detectors.bad_readings import without_bad_readings
from detectors.doubts import touched
from detectors.port_readings import SPEEDS

INTERVALS: Final = schema_of(
    {
        "host": pl.String,
        "device_kind": pl.String,
        "device": pl.String,
        "port": pl.String,
        "port_kind": pl.String,
        "signal": pl.String,
        "start": TIME,
        "end": TIME,
        "seconds": pl.Float64,
        "value": pl.Float64,
        "delta": pl.Float64,
        "min_delta": pl.Float64,
        "reset": pl.Boolean,
        "wrapped": pl.Boolean,
        "saturated": pl.Boolean,
        "infeasible": pl.Boolean,
        "regrouped": pl.Boolean,
        "settling": pl.Boolean,
        "near": pl.Boolean,
    }
)
"""One row a counter and pair of neighbouring readings. `delta` is the growth, null where it is not
known; `min_delta` the least it can be, null where nothing is known. `reset` says that a counter of
the port started again; `wrapped` that this one ran over its width; `saturated` that it stands at
its top; `infeasible` that the port cannot have carried that much; `regrouped` that a bundle lost a
member; `settling` that the port or its host was just starting; `near` that the readings are not
over a gap. `value` is the later reading. `port` is the device without its part, `port_kind` its
kind."""

_TOPS: Final = tuple(2.0**bits - 1 for bits in (4, 8, 16, 32, 64))
"""Where counters that do not wrap stop, by their width."""

_WIDTHS: Final = (2.0**32, 2.0**53, 2.0**64)
"""Where counters of unknown width may wrap; 2^53 is where exporters cut 64-bit SNMP counters."""

BUNDLE: Final = r"(?i)^(?:port-?channel|bond|ae|po|lag)-?\d+$"
"""Names of link aggregates: their counters are the sum over the members of the moment."""

COUNTERS: Final = tuple(name for name, one in SIGNALS.items() if one.kind == "counter")

_OF_PACKETS: Final = r"_(?:packets|frames|discards)_total$|^(?:receive|transmit|crc)_errors_total$"
"""Signals that count packets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterParams:
    """How readings of counters are compared.

    Attributes:
        max_gap_ratio: A pair of readings further apart than this many usual intervals is no
            neighbourhood.
        min_wrap_share: A counter of known width wraps only from above this share of it.
        guess_share: One of unknown width wraps only from within this share below a width, and
            moves by no more than that, or than `max_usual_ratio` times its usual rate.
        max_usual_ratio: See there.
        max_speed_ratio: More than this times a port's speed cannot have passed.
        default_bytes_per_second: Speed of a port that nothing tells: 1.6 Tb/s, so that only the
            absurd is refused.
        boot_seconds: A host or switch is starting for so long after its boot.
        bring_up_seconds: A link is settling for so long after it came up.
    """

    max_gap_ratio: float = 3.0
    min_wrap_share: float = 0.75
    guess_share: float = 0.01
    max_usual_ratio: float = 10.0
    max_speed_ratio: float = 1.02
    default_bytes_per_second: float = 2e11
    boot_seconds: float = 600.0
    bring_up_seconds: float = 300.0

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        if not 0.0 < self.guess_share <= 1.0 or not 0.0 < self.min_wrap_share <= 1.0:
            raise ValueError(
                "shares must be above 0 and at most 1, found guess_share "
                f"{self.guess_share} and min_wrap_share {self.min_wrap_share}"
            )


def counter_intervals(readings: pl.LazyFrame, params: CounterParams) -> pl.DataFrame:
    """Return what each counter of a port did between two readings.

    Args:
        readings: As `port_readings` gives them. A reading without a value is left out, except
            one that is `saturated`.
        params: How they are compared.

    Returns:
        `INTERVALS` by host, device and signal; `settling` is false everywhere (see
        `detectors.fabric`, which knows events).
    """
    speeds = (
        readings.filter(pl.col("signal").is_in(SPEEDS), pl.col("value") > 0)
        .group_by("port_number")
        .agg(speed=pl.col("value").max())
    )
    known = readings.filter(pl.col("signal").is_in(COUNTERS), is_told())
    steps = (
        without_bad_readings(known)
        .join(speeds, on="port_number", how="left")
        .with_columns(speed=pl.col("speed").fill_null(params.default_bytes_per_second))
        .sort("entity", "time")
        .with_columns(full=pl.col("value").is_null())
        .with_columns(**_before())
        .drop_nulls("start")
        .with_columns(step=_step(), limit=_limit(params))
        .with_columns(width=_width(params), excess=pl.col("step") > pl.col("limit"))
        .with_columns(after_excess=pl.col("excess").shift(1).over("entity"))
    )
    near = pl.col("seconds") <= pl.col("seconds").median().over("entity") * params.max_gap_ratio
    judged = steps.with_columns(**_judged(), near=near, settling=pl.lit(value=False)).collect()
    return _with_siblings(judged).select(INTERVALS.names())


def is_told() -> pl.Expr:
    """Return whether a reading of a counter says something: its value, or that it is at its top."""
    at_top = (pl.col("reason") == "saturated").fill_null(value=False)
    return pl.col("value").is_not_null() | at_top


def _before() -> dict[str, pl.Expr]:
    """Return the reading before, by its columns, and the time since."""
    start = pl.col("time").shift(1).over("entity")
    return {
        "start": start,
        "end": pl.col("time"),
        "seconds": (pl.col("time") - start).dt.total_microseconds() / 1e6,
        "before": pl.col("value").shift(1).over("entity"),
        "before_exact": pl.col("exact").shift(1).over("entity"),
        "before_full": pl.col("full").shift(1).over("entity"),
    }


def _step() -> pl.Expr:
    """Return the difference of two readings, from the exact counts where float64 is too short."""
    now, before = (
        pl.coalesce(exact, pl.col(value).cast(pl.UInt64, strict=False))
        for exact, value in (("exact", "value"), ("before_exact", "before"))
    )
    up, down = (now - before).cast(pl.Float64), -(before - now).cast(pl.Float64)
    is_exact = pl.col("exact").is_not_null() | pl.col("before_exact").is_not_null()
    exact = pl.when(is_exact).then(pl.when(now >= before).then(up).otherwise(down))
    return pl.coalesce(exact, pl.col("value") - pl.col("before"))


def _limit(params: CounterParams) -> pl.Expr:
    """Return the most that a counter can have grown by, from the port's speed and the time.

    Source: fabric reference, section 5.1; packets have 24 bytes on InfiniBand, whose counters do
    not wrap, else 64; ticks are 8 bytes; there are 8 priorities; an error is a bit at least.
    """
    name, speed = pl.col("signal"), pl.col("speed")
    packet_bytes = pl.when(pl.col("wraps_at").is_finite()).then(64.0).otherwise(24.0)
    each_second = (
        pl.when(name.str.ends_with("_bytes_total"))
        .then(speed)
        .when(name.str.contains(_OF_PACKETS))
        .then(speed / packet_bytes)
        .when(name.str.ends_with("_ticks_total"))
        .then(speed / 8.0)
        .when(name.str.ends_with("_seconds_total"))
        .then(pl.lit(8.0))
        .otherwise(speed * 8.0 * 1.1)
    )
    return each_second * pl.col("seconds") * params.max_speed_ratio


def _width(params: CounterParams) -> pl.Expr:
    """Return the width over which a counter that fell can have run; null if it did not."""
    step, before, known = pl.col("step"), pl.col("before"), pl.col("wraps_at")
    usual = (step / pl.col("seconds")).filter(step >= 0).median().over("entity")
    by_width = pl.when(
        before > known * params.min_wrap_share, step + known <= pl.col("limit")
    ).then(known)
    likely = usual * pl.col("seconds") * params.max_usual_ratio
    guesses = (
        pl.when(
            known.is_null(),
            before.is_between(top * (1.0 - params.guess_share), top),
            step + top <= pl.col("limit"),
            (step + top <= top * params.guess_share)
            | (step + top <= likely).fill_null(value=False),
        ).then(pl.lit(top))
        for top in _WIDTHS
    )
    return pl.when(step < 0).then(pl.coalesce(by_width, *guesses))


def _judged() -> dict[str, pl.Expr]:
    """Return the columns that say what an interval is, before its siblings are asked."""
    step = pl.col("step")
    fell = (step < 0) & pl.col("width").is_null()
    in_bundle = pl.col("device").str.contains(BUNDLE)
    recovered = pl.col("after_excess").fill_null(value=False)
    reset = (fell & ~in_bundle & ~recovered) | (pl.col("before_full") & ~pl.col("full"))
    growth = pl.when(step >= 0, ~pl.col("excess")).then(step)
    return {
        "reset": reset.fill_null(value=False),
        "wrapped": pl.col("width").is_not_null(),
        "saturated": pl.col("full"),
        "infeasible": (pl.col("excess") | (fell & recovered)).fill_null(value=False),
        "regrouped": (fell & in_bundle).fill_null(value=False),
        "delta": pl.coalesce(growth, step + pl.col("width")),
    }


def _with_siblings(judged: pl.DataFrame) -> pl.DataFrame:
    """Return the intervals with those doubted in which any counter of the port was reset."""
    resets = judged.filter("reset").select("host", "port", since="start", until="end")
    doubted = touched(judged, resets)
    return judged.with_columns(reset=doubted, **_doubted_growth(pl.lit(doubted)))


def _doubted_growth(doubted: pl.Expr) -> dict[str, pl.Expr]:
    """Return `delta` and `min_delta` where a reset is in an interval: at least what is seen.

    A counter that came to its top grew at least up to the nearest width that holds it.
    """
    least = pl.when(pl.col("step") >= 0, ~pl.col("excess")).then("step").otherwise("value")
    sound = ~(pl.col("infeasible") | pl.col("regrouped"))
    nearest = pl.min_horizontal(
        pl.when(pl.col("before") <= top).then(top - pl.col("before")) for top in _TOPS
    )
    at_top = pl.when("saturated").then(nearest.fill_null(0.0))
    return {
        "delta": pl.when(~doubted).then("delta"),
        "min_delta": pl.when(sound).then(
            pl.when(doubted)
            .then(pl.coalesce(least, at_top))
            .otherwise(pl.coalesce("delta", at_top))
        ),
    }
